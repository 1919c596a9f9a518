// Random masks as users write them, and data for their inputs.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "expr/expr.h"
#include "spec/spec.h"

namespace attngen::attention::testing {

// Inputs [batch, seq_kv] of ids that stretches of keys share: they ascend, descend, or are in no
// order. Only of the first it is declared. Elements of other inputs differ from key to key; some of
// the floats are infinite, or none.
inline constexpr std::string_view kSorted = "span", kFalling = "page", kChunks = "chunk";
inline constexpr std::string_view kFloats = "weight";
inline std::vector<spec::Input> random_inputs() {
  using Kind = spec::Input::Dim::Kind;
  const std::vector<spec::Input::Dim> shape{{Kind::Batch, 0}, {Kind::SeqKv, 0}};
  return {{std::string(kSorted), spec::Input::Element::I32, shape, true},
          {std::string(kFloats), spec::Input::Element::F32, shape, false}};
}

// Whether numbers are few and small, or also as large as 32 bits hold.
enum class Numbers : uint8_t { Small, Extreme };

// Values of b, h, h_kv and of every input's elements, fixed by a seed.
class Data {
 public:
  explicit Data(uint64_t seed, Numbers numbers = Numbers::Small) : seed_(seed), numbers_(numbers) {
    // Stretches of one to a few keys, from a negative id on.
    std::mt19937_64 random(seed);
    for (auto& ids : ascending_) {
      const uint64_t longest = 1 + random() % 6;
      double id = -2;
      for (double& element : ids) element = id += random() % longest == 0 ? 1 : 0;
    }
    for (size_t b = 0; b < ascending_.size(); ++b) {
      double id = 0;
      for (size_t kv = 0; kv < ascending_[b].size(); ++kv) {
        const bool next = kv > 0 && ascending_[b][kv] != ascending_[b][kv - 1];
        if (kv == 0 || next) id = static_cast<double>(random() % 8) - 2;
        chunks_[b][kv] = id;
      }
    }
  }
  void set(std::string input, double value) { fixed_[std::move(input)] = value; }

  double index(std::string_view name) const {
    return static_cast<double>((seed_ + name.size()) % 4);  // b, h, h_kv
  }
  // Whether an input has an element for each key: its indices are clamped.
  static bool of_keys(std::string_view input) {
    return input == kSorted || input == kFalling || input == kChunks;
  }
  double element(std::string_view input, std::span<const int64_t> at) const {
    const double value = small_element(input, at);
    return numbers_ == Numbers::Small || input == kFloats ? value : stretched(value);
  }

 private:
  double small_element(std::string_view input, std::span<const int64_t> at) const {
    if (const auto found = fixed_.find(input); found != fixed_.end()) return found->second;
    if (input == kSorted) return ascending_.at(at[0]).at(at[1]);
    if (input == kFalling) return 9 - ascending_.at(at[0]).at(at[1]);
    if (input == kChunks) return chunks_.at(at[0]).at(at[1]);
    uint64_t mixed = seed_;
    for (char c : input) mixed = mixed * 31 + static_cast<unsigned char>(c);
    for (int64_t i : at) mixed = mixed * 1009 + static_cast<uint64_t>(i);
    mixed *= 0x9E3779B97F4A7C15U;
    const auto value = static_cast<double>((mixed >> 40U) % 16) - 4;
    return input == kFloats && seed_ % 4 == 0 ? spoiled(value, (mixed >> 50U) % 8) : value;
  }

  // What ascends still does: from somewhere on all are the greatest, up to somewhere the least.
  double stretched(double value) const {
    constexpr double kLowest = std::numeric_limits<int32_t>::min();
    constexpr double kHighest = std::numeric_limits<int32_t>::max();
    if (value >= static_cast<double>(seed_ / 4 % 12)) return kHighest - (seed_ % 2 == 0 ? 0 : 1);
    if (value <= static_cast<double>(seed_ / 64 % 8) - 5) return kLowest + (seed_ % 3 == 0 ? 1 : 0);
    return value;
  }

  static double spoiled(double value, uint64_t how) {
    if (how == 0) return std::numeric_limits<double>::quiet_NaN();
    return how == 1 ? std::copysign(expr::kInfinity, value) : value;
  }

  uint64_t seed_;
  Numbers numbers_;
  std::array<std::array<double, 64>, 4> ascending_{}, chunks_{};  // by b and key
  std::map<std::string, double, std::less<>> fixed_;
};

class RandomMask {
 public:
  explicit RandomMask(uint64_t seed, Numbers numbers = Numbers::Small)
      : numbers_(numbers), random_(seed) {}
  uint64_t next() { return random_(); }

