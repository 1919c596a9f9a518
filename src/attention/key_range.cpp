// key_range: a mask is taken apart into and / or / not of comparisons; each comparison that is
// solvable for kv_idx bounds the keys of the rows, any other bounds nothing.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attention/block_bounds.h"
#include "attention/choice.h"
#include "attention/keys.h"
#include "attention/linear.h"
#include "attention/positive.h"
#include "attention/sum_range.h"
#include "attention/tiles.h"
#include "expr/bound.h"
#include "expr/simplify.h"

namespace attngen::attention {

using expr::Expr;
using expr::Op;

namespace {

// square(a) <= n as |a| <= the root of n, sign(a) <= n as what it says of a; `at_least`: n <= both.
// Nothing for anything else.
std::optional<Expr> as_bound_of_operand(const Expr& e, double n, bool at_least) {
  const Op op = at_least ? Op::GreaterEqual : Op::LessEqual;
  const auto bound = [&](const Expr& a, double limit) {
    return expr::make(op, {a, expr::integer(static_cast<int64_t>(limit))});
  };
  if (e.op() == Op::Square) {
    if (n < 0 || (at_least && n == 0)) return expr::boolean(at_least);
    const Expr size = expr::make(Op::Abs, {e.operand(0)});
    return bound(size, at_least ? std::ceil(std::sqrt(n)) : std::floor(std::sqrt(n)));
  }
  if (e.op() != Op::Sign) return std::nullopt;
  if (at_least ? n < 0 : n < -1) return expr::boolean(at_least);
  if (at_least ? n > 1 : n > 0) return expr::boolean(!at_least);
  return bound(e.operand(0), n);
}

class KeyFinder {
 public:
  explicit KeyFinder(Inputs inputs) : inputs_(inputs) {}

  // The keys where `mask` holds (`negated`: does not).
  Keys find(const Expr& mask, bool negated);

 private:
  Keys ordered(const Expr& x, const Expr& y, bool strict);  // x <= y, or x < y
  Keys comparison(const Expr& e, bool negated);
  std::optional<Truth> of_rows(const Expr& condition) const;
  Keys choose_for(const Expr& condition, const Keys& yes, const Keys& no);

