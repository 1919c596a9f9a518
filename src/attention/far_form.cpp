#include "attention/far_form.h"

#include <algorithm>

#include "attention/interval_mask.h"
#include "attention/pair_form.h"
#include "attention/pair_input.h"
#include "attention/terms.h"
#include "attention/tiles.h"
#include "expr/bound.h"
#include "expr/simplify.h"

namespace attngen::attention {

using expr::Expr;
using expr::Op;

namespace {

// Whether only its key decides a pair's.
bool is_of_key(const Expr& e) {
  static constexpr const char* kOthers[] = {"q_idx", "q_pos", "d", "map", "score", kProduct};
  return std::ranges::none_of(kOthers, [&](const char* name) { return expr::mentions(e, name); });
}

// Whether a mask leaves out keys as such, say padding.
bool has_part_of_key(const Expr& mask) {
  if (mask.op() != Op::And) return expr::mentions(mask, "kv_idx") && is_of_key(mask);
  return has_part_of_key(mask.operand(0)) || has_part_of_key(mask.operand(1));
}

// What keeps tiles from having keys that all their rows see, and whose values come by themselves.
const char* obstacle_of_keys(const spec::Spec& spec, const RowForm& rows) {
  if (spec.page) return "the cache is in pages";
  if (spec.block_size > 0) return "blocks of keys may be left out";
  if (spec.token_count > 0) return "lists name the keys";
  if (spec.maps > 1) return "two maps share an output";
  if (pair_input(spec)) return "an input is of each pair";
  const KeyRange range = key_range(spec.mask, spec.inputs);
  const bool from_first = range.begin.is_number(0) && range.full_begin.is_number(0);
  if (has_row_limits(range) && from_first) return nullptr;
  if (sums_products(rows) || !has_part_of_key(spec.mask))
    return "rows do not see all keys from the first on";
  return "the mask leaves keys out for all rows; a factor of the score could: score * valid[b, "
         "kv_idx]";
}

constexpr int kMostParts = 64;  // of shared ones there may be a number exponential in depth

// A score as a product of kProduct, of what does not vary along the row, of what else varies, and
// a power of 2. Empty for 1, and for 2^0.
struct Factors {
  Expr of_row, varying;
  std::vector<Term> exponent;
};

void multiply(Expr& product, const Expr& by, bool divides) {
  if (!product && !divides) {
    product = by;
  } else {
    product =
        expr::make(divides ? Op::Divide : Op::Multiply, {product ? product : expr::number(1), by});
  }
}

std::optional<Factors> factors_of(const Expr& score, const Predicate& varies) {
  struct Factor {
    Expr value;
    bool divides;
  };
  std::vector<Factor> left{{score, false}};
  Factors factors;
  int products = 0, parts = 0;
  while (!left.empty()) {
    if (++parts > kMostParts) return std::nullopt;
    const auto [value, divides] = left.back();
    left.pop_back();
    const bool is_product = value.op() == Op::Variable && value.name() == kProduct;
    if (!varies(value)) {
      multiply(factors.of_row, value, divides);
    } else if (value.op() == Op::Multiply || value.op() == Op::Divide) {
      left.push_back({value.operand(0), divides});
      left.push_back({value.operand(1), divides != (value.op() == Op::Divide)});
    } else if (value.op() == Op::Exp2) {
      factors.exponent.push_back({value.operand(0), divides});
    } else if (is_product && !divides) {
      ++products;
    } else {
      multiply(factors.varying, value, divides);
    }
  }
  if (products != 1) return std::nullopt;
  return factors;
}

// A sum whose terms are each of the row or of the key.
class SplitSum {
 public:
  explicit SplitSum(const Predicate& varies) : varies_(varies) {}

  std::vector<Term> of_row, of_key;

  // Whether all terms of factor * e are so.
  bool add_terms(const Expr& e, const Expr& factor, bool minus) {
    for (const Term& term : terms_of(e)) {
      if (!add_term(term.value, factor, minus != term.minus)) return false;
    }
    return true;
  }

