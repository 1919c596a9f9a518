// What a run did, instruction by instruction.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "instruction.h"
#include "races.h"

namespace gfx90a {

// The model of LDS: 32 banks of 4 bytes. An instruction is served in phases of the lanes below; a
// phase takes as many cycles as the most loaded bank has different dwords (lanes that read the same
// dword share it), and every cycle beyond the first is a conflict.
//   up to 4 bytes a lane    2 phases of 32 consecutive lanes
//   8 bytes                 4 phases of 16 consecutive lanes
//   12, 16 bytes, write     8 phases of 8 consecutive lanes
//   12, 16 bytes, read      8 phases: lanes 0-3 with 20-23, 4-7 with 16-19, 8-11 with 28-31, 12-15
//                           with 24-27, and the same 32 lanes on (measured by AMD on CDNA3 and
//                           published with composable_kernel; CDNA2 is assumed to do the same)
// Phases without an active lane cost nothing.
struct LdsCost {
  uint32_t cycles = 0;     // conflicts included
  uint32_t conflicts = 0;  // cycles beyond one a phase
};
LdsCost lds_cost(const LdsAccess& access);

struct Count {
  uint64_t executed = 0;  // by waves
  uint64_t lds_cycles = 0, lds_conflicts = 0;
  uint64_t lds_misaligned = 0;  // executions with an address that is no multiple of its width
  // Vector memory: segments of 64 and of 128 bytes that each execution touched, summed, and the
  // bytes that lanes asked for.
  uint64_t segments64 = 0, segments128 = 0, bytes = 0;

  Count& operator+=(const Count& other);
};

// Sums over some of the instructions.
struct Mix {
  std::array<uint64_t, kPipes> by_pipe{};  // executions; s_nop counts its slots under Nop
  Count all;
  uint64_t operator[](Pipe pipe) const { return by_pipe[static_cast<size_t>(pipe)]; }
  Mix& operator+=(const Mix& other);
};

// Instructions [first, last) that run one after the other.
struct BasicBlock {
  uint32_t first = 0, last = 0;
  uint64_t entered = 0;
};

class Counters {
 public:
  explicit Counters(std::span<const Instruction> program)
      : program_(program),
        executed_(program.size()),
        counts_(program.size()),
        patterns_(2 * program.size()),
        memory_patterns_(program.size()) {}

  void executed(uint32_t index) { ++executed_[index]; }
  // `which`: 0 or 1, for instructions with two accesses a lane.
  void lds(const Instruction& instruction, const LdsAccess& access, unsigned which);
  // `bytes` at address[lane] for every lane of `lanes`.
  void global(const Instruction& instruction, const uint64_t* address, uint64_t lanes,
              unsigned bytes);

  Count of(uint32_t index) const {
    Count count = counts_[index];
    count.executed = executed_[index];
    return count;
  }
  // Of the instructions whose addresses are in [from, to).
  Mix mix(uint64_t from = 0, uint64_t to = UINT64_MAX) const;
  std::vector<BasicBlock> basic_blocks() const;
  // From a backward branch's target to the branch: of all loops the one that executed the most
  // matrix instructions (the innermost of several), or the most instructions if there are none. An
  // empty range if there is no loop.
  BasicBlock hottest_loop() const;

  // Tables for people: the whole run, then the hottest loop block by block.
  std::string report() const;
  // Every executed instruction with its counts.
  std::string annotated_listing() const;

 private:
  // Conflicts depend on the addresses' differences alone, so a repeated pattern costs no counting.
  struct Pattern {
    uint64_t lanes = 0;
    uint16_t bytes = 0;
    bool write = false;
    LdsCost cost;
    std::array<uint32_t, kLanes> relative{};
  };
  // Segments depend on the differences and on where in a segment the first address lies. Waves and
  // iterations often take turns in that, so an instruction has a pattern for each quarter of 128
  // bytes.
  struct MemoryPattern {
    uint64_t lanes = 0;
    unsigned bytes = 0;
    uint64_t base_in_segment = 0;
    uint64_t segments64 = 0, segments128 = 0;
    std::array<uint64_t, kLanes> relative{};
  };
  // Puts in the segments.
  static void count_segments(MemoryPattern& pattern);

  std::span<const Instruction> program_;
  std::vector<uint64_t> executed_;  // one beside the other, for the cache's sake
  std::vector<Count> counts_;       // the rest
  std::vector<Pattern> patterns_;
  using MemoryPatterns = std::array<MemoryPattern, 4>;
  std::vector<std::unique_ptr<MemoryPatterns>> memory_patterns_;  // none before the first access
};

}  // namespace gfx90a
