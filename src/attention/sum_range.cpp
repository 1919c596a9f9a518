#include "attention/sum_range.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "attention/positive.h"
#include "expr/interval.h"

namespace attngen::attention {

using expr::Expr;
using expr::Interval;
using expr::Op;

namespace {

// No length, batch or index is larger (docs/spec.md, section 6).
constexpr double kLongest = 0x1p31 - 0x1p16;

// Multiples of a first and a last place and of the length: 0 <= first <= last <= length. Their sum
// is least and greatest at corners of what they may be.
struct Side {
  double first = 0, last = 0, length = 0;

  Interval range() const {
    const auto [low, high] = std::minmax({0.0, length, length + last, length + last + first});
    return {low * kLongest, high * kLongest};
  }
};

Interval multiple(const Interval& x, double factor) {
  return {std::min(x.low * factor, x.high * factor), std::max(x.low * factor, x.high * factor)};
}

// A quotient is looked into, since an interval of its terms forgets that rows are within lengths.
Interval range_of_value(const Expr& atom, const expr::Bounds& bounds, Inputs inputs) {
  if (atom.op() == Op::FloorDivide) {
    if (const auto dividend = linear(atom.operand(0))) {
      return expr::integer_divide(range_of(*dividend, inputs),
                                  expr::bound(atom.operand(1), bounds));
    }
  }
  return expr::bound(atom, bounds);
}

// x // n * n, a multiple of n that is no larger than x.
bool is_multiple_below(const Expr& atom) {
  return atom.op() == Op::Multiply && atom.operand(0).op() == Op::FloorDivide &&
         expr::same(atom.operand(0).operand(1), atom.operand(1));
}

// Itself it is an Int, but what stands for a remainder is only less than n from one.
Interval range_of_atom(const Expr& atom, const expr::Bounds& bounds, Inputs inputs) {
  if (is_multiple_below(atom)) return {-0x1p32, 0x1p32};
  const Interval range = range_of_value(atom, bounds, inputs);
  return {std::clamp(range.low, -0x1p31, 0x1p31 - 1), std::clamp(range.high, -0x1p31, 0x1p31 - 1)};
}

// The parts of a sum: what is known of places together, and every other term, by itself.
class SumParts {
 public:
  SumParts(const Linear& sum, Inputs inputs) {
    const auto constant = static_cast<double>(sum.constant);
    put({constant, constant});
    const expr::Bounds bounds = bounds_of(inputs);
    Side queries, keys;
    for (const Linear::Term& term : sum.terms) {
      const auto factor = static_cast<double>(term.coefficient);
      if (double* place = place_of(term.atom, queries, keys)) {
        *place += factor;
      } else {
        put(multiple(range_of_atom(term.atom, bounds, inputs), factor));
      }
    }
    put(queries.range());
    put(keys.range());
  }

  const Interval& sum() const { return sum_; }
  // Of the sum of some of them.
  const Interval& of_some() const { return some_; }

 private:
  static double* place_of(const Expr& atom, Side& queries, Side& keys) {
    if (atom.op() != Op::Variable) return nullptr;
    const std::string& name = atom.name();
    if (name == "q_first") return &queries.first;
    if (name == "q_last" || name == "q_idx") return &queries.last;
    if (name == "seq_q") return &queries.length;
    if (name == "kv_first") return &keys.first;
    if (name == "kv_last" || name == "kv_idx") return &keys.last;
    return name == "seq_kv" ? &keys.length : nullptr;
  }
  void put(const Interval& part) {
    sum_ = {sum_.low + part.low, sum_.high + part.high};
    some_ = {some_.low + std::min(part.low, 0.0), some_.high + std::max(part.high, 0.0)};
  }

