#include "attention/pair_input.h"

#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "attention/reductions.h"

namespace attngen::attention {
namespace {

using expr::Expr;
using expr::Op;
using spec::Input;

// The variable that runs over the dimension.
std::string_view index_of(Input::Dim::Kind kind) {
  switch (kind) {
    case Input::Dim::Kind::Batch:
      return "b";
    case Input::Dim::Kind::Heads:
      return "h";
    case Input::Dim::Kind::HeadsKv:
      return "h_kv";
    case Input::Dim::Kind::SeqQ:
      return "q_idx";
    case Input::Dim::Kind::SeqKv:
      return "kv_idx";
    case Input::Dim::Kind::Seq:
    case Input::Dim::Kind::HeadDim:
    case Input::Dim::Kind::Number:
      break;
  }
  return "";
}

bool is_pair_input(const Input& input, const Expr& load) {
  using Kind = Input::Dim::Kind;
  if (input.element == Input::Element::I32 || input.element == Input::Element::U8) return false;
  const size_t dims = input.shape.size();
  if (dims < 2 || input.shape[dims - 2].kind != Kind::SeqQ ||
      input.shape[dims - 1].kind != Kind::SeqKv) {
    return false;
  }
  for (size_t i = 0; i < dims; ++i) {
    const Expr& index = load.operand(i);
    const bool once = i + 2 >= dims || input.shape[i].kind == Kind::Batch ||
                      input.shape[i].kind == Kind::Heads || input.shape[i].kind == Kind::HeadsKv;
    if (!once || index.op() != Op::Variable || index.name() != index_of(input.shape[i].kind)) {
      return false;
    }
  }
  return true;
}

// In the order of the text.
class Search {
 public:
  explicit Search(const spec::Spec& spec) : spec_(spec) {}

  std::optional<PairInput> in(const Expr& e) {
    if (!e || e.operands().empty() || !seen_.insert(e.identity()).second) return std::nullopt;
    if (e.op() == Op::Load) {
      const Input* input = spec_.find_input(e.name());
      if (input != nullptr && is_pair_input(*input, e)) return PairInput{*input, e};
    }
    for (const Expr& operand : e.operands()) {
      if (auto found = in(operand)) return found;
    }
    return std::nullopt;
  }

 private:
  const spec::Spec& spec_;
  std::set<const void*> seen_;
};

Expr replaced(const Expr& e, const Expr& load, const Expr& value,
              std::map<const void*, Expr>& done) {
  if (e.operands().empty()) return e;
  if (e.op() == Op::Load && expr::same(e, load)) return value;
  if (const auto found = done.find(e.identity()); found != done.end()) return found->second;
  std::vector<Expr> operands;
  for (const Expr& operand : e.operands()) operands.push_back(replaced(operand, load, value, done));
  return done.emplace(e.identity(), with_operands(e, std::move(operands))).first->second;
}

}  // namespace

std::optional<PairInput> pair_input(const spec::Spec& spec) {
  Search search(spec);
  if (auto found = search.in(spec.score)) return found;
  for (const spec::NamedExpr& row : spec.normalize.rows) {
    if (auto found = search.in(row.value)) return found;
  }
  return search.in(spec.normalize.weight);
}

Expr with_value(const Expr& e, const Expr& load, const Expr& value) {
  std::map<const void*, Expr> done;
  return e ? replaced(e, load, value, done) : e;
}

}  // namespace attngen::attention
