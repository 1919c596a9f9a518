// Random scores, weights and masks as users may write them: whole numbers, floats and conditions of
// what a pair, its row or its key has, one inside the other.
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "expr/expr.h"
#include "support.h"

namespace attngen::attention::testing {

// A spec with an input of every kind that they read, and `lines` after them.
inline std::string random_pair_text(const std::string& lines) {
  return text_with_inputs(
      "  cap: {dtype: f32, shape: []}\n"
      "  sink: {dtype: f32, shape: [heads]}\n"
      "  key: {dtype: f32, shape: [batch, seq_kv]}\n"
      "  gate: {dtype: bf16, shape: [batch, heads, seq_kv]}\n"
      "  query: {dtype: f32, shape: [batch, seq_q]}\n"
      "  bias: {dtype: bf16, shape: [batch, heads, seq_q, seq_kv]}\n"
      "  keep: {dtype: u8, shape: [batch, seq_q, seq_kv]}\n"
      "  prefix: {dtype: i32, shape: [batch]}\n"
      "  chunk: {dtype: i32, shape: [batch, seq_kv]}\n"
      "  table: {dtype: i32, shape: [32]}\n" +
      lines);
}

class RandomPair {
 public:
  explicit RandomPair(uint64_t seed) : random_(seed) {}

  uint64_t below(uint64_t bound) { return random_() % bound; }
  bool one_in(uint64_t n) { return below(n) == 0; }
  double within(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random_);
  }

  // A score or a weight.
  expr::Expr value(int depth) {
    has_score_ = true;
    return float_of(depth);
  }
  // Of what a pair has before its score.
  expr::Expr mask(int depth) {
    has_score_ = false;
    shared_.clear();
    return condition(depth);
  }

 private:
  using Expr = expr::Expr;
  using Op = expr::Op;

  template <typename T, size_t n>
  T one_of(const std::array<T, n>& choices) {
    return choices[below(n)];
  }
  static Expr name(const char* n) { return expr::variable(n, expr::Type::Int); }
  static Expr key() { return name("kv_idx"); }

  Expr float_of(int depth) {
    if (depth <= 0 || one_in(7)) return float_leaf();
    // Again what stands elsewhere, so that it is known already.
    if (!shared_.empty() && one_in(10)) return shared_[below(shared_.size())];
    Expr e = float_node(depth - 1);
    if (one_in(4)) shared_.push_back(e);
    return e;
  }

  Expr float_node(int depth) {
    switch (below(16)) {
      case 0:
      case 1:
      case 2:
        return expr::make(Op::Add, {float_of(depth), float_of(depth)});
      case 3:
      case 4:
        return expr::make(Op::Subtract, {float_of(depth), float_of(depth)});
      case 5:
      case 6:
      case 7:
        return expr::make(Op::Multiply, {float_of(depth), float_of(depth)});
      case 8:
        return expr::make(Op::Divide, {float_of(depth), divisor(depth)});
      case 9:
      case 10:
        return function(depth);
      case 11:
        return expr::make(one_in(2) ? Op::Min : Op::Max, {float_of(depth), float_of(depth)});
      case 12:
        return expr::make(Op::Select, {condition(depth), float_of(depth), float_of(depth)});
      default:
        return expr::make(Op::ToFloat, {whole(depth)});
    }
  }

  Expr function(int depth) {
    constexpr std::array kFunctions = {Op::Negate,  Op::Abs,  Op::Sign,  Op::Square, Op::Relu,
                                       Op::Sigmoid, Op::Silu, Op::Gelu,  Op::Tanh,   Op::Erf,
                                       Op::Floor,   Op::Sin,  Op::Negate};
    if (!one_in(4)) return expr::make(one_of(kFunctions), {float_of(depth)});
    if (one_in(2)) return expr::make(Op::Log, {positive(depth)});
    // A decay: of large numbers it would be 0, or no number.
    const Expr exponent = expr::make(Op::Multiply, {float_of(depth), expr::number(0.0625)});
    return expr::make(one_in(2) ? Op::Exp : Op::Exp2, {exponent});
  }

  Expr positive(int depth) {
    return expr::make(Op::Add, {expr::number(1.5), expr::make(Op::Abs, {float_of(depth)})});
  }
  Expr divisor(int depth) {
    if (one_in(3)) return positive(depth);
    return one_in(2) ? expr::load("cap", expr::Type::Float, {}) : expr::number(3);
  }

