#include "attention/pair_input.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace attngen::attention {
namespace {

using expr::Expr;
using expr::Op;
using spec::Input;

// The same for all pairs of a tile of one head, of both maps: b // rows.
bool is_of_tile(const Expr& index) {
  return std::ranges::all_of(expr::variables_of(index), [](const std::string& name) {
    return name == "b" || name == "h" || name == "h_kv" || name == "seq_q" || name == "seq_kv";
  });
}

// Of so many matrices [seq_q, seq_kv], the dimensions before the last two, each has a number of 31
// bits: with their heads batches have, by the limits of a call.
bool numbers_matrices(const spec::Spec& spec, const Input& input) {
  using Kind = Input::Dim::Kind;
  double numbers = 1, heads = 1;
  for (size_t i = 0; i + 2 < input.shape.size(); ++i) {
    const Input::Dim& dim = input.shape[i];
    if (spec::is_length(dim.kind) || dim.kind == Kind::HeadDim) return false;
    if (dim.kind == Kind::Number) numbers *= dim.number;
    if (dim.kind == Kind::Heads) heads *= spec.heads.q;
    if (dim.kind == Kind::HeadsKv) heads *= spec.heads.kv();
  }
  return spec::has_dim(input, Kind::Batch) ? numbers == 1 : numbers * heads < 0x1p31;
}

bool is_pair_input(const spec::Spec& spec, const Input& input, const Expr& load, bool of_mask) {
  if (input.element == Input::Element::I32) return false;
  if (input.element == Input::Element::U8 && !of_mask) return false;
  const size_t dims = input.shape.size();
  if (dims < 2 || !numbers_matrices(spec, input)) return false;
  for (size_t i = 0; i < dims; ++i) {
    const Expr& index = load.operand(i);
    const std::string_view last = i + 2 == dims ? "q_idx" : "kv_idx";
    const bool fits = i + 2 < dims ? is_of_tile(index)
                                   : index.op() == Op::Variable && index.name() == last &&
                                         spec::index_of(input.shape[i].kind) == last;
    if (!fits) return false;
  }
  return true;
}

// In the order of the text.
class Search {
 public:
  Search(const spec::Spec& spec, bool of_mask) : spec_(spec), of_mask_(of_mask) {}

  std::optional<PairInput> in(const Expr& e) {
    if (!e || e.operands().empty() || !seen_.insert(e.identity()).second) return std::nullopt;
    if (e.op() == Op::Load) {
      const Input* input = spec_.find_input(e.name());
      if (input != nullptr && is_pair_input(spec_, *input, e, of_mask_)) {
        return PairInput{*input, e, of_mask_};
      }
    }
    for (const Expr& operand : e.operands()) {
      if (auto found = in(operand)) return found;
    }
    return std::nullopt;
  }

 private:
  const spec::Spec& spec_;
  bool of_mask_;
  std::set<const void*> seen_;
};

using Replace = std::function<Expr(const Expr& load)>;

Expr replaced(const Expr& e, const Replace& replace, std::map<const void*, Expr>& done) {
  if (e.operands().empty()) return e.op() == Op::Load ? replace(e) : e;
  if (const auto found = done.find(e.identity()); found != done.end()) return found->second;
  const Expr result =
      expr::map_operands(e, [&](const Expr& operand) { return replaced(operand, replace, done); });
  return done.emplace(e.identity(), e.op() == Op::Load ? replace(result) : result).first->second;
}

}  // namespace

std::optional<PairInput> pair_input(const spec::Spec& spec) {
  Search search(spec, false);
  if (auto found = search.in(spec.score)) return found;
  for (const spec::NamedExpr& row : spec.normalize.rows) {
    if (auto found = search.in(row.value)) return found;
  }
  if (auto found = search.in(spec.normalize.weight)) return found;
  return pair_input_of_mask(spec);
}

std::optional<PairInput> pair_input_of_mask(const spec::Spec& spec) {
  return Search(spec, true).in(spec.mask);
}

bool batches_share_pairs(const spec::Spec& spec) {
  using Kind = Input::Dim::Kind;
  bool any = false;
  for (const Input& input : spec.inputs) {
    if (!has_dim(input, Kind::SeqQ) || !has_dim(input, Kind::SeqKv)) continue;
    if (has_dim(input, Kind::Batch)) return false;
    any = true;
  }
  return any;
}

Expr replace_loads(const Expr& e, const Replace& replace) {
  std::map<const void*, Expr> done;
  return replaced(e, replace, done);
}

}  // namespace attngen::attention
