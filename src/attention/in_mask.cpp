#include "attention/in_mask.h"

#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "attention/known.h"

namespace attngen::attention {

using expr::Expr;
using expr::Op;

namespace {

// more - less + add, of two variables. Indices are below 2^31 - 2^16, so that it is a number of 32
// bits, as in kernels.
struct Difference {
  std::string more, less;
  int64_t add = 0;
};
constexpr int64_t kMostAdded = 1 << 15;

// Terms of a sum of variables and numbers; false if it has others, or too many.
bool add_terms(const Expr& e, bool minus, int& left, Difference& sum) {
  if (--left < 0) return false;
  switch (e.op()) {
    case Op::Add:
    case Op::Subtract:
      return add_terms(e.operand(0), minus, left, sum) &&
             add_terms(e.operand(1), minus != (e.op() == Op::Subtract), left, sum);
    case Op::Negate:
      return add_terms(e.operand(0), !minus, left, sum);
    case Op::Variable: {
      std::string& name = minus ? sum.less : sum.more;
      if (!name.empty()) return false;
      name = e.name();
      return true;
    }
    default:
      break;
  }
  if (!e.is_number() || std::abs(e.number()) > kMostAdded) return false;
  sum.add += (minus ? -1 : 1) * static_cast<int64_t>(e.number());
  return true;
}

// Of a - b.
std::optional<Difference> difference(const Expr& a, const Expr& b) {
  constexpr int kMostTerms = 16;
  int left = kMostTerms;
  Difference sum;
  if (a.type() != expr::Type::Int || b.type() != expr::Type::Int) return std::nullopt;
  if (!add_terms(a, false, left, sum) || !add_terms(b, true, left, sum)) return std::nullopt;
  if (sum.more.empty() || sum.less.empty() || std::abs(sum.add) > kMostAdded) return std::nullopt;
  return sum;
}

// Differences that are not negative where the mask holds.
void find_facts(const Expr& mask, std::vector<Difference>& facts) {
  constexpr size_t kMostFacts = 16;
  if (facts.size() == kMostFacts) return;
  if (mask.op() == Op::And) {
    find_facts(mask.operand(0), facts);
    find_facts(mask.operand(1), facts);
    return;
  }
  const bool less = mask.op() == Op::Less || mask.op() == Op::LessEqual;
  const bool greater = mask.op() == Op::Greater || mask.op() == Op::GreaterEqual;
  if (!less && !greater) return;
  auto fact = difference(mask.operand(less ? 1 : 0), mask.operand(less ? 0 : 1));
  if (!fact) return;
  if (mask.op() == Op::Less || mask.op() == Op::Greater) --fact->add;
  facts.push_back(*std::move(fact));
}

class InMask {
 public:
  explicit InMask(const Expr& mask) { find_facts(mask, facts_); }

  Expr of(const Expr& e) {
    if (facts_.empty()) return e;
    if (const Expr* known = known_.find(e)) return *known;
    return known_.keep(
        e, decided(expr::map_operands(e, [this](const Expr& operand) { return of(operand); })));
  }

 private:
  Expr decided(const Expr& e) const {
    if (e.op() != Op::Abs && e.op() != Op::Max) return e;
    const Expr& of = e.operand(0);
    if (e.op() == Op::Max) {
      if (e.operand(1).is_number(0) && is_positive(of)) return of;
      return of.is_number(0) && is_positive(e.operand(1)) ? e.operand(1) : e;
    }
    if (is_positive(of)) return of;
    const Expr opposite = expr::make(Op::Negate, {of});
    return is_positive(opposite) ? opposite : e;
  }

  // Or 0.
  bool is_positive(const Expr& e) const {
    const auto of = difference(e, expr::integer(0));
    if (!of) return false;
    for (const Difference& fact : facts_) {
      if (fact.more == of->more && fact.less == of->less && of->add >= fact.add) return true;
    }
    return false;
  }

  std::vector<Difference> facts_;
  Known<Expr> known_;
};

}  // namespace

Expr within_mask(const Expr& e, const Expr& mask) { return InMask(mask).of(e); }

}  // namespace attngen::attention
