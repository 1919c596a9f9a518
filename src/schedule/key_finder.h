// Which keys a tile needs, by the limits of a mask at its rows.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "attention/tiles.h"
#include "expr/bound.h"
#include "schedule/lengths.h"

namespace attngen::schedule {

// The keys of one tile row, clamped to [0, seq_kv]; [full_begin, full_end) need no mask.
struct RowKeys {
  int64_t begin = 0, end = 0, full_begin = 0, full_end = 0;
  bool operator==(const RowKeys&) const = default;
};

struct Head {
  int q = 0, kv = 0;
};

// Of one tile of a call after the other.
class KeyFinder {
 public:
  KeyFinder(const attention::KeyRange& range, int64_t seq_q, int64_t seq_kv,
            const KeyLengths& lengths);
  KeyFinder(const KeyFinder&) = delete;
  KeyFinder& operator=(const KeyFinder&) = delete;

  // Of this head's mask from here on.
  void set(const Head& head) { head_ = head; }

  RowKeys find(int64_t q_first, int64_t q_last);

 private:
  expr::Interval variable(std::string_view name) const;

  int64_t seq_q_, seq_kv_, q_first_ = 0, q_last_ = 0;
  KeyLengths lengths_;
  int64_t length_ = 0;
  std::optional<Head> head_;
  expr::Bounder begin_, end_, full_begin_, full_end_;
  expr::Bounds bounds_;
};

}  // namespace attngen::schedule
