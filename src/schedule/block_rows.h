// Block sparsity: the rows of the caller's blocks that a tile stands in, and who keeps a block.
#pragma once

#include <vector>

#include "schedule/schedule.h"
#include "schedule/search.h"

namespace attngen::schedule {

// Rows of blocks that a tile may stand in; 1 for a kernel without them.
int block_rows(const Kernel& kernel, const Schedule& schedule);

// That k of `rows` neighbouring rows keep a block of keys: the chance, for k = 0 .. rows. Each row
// keeps kKeptByData of its blocks; rows that are alike keep kKeptAgain of what the row before
// keeps. Two rows: 0.64, 0.32, 0.04 apart; 0.76, 0.08, 0.16 alike.
std::vector<double> chances_of_keepers(int rows, bool alike);

// Blocks that a tile loads for each one that a row of it keeps. Three rows: 2.44 apart, 1.39 alike.
double loads_of_kept(const Kernel& kernel, const Schedule& schedule);

}  // namespace attngen::schedule
