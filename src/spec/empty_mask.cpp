#include "spec/empty_mask.h"

#include <vector>

#include "expr/ops.h"
#include "expr/simplify.h"
#include "spec/bounds.h"

namespace attngen::spec {
namespace {

using expr::Expr;
using expr::Op;

// a - b - least, which is at least 0 where a - b is at least `least`.
Expr margin(const Expr& a, const Expr& b, int least) {
  return expr::make(Op::Subtract, {expr::make(Op::Subtract, {a, b}), expr::integer(least)});
}

Expr index(const char* name) { return expr::variable(name, expr::Type::Int); }

// Values that are at least 0 of every pair.
std::vector<Expr> facts_of_pairs() {
  return {margin(index("seq_kv"), index("kv_idx"), 1), margin(index("seq_kv"), index("q_pos"), 1),
          margin(index("seq_q"), index("q_idx"), 1)};
}

// Values that are at least 0 where the condition holds.
void add_facts(const Expr& condition, std::vector<Expr>& facts) {
  if (!expr::is_comparison(condition.op())) return;
  const Expr& a = condition.operand(0);
  const Expr& b = condition.operand(1);
  if (a.type() != expr::Type::Int || b.type() != expr::Type::Int) return;
  const Op op = condition.op();
  if (op == Op::Less) facts.push_back(margin(b, a, 1));
  if (op == Op::Greater) facts.push_back(margin(a, b, 1));
  if (op == Op::LessEqual || op == Op::Equal) facts.push_back(margin(b, a, 0));
  if (op == Op::GreaterEqual || op == Op::Equal) facts.push_back(margin(a, b, 0));
}

// The operands of a chain of `and`; the condition itself if it is none.
void add_conditions(const Expr& e, std::vector<Expr>& conditions) {
  if (e.op() != Op::And) return conditions.push_back(e);
  for (const Expr& operand : e.operands()) add_conditions(operand, conditions);
}

class Prover {
 public:
  explicit Prover(const Spec& spec) : bounds_(bounds_of(spec)) {}

  bool never(const Expr& e) {
    if (expr::bound(e, bounds_).is_false()) return true;
    if (e.op() == Op::Or) return never(e.operand(0)) && never(e.operand(1));
    std::vector<Expr> conditions;
    add_conditions(e, conditions);
    std::vector<Expr> facts = facts_of_pairs();
    for (const Expr& condition : conditions) {
      if (conditions.size() > 1 && never(condition)) return true;
      add_facts(condition, facts);
    }
    return exclude_each_other(facts);
  }

 private:
  // Two values that are at least 0 have no negative sum.
  bool exclude_each_other(const std::vector<Expr>& facts) {
    for (size_t i = 1; i < facts.size(); ++i) {
      for (size_t j = 0; j < i && sums_ < kMostSums; ++j, ++sums_) {
        const Expr sum = expr::simplify(expr::make(Op::Add, {facts[i], facts[j]}));
        if (expr::bound(sum, bounds_).high < 0) return true;
      }
    }
    return false;
  }

  static constexpr int kMostSums = 300;  // a limit of time; a mask has a few conditions

  expr::Bounds bounds_;
  int sums_ = 0;
};

}  // namespace

bool holds_for_no_pair(const Expr& mask, const Spec& spec) {
  return Prover(spec).never(expr::simplify(mask));
}

}  // namespace attngen::spec
