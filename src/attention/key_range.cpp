// key_range: a mask is taken apart into and / or / not of comparisons; each comparison that is
// solvable for kv_idx bounds the keys of the rows, any other bounds nothing.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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

// Keys [begin, end) hold every pair of the rows, [full_begin, full_end) only pairs. An absent end
// is without limit on its side; `full` false claims nothing.
struct Keys {
  Expr begin, end;
  bool full = false;
  Expr full_begin, full_end;
};

Keys all_keys() { return {{}, {}, true, {}, {}}; }
Keys no_keys() { return {expr::integer(0), expr::integer(0), false, {}, {}}; }
Keys unknown_keys() { return {}; }

// Of two ends where an absent one wins (`loosest`) or loses (`tightest`).
Expr loosest(Op op, const Expr& a, const Expr& b) {
  if (!a || !b) return {};
  return expr::same(a, b) ? a : expr::make(op, {a, b});
}
Expr tightest(Op op, const Expr& a, const Expr& b) {
  if (!a || !b) return a ? a : b;
  return expr::same(a, b) ? a : expr::make(op, {a, b});
}

bool never(const Keys& keys) {
  return keys.begin && keys.end && keys.begin.is_number(0) && keys.end.is_number(0);
}

Keys both(const Keys& a, const Keys& b) {
  if (never(a) || never(b)) return no_keys();
  return {tightest(Op::Max, a.begin, b.begin), tightest(Op::Min, a.end, b.end), a.full && b.full,
          tightest(Op::Max, a.full_begin, b.full_begin), tightest(Op::Min, a.full_end, b.full_end)};
}

bool moves_with_rows(const Expr& e) {
  return e && (expr::mentions(e, "q_first") || expr::mentions(e, "q_last"));
}

Keys either(const Keys& a, const Keys& b) {
  if (never(a)) return b;
  if (never(b)) return a;
  Keys keys{
      loosest(Op::Min, a.begin, b.begin), loosest(Op::Max, a.end, b.end), a.full || b.full, {}, {}};
  if (!a.full || !b.full) {
    const Keys& known = a.full ? a : b;
    keys.full_begin = known.full_begin;
    keys.full_end = known.full_end;
  } else if (!a.full_begin && !b.full_begin) {
    keys.full_end = loosest(Op::Max, a.full_end, b.full_end);
  } else if (!a.full_end && !b.full_end) {
    keys.full_begin = loosest(Op::Min, a.full_begin, b.full_begin);
  } else {
    // Two stretches with a gap between: the one that moves with the rows is the long one, a window
    // beside a few first keys.
    const bool b_moves = moves_with_rows(b.full_begin) || moves_with_rows(b.full_end);
    keys.full_begin = b_moves ? b.full_begin : a.full_begin;
    keys.full_end = b_moves ? b.full_end : a.full_end;
  }
  return keys;
}

// `a` where the condition, which is constant along rows and keys, holds; else `b`.
Keys choose(const Expr& condition, const Keys& a, const Keys& b) {
  const auto select = [&](const Expr& x, const Expr& y, const Expr& unlimited) -> Expr {
    if (!x && !y) return {};
    return expr::make(Op::Select, {condition, x ? x : unlimited, y ? y : unlimited});
  };
  const Expr zero = expr::integer(0);
  const Expr last = expr::variable("seq_kv", expr::Type::Int);
  const auto full_end = [&](const Keys& keys) { return keys.full ? keys.full_end : zero; };
  return {select(a.begin, b.begin, zero), select(a.end, b.end, last), a.full || b.full,
          select(a.full ? a.full_begin : zero, b.full ? b.full_begin : zero, zero),
          select(full_end(a), full_end(b), last)};
}

bool reads_pair_or_row(const Expr& e) {
  return expr::mentions(e, "kv_idx") || expr::mentions(e, "q_idx") || expr::mentions(e, "q_pos");
}

