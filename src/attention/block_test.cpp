// block_test: interval arithmetic on the mask's text. Each number becomes its least and greatest
// value over a block, each condition whether it may hold somewhere and whether it must everywhere.
//
// A pair's numbers are within 32 bits. Their ends need not be: one key's greatest id and another's
// least may differ by more. Such an end saturates, and still is one of all pairs' numbers.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "attention/ends.h"
#include "attention/interval_mask.h"
#include "attention/known.h"
#include "attention/linear.h"
#include "attention/sum_range.h"
#include "attention/tiles.h"
#include "expr/simplify.h"

namespace attngen::attention {

using expr::Expr;
using expr::Op;

namespace {

struct Truth {
  Expr may = expr::boolean(true);
  Expr must = expr::boolean(false);
};

Expr name(const char* variable) { return expr::variable(variable, expr::Type::Int); }

Expr both(const Expr& a, const Expr& b) { return expr::make(Op::And, {a, b}); }
Expr either(const Expr& a, const Expr& b) { return expr::make(Op::Or, {a, b}); }
Expr negation(const Expr& a) { return expr::make(Op::Not, {a}); }

bool varies(const Expr& e) {
  return expr::mentions(e, "kv_idx") || expr::mentions(e, "q_idx") || expr::mentions(e, "q_pos");
}

// n of `x % n` or `x // n` where n is a number, and the least Int can be divided by it; else 0.
int64_t divisor_of(const Expr& e) {
  const Expr& divisor = e.operand(1);
  constexpr double kLargest = 1 << 30;
  if (!divisor.is_number() || std::abs(divisor.number()) > kLargest) return 0;
  return divisor.is_number(-1) ? 0 : static_cast<int64_t>(divisor.number());
}
int64_t positive_divisor(const Expr& e) { return std::max<int64_t>(0, divisor_of(e)); }

class BlockBounds {
 public:
  explicit BlockBounds(Inputs inputs) : inputs_(inputs) {}

  Truth truth(const Expr& e) {
    if (!varies(e)) return {e, e};
    if (const auto done = truths_.find(e.identity()); done != truths_.end()) return done->second;
    Truth result = truth_of(e);
    truths_.emplace(e.identity(), result);
    return result;
  }

  std::vector<IdTable> take_tables() { return std::move(tables_); }

 private:
  Truth truth_of(const Expr& e);
  Truth less(const Expr& a, const Expr& b, bool or_equal);
  Truth equal(const Expr& a, const Expr& b);
  Truth less_float(const Expr& a, const Expr& b, bool or_equal);
  Truth congruent(const Expr& modulo, const Expr& remainder);
  Truth same_remainder(const Expr& difference);

  // Nothing where an end is unknown.
  std::optional<Ends> ends(const Expr& e);
  std::optional<Ends> ends_of_atom(const Expr& e);
  std::optional<Ends> ends_of_sum(const Linear& sum);
  std::optional<Expr> negated(const Expr& e);
  std::optional<Ends> size_of(const Ends& x);
  std::optional<Ends> ends_of_load(const Expr& e);
  std::optional<size_t> table_of(const Expr& e);
  std::optional<Ends> ends_of_modulo(const Expr& e);
  std::optional<Ends> ends_of_float(const Expr& e);
  std::optional<Ends> ends_of_float_sum(const Expr& e);
  std::optional<Ends> ends_of_float_product(const Expr& e);
  std::optional<Ends> ends_of_float_function(const Expr& e);
  bool loads(const Expr& e);

