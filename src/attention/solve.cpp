// A comparison, as a sum that is at most 0, solved for kv_idx.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attention/keys.h"
#include "attention/linear.h"
#include "attention/positive.h"
#include "attention/sum_range.h"
#include "attention/tiles.h"

namespace attngen::attention {

using expr::Expr;
using expr::Op;

namespace {

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
      std::any_of(indices.begin(), indices.end() - 1, varies)) {
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

}  // namespace

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

}  // namespace attngen::attention