// times * kv_idx <= limit (or >=, `above`).
Keys half_line(int64_t times, const Linear& limit, bool above, Inputs inputs) {
  // The first key, or the one beyond the last.
  const auto end_at = [&](const std::optional<Linear>& sum) {
    const auto key = sum ? quotient(*sum, times, above, inputs) : std::nullopt;
    return key ? add(*key, {above ? 0 : 1, {}}) : std::nullopt;
  };
  const auto low = end_at(least(limit, inputs));
  const auto high = end_at(greatest(limit, inputs));
  if (!low || !high) return unknown_keys();
  // w[b] + 1 saturates: w[b] may be the largest number for no limit.
  const auto outer = saturated(above ? *low : *high, inputs);
  const auto inner = saturated(above ? *high : *low, inputs);
  if (!outer || !inner) return unknown_keys();
  return above ? Keys{*outer, {}, true, *inner, {}} : Keys{{}, *outer, true, {}, *inner};
}

// A search of `load`, an element of an input that ascends along the keys, for what is below
// `value` (`or_equal`: or is it).
struct CountOf {
  Linear value;
  bool or_equal = false;
};

// How many elements are at most `sum`, which are those below sum + 1: of the two searches, the
// preferred one first, that whose value is within 32 bits, or else saturates where that changes no
// count. Nothing is below the least number, and all is at most the greatest. Of a sum that may be
// beyond either no search is exact; then it is `more` or none too many.
std::optional<Expr> count_up_to(const Expr& load, const Linear& sum, bool prefer_below, bool more,
                                Inputs inputs) {
  const auto next = add(sum, {1, {}});
  if (!next) return std::nullopt;
  const CountOf up_to{sum, true}, below{*next, false};
  const auto fits = [&](const CountOf& search) {
    return fits_32_bits(range_of(search.value, inputs));
  };
  const auto exact = [&](const CountOf& search) {
    const expr::Interval range = range_of(search.value, inputs);
    return search.or_equal ? range.low >= -0x1p31 : range.high < 0x1p31;
  };
  const CountOf searches[] = {prefer_below ? below : up_to, prefer_below ? up_to : below};
  const CountOf* chosen = std::ranges::find_if(searches, fits);
  if (chosen == std::end(searches)) chosen = std::ranges::find_if(searches, exact);
  if (chosen == std::end(searches)) chosen = more ? &up_to : &below;
  const auto value = saturated(chosen->value, inputs);
  if (!value) return std::nullopt;
  std::vector<Expr> indices(load.operands().begin(), load.operands().end());
  indices.back() = *value;
  return expr::load(load.name() + std::string(chosen->or_equal ? kUpTo : kBelow), expr::Type::Int,
                    std::move(indices));
}

// input[..., kv_idx] <= limit (or >=, `above`), where the input ascends along the keys: a search
// finds the key. Any other index may be clamped, and then the keys are none of a stretch.
Keys half_line_of(const Expr& load, const Linear& limit, bool above, Inputs inputs) {
  const spec::Input* input = sorted_input(load, inputs);
  if (input == nullptr || input->shape.back().kind != spec::Input::Dim::Kind::SeqKv) {
    return unknown_keys();
  }
  const auto& indices = load.operands();
  if (indices.back().op() != Op::Variable ||
      std::any_of(indices.begin(), indices.end() - 1, reads_pair_or_row)) {
    return unknown_keys();
  }
  // Keys from the first that is at least the limit on are those beyond all at most limit - 1.
  const auto last = above ? add(limit, {-1, {}}) : limit;
  const auto low = last ? least(*last, inputs) : std::nullopt;
  const auto high = last ? greatest(*last, inputs) : std::nullopt;
  if (!low || !high) return unknown_keys();
  // What an id alone is compared with needs no sum.
  const bool prefer_below = above ? limit.constant != 1 : limit.constant == -1;
  const auto outer = count_up_to(load, above ? *low : *high, prefer_below, !above, inputs);
  const auto inner = count_up_to(load, above ? *high : *low, prefer_below, above, inputs);
  if (!outer || !inner) return unknown_keys();
  return above ? Keys{*outer, {}, true, *inner, {}} : Keys{{}, *outer, true, {}, *inner};
}

