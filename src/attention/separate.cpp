#include "attention/separate.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "expr/simplify.h"

namespace attngen::attention {

using expr::Expr;
using expr::kInfinity;
using expr::Op;

namespace {

Expr one() { return expr::number(1); }

Expr product(const Expr& a, const Expr& b) {
  if (a.is_number(1)) return b;
  if (b.is_number(1)) return a;
  return expr::make(Op::Multiply, {a, b});
}

Expr quotient(const Expr& a, const Expr& b) {
  return b.is_number(1) ? a : expr::make(Op::Divide, {a, b});
}

bool is_minus_infinity(const Expr& e) {
  const bool negated = e.op() == Op::Negate && e.operand(0).is_number(kInfinity);
  return negated || e.is_number(-kInfinity);
}

// pow(c, x) as exp2(x log2(c)), whose exponent comes apart; nothing of all other powers.
Expr as_exponential(const Expr& power) {
  const Expr& base = power.operand(0);
  if (!base.is_number() || base.number() <= 0 || !std::isfinite(base.number())) return {};
  const Expr exponent = product(power.operand(1), expr::number(std::log2(base.number())));
  return expr::make(Op::Exp2, {exponent}, power.span());
}

bool same_simplified(const Expr& a, const Expr& b) {
  return expr::same(a, b) || expr::same(expr::simplify(a), expr::simplify(b));
}

// Beyond this many row terms an exponent is refused: no kernel wants it.
constexpr size_t kMostTerms = 64;

// As multisets.
bool same_terms(const std::vector<ExponentTerm>& a, std::vector<ExponentTerm> b) {
  if (a.size() != b.size()) return false;
  return std::all_of(a.begin(), a.end(), [&](const ExponentTerm& term) {
    const auto match = std::find_if(b.begin(), b.end(), [&](const ExponentTerm& other) {
      return term.base == other.base && term.negative == other.negative &&
             same_simplified(term.value, other.value);
    });
    if (match == b.end()) return false;
    b.erase(match);
    return true;
  });
}

void append(std::vector<ExponentTerm>& to, std::vector<ExponentTerm> terms, bool negate) {
  for (ExponentTerm& term : terms) {
    term.negative = term.negative != negate;
    to.push_back(std::move(term));
  }
}

// An argument as a sum: row terms, and a rest that reads no row.
struct Sum {
  std::vector<ExponentTerm> terms;
  Expr rest;
};

class Separator {
 public:
  explicit Separator(const RowNames& names) : names_(names) {}

  std::optional<Sum> sum(const Expr& e) {
    if (!reads_rows(e, names_)) return Sum{{}, e};
    if (auto structural = sum_by_structure(e)) return structural;
    if (!reads_pair(e)) return Sum{{{Op::Exp, false, e}}, expr::number(0)};
    block({e, true});
    return std::nullopt;
  }

  std::optional<Separation> separate(const Expr& e) {
    if (!reads_rows(e, names_)) return Separation{{}, one(), e};
    if (auto structural = by_structure(e)) return structural;
    if (!reads_pair(e)) {
      return Separation{{}, e, one()};
    }
    block({e, false});
    return std::nullopt;
  }

  Mixed mixed() const { return mixed_; }

 private:
  // Blockers are found innermost first; the first is the one to name.
  void block(Mixed mixed) {
    if (!mixed_.part) mixed_ = std::move(mixed);
  }

  std::optional<Sum> sum_by_structure(const Expr& e) {
    switch (e.op()) {
      case Op::Negate: {
        auto x = sum(e.operand(0));
        if (!x) return std::nullopt;
        Sum result{{}, expr::make(Op::Negate, {x->rest})};
        append(result.terms, std::move(x->terms), true);
        return result;
      }
      case Op::Add:
      case Op::Subtract: {
        auto x = sum(e.operand(0));
        auto y = x ? sum(e.operand(1)) : std::nullopt;
        if (!y) return std::nullopt;
        Sum result{std::move(x->terms), expr::make(e.op(), {x->rest, y->rest})};
        append(result.terms, std::move(y->terms), e.op() == Op::Subtract);
        if (result.terms.size() > kMostTerms) return std::nullopt;
        return result;
      }
      case Op::Multiply:
        if (is_row_constant(e.operand(1))) return scaled(e, 0);
        if (is_row_constant(e.operand(0))) return scaled(e, 1);
        return std::nullopt;
      case Op::Divide:
        return is_row_constant(e.operand(1)) ? scaled(e, 0) : std::nullopt;
      case Op::Min:
      case Op::Max:
        return shared_shift(e, 0);
      case Op::Select:
        return reads_rows(e.operand(0), names_) ? std::nullopt : shared_shift(e, 1);
      default:
        return std::nullopt;
    }
  }

  bool is_row_constant(const Expr& e) const { return !reads_pair(e) && !reads_rows(e, names_); }

