// The pipes of a core, by the names that reports use.
#pragma once

#include <array>
#include <string>

#include "schedule/search.h"

namespace attngen::report {

struct Pipe {
  const char* name;     // "tensor cores", or "matrix cores" on CDNA2
  const char* article;  // "the ", or nothing
  const char* verb;     // "are" or "is"
  double clk;           // busy in a step of the main loop

  std::string with_article() const { return std::string(article) + name; }
};

// In the order of schedule::Bound.
std::array<Pipe, 6> pipes_of(const schedule::Cost& cost);

// Pairs of query and key that a core's step covers, in all blocks that share it.
double pairs_of_step(const schedule::Candidate& candidate);

// Clocks from step to step: a slow L2 or memory stretches the core's own step.
double step_length(const schedule::Cost& cost);

}  // namespace attngen::report
