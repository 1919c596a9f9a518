// Block sparsity: the rows of the caller's blocks that a tile stands in, and who keeps a block.
#pragma once

#include <vector>

#include "schedule/schedule.h"
#include "schedule/search.h"
#include "spec/spec.h"

namespace attngen::schedule {

// Rows of blocks that a tile may stand in; 1 for a kernel without them.
int block_rows(const Kernel& kernel, const Schedule& schedule);

// The share of a row's blocks that is taken to be kept: kKeptByData, or what lists of a known
// length name of the workload's keys. Under a mask a row has half of these in the mean: 16 blocks
// of 64 keys are 0.125 of 8192 keys, 0.234 of those that a causal mask leaves.
double kept_blocks(const spec::Spec& spec);

// What a row keeps of the blocks that the row before keeps. Rows that are alike: kKeptAgain of rows
// of 64 queries, and more of lower ones, as far as walks of so many steps go: 0.97 of single
// queries.
double kept_again(const Kernel& kernel);

// That k of `rows` neighbouring rows keep a block of keys: the chance, for k = 0 .. rows. Each row
// keeps the share `kept` of its blocks, and `again` of what the row before keeps. Two rows that
// keep a fifth: 0.64, 0.32, 0.04 apart; 0.76, 0.08, 0.16 alike.
std::vector<double> chances_of_keepers(int rows, double kept, double again);

// Blocks that a tile loads for each one that a row of it keeps. Three rows: 2.44 apart, 1.39 alike.
double loads_of_kept(const Kernel& kernel, const Schedule& schedule);

}  // namespace attngen::schedule