  Interval sum_{0, 0}, some_{0, 0};
};

// Which terms t of a dividend are taken apart as t // n * n + t % n.
enum class Apart : uint8_t { None, Values, All };

bool is_apart(const Expr& atom, Apart apart) {
  return apart == Apart::All || (apart == Apart::Values && atom.op() != Op::Variable);
}

// A sum as whole * n + rest.
struct Divided {
  Linear whole, rest;
};

std::optional<Divided> divided(const Linear& sum, int64_t n, Apart apart) {
  const Expr divisor = expr::integer(n);
  Linear whole, rest;
  const auto put = [](Linear& to, const Expr& atom, int64_t times) {
    const auto next = add(to, {0, {{atom, times}}});
    if (next) to = *next;
    return next.has_value();
  };
  for (const auto& [atom, times] : sum.terms) {
    bool fits = true;
    if (times % n == 0) {
      fits = put(whole, atom, times / n);
    } else if (is_apart(atom, apart)) {
      fits = put(whole, expr::make(Op::FloorDivide, {atom, divisor}), times) &&
             put(rest, expr::make(Op::Modulo, {atom, divisor}), times);
    } else {
      fits = put(rest, atom, times);
    }
    if (!fits) return std::nullopt;
  }
  const int64_t remainder = (sum.constant % n + n) % n;
  const bool splits = apart != Apart::None || rest.terms.empty();
  rest.constant = splits ? remainder : sum.constant;
  whole.constant = splits ? (sum.constant - remainder) / n : 0;
  return Divided{whole, rest};
}

}  // namespace

expr::Bounds bounds_of(Inputs inputs) {
  expr::Bounds bounds;
  bounds.variable = [](std::string_view name) {
    if (name == "q_pos") return Interval{-kLongest, kLongest};
    const bool length = name == "seq_q" || name == "seq_kv";
    return Interval{length ? 1.0 : 0.0, kLongest};
  };
  bounds.input = [inputs](std::string_view name) {
    using Element = spec::Input::Element;
    const auto input = std::ranges::find(inputs, name, &spec::Input::name);
    const Element element = input == inputs.end() ? Element::I32 : input->element;
    if (element == Element::U8) return Interval{0, 255};
    if (element == Element::I32) return Interval{-0x1p31, 0x1p31 - 1};
    return Interval{-expr::kInfinity, expr::kInfinity, true};
  };
  return bounds;
}

Interval range_of(const Linear& sum, Inputs inputs) { return SumParts(sum, inputs).sum(); }

bool fits_32_bits(const Interval& range) { return range.low >= -0x1p31 && range.high < 0x1p31; }

std::optional<Expr> saturated(const Linear& sum, Inputs inputs) {
  constexpr double kWidest = 0x1p62;
  const SumParts parts(sum, inputs);
  if (parts.of_some().low < -kWidest || parts.of_some().high > kWidest) return std::nullopt;
  const Expr whole = to_expr(sum);
  return fits_32_bits(parts.of_some()) ? whole : expr::make(Op::Saturate, {whole});
}

std::optional<Linear> quotient(const Linear& sum, int64_t n, bool up, Inputs inputs) {
  // ceil(x / n) is floor((x + n - 1) / n).
  auto dividend = n == 1 || !up ? sum : add(sum, {n - 1, {}});
  if (!dividend || n == 1) return dividend;
  // As short as it may be.
  for (const Apart apart : {Apart::None, Apart::Values, Apart::All}) {
    const auto parts = divided(*dividend, n, apart);
    if (!parts) return std::nullopt;
    if (parts->rest.terms.empty()) return parts->whole;
    if (!fits_32_bits(SumParts(parts->rest, inputs).of_some())) continue;
    const Expr rounded = expr::make(Op::FloorDivide, {to_expr(parts->rest), expr::integer(n)});
    return add(parts->whole, {0, {{rounded, 1}}});
  }
  return std::nullopt;
}

std::optional<Linear> product(const Linear& sum, const Expr& n, Inputs inputs) {
  const Interval some = SumParts(sum, inputs).of_some();
  // Times less than 2^31. A wider sum saturates first: where it does, so would its product.
  constexpr double kWidest = 0x1.8p31;
  const bool fits = some.low >= -kWidest && some.high <= kWidest;
  const auto factor = fits ? std::optional(to_expr(sum)) : saturated(sum, inputs);
  if (!factor) return std::nullopt;
  const Expr whole = expr::make(Op::Multiply, {*factor, n});
  return Linear{0, {{expr::make(Op::Saturate, {whole}), 1}}};
}

std::optional<Linear> floor_of(const Linear& sum, const Expr& n, Inputs inputs) {
  if (!fits_32_bits(SumParts(sum, inputs).of_some())) return std::nullopt;
  return Linear{0, {{expr::make(Op::FloorDivide, {to_expr(sum), n}), 1}}};
}

Linear without_remainders(const Linear& sum, Inputs inputs) {
  Linear result = sum;
  for (const auto& [atom, times] : sum.terms) {
    if (atom.op() != Op::Modulo || !is_shared_from(1, atom.operand(1), inputs)) continue;
    const Expr& n = atom.operand(1);
    const auto x = linear(atom.operand(0));
    const Expr turns = expr::make(Op::FloorDivide, {atom.operand(0), n});
    const auto below = linear(expr::make(Op::Multiply, {turns, n}));
    const auto remainder = x && below ? add(*x, *below, -1) : std::nullopt;
    const auto without = add(result, {0, {{atom, 1}}}, -times);
    const auto next = remainder && without ? add(*without, *remainder, times) : std::nullopt;
    if (next) result = *next;
  }
  return result;
}

}  // namespace attngen::attention
