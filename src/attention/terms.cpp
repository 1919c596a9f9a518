#include "attention/terms.h"

#include <cstddef>

namespace attngen::attention {
namespace {

using expr::Expr;
using expr::Op;

constexpr size_t kMostCollected = 64;

void collect_terms(const Expr& e, bool minus, std::vector<Term>& terms) {
  if (is_sum(e) && terms.size() < kMostCollected) {
    collect_terms(e.operand(0), minus, terms);
    collect_terms(e.operand(1), minus != (e.op() == Op::Subtract), terms);
    return;
  }
  terms.push_back({e, minus});
}

}  // namespace

bool is_sum(const Expr& e) {
  return e.type() == expr::Type::Float && (e.op() == Op::Add || e.op() == Op::Subtract);
}

std::vector<Term> terms_of(const Expr& e) {
  std::vector<Term> terms;
  collect_terms(e, false, terms);
  return terms;
}

Expr sum_of(const std::vector<Term>& terms) {
  Expr sum;
  for (const Term& term : terms) {
    if (sum) {
      sum = expr::make(term.minus ? Op::Subtract : Op::Add, {sum, term.value});
    } else {
      sum = term.minus ? expr::make(Op::Negate, {term.value}) : term.value;
    }
  }
  return sum;
}

}  // namespace attngen::attention