  expr::Expr mask(int depth) {
    using expr::Op;
    if (depth == 0) return comparison();
    switch (next() % 9) {
      case 0:
        return expr::make(Op::Not, {mask(depth - 1)});
      case 1:
        return expr::make(Op::Select, {mask(depth - 1), mask(depth - 1), mask(depth - 1)});
      case 2:
      case 3:
        return expr::make(Op::Or, {mask(depth - 1), mask(depth - 1)});
      case 4:
      case 5:
        return expr::make(Op::And, {mask(depth - 1), mask(depth - 1)});
      case 6:
        return next() % 8 != 0 ? comparison() : expr::boolean(next() % 2 == 0);
      case 7:
        return expr::make(next() % 2 == 0 ? Op::Equal : Op::NotEqual,
                          {mask(depth - 1), mask(depth - 1)});
      default:
        return comparison();
    }
  }

 private:
  static expr::Expr name(const char* n) { return expr::variable(n, expr::Type::Int); }

  expr::Expr comparison() {
    using expr::Op;
    constexpr std::array kOps = {Op::Less,         Op::LessEqual, Op::Greater,
                                 Op::GreaterEqual, Op::Equal,     Op::NotEqual};
    const Op op = kOps[next() % kOps.size()];
    if (next() % 8 == 0) return expr::make(op, {multiple_of_key(), term(1)});
    if (next() % 8 == 0) return expr::make(op, {in_frames("kv_idx"), in_frames("q_pos")});
    return next() % 8 == 0 ? expr::make(op, {float_term(2), float_term(1)})
                           : expr::make(op, {term(2), term(2)});
  }

  // Keys that stand for blocks of queries, as compressed or striped ones do.
  expr::Expr multiple_of_key() {
    using expr::Op;
    expr::Expr key = name("kv_idx");
    if (next() % 4 == 0) key = expr::make(Op::FloorDivide, {key, expr::integer(2)});
    if (next() % 4 == 0) key = expr::load(std::string(kSorted), expr::Type::Int, {name("b"), key});
    const auto times = static_cast<int64_t>(next() % 12) - 4;
    return expr::make(Op::Add, {expr::make(Op::Multiply, {key, expr::integer(times)}), leaf()});
  }

  // A number of the call, which may be negative or 0, or is made none.
  static expr::Expr length() { return expr::load("prefix", expr::Type::Int, {name("b")}); }
  expr::Expr size() {
    return next() % 3 != 0 ? length() : expr::make(expr::Op::Max, {length(), expr::integer(1)});
  }
  expr::Expr divisor() { return expr::integer(static_cast<int64_t>(next() % 7) - 2); }

  // The frame that an index is of, or where that begins.
  expr::Expr in_frames(const char* index) {
    using expr::Op;
    const expr::Expr n = next() % 4 == 0 ? divisor() : size();
    expr::Expr x = name(index);
    if (next() % 3 == 0) x = expr::make(Op::Add, {x, leaf()});
    expr::Expr frame = expr::make(Op::FloorDivide, {x, n});
    switch (next() % 5) {
      case 0:
        return expr::make(Op::Multiply, {frame, n});
      case 1:
        return expr::make(Op::Subtract, {x, expr::make(Op::Modulo, {x, n})});
      case 2:
        return expr::make(Op::Add, {expr::make(Op::Multiply, {x, n}), leaf()});
      case 3:
        return expr::make(Op::Add, {frame, leaf()});
      default:
        return frame;
    }
  }

  expr::Expr float_term(int depth) {
    using expr::Op;
    constexpr std::array kIndices = {"kv_idx", "q_pos", "q_idx"};
    if (depth == 0 || next() % 4 == 0) {
      if (next() % 4 == 0) return expr::make(Op::ToFloat, {leaf()});
      return expr::load(std::string(kFloats), expr::Type::Float,
                        {name("b"), name(kIndices[next() % kIndices.size()])});
    }
    constexpr std::array kFunctions = {Op::Abs, Op::Negate, Op::Floor, Op::Relu, Op::Sqrt,
                                       Op::Exp, Op::Log2,   Op::Tanh,  Op::Sign, Op::Square};
    constexpr std::array kExtrema = {Op::Min, Op::Max};
    switch (next() % 9) {
      case 0:
      case 1:
        return expr::make(kFunctions[next() % kFunctions.size()], {float_term(depth - 1)});
      case 2:
        return expr::make(
            next() % 2 == 0 ? Op::Divide : Op::FloorDivide,
            {float_term(depth - 1), expr::number(static_cast<double>(next() % 5) / 2 - 1.25)});
      case 3:
        return expr::make(Op::Multiply, {expr::load("prefix", expr::Type::Int, {name("b")}),
                                         float_term(depth - 1)});
      case 4:
        return expr::make(kExtrema[next() % 2], {float_term(depth - 1), float_term(depth - 1)});
      case 5:
        return expr::make(Op::Multiply, {float_term(depth - 1),
                                         expr::number(static_cast<double>(next() % 5) - 2)});
      case 6: {  // there and back, but for its rounding
        const expr::Expr factor = expr::number(next() % 2 == 0 ? 0.7 : 49.0);
        return expr::make(Op::Divide,
                          {expr::make(Op::Multiply, {float_term(depth - 1), factor}), factor});
      }
      case 7:
        return expr::make(Op::Multiply, {power(depth - 1), power(depth - 1)});
      default:
        return expr::make(next() % 2 == 0 ? Op::Subtract : Op::Add,
                          {float_term(depth - 1), float_term(depth - 1)});
    }
  }