  // e is operand(of) times, or over, a row constant.
  std::optional<Sum> scaled(const Expr& e, size_t of) {
    auto x = sum(e.operand(of));
    if (!x) return std::nullopt;
    const auto scale = [&](const Expr& value) { return expr::with_operand(e, of, value); };
    for (ExponentTerm& term : x->terms) term.value = scale(term.value);
    x->rest = scale(x->rest);
    return x;
  }

  // Both branches shifted by the same: max(x + r, y + r) = max(x, y) + r. -inf is shifted by any.
  std::optional<Sum> shared_shift(const Expr& e, size_t first) {
    auto x = sum(e.operand(first));
    auto y = x ? sum(e.operand(first + 1)) : std::nullopt;
    if (!y) return std::nullopt;
    const bool x_any = is_minus_infinity(e.operand(first));
    const bool y_any = is_minus_infinity(e.operand(first + 1));
    if (!x_any && !y_any && !same_terms(x->terms, y->terms)) return std::nullopt;
    std::vector<Expr> operands{x->rest, y->rest};
    if (first == 1) operands.insert(operands.begin(), e.operand(0));
    return Sum{x_any ? y->terms : x->terms, expr::make(e.op(), std::move(operands))};
  }

  std::optional<Separation> by_structure(const Expr& e) {
    switch (e.op()) {
      case Op::Exp:
      case Op::Exp2: {
        auto x = sum(e.operand(0));
        if (!x) return std::nullopt;
        for (ExponentTerm& term : x->terms) term.base = e.op();
        return Separation{std::move(x->terms), one(), e};
      }
      case Op::Pow: {
        const Expr exponential = as_exponential(e);
        return exponential ? by_structure(exponential) : function_of(e);
      }
      case Op::Multiply:
      case Op::Divide:
        return product_of(e);
      case Op::Add:
      case Op::Subtract:
      case Op::Min:
      case Op::Max:
        return shared_factor(e, 0);
      case Op::Select:
        return reads_rows(e.operand(0), names_) ? std::nullopt : shared_factor(e, 1);
      default:
        return function_of(e);
    }
  }

  std::optional<Separation> product_of(const Expr& e) {
    const bool divide = e.op() == Op::Divide;
    auto x = separate(e.operand(0));
    auto y = x ? separate(e.operand(1)) : std::nullopt;
    if (!y) return std::nullopt;
    Separation result;
    result.exponent = std::move(x->exponent);
    append(result.exponent, std::move(y->exponent), divide);
    if (result.exponent.size() > kMostTerms) return std::nullopt;
    result.factor = divide ? quotient(x->factor, y->factor) : product(x->factor, y->factor);
    result.kept = divide ? quotient(x->kept, y->kept) : product(x->kept, y->kept);
    return result;
  }

  // Both branches with the same factor and A. Zero has any.
  std::optional<Separation> shared_factor(const Expr& e, size_t first) {
    auto x = separate(e.operand(first));
    auto y = x ? separate(e.operand(first + 1)) : std::nullopt;
    if (!y) return std::nullopt;
    const bool x_any = e.operand(first).is_number(0);
    const bool y_any = e.operand(first + 1).is_number(0);
    if (!x_any && !y_any &&
        !(same_terms(x->exponent, y->exponent) && same_simplified(x->factor, y->factor))) {
      return std::nullopt;
    }
    const Separation& shared = x_any ? *y : *x;
    const bool ordered = e.op() == Op::Min || e.op() == Op::Max;
    if (ordered && !is_positive(shared.factor, names_)) return std::nullopt;
    std::vector<Expr> operands{x->kept, y->kept};
    if (first == 1) operands.insert(operands.begin(), e.operand(0));
    return Separation{shared.exponent, shared.factor, expr::make(e.op(), std::move(operands))};
  }

  // Functions that commute with a factor: f(A x) = g(A) f(x), for A > 0 or for any A.
  std::optional<Separation> function_of(const Expr& e) {
    const Op op = e.op();
    const bool any_sign = op == Op::Negate || op == Op::Abs || op == Op::Square || op == Op::Pow;
    const bool root = op == Op::Sqrt || op == Op::Rsqrt;
    if (!any_sign && !root && op != Op::Relu) return std::nullopt;
    auto x = separate(e.operand(0));
    if (!x) return std::nullopt;
    if (!any_sign && !is_positive(x->factor, names_)) return std::nullopt;
    Separation result{x->exponent, x->factor, expr::with_operand(e, 0, x->kept)};
    const bool plain = result.factor.is_number(1);
    switch (op) {
      case Op::Negate:
      case Op::Relu:
        return result;
      case Op::Abs:
        if (!is_positive(result.factor, names_)) {
          result.factor = expr::make(Op::Abs, {result.factor});
        }
        return result;
      default:
        break;
    }
    const Expr exponent = op == Op::Pow ? e.operand(1)
                                        : expr::number(op == Op::Square ? 2
                                                       : op == Op::Sqrt ? 0.5
                                                                        : -0.5);
    if (!exponent.is_number()) return std::nullopt;
    const bool integral = std::floor(exponent.number()) == exponent.number();
    if (!integral && !is_positive(result.factor, names_)) return std::nullopt;
    if (!plain) result.factor = expr::with_operand(e, 0, x->factor);
    for (ExponentTerm& term : result.exponent) term.value = product(term.value, exponent);
    return result;
  }