  Inputs inputs_;
  // Parts still to be looked at, far above what a readable bound has; conditions of conditions
  // double them. Unknown is true of any part. Each part is asked in a statement of its own, so that
  // every compiler spends it in the same order.
  int budget_ = 256;
};

// What rows say of a condition by themselves; nothing if keys do too, or data in no order.
std::optional<Truth> KeyFinder::of_rows(const Expr& condition) const {
  if (expr::mentions(condition, "kv_idx")) return std::nullopt;
  BlockBounds bounds(inputs_);
  const Truth truth = bounds.truth(condition);
  if (!bounds.take_tables().empty()) return Truth{};
  return Truth{expr::simplify(truth.may), expr::simplify(truth.must)};
}

// `yes` where the condition holds, `no` elsewhere.
Keys KeyFinder::choose_for(const Expr& condition, const Keys& yes, const Keys& no) {
  if (!varies(condition)) return choose(condition, yes, no);
  if (const auto rows = of_rows(condition)) return choose_by_rows(rows->may, rows->must, yes, no);
  const Keys holds = find(condition, false), fails = find(condition, true);
  return either(both(holds, yes), both(fails, no));
}

Keys KeyFinder::ordered(const Expr& x, const Expr& y, bool strict) {
  const Op op = strict ? Op::Less : Op::LessEqual;
  const auto split = [&](const Expr& e, bool left, Op all) -> std::optional<Keys> {
    if (!expr::mentions(e, "kv_idx") ||
        (e.op() != Op::Min && e.op() != Op::Max && e.op() != Op::Abs)) {
      return std::nullopt;
    }
    const Expr& a = e.operand(0);
    const Expr b = e.op() == Op::Abs ? expr::make(Op::Negate, {a}) : e.operand(1);
    const auto part = [&](const Expr& half) {
      return find(left ? expr::make(op, {half, y}) : expr::make(op, {x, half}), false);
    };
    // |a| is max(a, -a). max(a, b) <= y is both; x <= max(a, b) is either; min the other way.
    const Keys first = part(a), second = part(b);
    return e.op() == all || (e.op() == Op::Abs && all == Op::Max) ? both(first, second)
                                                                  : either(first, second);
  };
  if (auto keys = split(x, true, Op::Max)) return *keys;
  if (auto keys = split(y, false, Op::Min)) return *keys;
  if (x.is_number() || y.is_number()) {
    const double step = strict ? 1 : 0;
    const auto simpler = y.is_number() ? as_bound_of_operand(x, y.number() - step, false)
                                       : as_bound_of_operand(y, x.number() + step, true);
    if (simpler) return find(*simpler, false);
  }
  const auto left = linear(x);
  const auto right = linear(y);
  const auto difference = left && right ? add(*left, *right, -1) : std::nullopt;
  const auto sum = difference ? add(*difference, {strict ? 1 : 0, {}}) : std::nullopt;
  return sum ? at_most_zero(*sum, inputs_) : unknown_keys();
}

Keys KeyFinder::comparison(const Expr& e, bool negated) {
  const Expr& x = e.operand(0);
  const Expr& y = e.operand(1);
  if (x.type() == expr::Type::Bool) {
    const bool differ = (e.op() == Op::NotEqual) != negated;
    for (size_t i : {size_t{0}, size_t{1}}) {
      if (expr::mentions(e.operand(i), "kv_idx")) continue;
      const Expr& other = e.operand(1 - i);
      const Keys yes = find(other, differ), no = find(other, !differ);
      return choose_for(e.operand(i), yes, no);
    }
    const Keys x_holds = find(x, false), with_x = find(y, differ);
    const Keys x_fails = find(x, true), without_x = find(y, !differ);
    return either(both(x_holds, with_x), both(x_fails, without_x));
  }
  if (const auto choice = choice_of(e)) {
    const Keys yes = find(choice->yes, negated), no = find(choice->no, negated);
    return choose_for(choice->condition, yes, no);
  }
  if (x.type() == expr::Type::Float) return unknown_keys();
  switch (e.op()) {
    case Op::Less:
      return negated ? ordered(y, x, false) : ordered(x, y, true);
    case Op::LessEqual:
      return negated ? ordered(y, x, true) : ordered(x, y, false);
    case Op::Greater:
      return negated ? ordered(x, y, false) : ordered(y, x, true);
    case Op::GreaterEqual:
      return negated ? ordered(x, y, true) : ordered(y, x, false);
    default: {
      if ((e.op() == Op::NotEqual) != negated) return unknown_keys();
      const Keys at_most = ordered(x, y, false), at_least = ordered(y, x, false);
      return both(at_most, at_least);
    }
  }
}

Keys KeyFinder::find(const Expr& mask, bool negated) {
  if (--budget_ < 0) return unknown_keys();
  if (mask.is_number()) return mask.is_number(negated ? 0 : 1) ? all_keys() : no_keys();
  if (!expr::mentions(mask, "kv_idx")) {
    return negated ? choose_for(mask, no_keys(), all_keys())
                   : choose_for(mask, all_keys(), no_keys());
  }
  switch (mask.op()) {
    case Op::Not:
      return find(mask.operand(0), !negated);
    case Op::And:
    case Op::Or: {
      // One side a condition on the row: the choice between two simpler masks.
      for (size_t i : {size_t{0}, size_t{1}}) {
        const Expr& side = mask.operand(i);
        if (expr::mentions(side, "kv_idx")) continue;
        const Keys other = find(mask.operand(1 - i), negated);
        const Keys fixed = (mask.op() == Op::Or) != negated ? all_keys() : no_keys();
        return mask.op() == Op::Or ? choose_for(side, fixed, other)
                                   : choose_for(side, other, fixed);
      }
      const Keys a = find(mask.operand(0), negated);
      const Keys b = find(mask.operand(1), negated);
      return (mask.op() == Op::And) != negated ? both(a, b) : either(a, b);
    }
    case Op::Select: {
      const Expr& condition = mask.operand(0);
      const Keys a = find(mask.operand(1), negated);
      const Keys b = find(mask.operand(2), negated);
      return choose_for(condition, a, b);
    }
    default:
      return comparison(mask, negated);
  }
}

// Limits that take positive factors hold where those of the call are.
Keys find_keys(const Expr& mask, Inputs inputs) {
  Keys any = KeyFinder(inputs).find(mask, false);
  const std::vector<Expr> factors = signed_factors(mask, inputs);
  if (factors.empty()) return any;
  const Keys keys = KeyFinder(inputs).find(with_positive(mask, factors), false);
  return same_keys(keys, any) ? any : choose(are_positive(factors), keys, any);
}

// An end without limit has none; nor has one that takes longer to compute, and to read, than the
// keys that it leaves out are worth.
std::optional<Expr> readable(const Expr& end) {
  constexpr size_t kLongest = 200;
  if (!end) return std::nullopt;
  const Expr simple = expr::simplify(end);
  return expr::count_nodes(simple) <= kLongest ? std::optional(simple) : std::nullopt;
}

}  // namespace

bool searches(const KeyRange& range) {
  for (const Expr& end : {range.begin, range.end, range.full_begin, range.full_end}) {
    for (const std::string& input : expr::inputs_of(end)) {
      if (input.ends_with(kBelow) || input.ends_with(kUpTo)) return true;
    }
  }
  return false;
}

KeyRange key_range(const Expr& mask, Inputs inputs) {
  const Expr simple = expr::simplify(mask);
  const Keys keys = find_keys(simple, inputs);
  const Expr zero = expr::integer(0);
  const Expr seq_kv = expr::variable("seq_kv", expr::Type::Int);
  KeyRange range;
  range.begin = readable(keys.begin).value_or(zero);
  range.end = readable(keys.end).value_or(seq_kv);
  const auto full_begin = keys.full_begin ? readable(keys.full_begin) : zero;
  const auto full_end = keys.full_end ? readable(keys.full_end) : seq_kv;
  const bool full = keys.full && full_begin && full_end;
  range.full_begin = full ? *full_begin : zero;
  range.full_end = full ? *full_end : zero;
  range.always_full = simple.is_number(1);
  return range;
}

}  // namespace attngen::attention
