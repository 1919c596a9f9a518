#include "attention/level_form.h"

#include <algorithm>
#include <string>

#include "attention/known.h"
#include "attention/pair_form.h"
#include "attention/terms.h"

namespace attngen::attention {
namespace {

using expr::Expr;
using expr::Op;
using expr::Type;

// How a whole number goes along the keys of a row.
struct Course {
  int direction = 0;   // 1: it grows or stays, -1: it falls or stays, 0: it stays everywhere
  bool stops = false;  // it may stay for more than a key
};

bool is_positive_number(const Expr& e) { return e.is_number() && e.number() > 0; }

Course turned(Course course) { return {-course.direction, course.stops}; }

// Of a sum, a minimum or a maximum.
std::optional<Course> together(Op op, const Course& a, const Course& b) {
  if (a.direction * b.direction < 0) return std::nullopt;
  const bool one_stays = a.direction == 0 || b.direction == 0;
  const bool is_sum = op == Op::Add;
  const bool stops =
      is_sum && !one_stays ? a.stops && b.stops : (!is_sum && one_stays) || a.stops || b.stops;
  return Course{one_stays ? a.direction + b.direction : a.direction, stops};
}

// What a PairForm keeps of a block: a number, "$l0", or an element by its row's address, key.k0.
bool is_of_line(const Expr& e) {
  return (e.op() == Op::Variable && e.name().starts_with("$l")) ||
         (e.op() == Op::Load && e.name().find(".k") != std::string::npos);
}

class Leveller {
 public:
  explicit Leveller(LevelForm& form) : form_(form) {}

  // Whether `e` may be level; adds to the form's indices.
  bool may_be_level(const Expr& e) {
    if (const bool* known = level_.find(e)) return *known;
    return level_.keep(e, decide_level(e));
  }

 private:
  bool decide_level(const Expr& e) {
    if (!varies_in_row(e)) return true;
    if (e.op() != Op::Load && e.type() == Type::Int) {
      const auto course = course_of(e);
      if (!course || !course->stops) return false;
      const bool known = std::ranges::any_of(
          form_.indices, [&](const Expr& index) { return expr::same(index, e); });
      if (!known) form_.indices.push_back(e);
      return true;
    }
    return !e.operands().empty() && std::ranges::all_of(e.operands(), [this](const Expr& operand) {
      return may_be_level(operand);
    });
  }

  std::optional<Course> course_of(const Expr& e) {
    if (const auto* known = courses_.find(e)) return *known;
    return courses_.keep(e, decide_course(e));
  }

  std::optional<Course> decide_course(const Expr& e) {
    if (!varies_in_row(e)) return Course{};
    if (e.op() == Op::Variable && e.name() == "kv_idx") return Course{.direction = 1};
    const auto operands = e.operands();
    const bool known = e.op() == Op::Negate || e.op() == Op::Add || e.op() == Op::Subtract ||
                       e.op() == Op::Min || e.op() == Op::Max || e.op() == Op::Multiply ||
                       e.op() == Op::FloorDivide;
    if (!known) return std::nullopt;
    const auto first = course_of(operands.front()), second = course_of(operands.back());
    if (!first || !second) return std::nullopt;
    switch (e.op()) {
      case Op::Negate:
        return turned(*first);
      case Op::Multiply:
        if (is_positive_number(operands.front())) return second;
        return is_positive_number(operands.back()) ? first : std::nullopt;
      case Op::FloorDivide:
        if (!is_positive_number(operands.back())) return std::nullopt;
        return Course{first->direction, true};
      case Op::Subtract:
        return together(Op::Add, *first, turned(*second));
      default:
        return together(e.op(), *first, *second);
    }
  }

  LevelForm& form_;
  Known<bool> level_;
  Known<std::optional<Course>> courses_;
};

// Of `factor` times the product.
std::optional<double> factor_of(const Term& term) {
  const double sign = term.minus ? -1 : 1;
  const Expr& e = term.value;
  if (e.op() == Op::Variable) return sign;
  if (e.op() != Op::Multiply) return std::nullopt;
  for (const size_t i : {0u, 1u}) {
    const Expr &product = e.operand(i), &number = e.operand(1 - i);
    if (product.op() == Op::Variable && number.is_number()) return sign * number.number();
  }
  return std::nullopt;
}

}  // namespace

std::optional<LevelForm> level_form(const Expr& score) {
  if (expr::find_node(score, is_of_line) != nullptr) return std::nullopt;
  LevelForm form;
  Leveller leveller(form);
  bool has_product = false;
  for (const Term& term : terms_of(score)) {
    if (!expr::mentions(term.value, kProduct)) {
      if (!leveller.may_be_level(term.value)) return std::nullopt;
      continue;
    }
    const auto factor = factor_of(term);
    if (!factor || has_product) return std::nullopt;
    form.factor = *factor;
    has_product = true;
  }
  if (!has_product || form.indices.empty()) return std::nullopt;
  return form;
}

}  // namespace attngen::attention
