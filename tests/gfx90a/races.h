// Data races in LDS, found exactly and whatever the schedule.
#pragma once

#include <array>
#include <cstddef>
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
  // Who wrote and who read something last: the interval's mark and the set of waves.
  struct alignas(8) Who {
    uint16_t write_mark = 0, writers = 0, read_mark = 0, readers = 0;
  };
  class Entries;  // of several dwords

  // Reads conflict with writes alone, so those of pages (below) that nobody has written in this
  // interval are put aside, and dropped when it ends. A write to such a page brings them back.
  // False if the read must be recorded now.
  bool put_aside(const LdsAccess& access, unsigned wave, uint64_t pages);
  void bring_back();
  void record(const LdsAccess& access, unsigned wave);
  void start_interval(uint32_t interval);
  // `Count` dwords of each lane's access, from its dword `first` on.
  template <unsigned Count>
  void touch_dwords(const LdsAccess& access, unsigned first, unsigned wave);
  void touch_bytes(const LdsAccess& access, unsigned wave);
  // The waves other than `wave` that conflict with a write (or a read) of what `who` describes.
  unsigned conflicts(const Who& who, bool write, unsigned wave) const;
  // Faults if a byte of the access conflicts.
  void check(const LdsAccess& access, unsigned wave) const;

  uint32_t lds_bytes_;
  uint32_t interval_ = 0;
  uint16_t now_ = 1;  // the interval's mark; 0 is before all intervals
  // Accesses of aligned dwords are kept by dword, the others by byte: few kernels have any, and
  // `bytes_` is empty before the first.
  std::vector<Who> dwords_, bytes_;
  bool by_byte_ = false;  // whether this interval has any of the others

  struct Read {
    uint64_t lanes;
    uint16_t bytes, wave;
    std::array<uint16_t, kLanes> address;
  };
  static constexpr size_t kMostAside = 256;
  std::vector<Read> aside_;
  // LDS in 64 pages, a bit each: touched by reads put aside, and written in this interval.
  uint64_t pages_aside_ = 0, pages_written_ = 0;
};

}  // namespace gfx90a
