#include "report/pipes.h"

#include <algorithm>

namespace attngen::report {

std::array<Pipe, 6> pipes_of(const schedule::Cost& cost) {
  const bool amd = cost.family == target::Family::Cdna2;
  return {{{amd ? "matrix cores" : "tensor cores", "the ", "are", cost.matrix_clk},
           {"special units", "the ", "are", cost.special_clk},
           {"arithmetic pipes", "the ", "are", cost.issue_clk},
           {amd ? "LDS" : "shared memory", "", "is", cost.shared_clk},
           {"L2", "", "is", cost.l2_clk},
           {"memory", "", "is", cost.memory_clk}}};
}

double pairs_of_step(const schedule::Candidate& c) {
  return static_cast<double>(c.schedule.tile_q()) * c.schedule.tile_kv *
         c.resources.blocks_per_core;
}

double step_length(const schedule::Cost& cost) {
  return std::max({cost.step_clk, cost.l2_clk, cost.memory_clk});
}

}  // namespace attngen::report
