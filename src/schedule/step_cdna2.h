// One step of the CDNA2 main loop: a block of keys against one wave's 32 query rows, in issue slots
// of 4 clk.
#pragma once

#include "schedule/schedule.h"
#include "schedule/search.h"
#include "target/target.h"

namespace attngen::schedule {

struct StepCdna2 {
  double matrix = 0;   // what the matrix unit is busy
  double special = 0;  // exponentials and their like, at quarter rate
  double valu = 0;     // all vector instructions but matrix ones, exponentials with their 4 slots
  double shared_clk = 0;  // what the CU's LDS is busy, in clk
  double alone = 0;       // the step's length for a wave by itself, as mi250_timing.py measures it
};

enum class BlockCdna2 : unsigned char { Full, Cut };
StepCdna2 step_cdna2(const Kernel& kernel, const Schedule& schedule, const Resources& resources,
                     BlockCdna2 block);

}  // namespace attngen::schedule
