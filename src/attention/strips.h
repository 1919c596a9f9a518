// What the pairs of a block share: values of a key alone, key[b, kv_idx], and of how far a key is
// from its query, table[kv_idx - q_pos, h]. 64 rows of 64 keys have 64 of the former and 127 of the
// latter, for 4096 pairs: a warpgroup computes each once, into a strip of shared memory. Values are
// terms of a score, or whole numbers that index an input: rel[b, h, q_idx, bucket[kv_idx - q_pos]].
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attention/known.h"
#include "expr/expr.h"

namespace attngen::attention {

// Among the pairs of a tile of one head's rows, a value depends on
enum class Reach : uint8_t {
  Tile,      // none of them
  Key,       // kv_idx
  Row,       // q_idx
  Distance,  // kv_idx - q_pos alone
  Pair,      // both, or on the product
};

// Variables that stand for the values, in what is left for a pair.
inline constexpr const char* kOfKey = "$key";  // and from the second on a number: "$key1"
inline constexpr size_t kMostOfKey = 3;        // such as places in space
std::string name_of_key(size_t i);
inline constexpr const char* kOfDistance = "$distance";
inline constexpr const char* kKeyWord = "$key_word";    // and a number: an Int
inline constexpr const char* kKeyFloat = "$key_float";  // the same of a Float
inline constexpr size_t kMostKeyWords = 2;

// What is computed once: nothing; of keys alone, where a tile has rows of several heads, the same
// for all of these or for each one its own; or all.
enum class Shared : uint8_t { Nothing, OfKeys, OfKeysByHead, All };

class Strips {
 public:
  // `cheap` says what costs a pair no more than to read it would: an even slope along the keys.
  using Cheap = std::function<bool(const expr::Expr&)>;
  // Gives an index of a load so that any number is in its dimension: what a strip keeps.
  using InRange = std::function<expr::Expr(const expr::Expr& load, size_t dim)>;
  Strips(Shared shared, Cheap cheap, InRange in_range)
      : shared_(shared), cheap_(std::move(cheap)), in_range_(std::move(in_range)) {}

  // `e` with kOfKey and kOfDistance in the place of its largest parts that are worth a strip; the
  // terms of a sum that share a reach go together. There is one strip of distances and a few of
  // keys, of which indices are the first: what has another value stays.
  expr::Expr operator()(const expr::Expr& e);

  // A mask with kKeyWord and kKeyFloat in the place of its largest parts that depend on the key
  // alone and are worth a strip, the first few.
  expr::Expr with_key_words(const expr::Expr& mask);

  // Of kv_idx and, of a distance, q_pos or q_idx: any row serves that is as far away.
  const std::vector<expr::Expr>& of_key() const { return of_key_; }
  const expr::Expr& of_distance() const { return of_distance_; }
  const std::vector<expr::Expr>& key_words() const { return key_words_; }

  Reach reach(const expr::Expr& e) const;

 private:
  Reach reach_of_variable(const std::string& name) const;
  Reach reach_of(const expr::Expr& e) const;
  Reach reach_of_int(const expr::Expr& e) const;
  bool is_worth_a_strip(const expr::Expr& e) const;
  bool is_worth_an_index(const expr::Expr& e) const;
  bool may_be_strip(const expr::Expr& e) const;
  std::optional<expr::Expr> as_strip(const expr::Expr& e);
  std::optional<expr::Expr> as_key_strip(const expr::Expr& e);
  expr::Expr stripped(const expr::Expr& e);
  expr::Expr with_stripped_indices(const expr::Expr& load);
  expr::Expr stripped_index(const expr::Expr& e);
  // An operand of a step: of a part of its arithmetic another rounding would be made.
  expr::Expr within_step(const expr::Expr& e);
  std::optional<expr::Expr> stripped_sum(const expr::Expr& e);
  std::optional<expr::Expr> as_key_word(const expr::Expr& e);

  Shared shared_;
  Cheap cheap_;
  InRange in_range_;
  std::vector<expr::Expr> of_key_;
  expr::Expr of_distance_;
  std::vector<expr::Expr> key_words_;
  mutable Known<Reach> reaches_;
  Known<expr::Expr> stripped_, indices_, worded_;
};

}  // namespace attngen::attention
