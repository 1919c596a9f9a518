// The value of an expression in double precision.
#pragma once

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
  // `variables` names the slots; every Variable of the expression must be among them.
  Program(const Expr& e, std::span<const std::string> variables);
  // Bools are 0 or 1. Thread-safe: scratch memory is the call's own.
  double operator()(std::span<const double> values, const Loader& load = {}) const;

 private:
  struct Instruction {
    Op op;
    Type type;                       // of the result; decides // and % between Ints and Floats
    std::vector<uint32_t> operands;  // earlier instructions
    double number = 0;               // Number; slot of a Variable
    std::string name;                // Load
  };
  std::vector<Instruction> code_;  // shared subtrees appear once
};

// One evaluation by names.
double evaluate(const Expr& e, const std::function<double(std::string_view)>& variable,
                const Loader& load = {});

}  // namespace attngen::expr
