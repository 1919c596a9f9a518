// Splits: shares of a tile's keys, where a call has too few tiles to fill the GPU. Each is a tile
// of its own, and leaves what it found of its rows in the workspace. The kernel that joins splits
// puts that together.
#pragma once

constexpr int kPlaces = ATTN_PLACES;  // of blocks, on the GPU that the kernel is for
#if ATTN_EARLY_JOINS
// Calls of so few rows are joined early, each row as soon as its parts are there. That ends them by
// 0.2 to 1.8 us sooner than to wait for the whole kernel; of more rows asking takes longer.
constexpr int kMostEarlyRows = ATTN_MOST_EARLY_ROWS;

#endif
// What a split leaves of a row.
struct __align__(16) Part {
  float output[ATTN_PART_COLUMNS];
  uint64_t call;  // whose part it is, where it is joined early; written last
  Reductions reductions;
};
