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

bool reads_score(const Expr& e) { return expr::mentions(e, "score"); }

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
  Folding(const Asks& reads_row, const Asks& is_small)
      : reads_row_(reads_row), is_small_(is_small) {}

  FoldedRows operator()(const Expr& e) {
    const Expr value = fold(e).value;
    return {value, apart_};
  }

 private:
  // What an expression reads outside of folded exponents.
  struct Folded {
    Expr value;
    bool score = false, row = false;
  };

  Folded fold(const Expr& e) {
    if (const Folded* known = known_.find(e)) return *known;
    return known_.keep(e, e.operands().empty() ? leaf(e) : node(e));
  }

  Folded leaf(const Expr& e) const { return {e, reads_score(e), reads_row_(e)}; }

  Folded node(const Expr& e) {
    if (e.op() == Op::Exp2) {
      if (const Expr power = folded(e)) return {power};
    }
    Folded found;
    found.value = expr::map_operands(e, [&](const Expr& operand) {
      const Folded part = fold(operand);
      found.score = found.score || part.score;
      found.row = found.row || part.row;
      return part.value;
    });
    apart_ = apart_ && !(found.score && found.row);
    return found;
  }

  // Empty for a power that stays as it is.
  Expr folded(const Expr& power) const {
    std::vector<Part> parts, of_pair, of_row;
    collect(power.operand(0), 1, parts);
    for (const Part& part : parts) {
      if (!expr::is_normal_float(part.factor)) return {};
      (varies_in_row(part.value) ? of_pair : of_row).push_back(part);
    }
    const auto row_decides = [this](const Part& part) { return reads_row_(part.value); };
    const bool apart =
        std::ranges::none_of(of_pair, row_decides) && std::ranges::any_of(of_row, row_decides);
    if (!apart || !std::ranges::any_of(of_pair, reads_score, &Part::value)) return {};
    const Expr pair = sum_of(of_pair);
    if (!is_small_(pair)) return {};
    return expr::make(Op::Exp2, {expr::make(Op::Add, {pair, sum_of(of_row)})});
  }

  const Asks& reads_row_;
  const Asks& is_small_;
  bool apart_ = true;
  Known<Folded> known_;
};

}  // namespace

FoldedRows with_folded_rows(const Expr& e, const Asks& reads_row, const Asks& is_small) {
  return Folding(reads_row, is_small)(e);
}

}  // namespace attngen::attention
