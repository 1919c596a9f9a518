// The value of an expression in double precision.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "expr/expr.h"

namespace attngen::expr {

// An input's element; indices are in range if the caller's are.
using Loader = std::function<double(std::string_view input, std::span<const int64_t> indices)>;

// An expression flattened for many evaluations: variables are slots, not names.
class Program {
 public:
  // `variables` names the slots; every Variable of the expression must be among them. RowMax
  // and RowSum have no value here: NaN.
  Program(const Expr& e, std::span<const std::string> variables);
  // Bools are 0 or 1. Thread-safe: scratch memory is the call's own.
  double operator()(std::span<const double> values, const Loader& load = {}) const;

 private:
  struct Builder;
  struct Instruction {
    Op op = Op::Number;
    Type type = Type::Float;  // of the result; decides // and % between Ints and Floats
    std::array<uint32_t, 3> operands = {};  // earlier instructions; [0] is the slot of a Variable
    uint32_t load = 0;                      // into loads_
    double number = 0;
  };
  struct Access {
    std::string input;
    std::vector<uint32_t> indices;  // earlier instructions
  };

  static double read(const Access& access, const double* slots, const Loader& load);
  double run(double* slots, std::span<const double> values, const Loader& load) const;

  std::vector<Instruction> code_;  // shared subtrees appear once
  std::vector<Access> loads_;
};

// One evaluation by names.
double evaluate(const Expr& e, const std::function<double(std::string_view)>& variable,
                const Loader& load = {});

}  // namespace attngen::expr
