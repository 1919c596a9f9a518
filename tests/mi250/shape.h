// The lengths of a call, its strides and the size of its scores.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hold/storage.h"

namespace attngen::mi250 {

struct Sequence {
  int64_t q_begin = 0, seq_q = 0, kv_begin = 0, seq_kv = 0;
};

struct Shape {
  int64_t batch = 1, seq_q = 1, seq_kv = 1;  // of packed sequences the longest
  std::vector<Sequence> packed;              // one behind the other in memory; none: a batch
  int64_t total_q = 0, total_kv = 0;         // of these
  bool wild = false;  // offsets that descend and lie far outside, of empty ones around a third
  hold::StrideKind strides = hold::StrideKind::Default;
  double logits = 1;  // the standard deviation of scores
  std::string text() const;
  int64_t queries(int64_t b) const { return packed.empty() ? seq_q : packed[index(b)].seq_q; }
  // The second of three or more packed sequences is of NaN, which no other may read.
  bool is_poisoned(int64_t b) const { return packed.size() > 2 && b == 1; }

 private:
  static size_t index(int64_t b) { return static_cast<size_t>(b); }
};

}  // namespace attngen::mi250
