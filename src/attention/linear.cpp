#include "attention/linear.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "attention/positive.h"
#include "expr/simplify.h"

namespace attngen::attention {

using expr::Expr;
using expr::Op;

namespace {

// Leaves room for the sums of a few lengths in 32 bits.
constexpr int64_t kLargestConstant = int64_t{1} << 30;

// Beyond these a sum is unknown: each new term is compared with all others, and to_expr makes a
// chain of them.
constexpr size_t kMostSummands = 64;

Expr int_variable(const char* name) { return expr::variable(name, expr::Type::Int); }

bool in_range(int64_t value) { return std::abs(value) <= kLargestConstant; }

std::optional<Linear> scaled(const Linear& sum, int64_t factor) {
  if (!in_range(factor)) return std::nullopt;
  return add(Linear{}, sum, factor);
}

Linear atom(const Expr& e) { return {0, {{e, 1}}}; }

std::optional<Linear> linear_product(const Expr& e) {
  const auto x = linear(e.operand(0));
  const auto y = linear(e.operand(1));
  if (x && y && x->terms.empty()) return scaled(*y, x->constant);
  if (x && y && y->terms.empty()) return scaled(*x, y->constant);
  return atom(e);
}

Direction reversed(Direction d) {
  if (d == Direction::Up) return Direction::Down;
  return d == Direction::Down ? Direction::Up : d;
}

Direction both(Direction a, Direction b) {
  if (a == Direction::None) return b;
  return b == Direction::None || a == b ? a : Direction::Unknown;
}

Expr at_row(const Expr& e, const char* row) {
  const Expr q = int_variable(row);
  const Expr aligned = expr::make(
      Op::Add, {q, expr::make(Op::Subtract, {int_variable("seq_kv"), int_variable("seq_q")})});
  return expr::substitute(e, {{"q_idx", q}, {"q_pos", aligned}});
}

// Each atom at `up` if its term grows with q_idx, at `down` if it shrinks.
std::optional<Linear> at_extremes(const Linear& sum, Inputs inputs, const char* up,
                                  const char* down) {
  Linear result;
  result.constant = sum.constant;
  for (const Linear::Term& term : sum.terms) {
    Direction d = direction_in_q(term.atom, inputs);
    if (d == Direction::Unknown) return std::nullopt;
    if (term.coefficient < 0) d = reversed(d);
    const Expr e =
        d == Direction::None ? term.atom : at_row(term.atom, d == Direction::Up ? up : down);
    const auto next = add(result, atom(e), term.coefficient);
    if (!next) return std::nullopt;
    result = *next;
  }
  return result;
}

bool is_length(const Expr& atom) {
  return atom.op() == Op::Variable && (atom.name() == "seq_q" || atom.name() == "seq_kv");
}

// The one length of a sum minus the other, if it has both so: an index and a length may add up to
// more than 32 bits hold, an index and the difference of the lengths do not.
std::optional<Expr> difference_of_lengths(const Linear& sum) {
  Expr added, subtracted;
  for (const Linear::Term& term : sum.terms) {
    if (!is_length(term.atom) || std::abs(term.coefficient) != 1) continue;
    (term.coefficient > 0 ? added : subtracted) = term.atom;
  }
  if (!added || !subtracted) return std::nullopt;
  return expr::make(Op::Subtract, {added, subtracted});
}

}  // namespace

bool varies(const Expr& e) {
  return expr::find_node(e, [](const Expr& node) {
           return node.op() == Op::Variable &&
                  (node.name() == "kv_idx" || node.name() == "q_idx" || node.name() == "q_pos");
         }) != nullptr;
}

std::optional<Linear> add(const Linear& a, const Linear& b, int64_t b_times) {
  Linear sum = a;
  sum.constant += b.constant * b_times;
  for (const Linear::Term& term : b.terms) {
    const auto known = std::find_if(sum.terms.begin(), sum.terms.end(), [&](const auto& other) {
      return expr::same(other.atom, term.atom);
    });
    const int64_t coefficient = term.coefficient * b_times;
    if (!in_range(coefficient)) return std::nullopt;
    if (known == sum.terms.end()) {
      sum.terms.push_back({term.atom, coefficient});
    } else {
      known->coefficient += coefficient;
      if (!in_range(known->coefficient)) return std::nullopt;
    }
  }
  std::erase_if(sum.terms, [](const Linear::Term& term) { return term.coefficient == 0; });
  if (!in_range(sum.constant) || sum.terms.size() > kMostSummands) return std::nullopt;
  return sum;
}

std::optional<Linear> linear(const Expr& e) {
  if (e.type() != expr::Type::Int) return std::nullopt;
  switch (e.op()) {
    case Op::Number: {
      if (std::abs(e.number()) > static_cast<double>(kLargestConstant)) return std::nullopt;
      return Linear{static_cast<int64_t>(e.number()), {}};
    }
    case Op::Variable:
      if (e.name() == "q_pos") {
        return Linear{
            0,
            {{int_variable("q_idx"), 1}, {int_variable("seq_kv"), 1}, {int_variable("seq_q"), -1}}};
      }
      return atom(e);
    case Op::Negate: {
      const auto x = linear(e.operand(0));
      return x ? scaled(*x, -1) : std::nullopt;
    }
    case Op::Add:
    case Op::Subtract: {
      const auto x = linear(e.operand(0));
      const auto y = linear(e.operand(1));
      return x && y ? add(*x, *y, e.op() == Op::Add ? 1 : -1) : std::nullopt;
    }
    case Op::Multiply:
      return linear_product(e);
    default:
      return atom(e);
  }
}

Expr to_expr(const Linear& sum) {
  Expr result;
  const auto put = [&result](const Expr& term, bool negative) {
    if (!result) {
      result = negative ? expr::make(Op::Negate, {term}) : term;
    } else {
      result = expr::make(negative ? Op::Subtract : Op::Add, {result, term});
    }
  };
  const auto lengths = difference_of_lengths(sum);
  for (const bool negative : {false, true}) {
    for (const Linear::Term& term : sum.terms) {
      if ((term.coefficient < 0) != negative) continue;
      if (lengths && is_length(term.atom)) {
        if (!negative) put(*lengths, false);
        continue;
      }
      const int64_t size = std::abs(term.coefficient);
      put(size == 1 ? term.atom : expr::make(Op::Multiply, {term.atom, expr::integer(size)}),
          negative);
    }
  }
  if (sum.constant != 0 || !result) {
    if (!result) return expr::integer(sum.constant);
    put(expr::integer(std::abs(sum.constant)), sum.constant < 0);
  }
  return result;
}

const spec::Input* sorted_input(const Expr& load, Inputs inputs) {
  const auto input = std::find_if(inputs.begin(), inputs.end(),
                                  [&](const spec::Input& i) { return i.name == load.name(); });
  return input != inputs.end() && input->sorted ? &*input : nullptr;
}

Direction direction_in_q(const Expr& e, Inputs inputs) {
  if (!expr::mentions(e, "q_idx") && !expr::mentions(e, "q_pos")) return Direction::None;
  const auto of = [&](size_t i) { return direction_in_q(e.operand(i), inputs); };
  switch (e.op()) {
    case Op::Variable:
      return Direction::Up;
    case Op::Add:
    case Op::Min:
    case Op::Max:
      return both(of(0), of(1));
    case Op::Subtract:
      return both(of(0), reversed(of(1)));
    case Op::Negate:
      return reversed(of(0));
    case Op::Relu:
    case Op::Sign:
    case Op::Saturate:
      return of(0);
    case Op::FloorDivide:
      return is_shared_from(1, e.operand(1), inputs) ? of(0) : Direction::Unknown;
    case Op::Multiply:
      for (size_t i : {size_t{0}, size_t{1}}) {
        const Expr& factor = e.operand(1 - i);
        if (factor.is_number()) return factor.number() >= 0 ? of(i) : reversed(of(i));
        if (is_shared_from(0, factor, inputs)) return of(i);
      }
      return Direction::Unknown;
    case Op::Load: {
      const size_t last = e.operands().size() - 1;
      for (size_t i = 0; i < last; ++i) {
        if (of(i) != Direction::None) return Direction::Unknown;
      }
      return sorted_input(e, inputs) != nullptr ? of(last) : Direction::Unknown;
    }
    default:
      return Direction::Unknown;
  }
}

std::optional<Linear> least(const Linear& sum, Inputs inputs) {
  return at_extremes(sum, inputs, "q_first", "q_last");
}
std::optional<Linear> greatest(const Linear& sum, Inputs inputs) {
  return at_extremes(sum, inputs, "q_last", "q_first");
}

}  // namespace attngen::attention
