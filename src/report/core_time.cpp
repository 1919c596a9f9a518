#include "report/core_time.h"

#include <algorithm>

namespace attngen::report {

double ends_clk(const schedule::Cost& c) { return c.waves * c.fixed_clk; }

double steps_clk(const schedule::Cost& c) {
  return std::max(0.0, c.core_clk * (1 - c.idle - c.crowded) - ends_clk(c));
}

double stall_seconds(const schedule::Cost& c) {
  const double core = c.clock_hz > 0 ? c.core_clk / c.clock_hz : 0;
  return std::max(0.0, c.first_seconds - c.launch_seconds - c.asking_seconds - c.states_seconds -
                           c.join_seconds - core);
}

}  // namespace attngen::report
