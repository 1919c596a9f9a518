#include "schedule/lines.h"

#include <algorithm>
#include <initializer_list>
#include <set>
#include <string>

namespace attngen::schedule {
namespace {

using expr::Expr;
using expr::Op;

constexpr double kLineBytes = 128;
constexpr double kLoadRows = 8, kLoadColumns = 8;  // of a warp's load
constexpr double kColumnLines = 4, kLinesByData = 8, kMostLines = 32;

// Of a line of several, relative to that of one: of Transformer-XL's and DeBERTa's position terms
// and of Graphormer's distances, 1.2 to 2 (H200, 2026-11-27, throw-away scripts).
constexpr double kLineLoads = 1.5;

bool is_any(const Expr& e, std::initializer_list<const char*> names) {
  return e.op() == Op::Variable && std::ranges::find(names, e.name()) != names.end();
}

// Of a dimension; lengths are long.
double extent_of(const spec::Input::Dim& dim, const spec::Spec& spec) {
  using Kind = spec::Input::Dim::Kind;
  if (dim.kind == Kind::Number) return dim.number;
  if (dim.kind == Kind::Heads) return spec.heads.q;
  if (dim.kind == Kind::HeadsKv) return spec.heads.kv();
  return 1e6;
}

double lines_of(const Expr& load, const spec::Spec& spec) {
  const spec::Input& input = *spec.find_input(load.name());
  const auto within = [](double lines, double most) { return std::clamp(lines, 1.0, most); };
  double rows = 1, columns = 1, by_data = 1;
  double stride = spec::bytes_of(input.element);  // of the dimension at hand
  for (size_t i = input.shape.size(); i-- > 0;) {
    const Expr& index = load.operand(i);
    const double extent = extent_of(input.shape[i], spec);
    if (i + 1 < input.shape.size()) {
      if (is_any(index, {"q_idx", "q_pos"}))
        rows = within(kLoadRows * stride / kLineBytes, kLoadRows);
      if (is_any(index, {"kv_idx"}))
        columns = within(kLoadColumns * stride / kLineBytes, kColumnLines);
      if (!expr::inputs_of(index).empty())
        by_data = within(extent * stride / kLineBytes, kLinesByData);
    }
    stride *= extent;
  }
  return std::min(kMostLines, std::max(rows * columns, by_data));
}

class Loads {
 public:
  explicit Loads(const spec::Spec& spec) : spec_(spec) {}
  void add(const Expr& e) {
    if (!e || e.operands().empty() || !seen_.insert(e.identity()).second) return;
    if (e.op() == Op::Load && spec_.find_input(e.name()) && expr::mentions(e, "kv_idx")) {
      const double lines = lines_of(e, spec_);
      if (lines > 1) scattered += kLineLoads * lines - 1;
    }
    for (const Expr& operand : e.operands()) add(operand);
  }
  double scattered = 0;

 private:
  const spec::Spec& spec_;
  std::set<const void*> seen_;
};

}  // namespace

double scattered_loads(const expr::Expr& e, const spec::Spec& spec) {
  Loads loads(spec);
  loads.add(e);
  return loads.scattered;
}

}  // namespace attngen::schedule
