#include "attention/row_exponents.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "attention/known.h"
#include "attention/pair_form.h"
#include "attention/terms.h"

namespace attngen::attention {
namespace {

using expr::Expr;
using expr::Op;

bool reads_score(const Expr& e) {
  return expr::mentions(e, "score") || expr::mentions(e, kProduct);
}

// A term of a sum, and the number by which it is multiplied.
struct Part {
  Expr value;
  double factor = 1;
};

// Shared sums may have very many: behind the first 64 a sum is a term.
void collect(const Expr& e, double factor, std::vector<Part>& parts) {
  constexpr size_t kMost = 64;
  const auto number = [&](size_t i) { return e.operand(i).number(); };
  if (is_sum(e) && parts.size() < kMost) {
    collect(e.operand(0), factor, parts);
    collect(e.operand(1), e.op() == Op::Subtract ? -factor : factor, parts);
  } else if (e.op() == Op::Negate) {
    collect(e.operand(0), -factor, parts);
  } else if (e.op() == Op::Multiply && e.operand(1).is_number()) {
    collect(e.operand(0), factor * number(1), parts);
  } else if (e.op() == Op::Multiply && e.operand(0).is_number()) {
    collect(e.operand(1), factor * number(0), parts);
  } else if (e.op() == Op::Divide && e.operand(1).is_number()) {
    collect(e.operand(0), factor / number(1), parts);
  } else {
    parts.push_back({e, factor});
  }
}

Expr by_number(const Expr& e, double factor) {
  return expr::make(Op::Multiply, {e, expr::number(factor)});
}

// A number that all have is multiplied last: score + x, where other expressions have it too, stays.
Expr sum_of(const std::vector<Part>& parts) {
  const double first = parts.front().factor;
  const bool alike = std::ranges::all_of(
      parts, [&](const Part& part) { return std::fabs(part.factor) == std::fabs(first); });
  std::vector<Term> terms;
  for (const Part& part : parts) {
    const bool minus = part.factor / first < 0;
    terms.push_back(
        {alike ? part.value : by_number(part.value, minus ? -part.factor : part.factor), minus});
  }
  return alike ? by_number(sum_of(terms), first) : sum_of(terms);
}

class Folding {
 public:
  explicit Folding(const std::function<bool(const Expr&)>& reads_row) : reads_row_(reads_row) {}

  Expr operator()(const Expr& e) {
    if (e.operands().empty()) return e;
    if (const Expr* known = known_.find(e)) return *known;
    const Expr rest =
        expr::map_operands(e, [this](const Expr& operand) { return (*this)(operand); });
    return known_.keep(e, rest.op() == Op::Exp2 ? folded(rest) : rest);
  }

 private:
  Expr folded(const Expr& power) const {
    std::vector<Part> parts, of_pair, of_row;
    collect(power.operand(0), 1, parts);
    for (const Part& part : parts) {
      if (!expr::is_normal_float(part.factor)) return power;
      (varies_in_row(part.value) ? of_pair : of_row).push_back(part);
    }
    const auto row_decides = [this](const Part& part) { return reads_row_(part.value); };
    const bool apart =
        std::ranges::none_of(of_pair, row_decides) && std::ranges::any_of(of_row, row_decides);
    if (!apart || !std::ranges::any_of(of_pair, reads_score, &Part::value)) return power;
    return expr::make(Op::Exp2, {expr::make(Op::Add, {sum_of(of_pair), sum_of(of_row)})});
  }

  const std::function<bool(const Expr&)>& reads_row_;
  Known<Expr> known_;
};

}  // namespace

Expr with_folded_rows(const Expr& e, const std::function<bool(const Expr&)>& reads_row) {
  return Folding(reads_row)(e);
}

}  // namespace attngen::attention
