#include "schedule/lines.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "expr/evaluate.h"
#include "expr/simplify.h"

namespace attngen::schedule {
namespace {

using expr::Expr;
using expr::Op;

constexpr double kLineBytes = 128;
constexpr double kLinesByData = 8;
constexpr int kLoadRows = 8, kLoadColumns = 8, kLaneColumns = 2;  // of a warp's load
constexpr double kLong = 4096;  // an element of an input, which may be a row's length

// Of a line of several, relative to that of one: of Transformer-XL's and DeBERTa's position terms
// and of Graphormer's distances, 1.2 to 2 (H200, 2026-11-27, throw-away scripts).
constexpr double kLineLoads = 1.5;

// Of a dimension; lengths are long.
double extent_of(const spec::Input::Dim& dim, const spec::Spec& spec) {
  using Kind = spec::Input::Dim::Kind;
  if (dim.kind == Kind::Number) return dim.number;
  if (dim.kind == Kind::Heads) return spec.heads.q;
  if (dim.kind == Kind::HeadsKv) return spec.heads.kv();
  return 1e6;
}

// Where a lane stands whose loads are those of a warp: in the middle of the queries, before whose
// keys half of theirs are. Distances that a table ends at are beyond its end there, as most are.
class Lane {
 public:
  explicit Lane(const spec::Spec& spec) {
    if (!spec.workload.empty()) call_ = spec.workload.front();
  }
  void move_to(int row, int column) { row_ = row, column_ = column; }

  // Of an index that it has there; an element of data is the same for all lanes.
  double value(const expr::Program& index, const std::vector<std::string>& variables) const {
    std::vector<double> values;
    values.reserve(variables.size());
    for (const std::string& name : variables) values.push_back(variable(name));
    const double found =
        index(values, [this](std::string_view input, std::span<const int64_t>) -> double {
          const auto known = call_.values.find(input);
          const bool given =
              known != call_.values.end() && known->second.of == spec::GivenValue::Of::Elements;
          return given ? known->second.number : kLong;
        });
    return std::isfinite(found) ? found : 0;
  }

 private:
  double variable(std::string_view name) const {
    const int64_t q = call_.seq_q / 2 + row_, kv = call_.seq_kv / 4 + column_;
    if (name == "q_idx") return static_cast<double>(q);
    if (name == "q_pos") return static_cast<double>(q + call_.seq_kv - call_.seq_q);
    if (name == "kv_idx") return static_cast<double>(kv);
    if (name == "seq_q") return static_cast<double>(call_.seq_q);
    if (name == "seq_kv") return static_cast<double>(call_.seq_kv);
    return name == "b" || name == "h" || name == "h_kv" ? 1 : 0;
  }

  spec::Workload call_;
  int row_ = 0, column_ = 0;
};

// So few that they hold all bytes.
double lines_of_bytes(std::vector<double> addresses) {
  std::ranges::sort(addresses);
  double lines = 0, end = -expr::kInfinity;
  for (const double address : addresses) {
    if (address < end) continue;
    lines += 1;
    end = address + kLineBytes;
  }
  return lines;
}

// What differs from lane to lane by more than their places.
bool is_by_data(const Expr& index) {
  return expr::find_node(index, [](const Expr& e) {
           if (e.op() == Op::Load) {
             return attention::varies_in_row(e) || expr::mentions(e, "q_idx") ||
                    expr::mentions(e, "q_pos");
           }
           return e.op() == Op::Variable &&
                  (e.name() == attention::kBias || e.name() == attention::kByte ||
                   attention::is_of_scores(e.name()));
         }) != nullptr;
}

using Meanings = std::map<std::string, Expr, std::less<>>;

// Of the variables that a form has in the place of what it computes elsewhere.
Meanings meanings_of(const attention::PairForm& form) {
  Meanings meanings;
  for (const spec::NamedExpr& constant : form.constants) meanings[constant.name] = constant.value;
  for (const attention::Line& line : form.lines) meanings[line.name] = line.first;
  for (size_t i = 0; i < form.of_key.size(); ++i) {
    meanings[attention::name_of_key(i)] = form.of_key[i];
  }
  if (form.of_distance) meanings[attention::kOfDistance] = form.of_distance;
  for (size_t i = 0; i < form.key_words.size(); ++i) {
    const bool is_float = form.key_words[i].type() == expr::Type::Float;
    meanings[(is_float ? attention::kKeyFloat : attention::kKeyWord) + std::to_string(i)] =
        form.key_words[i];
  }
  return meanings;
}

class Loads {
 public:
  Loads(const attention::PairForm& form, const spec::Spec& spec)
      : spec_(spec), meanings_(meanings_of(form)), lane_(spec) {}
  void add(const Expr& e) {
    if (!e || e.operands().empty() || !seen_.insert(e.identity()).second) return;
    if (e.op() == Op::Load && spec_.find_input(e.name()) && attention::varies_in_row(e)) {
      const double lines = lines_of(e);
      if (lines > 1) scattered += kLineLoads * lines - 1;
    }
    for (const Expr& operand : e.operands()) add(operand);
  }
  double scattered = 0;

 private:
  double lines_of(const Expr& load) {
    const spec::Input& input = *spec_.find_input(load.name());
    std::vector<double> addresses(kLoadRows * kLoadColumns / kLaneColumns);
    double by_data = 1;
    double stride = spec::bytes_of(input.element);  // of the dimension at hand
    for (size_t i = input.shape.size(); i-- > 0;) {
      const Expr index = expr::substitute(load.operand(i), meanings_);
      const double extent = extent_of(input.shape[i], spec_);
      if (i + 1 < input.shape.size() && is_by_data(index)) {
        by_data = std::clamp(extent * stride / kLineBytes, 1.0, kLinesByData);
      }
      add_index(index, stride, addresses);
      stride *= extent;
    }
    return std::max(lines_of_bytes(std::move(addresses)), by_data);
  }

  void add_index(const Expr& index, double stride, std::vector<double>& addresses) {
    const std::vector<std::string> variables = expr::variables_of(index);
    const expr::Program program(index, variables);
    size_t lane = 0;
    for (int row = 0; row < kLoadRows; ++row) {
      for (int column = 0; column < kLoadColumns; column += kLaneColumns) {
        lane_.move_to(row, column);
        addresses[lane++] += stride * lane_.value(program, variables);
      }
    }
  }

  const spec::Spec& spec_;
  Meanings meanings_;
  Lane lane_;
  std::set<const void*> seen_;
};

}  // namespace

double scattered_loads(const Expr& e, const attention::PairForm& form, const spec::Spec& spec) {
  Loads loads(form, spec);
  loads.add(e);
  return loads.scattered;
}

}  // namespace attngen::schedule
