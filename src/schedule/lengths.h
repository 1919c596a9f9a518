// What inputs are taken to hold that say where keys begin and end: lengths or places, but no ids in
// order. Nobody knows them.
#pragma once

#include <cstdint>

#include "attention/tiles.h"

namespace attngen::schedule {

// Half of seq_kv, at one end alone; at both ends a quarter and three quarters, which leave half. A
// mask may have no pair by these, `kv_idx >= 3 * start[b]`: they are then taken to be the next of
// this order by which it has one.
enum class Lengths : uint8_t {
  Half,
  ThreeQuarters,  // at both ends: none at the first
  Whole,          // at both ends: none at the first, seq_kv at the last
  Zero,
  SeqKv,
};

struct KeyLengths {
  int64_t first = 0, last = 0;  // for where keys begin, and for where they end
};

bool has_lengths_at_both_ends(const attention::KeyRange& range);
KeyLengths key_lengths(Lengths lengths, const attention::KeyRange& range, int64_t seq_kv);

// What a call's are taken to be. Half for a mask without them, or that has no pair by any.
Lengths taken_lengths(const attention::KeyRange& range, int64_t seq_q, int64_t seq_kv);

}  // namespace attngen::schedule