  Inputs inputs_;
  std::map<const void*, Truth> truths_;
  std::vector<IdTable> tables_;
  Known<bool> loads_;
};

std::optional<Ends> BlockBounds::ends(const Expr& e) {
  if (!varies(e)) return Ends{e, e};
  const auto sum = linear(e);
  return sum ? ends_of_sum(*sum) : std::nullopt;
}

std::optional<Ends> BlockBounds::ends_of_sum(const Linear& sum) {
  Linear low, high;
  low.constant = high.constant = sum.constant;
  for (const Linear::Term& term : sum.terms) {
    const auto atom = ends_of_atom(term.atom);
    if (!atom) return std::nullopt;
    const bool falls = term.coefficient < 0;
    const auto least = linear(falls ? atom->high : atom->low);
    const auto greatest = linear(falls ? atom->low : atom->high);
    if (!least || !greatest) return std::nullopt;
    const auto next_low = add(low, *least, term.coefficient);
    const auto next_high = add(high, *greatest, term.coefficient);
    if (!next_low || !next_high) return std::nullopt;
    low = *next_low;
    high = *next_high;
  }
  const auto least = saturated(low, inputs_);
  const auto greatest = saturated(high, inputs_);
  return least && greatest ? std::optional(Ends{*least, *greatest}) : std::nullopt;
}

// The least id has no opposite, and stands in tables even where no pair looks at it.
std::optional<Expr> BlockBounds::negated(const Expr& e) {
  const auto sum = linear(e);
  const auto opposite = sum ? add({}, *sum, -1) : std::nullopt;
  if (!opposite) return std::nullopt;
  const Expr negative = expr::make(Op::Negate, {e});
  return fits_32_bits(range_of(*opposite, inputs_)) ? negative
                                                    : expr::make(Op::Saturate, {negative});
}

std::optional<Ends> BlockBounds::ends_of_atom(const Expr& e) {
  if (!varies(e)) return Ends{e, e};
  const auto operand = [&](size_t i) { return ends(e.operand(i)); };
  switch (e.op()) {
    case Op::Variable:
      return e.name() == "kv_idx" ? Ends{name("kv_first"), name("kv_last")}
                                  : Ends{name("q_first"), name("q_last")};
    case Op::Load:
      return ends_of_load(e);
    case Op::Modulo:
      return ends_of_modulo(e);
    case Op::FloorDivide: {
      const auto x = operand(0);
      const int64_t divisor = divisor_of(e);
      if (!x || divisor == 0) return std::nullopt;
      return divisor > 0 ? rising(e, *x) : falling(e, *x);
    }
    case Op::Min:
    case Op::Max: {
      const auto x = operand(0);
      const auto y = operand(1);
      if (!x || !y) return std::nullopt;
      return Ends{expr::make(e.op(), {x->low, y->low}), expr::make(e.op(), {x->high, y->high})};
    }
    case Op::Abs: {
      const auto x = operand(0);
      return x ? size_of(*x) : std::nullopt;
    }
    case Op::Square:
    case Op::Multiply: {  // of two that vary: a square too, where they are one
      if (e.op() == Op::Multiply && !expr::same(e.operand(0), e.operand(1))) return std::nullopt;
      const auto x = operand(0);
      const auto size = x ? size_of(*x) : std::nullopt;
      return size ? std::optional(square_of_size(*size)) : std::nullopt;
    }
    case Op::Relu:
    case Op::Sign: {
      const auto x = operand(0);
      return x ? std::optional(rising(e, *x)) : std::nullopt;
    }
    case Op::ToInt: {
      const auto x = ends_of_float(e.operand(0));
      return x ? std::optional(whole_where_finite(rising(e, *x), *x)) : std::nullopt;
    }
    case Op::Select: {
      const auto x = operand(1);
      const auto y = operand(2);
      if (!x || !y) return std::nullopt;
      if (!varies(e.operand(0))) {
        return Ends{expr::make(Op::Select, {e.operand(0), x->low, y->low}),
                    expr::make(Op::Select, {e.operand(0), x->high, y->high})};
      }
      return Ends{expr::make(Op::Min, {x->low, y->low}), expr::make(Op::Max, {x->high, y->high})};
    }
    default:
      return std::nullopt;
  }
}

std::optional<Ends> BlockBounds::size_of(const Ends& x) {
  const auto above = negated(x.low);
  const auto below = negated(x.high);
  if (!above || !below) return std::nullopt;
  const Expr nearest = expr::make(Op::Max, {x.low, *below});
  return Ends{expr::make(Op::Relu, {nearest}), expr::make(Op::Max, {x.high, *above})};
}

bool ascends(const Expr& load, Inputs inputs) {
  const auto& indices = load.operands();
  return sorted_input(load, inputs) != nullptr &&
         std::none_of(indices.begin(), indices.end() - 1, varies);
}

std::optional<size_t> BlockBounds::table_of(const Expr& e) {
  if (e.op() != Op::Load || e.type() != expr::Type::Int || ascends(e, inputs_)) {
    return std::nullopt;
  }
  return find_table(e, tables_);
}

// An input that ascends along its last dimension is least at the least index; of any other a table
// knows.
std::optional<Ends> BlockBounds::ends_of_load(const Expr& e) {
  const auto& indices = e.operands();
  const auto last = ascends(e, inputs_) ? ends(indices.back()) : std::nullopt;
  if (!last) {
    const auto table = table_of(e);
    if (!table) return std::nullopt;
    return Ends{least_of(*table, tables_), greatest_of(*table, tables_)};
  }
  const auto at = [&](const Expr& index) {
    std::vector<Expr> moved(indices.begin(), indices.end());
    moved.back() = index;
    return expr::load(e.name(), e.type(), std::move(moved));
  };
  return Ends{at(last->low), at(last->high)};
}

// Within one turn of the divisor a remainder grows with its dividend.
std::optional<Ends> BlockBounds::ends_of_modulo(const Expr& e) {
  const int64_t divisor = positive_divisor(e);
  if (divisor == 0) return std::nullopt;
  const Ends all{expr::integer(0), expr::integer(divisor - 1)};
  const auto x = ends(e.operand(0));
  if (!x) return all;
  const auto turn = [&](const Expr& at) { return expr::make(Op::FloorDivide, {at, e.operand(1)}); };
  const auto remainder = [&](const Expr& at) { return expr::make(Op::Modulo, {at, e.operand(1)}); };
  const Expr one_turn = expr::make(Op::Equal, {turn(x->low), turn(x->high)});
  return Ends{expr::make(Op::Select, {one_turn, remainder(x->low), all.low}),
              expr::make(Op::Select, {one_turn, remainder(x->high), all.high})};
}

// Whether it reads elements that differ within a block; of others the ends tell as much.
bool BlockBounds::loads(const Expr& e) {
  if (!varies(e)) return false;
  if (const bool* known = loads_.find(e)) return *known;
  const auto& operands = e.operands();
  const bool any =
      e.op() == Op::Load || std::any_of(operands.begin(), operands.end(),
                                        [this](const Expr& operand) { return loads(operand); });
  return loads_.keep(e, any);
}

// By the operations that a pair takes, on ends: rounding keeps their order. Where a pair has a NaN,
// each end is one or infinite: so the lower one of `abs` may be below 0, and what is multiplied by
// 0 has none.
std::optional<Ends> BlockBounds::ends_of_float(const Expr& e) {
  if (!varies(e)) return Ends{e, e};
  if (loads(e)) {
    if (const auto table = find_table(e, tables_)) {
      return Ends{least_of(*table, tables_), greatest_of(*table, tables_)};
    }
  }
  if (e.op() == Op::ToFloat) {
    const auto x = ends(e.operand(0));
    return x ? std::optional(rising(e, *x)) : std::nullopt;
  }
  switch (e.op()) {
    case Op::Negate: {
      const auto x = ends_of_float(e.operand(0));
      return x ? std::optional(falling(e, *x)) : std::nullopt;
    }
    case Op::Floor: {
      const auto x = ends_of_float(e.operand(0));
      return x ? std::optional(rising(e, *x)) : std::nullopt;
    }
    case Op::Abs: {
      const auto x = ends_of_float(e.operand(0));
      if (!x) return std::nullopt;
      const Expr below = expr::make(Op::Negate, {x->high});
      const Expr above = expr::make(Op::Negate, {x->low});
      return Ends{expr::make(Op::Max, {x->low, below}), expr::make(Op::Max, {x->high, above})};
    }
    case Op::Add:
    case Op::Subtract:
      return ends_of_float_sum(e);
    case Op::Multiply:
    case Op::Divide:
    case Op::FloorDivide:
      return ends_of_float_product(e);
    default:
      return ends_of_float_function(e);
  }
}

std::optional<Ends> BlockBounds::ends_of_float_sum(const Expr& e) {
  const auto x = ends_of_float(e.operand(0));
  const auto y = ends_of_float(e.operand(1));
  if (!x || !y) return std::nullopt;
  const bool falls = e.op() == Op::Subtract;
  return Ends{expr::make(e.op(), {x->low, falls ? y->high : y->low}),
              expr::make(e.op(), {x->high, falls ? y->low : y->high})};
}

// By a number; of a factor that is none, which is the same for the block, the sign decides. What is
// multiplied by itself is a square.
std::optional<Ends> BlockBounds::ends_of_float_product(const Expr& e) {
  const bool multiplies = e.op() == Op::Multiply;
  const size_t varying = multiplies && !varies(e.operand(0)) ? 1 : 0;
  const Expr& factor = e.operand(1 - varying);
  const auto x = ends_of_float(e.operand(varying));
  if (!x) return std::nullopt;
  if (multiplies && expr::same(e.operand(0), e.operand(1))) return ends_of_square(*x);
  if (varies(factor) || factor.is_number(0)) return std::nullopt;
  const Ends up = rising(e, *x, varying), down = falling(e, *x, varying);
  if (factor.is_number()) return factor.number() < 0 ? down : up;
  if (!multiplies) return std::nullopt;
  const Expr rises = expr::make(Op::GreaterEqual, {factor, expr::number(0)});
  return Ends{expr::make(Op::Select, {rises, up.low, down.low}),
              expr::make(Op::Select, {rises, up.high, down.high})};
}

std::optional<Ends> BlockBounds::ends_of_float_function(const Expr& e) {
  std::vector<Ends> operands;
  for (const Expr& operand : e.operands()) {
    if (operand.type() != expr::Type::Float) return std::nullopt;
    const auto x = ends_of_float(operand);
    if (!x) return std::nullopt;
    operands.push_back(*x);
  }
  if (operands.empty()) return std::nullopt;
  const Ends& x = operands[0];
  if (is_rising_function(e.op())) return ends_of_function(e.op(), x);
  switch (e.op()) {
    case Op::Square:
      return ends_of_square(x);
    case Op::Relu:
    case Op::Sign:
      return where_finite(rising(e, x), operands);
    case Op::Min:
    case Op::Max: {
      const Ends& y = operands[1];
      return where_finite(
          {expr::make(e.op(), {x.low, y.low}), expr::make(e.op(), {x.high, y.high})}, operands);
    }
    default:
      return std::nullopt;
  }
}

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

// Whether a term that varies is in both: bounding each side by itself would lose that.
bool share_terms(const Linear& a, const Linear& b) {
  for (const Linear::Term& term : a.terms) {
    for (const Linear::Term& other : b.terms) {
      if (varies(term.atom) && expr::same(term.atom, other.atom)) return true;
    }
  }
  return false;
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
  if (e.operands().size() == 3) {
    const Truth condition = truth(x);
    return any(all(condition, truth(e.operand(1))), all(inverse(condition), truth(e.operand(2))));
  }
  if (e.operands().size() != 2) return {};
  const auto& y = e.operand(1);
  if (e.op() == Op::And) return all(truth(x), truth(y));
  if (e.op() == Op::Or) return any(truth(x), truth(y));
  if (x.type() != y.type()) return {};
  if (x.type() == expr::Type::Bool) {
    const Truth a = truth(x), b = truth(y);
    const Truth same = any(all(a, b), all(inverse(a), inverse(b)));
    return e.op() == Op::Equal ? same : inverse(same);
  }
  switch (e.op()) {
    case Op::Less:
      return less(x, y, false);
    case Op::LessEqual:
      return less(x, y, true);
    case Op::Greater:
      return less(y, x, false);
    case Op::GreaterEqual:
      return less(y, x, true);
    case Op::Equal:
      return equal(x, y);
    case Op::NotEqual:
      return inverse(equal(x, y));
    default:
      return {};
  }
}

// Parts joined by `and`.
void split(const Expr& mask, std::vector<Expr>& parts) {
  if (mask.op() == Op::And) {
    split(mask.operand(0), parts);
    split(mask.operand(1), parts);
  } else {
    parts.push_back(mask);
  }
}

// The producer asks of every block: beyond so many nodes it would take longer than it saves.
constexpr size_t kMostAsked = 1000;

}  // namespace

std::optional<BlockTest> block_test(const Expr& mask, Inputs inputs) {
  const Expr simple = expr::simplify(mask);
  if (is_interval_mask(key_range(simple, inputs))) return std::nullopt;
  std::vector<Expr> parts;
  split(simple, parts);
  BlockBounds bounds(inputs);
  Expr kept = expr::boolean(true);
  for (const Expr& part : parts) {
    // One stretch of keys: key_range's ends say it all.
    if (!is_interval_mask(key_range(part, inputs))) kept = both(kept, bounds.truth(part).may);
  }
  kept = expr::simplify(kept);
  if (!expr::mentions(kept, "kv_first") && !expr::mentions(kept, "kv_last") && !reads_table(kept)) {
    return std::nullopt;
  }
  const Expr full = expr::simplify(bounds.truth(simple).must);
  if (expr::count_nodes(kept) + expr::count_nodes(full) > kMostAsked) return std::nullopt;
  // What was asked of a table may have been in vain: the other side of a maximum is unknown.
  const bool read = reads_table(kept) || reads_table(full);
  return BlockTest{kept, full, read ? bounds.take_tables() : std::vector<IdTable>()};
}

std::optional<BlockTest> block_test(const spec::Spec& spec) {
  if (spec.block_size > 0) return std::nullopt;
  return block_test(spec.mask, spec.inputs);
}

}  // namespace attngen::attention
