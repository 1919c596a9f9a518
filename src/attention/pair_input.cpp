#include "attention/pair_input.h"

#include <map>
#include <set>

namespace attngen::attention {
namespace {

using expr::Expr;
using expr::Op;
using spec::Input;

bool is_pair_input(const Input& input, const Expr& load, bool of_mask) {
  using Kind = Input::Dim::Kind;
  if (input.element == Input::Element::I32) return false;
  if (input.element == Input::Element::U8 && !of_mask) return false;
  const size_t dims = input.shape.size();
  if (dims < 2 || input.shape[dims - 2].kind != Kind::SeqQ ||
      input.shape[dims - 1].kind != Kind::SeqKv) {
    return false;
  }
  for (size_t i = 0; i < dims; ++i) {
    const Expr& index = load.operand(i);
    const bool once = i + 2 >= dims || input.shape[i].kind == Kind::Batch ||
                      input.shape[i].kind == Kind::Heads || input.shape[i].kind == Kind::HeadsKv;
    if (!once || index.op() != Op::Variable ||
        index.name() != spec::index_of(input.shape[i].kind)) {
      return false;
    }
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
      if (input != nullptr && is_pair_input(*input, e, of_mask_)) {
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
