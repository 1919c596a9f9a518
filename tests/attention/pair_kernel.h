// A PairForm's value for one pair, computed in the steps of a kernel. Each step has the variables
// that the kernel has there: one that reads another fails the test.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <numbers>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "attention/pair_form.h"
#include "expr/evaluate.h"
#include "expr/print.h"

namespace attngen::attention::testing {

using Names = std::map<std::string, double, std::less<>>;

// A query, a key, and their unscaled product.
struct Place {
  int64_t b = 0, h = 0, q_idx = 0, kv_idx = 0, seq_q = 1, seq_kv = 1;
  int64_t first = 0;  // the thread's first key of the block
  double product = 0;
  double max = 0;  // the running row value "m"

  // What all pairs of a row have.
  Names row() const {
    const auto real = [](int64_t value) { return static_cast<double>(value); };
    return {{"b", real(b)},         {"h", real(h)},
            {"h_kv", real(h / 2)},  // as random_pair_text has heads
            {"q_idx", real(q_idx)}, {"q_pos", real(q_idx + seq_kv - seq_q)},
            {"seq_q", real(seq_q)}, {"seq_kv", real(seq_kv)}};
  }
  Names with_key(int64_t key) const {
    Names names = row();
    names["kv_idx"] = static_cast<double>(key);
    return names;
  }
};

// An element of an input of random_pair_text, whatever its indices: between -2 and 2, or a whole
// number from -2 to 6, or a byte from 0 to 3.
inline double element_of(std::string_view input, std::span<const int64_t> indices) {
  if (input.find('.') != std::string_view::npos) FAIL_CHECK("no address of " << input << " here");
  uint64_t mixed = 1;
  const auto mix = [&](uint64_t x) { mixed = (mixed ^ x ^ (mixed >> 29U)) * 0x9E3779B97F4A7C15U; };
  for (char c : input) mix(static_cast<unsigned char>(c));
  for (int64_t i : indices) mix(static_cast<uint64_t>(i) + 1000);
  mixed ^= mixed >> 32U;
  const bool whole = input == "prefix" || input == "chunk" || input == "table";
  if (input == "keep") return static_cast<double>(mixed % 4);
  return whole ? static_cast<double>(mixed % 9) - 2
               : static_cast<double>(mixed % 65536) / 16384 - 2;
}

inline double value_of(const expr::Expr& e, const Names& names, const expr::Loader& load) {
  const auto variable = [&](std::string_view name) {
    const auto found = names.find(name);
    if (found != names.end()) return found->second;
    FAIL_CHECK("no " << name << " where " << expr::print(e) << " is computed");
    return std::nan("");
  };
  return expr::evaluate(e, variable, load);
}

class PairKernel {
 public:
  PairKernel(const PairForm& form, const Place& place) : form_(form), place_(place) {
    for (const spec::NamedExpr& constant : form.constants) {
      constants_[constant.name] = value_of(constant.value, place.row(), element_of);
    }
    block_ = with_constants(place.with_key(place.first));
    pair_ = with_constants(place.with_key(place.kv_idx));
    put_bias(pair_);
    for (const Line& line : form.lines) pair_[line.name] = value_of(line.first, block_, element_of);
    pair_[kColumn] = column();
    for (size_t i = 0; i < form.of_key.size(); ++i) pair_[name_of_key(i)] = of_key(form.of_key[i]);
    if (form.of_distance) pair_[kOfDistance] = of_distance(form.of_distance);
  }

  // Of an exponential form, in the units of the spec's own.
  double score() const {
    const double exponent = form_.affine ? affine_exponent() : form_.unit * of_product(form_.score);
    const double score = exponent * std::numbers::ln2;
    return form_.row_term ? score + row_value(form_.row_term) : score;
  }

  // Of other forms.
  double weight() const {
    const double weight = of_score(form_.weight);
    return form_.weight_factor * (form_.positive_part ? std::fmax(weight, 0) : weight);
  }
  double element(size_t i) const {
    return form_.elements[i].factor * of_score(form_.elements[i].value);
  }

  bool exists() const {
    Names names = with_constants(place_.with_key(place_.kv_idx));
    put_bias(names);
    for (size_t i = 0; i < form_.key_words.size(); ++i) {
      const expr::Expr& word = form_.key_words[i];
      const char* const kind = word.type() == expr::Type::Int ? kKeyWord : kKeyFloat;
      names[kind + std::to_string(i)] = of_key(word);
    }
    return value_of(form_.mask, names, element_of) != 0;
  }

 private:
  void put_bias(Names& names) const {
    if (!form_.bias) return;
    names[form_.bias->has_bytes() ? kByte : kBias] = value_of(form_.bias->load, names, element_of);
  }
  double column() const { return static_cast<double>(place_.kv_idx - place_.first); }
  Names with_constants(Names names) const {
    names.insert(constants_.begin(), constants_.end());
    return names;
  }
  double row_value(const expr::Expr& e) const {
    return value_of(e, with_constants(place_.row()), element_of);
  }

  // Strips are a tile's: another row computes them, of the same key or of one that is as far away.
  Names with_other_row(int64_t key) const {
    Place other = place_;
    other.q_idx -= kRowsAway;
    return other.with_key(key);
  }
  double of_key(const expr::Expr& e) const {
    return value_of(e, with_other_row(place_.kv_idx), element_of);
  }
  double of_distance(const expr::Expr& e) const {
    return value_of(e, with_other_row(place_.kv_idx - kRowsAway), element_of);
  }

  // From registers alone.
  double affine_exponent() const {
    Names names = with_constants(place_.row());
    names[kBase] = value_of(form_.base, block_, element_of);
    names[kColumn] = column();
    names[kProduct] = place_.product;
    const auto no_inputs = [this](std::string_view input, std::span<const int64_t>) -> double {
      FAIL_CHECK(input << " is read by " << expr::print(form_.score));
      return 0;
    };
    return form_.unit * value_of(form_.score, names, no_inputs);
  }

  double of_product(const expr::Expr& e) const { return of(e, kProduct, place_.product); }
  // Where there is a score, it has taken the product's place.
  double of_score(const expr::Expr& e) const {
    return form_.score ? of(e, "score", of_product(form_.score)) : of_product(e);
  }
  double of(const expr::Expr& e, const char* operand, double value) const {
    Names names = pair_;
    names[operand] = value;
    names["m"] = place_.max;
    return value_of(e, names, [this](std::string_view input, std::span<const int64_t> indices) {
      return loaded(input, indices);
    });
  }

  // "gate.k0" is at the thread's first key of a block, and one element for each key after it.
  double loaded(std::string_view input, std::span<const int64_t> indices) const {
    for (const KeyRow& row : form_.key_rows) {
      if (input != row.load.name() + "." + row.name) continue;
      return value_of(row.load, place_.with_key(indices[0]), element_of);
    }
    return element_of(input, indices);
  }

  static constexpr int64_t kRowsAway = 5;

  const PairForm& form_;
  const Place& place_;
  Names constants_, block_, pair_;
};

}  // namespace attngen::attention::testing
