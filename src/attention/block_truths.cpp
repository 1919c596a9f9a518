// Conditions over a block.
#include <algorithm>
#include <cmath>
#include <limits>

#include "attention/block_bounds.h"
#include "attention/choice.h"
#include "attention/sum_range.h"

namespace attngen::attention {

using expr::Expr;
using expr::Op;

namespace {

// Whether a term that varies is in both: bounding each side by itself would lose that.
bool share_terms(const Linear& a, const Linear& b) {
  for (const Linear::Term& term : a.terms) {
    for (const Linear::Term& other : b.terms) {
      if (varies(term.atom) && expr::same(term.atom, other.atom)) return true;
    }
  }
  return false;
}

// Blocks are no shorter, but for the last: among as many keys every remainder occurs.
constexpr int64_t kShortestBlock = 16;

bool steps_with_keys(const Expr& e) {
  const auto sum = linear(e);
  return sum && std::any_of(sum->terms.begin(), sum->terms.end(), [](const Linear::Term& term) {
           return std::abs(term.coefficient) == 1 && term.atom.op() == Op::Variable &&
                  term.atom.name() == "kv_idx";
         });
}

// Whether a number of x leaves the remainder. Of n turns + r with r in [0, n) the turns are those
// of the least such number and of the greatest: no sum leaves the range of x, whose ends may be any
// number that an input holds.
Expr meets(const Ends& x, const Expr& remainder, const Expr& n) {
  const auto turns = [&](const Expr& e) { return expr::make(Op::FloorDivide, {e, n}); };
  const auto one_if = [&](Op op, const Expr& e) {
    return expr::make(Op::Select, {expr::make(op, {expr::make(Op::Modulo, {e, n}), remainder}),
                                   expr::integer(1), expr::integer(0)});
  };
  const Expr first = expr::make(Op::Add, {turns(x.low), one_if(Op::Greater, x.low)});
  const Expr last = remainder.is_number(0)
                        ? turns(x.high)
                        : expr::make(Op::Subtract, {turns(x.high), one_if(Op::Less, x.high)});
  return expr::make(Op::LessEqual, {first, last});
}

// x % n and y % n of one n leave the same where x - y leaves 0: what no wrap within a block hides.
// Of inputs, whose elements may be any numbers, the difference may not be one.
std::optional<Expr> as_congruence(const Expr& a, const Expr& b) {
  if (a.op() != Op::Modulo || b.op() != Op::Modulo || !expr::same(a.operand(1), b.operand(1)) ||
      !expr::inputs_of(a).empty() || !expr::inputs_of(b).empty()) {
    return std::nullopt;
  }
  const Expr apart = expr::make(Op::Subtract, {a.operand(0), b.operand(0)});
  return expr::make(Op::Modulo, {apart, a.operand(1)});
}

}  // namespace

// Written so that a comparison with a NaN says that some pairs may exist, and not all must.
Truth BlockBounds::less_float(const Expr& a, const Expr& b, bool or_equal) {
  const auto x = ends_of_float(a);
  const auto y = ends_of_float(b);
  if (!x || !y) return {};
  const Op never = or_equal ? Op::Greater : Op::GreaterEqual;
  const Expr kept = negation(expr::make(never, {x->low, y->high}));
  if (!or_equal) return {kept, expr::make(Op::Less, {x->high, y->low})};
  // Of equal infinities one may be the end of pairs that have inf - inf.
  const Expr finite =
      expr::make(Op::Less, {expr::make(Op::Abs, {x->high}), expr::number(expr::kInfinity)});
  return {kept, expr::make(Op::And, {expr::make(Op::LessEqual, {x->high, y->low}), finite})};
}

Truth BlockBounds::less(const Expr& a, const Expr& b, bool or_equal) {
  if (a.type() == expr::Type::Float) return less_float(a, b, or_equal);
  auto left = linear(a);
  auto right = linear(b);
  if (!left || !right) return {};
  if (share_terms(*left, *right)) {
    // No pair's number, but against 0: saturating keeps its sign.
    left = add(*left, *right, -1);
    right = Linear{};
    if (!left) return {};
  }
  const auto x = ends_of_sum(*left);
  const auto y = ends_of_sum(*right);
  if (!x || !y) return {};
  const Op op = or_equal ? Op::LessEqual : Op::Less;
  return {expr::make(op, {x->low, y->high}), expr::make(op, {x->high, y->low})};
}

// x % n == r: whether a number from x's least to its greatest leaves r; whether it is one number.
Truth BlockBounds::congruent(const Expr& modulo, const Expr& remainder) {
  const int64_t n = positive_divisor(modulo);
  if (n <= kShortestBlock && steps_with_keys(modulo.operand(0))) return {};
  const auto x = ends(modulo.operand(0));
  if (n == 0 || !x || !remainder.is_number()) return {};
  if (remainder.number() < 0 || remainder.number() >= static_cast<double>(n)) {
    return {expr::boolean(false), expr::boolean(false)};
  }
  return {meets(*x, remainder, modulo.operand(1)),
          both(expr::make(Op::Equal, {x->low, x->high}),
               expr::make(Op::Equal,
                          {expr::make(Op::Modulo, {x->low, modulo.operand(1)}), remainder}))};
}

// As congruent to 0. The difference is no pair's number: where its ends saturate, numbers between
// them are missing.
Truth BlockBounds::same_remainder(const Expr& difference) {
  Truth known = congruent(difference, expr::integer(0));
  const auto sum = linear(difference.operand(0));
  if (sum && fits_32_bits(range_of(*sum, inputs_))) return known;
  const auto x = ends(difference.operand(0));
  if (!x) return known;
  constexpr int64_t kLowest = std::numeric_limits<int32_t>::min();
  constexpr int64_t kHighest = std::numeric_limits<int32_t>::max();
  const Expr cut = either(expr::make(Op::Equal, {x->low, expr::integer(kLowest)}),
                          expr::make(Op::Equal, {x->high, expr::integer(kHighest)}));
  return {either(known.may, cut), both(known.must, negation(cut))};
}

Truth BlockBounds::equal(const Expr& a, const Expr& b) {
  if (const auto congruence = as_congruence(a, b);
      congruence && positive_divisor(*congruence) > 0) {
    return same_remainder(*congruence);
  }
  if (a.op() == Op::Modulo && b.is_number()) return congruent(a, b);
  if (b.op() == Op::Modulo && a.is_number()) return congruent(b, a);
  const Truth at_most = less(a, b, true);
  const Truth at_least = less(b, a, true);
  Truth result{both(at_most.may, at_least.may), both(at_most.must, at_least.must)};
  // Where the ids 2 and 5 of one block enclose those of another, none need be the same.
  const auto one = table_of(a);
  const auto other = table_of(b);
  if (one && other) result.may = both(result.may, may_meet(*one, *other, tables_));
  return result;
}

Truth BlockBounds::truth_of(const Expr& e) {
  const auto& x = e.operand(0);
  const auto inverse = [](const Truth& t) { return Truth{negation(t.must), negation(t.may)}; };
  const auto all = [](const Truth& a, const Truth& b) {
    return Truth{both(a.may, b.may), both(a.must, b.must)};
  };
  const auto any = [](const Truth& a, const Truth& b) {
    return Truth{either(a.may, b.may), either(a.must, b.must)};
  };
  if (e.op() == Op::Not) return inverse(truth(x));
  // In the text's order, whichever compiler: tables have their numbers from it.
  if (e.op() == Op::Select) {
    const Truth condition = truth(x), yes = truth(e.operand(1)), no = truth(e.operand(2));
    return any(all(condition, yes), all(inverse(condition), no));
  }
  const auto& y = e.operand(1);
  if (x.type() == expr::Type::Bool) {
    const Truth a = truth(x), b = truth(y);
    if (e.op() == Op::And) return all(a, b);
    if (e.op() == Op::Or) return any(a, b);
    const Truth same = any(all(a, b), all(inverse(a), inverse(b)));
    return e.op() == Op::Equal ? same : inverse(same);
  }
  if (const auto choice = choice_of(e); choice && choices_ > 0) {
    --choices_;
    const Truth condition = truth(choice->condition);
    const Truth yes = truth(choice->yes), no = truth(choice->no);
    return any(all(condition, yes), all(inverse(condition), no));
  }
  if (e.op() == Op::NotEqual) return inverse(equal(x, y));
  return compared(e.op(), x, y);
}

Truth BlockBounds::compared(Op comparison, const Expr& x, const Expr& y) {
  switch (comparison) {
    case Op::Less:
      return less(x, y, false);
    case Op::LessEqual:
      return less(x, y, true);
    case Op::Greater:
      return less(y, x, false);
    case Op::GreaterEqual:
      return less(y, x, true);
    default:  // Equal
      return equal(x, y);
  }
}

}  // namespace attngen::attention