// What a limit x <= y (x >= y, `above`) says is at most 0.
std::optional<Linear> limited(const std::optional<Linear>& x, const std::optional<Linear>& y,
                              bool above) {
  if (!x || !y) return std::nullopt;
  return above ? add(*y, *x, -1) : add(*x, *y, -1);
}

// x // n or x * n, which is at most the limit (at least, `above`), as a sum of x that is at most 0.
std::optional<Linear> undone(const Expr& atom, const Linear& limit, bool above, Inputs inputs) {
  if (atom.op() == Op::Multiply) {
    for (const size_t i : {size_t{0}, size_t{1}}) {
      if (!is_shared_from(1, atom.operand(1 - i), inputs)) continue;
      // x n <= limit: x <= limit // n. x n >= limit: -x <= -limit // n.
      const auto x = linear(atom.operand(i));
      const auto side = add({}, limit, above ? -1 : 1);
      const auto end = side ? floor_of(*side, atom.operand(1 - i), inputs) : std::nullopt;
      const auto signed_x = x ? add({}, *x, above ? -1 : 1) : std::nullopt;
      return limited(signed_x, end, false);
    }
  }
  if (atom.op() != Op::FloorDivide) return std::nullopt;
  const Expr& n = atom.operand(1);
  const auto x = linear(atom.operand(0));
  if (n.is_number()) {
    if (n.number() < 1 || n.number() > 1 << 30) return std::nullopt;
    // x // n <= limit: x <= (limit + 1) n - 1. x // n >= limit: x >= limit n.
    const auto size = static_cast<int64_t>(n.number());
    return limited(x, add({above ? 0 : size - 1, {}}, limit, size), above);
  }
  // Where the product is beyond 32 bits it saturates at a number that no x is.
  if (!x || !is_shared_from(1, n, inputs) || range_of(*x, inputs).high >= 0x1p31 - 1) {
    return std::nullopt;
  }
  const auto beyond = above ? limit : add(limit, {1, {}});
  const auto end = beyond ? product(*beyond, n, inputs) : std::nullopt;
  return limited(x, end && !above ? add(*end, {-1, {}}) : end, above);
}

// A remainder neither grows nor falls along rows, but what is left of a sum without it may:
// q_pos - q_pos % n does as q_pos // n * n.
Linear in_one_direction(const Linear& limit, Inputs inputs) {
  const auto is_monotone = [&](const Linear& sum) {
    bool up = false, down = false, unknown = false;
    for (const auto& [atom, times] : sum.terms) {
      const Direction d = direction_in_q(atom, inputs);
      unknown = unknown || d == Direction::Unknown;
      up = up || (times > 0 ? d == Direction::Up : d == Direction::Down);
      down = down || (times > 0 ? d == Direction::Down : d == Direction::Up);
    }
    return !unknown && !(up && down);
  };
  const Linear without = without_remainders(limit, inputs);
  return !is_monotone(limit) && is_monotone(without) ? without : limit;
}

