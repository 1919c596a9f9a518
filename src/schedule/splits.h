// Splits: shares of a tile's keys, each by a tile of its own, where a call has too few tiles to
// fill the GPU. Hopper only.
#pragma once

#include <cstdint>

#include "schedule/schedule.h"
#include "schedule/search.h"
#include "spec/spec.h"

namespace attngen::schedule {

// The numbers of the rule. Emitted kernels have the same ones (emit/values.cpp).
struct SplitRule {
  // In keys that a tile visits: its ends, the kernel that joins splits, a split more of that, how
  // many values of a split's rows are as long as a key, and what early joins lose where tiles have
  // more than so many places in six. (The last on an H100 too. It shrinks by half if the joining
  // kernel has the main one's carve-out of shared memory and this one fewer registers; why was not
  // found.) Of 21 calls of 1 to 64 tiles, 512 to 65536 keys and head dims 64, 128 and 256, by 5 to
  // 13 tiles each, splits by these took 1.010 times as long in the mean as by the best of two to
  // ten numbers, 1.12 at most (H200, 2026-11-27, throw-away scripts).
  static constexpr int64_t kEnds = 256, kJoining = 192, kEach = 8, kPartValues = 3840;
  static constexpr int64_t kCrowded = 256, kRoomySixths = 5;
  // Rows of a call that is joined early, each as soon as its parts are there.
  static constexpr int64_t kMostEarlyRows = 256;
  // Packed sequences that are sorted fast; of more none is split.
  static constexpr int64_t kFewSequences = 256;
  // Where sequences of the mean length would not be split, longer ones may be: in calls of up to so
  // many tiles for each place, and so many rows, which the joining kernel goes through; and so many
  // keys for each place at least, beside which it costs little if it finds nothing.
  static constexpr int64_t kUnevenTurns = 16, kUnevenRows = 8192, kUnevenKeys = 4096;
  // Tiles for each place, splits among them: more where it is known how many keys tiles have.
  static constexpr int64_t most_turns(const RowOrder& order, bool masked, bool sparse) {
    return !sparse && (order.ends_short || order.even || !masked) ? 4 : 2;
  }
};

// What of a kernel decides how its calls are split.
struct SplitHeads {
  int q = 1, kv = 1, head_dim_v = 0;
  bool masked = false, sparse = false;  // sparse: by the caller's blocks
  bool varlen = false;
  int value_parts = 1;  // each has tiles, and rows of head_dim_v columns, of its own
  int maps = 1;         // each has rows of its own
};

SplitHeads split_heads(const Kernel& kernel);

// In how many splits a call visits the keys of its tiles: the template's splits_of (arguments.cuh),
// which see. 1 if the schedule has none.
int64_t splits_of(const Schedule& schedule, const Resources& resources, const SplitHeads& heads,
                  const spec::Workload& call);

// How many parts of rows of a head the workspace of a call has places for: the template's
// most_parts (arguments.cuh). 0 where no keys are split, whatever the lengths of packed sequences.
int64_t most_parts(const Schedule& schedule, const Resources& resources, const SplitHeads& heads,
                   const spec::Workload& call);

// Bytes of what a split leaves of a row: its output, the call's number, and `reductions` values.
int64_t part_bytes(int head_dim_v, size_t reductions);

}  // namespace attngen::schedule