  Expr float_leaf() {
    constexpr std::array kNumbers = {0.5, 3.0, -2.0, 1.0, 0.1};
    const auto load = [](const char* input, std::vector<Expr> indices) {
      return expr::load(input, expr::Type::Float, std::move(indices));
    };
    switch (below(has_score_ ? 12 : 7)) {
      case 0:
        return load("sink", {name("h")});
      case 1:
        return load("key", {name("b"), index()});
      case 2:
        return load("gate", {name("b"), name("h"), index()});
      case 3:
        return load("query", {name("b"), name("q_idx")});
      case 4:
        return load("cap", {});
      case 5:
        return expr::make(Op::ToFloat, {whole_leaf()});
      case 6:
        return expr::number(one_of(kNumbers));
      case 7:
        return load("bias", {name("b"), name("h"), name("q_idx"), key()});
      default:
        return expr::variable("score", expr::Type::Float);
    }
  }

  Expr whole(int depth) {
    if (depth <= 0 || one_in(6)) return whole_leaf();
    constexpr std::array kOps = {Op::Add, Op::Add, Op::Subtract, Op::Subtract, Op::Min, Op::Max};
    switch (below(10)) {
      case 0:
        return expr::make(Op::Multiply, {whole(depth - 1), expr::integer(one_in(2) ? 3 : -2)});
      case 1:
        return expr::make(one_in(2) ? Op::FloorDivide : Op::Modulo,
                          {whole(depth - 1), expr::integer(one_in(2) ? 4 : 5)});
      case 2:
      case 3:
        return expr::make(Op::ToInt, {float_of(depth - 1)});
      case 4:
        return expr::make(one_in(2) ? Op::Abs : Op::Negate, {whole(depth - 1)});
      case 5:
        return expr::make(Op::Select, {condition(depth - 1), whole(depth - 1), whole(depth - 1)});
      case 6:
        return table(whole(depth - 1));
      default:
        return expr::make(one_of(kOps), {whole(depth - 1), whole(depth - 1)});
    }
  }

  static Expr table(const Expr& index) {
    const Expr within =
        expr::make(Op::Min, {expr::make(Op::Max, {index, expr::integer(0)}), expr::integer(31)});
    return expr::load("table", expr::Type::Int, {within});
  }

  Expr whole_leaf() {
    constexpr std::array kIndices = {"kv_idx", "kv_idx", "q_pos", "q_idx", "h", "b", "seq_kv"};
    switch (below(8)) {
      case 0:
      case 1:
        return expr::make(Op::Subtract, {key(), name("q_pos")});
      case 7:
        return expr::load("keep", expr::Type::Int, {name("b"), name("q_idx"), key()});
      case 2:
        return expr::load("chunk", expr::Type::Int, {name("b"), index()});
      case 3:
        return one_in(2) ? expr::load("prefix", expr::Type::Int, {name("b")})
                         : expr::integer(static_cast<int64_t>(below(7)) - 2);
      default:
        return name(one_of(kIndices));
    }
  }

  // Into what has an element for each key: mostly the pair's own.
  Expr index() {
    switch (below(8)) {
      case 0:
      case 1:
        return name("q_pos");
      case 2:
        return expr::make(Op::Add, {key(), expr::integer(1)});
      case 3:
        return expr::make(Op::FloorDivide, {key(), expr::integer(2)});
      default:
        return key();
    }
  }

  Expr condition(int depth) {
    constexpr std::array kComparisons = {Op::Less,         Op::LessEqual, Op::Greater,
                                         Op::GreaterEqual, Op::Equal,     Op::NotEqual};
    const int below_it = depth - 1;
    switch (below(depth > 0 ? 6 : 4)) {
      case 0:
      case 1:
        return expr::make(one_of(kComparisons), {float_of(below_it), float_of(below_it)});
      case 2:
      case 3:
        return expr::make(one_of(kComparisons), {whole(below_it), whole(below_it)});
      case 4:
        return expr::make(Op::Not, {condition(below_it)});
      default:
        return expr::make(one_in(2) ? Op::And : Op::Or, {condition(below_it), condition(below_it)});
    }
  }

  std::mt19937_64 random_;
  std::vector<Expr> shared_;
  bool has_score_ = true;
};

}  // namespace attngen::attention::testing
