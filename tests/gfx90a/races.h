// Data races in LDS, found exactly and whatever the schedule.
#pragma once

#include <cstdint>
#include <vector>

#include "instruction.h"

namespace gfx90a {

// One LDS instruction's accesses: `bytes` at address[lane] for every lane of `lanes`.
struct LdsAccess {
  bool write = false;
  uint16_t bytes = 0;
  uint64_t lanes = 0;
  alignas(32) uint32_t address[kLanes];
};

// Between two barriers the waves of a block run in no order. So two accesses of one byte by
// different waves, at least one of them a write, must have a barrier between them; the barrier
// counts only if the earlier access has been waited for before it. `touch` is told of every access
// in the interval in which it is issued, and again in every later interval in which it may still be
// under way.
class Races {
 public:
  explicit Races(uint32_t lds_bytes);
  // Faults if this wave's access conflicts with one of another wave in the same interval. Waves
  // count from 0 to 15; intervals never fall.
  void touch(const LdsAccess& access, unsigned wave, uint32_t interval);

 private:
  template <unsigned Bytes>
  void touch_bytes(const LdsAccess& access, unsigned wave);
  [[noreturn]] void report(uint32_t byte, bool write, unsigned wave) const;

  uint32_t interval_ = 0;
  uint16_t now_ = 1;  // the interval's mark; 0 is before all intervals
  // Of each byte: the mark and the wave of the last write; the mark and the set of waves of the last
  // reads.
  std::vector<uint16_t> write_mark_, write_wave_, read_mark_, read_waves_;
};

}  // namespace gfx90a
