// One step of the main loop: a block of keys against all warpgroups of a core, in clocks.
#pragma once

#include "expr/count.h"
#include "schedule/schedule.h"
#include "schedule/search.h"
#include "target/target.h"

namespace attngen::schedule {

// What each pipe is busy in a step, and how long the step takes.
struct Step {
  double matrix = 0;
  double special = 0;
  double arithmetic = 0;  // busiest of the FMA pipe, the logic pipe and the issue slots
  double chain = 0;       // all the user's arithmetic, as warps manage to overlap it
  double shared = 0;
  double rescale = 0;  // of the accumulators
  double length = 0;
  double in_phase = 0;  // clk that it is longer by where both of two warpgroups weigh at a time
};

// Which block of a tile's: the first one and those that a mask cuts take the long way, with a new
// maximum; full ones do too where the schedule has no registers to keep the first. Near ones are
// full, and as cheap as a near form makes them. Far ones take a state's place for their values.
enum class Block : unsigned char { First, Full, Near, Partial, Far };

// `blocks` on a core, each with its own tile, take a step of theirs at the same time.
Step step_of(const Kernel& kernel, const Schedule& schedule, const target::Target& target,
             Block block, int blocks = 1);

// What a step takes longer where two warps, or one beside a scout, copy its rows of biases: 5.2 to
// 6.9 clk a row in five schedules of pair_bias, bf16 and fp32, head dims 64 and 128; of one warp
// 1.7 times as many. With two stages the copies are late: 350 clk, from Transformer-XL's term in
// 128x112 (H200, 2026-11-29, a throw-away script).
double copied_bias_clk(const Kernel& kernel, const Schedule& schedule);

// Instructions per pair of query and key, in blocks of tile_kv.
expr::OperationCounts operations(const Kernel& kernel, Block block, int tile_kv);

}  // namespace attngen::schedule
