// Splits: shares of a tile's keys, where a call has too few tiles to fill the GPU. Each is a tile
// of its own, and leaves what it found of its rows in the workspace. The kernel that joins splits
// puts that together.
#pragma once

// What a split leaves of a row.
struct __align__(16) Part {
  float output[kHeadDimV];  // the accumulator
  Reductions reductions;
};
