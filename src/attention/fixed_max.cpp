#include "attention/fixed_max.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <optional>
#include <string>
#include <utility>

#include "attention/known.h"

namespace attngen::attention {
namespace {

using expr::Expr;
using expr::Op;

// Of log2(e) times ln(2) less 1 a rounding is left.
double sum(double a, double b) {
  return std::abs(a + b) <= 1e-9 * (std::abs(a) + std::abs(b)) ? 0 : a + b;
}
bool equal(double a, double b) { return sum(a, -b) == 0; }

// What becomes of a value when the maximum in use is d below the true one: it is multiplied by
// exp(scale d), or gains shift d. One of the two is 0; of what does not change, both.
struct Change {
  double scale = 0;
  double shift = 0;

  bool scales() const { return shift == 0; }
  bool shifts() const { return scale == 0; }
  bool is_none() const { return scales() && shifts(); }
  friend bool operator==(const Change& a, const Change& b) {
    return equal(a.scale, b.scale) && equal(a.shift, b.shift);
  }
};
using MaybeChange = std::optional<Change>;  // nothing: it changes in another way

class Exchange {
 public:
  explicit Exchange(const RowForm& form) {
    changes_["acc"] = Change{.scale = 1};
    for (const Reduction& reduction : form.reductions) {
      changes_[reduction.name] = MaybeChange(Change{.scale = 1});
    }
    changes_[form.max_reduction] = std::nullopt;
    for (const RowValue& row : form.rows) {
      if (row.name == form.max_row) {
        changes_[row.name] = Change{.shift = -1};
        // Joined with nothing, the reduction is the row.
        if (row.value.op() == Op::Variable) changes_[form.max_reduction] = Change{.shift = -1};
      } else {
        changes_[row.name] = of(row.value);
      }
    }
  }

  bool keeps(const Expr& e) {
    const MaybeChange change = of(e);
    return change && change->is_none();
  }

 private:
  MaybeChange of(const Expr& e) {
    if (const MaybeChange* known = known_.find(e)) return *known;
    return known_.keep(e, compute(e));
  }

  MaybeChange compute(const Expr& e) {
    switch (e.op()) {
      case Op::Variable: {
        const auto found = changes_.find(e.name());
        return found == changes_.end() ? Change{} : found->second;
      }
      case Op::Negate: {
        const MaybeChange change = of(e.operand(0));
        return change ? MaybeChange({change->scale, -change->shift}) : std::nullopt;
      }
      case Op::Add:
        return added(e.operand(0), e.operand(1), 1);
      case Op::Subtract:
        return added(e.operand(0), e.operand(1), -1);
      case Op::Multiply:
        if (e.operand(0).is_number()) return product(e.operand(1), e.operand(0), 1);
        return product(e.operand(0), e.operand(1), 1);
      case Op::Divide:
        return product(e.operand(0), e.operand(1), -1);
      case Op::Square:
        return power(e.operand(0), 2);
      case Op::Sqrt:
        return power(e.operand(0), 0.5);
      case Op::Rsqrt:
        return power(e.operand(0), -0.5);
      case Op::Pow:
        return e.operand(1).is_number() ? power(e.operand(0), e.operand(1).number()) : constant(e);
      case Op::Exp:
        return exponential(e.operand(0), 1);
      case Op::Exp2:
        return exponential(e.operand(0), std::numbers::ln2);
      case Op::Log:
        return logarithm(e.operand(0), 1);
      case Op::Log2:
        return logarithm(e.operand(0), std::numbers::log2e);
      case Op::Abs:
      case Op::Relu:
        return power(e.operand(0), 1);
      case Op::Min:
      case Op::Max:
        return same(e.operand(0), e.operand(1));
      case Op::Less:
      case Op::LessEqual:
      case Op::Greater:
      case Op::GreaterEqual:
      case Op::Equal:
      case Op::NotEqual:
        return same(e.operand(0), e.operand(1)) ? MaybeChange(Change{}) : std::nullopt;
      case Op::Select:
        return keeps(e.operand(0)) ? same(e.operand(1), e.operand(2)) : std::nullopt;
      default:
        return constant(e);
    }
  }

  MaybeChange constant(const Expr& e) {
    return std::ranges::all_of(e.operands(), [this](const Expr& x) { return keeps(x); })
               ? MaybeChange(Change{})
               : std::nullopt;
  }

  // Of two that change alike, as both do then. A 0 scales by anything.
  MaybeChange same(const Expr& x, const Expr& y) {
    const MaybeChange a = of(x), b = of(y);
    if (!a || !b) return std::nullopt;
    if (*a == *b || (y.is_number(0) && a->scales())) return a;
    return x.is_number(0) && b->scales() ? b : std::nullopt;
  }

  MaybeChange added(const Expr& x, const Expr& y, int sign) {
    const MaybeChange a = of(x), b = of(y);
    if (a && b && a->shifts() && b->shifts()) {
      return Change{.shift = sum(a->shift, sign * b->shift)};
    }
    const MaybeChange both = same(x, y);
    return both && both->scales() ? both : std::nullopt;
  }

  // x times y, or over it.
  MaybeChange product(const Expr& x, const Expr& y, int sign) {
    const MaybeChange a = of(x), b = of(y);
    if (!a || !b) return std::nullopt;
    if (a->scales() && b->scales()) return Change{.scale = sum(a->scale, sign * b->scale)};
    if (!y.is_number() || !a->shifts()) return std::nullopt;
    return Change{.shift = a->shift * std::pow(y.number(), sign)};
  }

  MaybeChange power(const Expr& x, double exponent) {
    const MaybeChange a = of(x);
    return a && a->scales() ? MaybeChange({.scale = a->scale * exponent}) : std::nullopt;
  }
  MaybeChange exponential(const Expr& x, double log_base) {
    const MaybeChange a = of(x);
    return a && a->shifts() ? MaybeChange({.scale = a->shift * log_base}) : std::nullopt;
  }
  MaybeChange logarithm(const Expr& x, double per_log) {
    const MaybeChange a = of(x);
    return a && a->scales() ? MaybeChange({.shift = a->scale * per_log}) : std::nullopt;
  }

  std::map<std::string, MaybeChange, std::less<>> changes_;
  Known<MaybeChange> known_;
};

}  // namespace

bool may_fix_max(const RowForm& form) {
  if (!form.exponential) return false;
  Exchange exchange(form);
  return exchange.keeps(form.output) && std::ranges::all_of(form.saves, [&](const auto& save) {
           return exchange.keeps(save.value);
         });
}

}  // namespace attngen::attention