 private:
  bool add_term(const Expr& e, const Expr& factor, bool minus) {
    if (++terms_ > kMostParts) return false;
    if (varies_(e) && e.op() == Op::ToFloat) return add_whole(e.operand(0), factor, minus);
    if (e.op() == Op::Negate) return add_terms(e.operand(0), factor, !minus);
    if (varies_(e) && e.op() == Op::Divide && !varies_(e.operand(1))) {
      const Expr inverse = expr::make(Op::Divide, {expr::number(1), e.operand(1)});
      return add_terms(e.operand(0), times(factor, inverse), minus);
    }
    if (varies_(e) && e.op() == Op::Multiply) {
      for (const size_t i : {0u, 1u}) {
        if (!varies_(e.operand(i)))
          return add_terms(e.operand(1 - i), times(factor, e.operand(i)), minus);
      }
    }
    return add_part(e, times(factor, e), minus);
  }
  // q_pos - kv_idx, say.
  bool add_whole(const Expr& e, const Expr& factor, bool minus) {
    if (++terms_ > kMostParts) return false;
    if (e.op() == Op::Add || e.op() == Op::Subtract) {
      return add_whole(e.operand(0), factor, minus) &&
             add_whole(e.operand(1), factor, minus != (e.op() == Op::Subtract));
    }
    return add_part(e, times(factor, expr::make(Op::ToFloat, {e})), minus);
  }
  // A factor of the row, such as q_pos * kv_idx has, makes of a part of the key one of the pair.
  bool add_part(const Expr& e, const Expr& term, bool minus) {
    if (varies_(e) && !is_of_key(term)) return false;
    (varies_(e) ? of_key : of_row).push_back({term, minus});
    return true;
  }
  static Expr times(const Expr& factor, const Expr& e) {
    return factor ? expr::make(Op::Multiply, {factor, e}) : e;
  }

  const Predicate& varies_;
  int terms_ = 0;
};

}  // namespace

int sums_of_products(const std::vector<FarSum>& sums) {
  if (std::ranges::count(sums, FarSum::Absolute) == 0) return 0;
  return static_cast<int>(
      std::ranges::count_if(sums, [](FarSum sum) { return sum != FarSum::Number; }));
}

bool sums_products(const RowForm& rows) {
  return std::ranges::any_of(rows.reductions, [](const Reduction& reduction) {
    return reduction.element.op() == Op::Abs;
  });
}

bool sums_keys(const RowForm& rows) {
  return !sums_products(rows) &&
         std::ranges::any_of(rows.reductions, [](const Reduction& reduction) {
           return !reduction.element.is_number();
         });
}

Growth growth_of(const Expr& slope, int heads) {
  const auto variable = [heads](std::string_view name) {
    return name == "h" ? expr::Interval{0, heads - 1.0} : expr::Interval{};
  };
  const expr::Interval range =
      expr::bound(slope, {variable, [](auto) { return expr::Interval{}; }});
  if (range.low >= 0 && !range.may_be_nan) return Growth::Rises;
  return range.high < 0 && !range.may_be_nan ? Growth::Falls : Growth::AsInputsSay;
}

FarRows far_rows(const spec::Spec& spec, const RowForm& rows) {
  if (spec.dtype != spec::DType::Bf16) return {{}, "a state may leave the range of fp16"};
  if (!rows.row_free()) return {{}, "weights read a value of their row"};
  if (const char* const obstacle = obstacle_of_keys(spec, rows)) return {{}, obstacle};
  FarRows far;
  for (const Reduction& reduction : rows.reductions) {
    const Expr& element = reduction.element;
    const bool is_abs = element.op() == Op::Abs;
    const bool is_sum = reduction.kind == Reduction::Kind::Sum && reduction.deferred;
    if (is_sum && element.is_number()) {
      far.sums.push_back(FarSum::Number);
    } else if (is_sum && expr::same(is_abs ? element.operand(0) : element, rows.weight)) {
      far.sums.push_back(is_abs ? FarSum::Absolute : FarSum::Score);
    } else {
      return {{}, "rows take more of their weights than sums of them or of their absolute values"};
    }
  }
  return far;
}

Expr far_exponent(const Expr& score, const Predicate& varies) {
  const auto factors = factors_of(score, varies);
  if (!factors || factors->varying) return {};
  const Expr exponent = sum_of(factors->exponent);
  return exponent ? exponent : expr::number(0);
}

std::optional<KeyWeight> key_weight(const Expr& score, const Predicate& varies) {
  const auto factors = factors_of(score, varies);
  if (!factors || (factors->varying && !is_of_key(factors->varying))) return std::nullopt;
  SplitSum exponent(varies);
  for (const Term& term : factors->exponent) {
    if (!exponent.add_terms(term.value, {}, term.minus)) return std::nullopt;
  }
  exponent.of_row.push_back({expr::variable(kUnit, expr::Type::Float)});
  Expr of_row = expr::make(Op::Exp2, {sum_of(exponent.of_row)});
  if (factors->of_row) multiply(of_row, factors->of_row, false);
  const auto simple = [](const Expr& e) { return e ? expr::simplify(e) : e; };
  return KeyWeight{simple(sum_of(exponent.of_key)), simple(factors->varying), simple(of_row)};
}

}  // namespace attngen::attention