  // One that may be infinite, or 0.
  expr::Expr power(int depth) {
    const double factor = next() % 2 == 0 ? 200 : -200;
    return expr::make(expr::Op::Exp,
                      {expr::make(expr::Op::Multiply, {float_term(depth), expr::number(factor)})});
  }

  expr::Expr term(int depth) {
    using expr::Op;
    if (depth == 0) return leaf();
    constexpr std::array kOps = {Op::Add, Op::Subtract, Op::Subtract, Op::Min, Op::Max};
    switch (next() % 8) {
      case 0:
        return expr::make(Op::FloorDivide,
                          {term(depth - 1), expr::integer(1 + static_cast<int64_t>(next() % 4))});
      case 1: {
        constexpr std::array kFunctions = {Op::Abs, Op::Negate, Op::Square, Op::Sign, Op::Relu};
        return expr::make(kFunctions[next() % kFunctions.size()], {term(depth - 1)});
      }
      case 2:
        return expr::make(
            Op::Multiply,
            {term(depth - 1), numbers_ == Numbers::Extreme
                                  ? number()
                                  : expr::integer(static_cast<int64_t>(next() % 5) - 2)});
      case 3:
        return expr::make(next() % 2 == 0 ? Op::Modulo : Op::FloorDivide,
                          {term(depth - 1), next() % 4 == 0 ? size() : divisor()});
      case 4:
        if (next() % 2 == 0) return leaf();
        if (next() % 2 == 0) return expr::make(Op::ToInt, {float_term(1)});
        return expr::make(Op::Select, {comparison(), term(depth - 1), term(depth - 1)});
      default:
        return expr::make(kOps[next() % kOps.size()], {term(depth - 1), term(depth - 1)});
    }
  }

  expr::Expr leaf() {
    switch (next() % 14) {
      case 0:
      case 1:
      case 2:
        return name("kv_idx");
      case 3:
      case 4:
        return name("q_pos");
      case 5:
        return name("q_idx");
      case 6:
        return name(next() % 2 == 0 ? "seq_q" : "seq_kv");
      case 7:
        return name(next() % 2 == 0 ? "h" : "b");
      case 8:
        return expr::load("prefix", expr::Type::Int, {name("b")});
      case 9:
        return expr::load("doc_id", expr::Type::Int,
                          {name("b"), next() % 2 == 0 ? name("kv_idx") : name("q_idx")});
      case 10: {
        constexpr std::array kIndices = {"kv_idx", "q_pos", "q_idx"};
        return expr::load(std::string(kSorted), expr::Type::Int,
                          {sequence(), name(kIndices[next() % kIndices.size()])});
      }
      case 11: {
        constexpr std::array kIndices = {"kv_idx", "kv_idx", "q_pos", "q_idx"};
        return expr::load(std::string(next() % 2 == 0 ? kFalling : kChunks), expr::Type::Int,
                          {name("b"), name(kIndices[next() % kIndices.size()])});
      }
      default:
        return number();
    }
  }

  // Mostly one for all pairs. Another's ids need not ascend where the index passes on to it.
  expr::Expr sequence() {
    if (next() % 4 != 0) return name("b");
    return expr::make(expr::Op::Modulo,
                      {name(next() % 2 == 0 ? "kv_idx" : "q_idx"), expr::integer(4)});
  }

  expr::Expr number() {
    constexpr std::array<int64_t, 6> kExtremes = {std::numeric_limits<int32_t>::max(),
                                                  -std::numeric_limits<int32_t>::max(),
                                                  std::numeric_limits<int32_t>::min(),
                                                  int64_t{1} << 30,
                                                  -(int64_t{1} << 30),
                                                  65536};
    if (numbers_ == Numbers::Extreme && next() % 4 == 0) {
      return expr::integer(kExtremes[next() % kExtremes.size()]);
    }
    return expr::integer(static_cast<int64_t>(next() % 11) - 3);
  }

  Numbers numbers_;
  std::mt19937_64 random_;
};

}  // namespace attngen::attention::testing