// Keys with sum <= 0: solved for kv_idx.
Keys at_most_zero(const Linear& sum, Inputs inputs) {
  const auto reads_key = [](const Linear::Term& term) {
    return expr::mentions(term.atom, "kv_idx");
  };
  const auto key = std::find_if(sum.terms.begin(), sum.terms.end(), reads_key);
  if (key == sum.terms.end() || std::count_if(sum.terms.begin(), sum.terms.end(), reads_key) != 1) {
    return unknown_keys();
  }
  const bool above = key->coefficient < 0;
  Linear rest = sum;
  rest.terms.erase(rest.terms.begin() + (key - sum.terms.begin()));
  // n key <= -rest, or -n key <= -rest: n key >= rest.
  const int64_t times = std::abs(key->coefficient);
  auto bound = add({}, rest, above ? 1 : -1);
  if (!bound) return unknown_keys();
  bound = in_one_direction(*bound, inputs);
  const Expr& atom = key->atom;
  if (atom.op() == Op::Variable) return half_line(times, *bound, above, inputs);
  const auto limit = quotient(*bound, times, above, inputs);
  if (!limit) return unknown_keys();
  if (atom.op() == Op::Load) return half_line_of(atom, *limit, above, inputs);
  const auto next = undone(atom, *limit, above, inputs);
  return next ? at_most_zero(*next, inputs) : unknown_keys();
}

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

  Inputs inputs_;
  // Parts still to be looked at, far above what a readable bound has; conditions of conditions
  // double them. Unknown is true of any part. Each part is asked in a statement of its own, so that
  // every compiler spends it in the same order.
  int budget_ = 256;
};

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
      if (reads_pair_or_row(e.operand(i))) continue;
      const Expr& other = e.operand(1 - i);
      const Keys yes = find(other, differ), no = find(other, !differ);
      return choose(e.operand(i), yes, no);
    }
    const Keys x_holds = find(x, false), with_x = find(y, differ);
    const Keys x_fails = find(x, true), without_x = find(y, !differ);
    return either(both(x_holds, with_x), both(x_fails, without_x));
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
  if (!reads_pair_or_row(mask)) {
    return negated ? choose(mask, no_keys(), all_keys()) : choose(mask, all_keys(), no_keys());
  }
  switch (mask.op()) {
    case Op::Not:
      return find(mask.operand(0), !negated);
    case Op::And:
    case Op::Or: {
      // One side a condition on the head or the batch: the choice between two simpler masks.
      for (size_t i : {size_t{0}, size_t{1}}) {
        const Expr& side = mask.operand(i);
        if (reads_pair_or_row(side)) continue;
        const Keys other = find(mask.operand(1 - i), negated);
        const Keys fixed = (mask.op() == Op::Or) != negated ? all_keys() : no_keys();
        return mask.op() == Op::Or ? choose(side, fixed, other) : choose(side, other, fixed);
      }
      const Keys a = find(mask.operand(0), negated);
      const Keys b = find(mask.operand(1), negated);
      return (mask.op() == Op::And) != negated ? both(a, b) : either(a, b);
    }
    case Op::Select: {
      const Expr& condition = mask.operand(0);
      const Keys a = find(mask.operand(1), negated);
      const Keys b = find(mask.operand(2), negated);
      if (!reads_pair_or_row(condition)) return choose(condition, a, b);
      const Keys holds = find(condition, false), fails = find(condition, true);
      return either(both(holds, a), both(fails, b));
    }
    default:
      return comparison(mask, negated);
  }
}

bool same_keys(const Keys& a, const Keys& b) {
  const auto same = [](const Expr& x, const Expr& y) {
    return x && y ? expr::same(x, y) : !x && !y;
  };
  return same(a.begin, b.begin) && same(a.end, b.end) && a.full == b.full &&
         same(a.full_begin, b.full_begin) && same(a.full_end, b.full_end);
}

// Limits that take positive factors hold where those of the call are.
Keys find_keys(const Expr& mask, Inputs inputs) {
  Keys any = KeyFinder(inputs).find(mask, false);
  const std::vector<Expr> factors = signed_factors(mask, inputs);
  if (factors.empty()) return any;
  const Keys keys = KeyFinder(inputs).find(with_positive(mask, factors), false);
  return same_keys(keys, any) ? any : choose(are_positive(factors), keys, any);
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
  range.begin = keys.begin ? expr::simplify(keys.begin) : zero;
  range.end = keys.end ? expr::simplify(keys.end) : seq_kv;
  range.full_begin = keys.full && keys.full_begin ? expr::simplify(keys.full_begin) : zero;
  range.full_end = !keys.full ? zero : keys.full_end ? expr::simplify(keys.full_end) : seq_kv;
  range.always_full = simple.is_number(1);
  return range;
}

}  // namespace attngen::attention