  const RowNames& names_;
  Mixed mixed_;
};

Expr add_all(const std::vector<Expr>& terms) {
  Expr sum;
  for (const Expr& term : terms) sum = sum ? expr::make(Op::Add, {sum, term}) : term;
  return sum;
}

// The sum of the terms, those added before those subtracted.
Expr difference(const std::vector<Expr>& added, const std::vector<Expr>& subtracted) {
  Expr result = add_all(added);
  for (const Expr& term : subtracted) {
    result = result ? expr::make(Op::Subtract, {result, term}) : expr::make(Op::Negate, {term});
  }
  return result;
}

// By itself, whatever its operands: enough beside a positive summand.
bool is_never_negative(const Expr& e) {
  return e.op() == Op::Square || e.op() == Op::Abs || e.op() == Op::Relu ||
         (e.is_number() && e.number() >= 0);
}

}  // namespace

bool reads_pair(const Expr& e) { return expr::mentions(e, "score") || expr::mentions(e, "kv_idx"); }

bool reads_rows(const Expr& e, const RowNames& names) {
  const auto variables = expr::variables_of(e);
  return std::any_of(variables.begin(), variables.end(), names.is_row);
}

bool is_positive(const Expr& e, const RowNames& names) {
  const auto operand = [&](size_t i) { return is_positive(e.operand(i), names); };
  switch (e.op()) {
    case Op::Number:
      return e.number() > 0;
    case Op::Variable:
      return names.is_positive(e.name());
    case Op::Exp:
    case Op::Exp2:
    case Op::Sigmoid:
      return true;
    case Op::Multiply:
    case Op::Divide:
    case Op::Min:
      return operand(0) && operand(1);
    case Op::Max:
      return operand(0) || operand(1);
    case Op::Select:
      return operand(1) && operand(2);
    case Op::Add: {
      // Each asked once: sums nest deeply.
      const bool left = operand(0), right = operand(1);
      return (left && (right || is_never_negative(e.operand(1)))) ||
             (right && is_never_negative(e.operand(0)));
    }
    case Op::Sqrt:
    case Op::Rsqrt:
    case Op::Square:
    case Op::Abs:
    case Op::Relu:
    case Op::Pow:
    case Op::ToFloat:
      return operand(0);
    default:
      return false;
  }
}

std::optional<Separation> separate(const Expr& f, const RowNames& names, Mixed& mixed) {
  Separator separator(names);
  auto result = separator.separate(f);
  mixed = separator.mixed();
  if (!result) return std::nullopt;
  const bool unchanged = result->factor.is_number(1);
  result->kept = unchanged ? f : expr::simplify(result->kept);
  result->factor = unchanged ? result->factor : expr::simplify(result->factor);
  return result;
}

std::optional<Shift> separate_shift(const Expr& f, const RowNames& names) {
  if (!reads_rows(f, names)) return Shift{{}, f};
  auto sum = Separator(names).sum(f);
  if (!sum) return std::nullopt;
  std::vector<Expr> added;
  std::vector<Expr> subtracted;
  for (const ExponentTerm& term : sum->terms) {
    (term.negative ? subtracted : added).push_back(term.value);
  }
  return Shift{expr::simplify(difference(added, subtracted)), expr::simplify(sum->rest)};
}

Expr ratio(const std::vector<ExponentTerm>& exponent, const RowNames& names,
           const std::function<std::string(const std::string&)>& old) {
  Expr result = one();
  for (Op base : {Op::Exp, Op::Exp2}) {
    std::vector<Expr> added;
    std::vector<Expr> subtracted;
    for (const ExponentTerm& term : exponent) {
      if (term.base != base) continue;
      std::map<std::string, Expr, std::less<>> olds;
      for (const std::string& name : expr::variables_of(term.value)) {
        if (names.is_row(name)) olds[name] = expr::variable(old(name), expr::Type::Float);
      }
      const Expr before = expr::substitute(term.value, olds);
      added.push_back(term.negative ? before : term.value);
      subtracted.push_back(term.negative ? term.value : before);
    }
    if (!added.empty()) {
      result = product(result, expr::make(base, {difference(added, subtracted)}));
    }
  }
  return expr::simplify(result);
}

Expr times(const Expr& a, const Expr& factor) {
  if (factor.is_number(1)) return a;
  if (factor.op() == Op::Divide && factor.operand(0).is_number(1)) {
    return expr::make(Op::Divide, {a, factor.operand(1)});
  }
  return expr::make(Op::Multiply, {a, factor});
}

}  // namespace attngen::attention
