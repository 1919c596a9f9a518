// The machinery of simplify(): constructors that return the simplest form of a node whose operands
// are already in theirs. Every node of a result came out of one of them unchanged, which is what
// makes the result a fixed point.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "expr/expr.h"

namespace attngen::expr {

class Simplifier {
 public:
  Expr simplify(const Expr& e);

 private:
  // A term of a sum, or a factor of a product: negative means subtracted, or divided by.
  struct Part {
    bool negative = false;
    Expr value;
  };
  using Parts = std::vector<Part>;

  // simplifier.cpp. `build` simplifies one node whose operands are simple.
  Expr build(Op op, std::vector<Expr> operands, Span span);
  Expr rewritten(Op op, const std::vector<Expr>& operands, Span span);  // empty: no rule applies
  Expr fold(Op op, const std::vector<Expr>& operands, Span span);
  Expr logic_rule(Op op, const std::vector<Expr>& operands, Span span);
  Expr select_rule(const std::vector<Expr>& operands, Span span);
  Expr comparison_rule(Op op, const std::vector<Expr>& operands, Span span);
  Expr integer_division_rule(Op op, const std::vector<Expr>& operands, Span span);
  Expr extremum_rule(Op op, const std::vector<Expr>& operands, Span span);
  Expr function_rule(Op op, const std::vector<Expr>& operands, Span span);
  Expr power_rule(const std::vector<Expr>& operands, Span span);
  Expr constant(Type type, double value, Span span);
  Expr intern(Expr e);
  // Whether a Float may only become what is equal of NaNs and infinities too.
  bool keeps_nans(Type type) const { return guarded_ && type == Type::Float; }

  // simplify_chains.cpp
  Expr sum_rule(Op op, const std::vector<Expr>& operands, Span span);
  Expr negate_rule(const Expr& operand, Span span);
  bool is_negative(const Expr& e) const;
  Expr opposite(const Expr& negative, Span span);
  bool collect_terms(const Expr& e, bool negative, Parts& terms);
  Expr sum_of(const Parts& terms, Type type, Span span);

  Expr product_rule(Op op, const std::vector<Expr>& operands, Span span);
  bool collect_factors(const Expr& e, bool divides, Parts& factors, bool& negative);
  bool merge_exponentials(Op op, Parts& factors, Span span);
  Expr product_of(const Parts& factors, double coefficient, Type type, Span span);

  static bool cancel(Parts& parts);
  // Of a chain's constants: whether they are one number, and whether that makes the chain shorter:
  // there were two, or a neutral one other than the 1 of 1 / x.
  enum class Merge : uint8_t { Impossible, Same, Shorter };
  static Merge take_constants(Parts& parts, double& constant, bool multiply);

  bool guarded_ = false;  // below what makes a number of a NaN, such as a comparison
  // Simplified forms by identity of the original, and `guarded_`; `originals_` keeps them alive.
  std::map<std::pair<const void*, bool>, Expr> done_;
  std::vector<Expr> originals_;
  std::unordered_map<uint64_t, std::vector<Expr>> interned_;  // by hash; only looked up
};

}  // namespace attngen::expr
