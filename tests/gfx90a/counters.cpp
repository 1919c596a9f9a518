#include "counters.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <set>

#include "listing.h"

namespace gfx90a {
namespace {

constexpr unsigned kBanks = 32;

constexpr std::array<const char*, kPipes> kPipeNames = {"valu", "packed", "trans",  "mfma", "acc",
                                                        "salu", "smem",   "branch", "lds",  "vmem",
                                                        "wait", "nop",    "bar"};

// The lanes of phase `phase`.
uint64_t lanes_of_phase(unsigned phase, unsigned bytes, bool write) {
  if (bytes <= 4) return uint64_t{0xFFFFFFFF} << (32 * phase);
  if (bytes == 8) return uint64_t{0xFFFF} << (16 * phase);
  if (write) return uint64_t{0xFF} << (8 * phase);
  constexpr uint64_t kFour = 0xF;
  constexpr std::array<unsigned, 4> kFirst = {0, 4, 8, 12}, kSecond = {20, 16, 28, 24};
  return (kFour << kFirst[phase % 4] | kFour << kSecond[phase % 4]) << (phase < 4 ? 0 : 32);
}

// The number of different dwords in the bank that has the most.
uint32_t most_loaded_bank(const LdsAccess& access, uint64_t lanes) {
  std::array<std::vector<uint32_t>, kBanks> banks;
  const unsigned dwords = std::max(access.bytes / 4, 1);
  for (; lanes != 0; lanes &= lanes - 1) {
    const uint32_t first = access.address[std::countr_zero(lanes)] / 4;
    for (uint32_t dword = first; dword < first + dwords; ++dword) {
      auto& bank = banks[dword % kBanks];
      if (std::find(bank.begin(), bank.end(), dword) == bank.end()) bank.push_back(dword);
    }
  }
  size_t most = 0;
  for (const auto& bank : banks) most = std::max(most, bank.size());
  return static_cast<uint32_t>(most);
}

bool misaligned(const LdsAccess& access, uint32_t narrower) {
  uint32_t odd = 0;
  for (uint64_t lanes = access.lanes; lanes != 0; lanes &= lanes - 1) {
    odd |= access.address[std::countr_zero(lanes)] & narrower;
  }
  return odd != 0;
}

}  // namespace

const char* name_of(Pipe pipe) { return kPipeNames[static_cast<size_t>(pipe)]; }

LdsCost lds_cost(const LdsAccess& access) {
  const unsigned phases = access.bytes <= 4 ? 2 : access.bytes == 8 ? 4 : 8;
  LdsCost cost;
  for (unsigned phase = 0; phase < phases; ++phase) {
    const uint64_t lanes = access.lanes & lanes_of_phase(phase, access.bytes, access.write);
    if (lanes == 0) continue;
    const uint32_t cycles = most_loaded_bank(access, lanes);
    cost.cycles += cycles;
    cost.conflicts += cycles - 1;
  }
  return cost;
}

Count& Count::operator+=(const Count& other) {
  executed += other.executed;
  lds_cycles += other.lds_cycles;
  lds_conflicts += other.lds_conflicts;
  lds_misaligned += other.lds_misaligned;
  segments64 += other.segments64;
  segments128 += other.segments128;
  bytes += other.bytes;
  return *this;
}

Mix& Mix::operator+=(const Mix& other) {
  for (unsigned i = 0; i < kPipes; ++i) by_pipe[i] += other.by_pipe[i];
  all += other.all;
  return *this;
}

void Counters::lds(const Instruction& instruction, const LdsAccess& access, unsigned which) {
  if (access.lanes == 0) return;
  Count& count = counts_[instruction.index];
  Pattern& pattern = patterns_[2 * instruction.index + which];
  // Lanes left out are compared too: at worst a known pattern is counted anew.
  const uint32_t base = access.address[std::countr_zero(access.lanes)];
  const uint32_t narrower = std::bit_ceil(uint32_t{access.bytes}) - 1;
  uint32_t changed = base % 4, odd = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    changed |= pattern.relative[lane] ^ (access.address[lane] - base);
    odd |= access.address[lane] & narrower;
  }
  if (odd != 0) count.lds_misaligned += misaligned(access, narrower) ? 1 : 0;
  if (changed != 0 || pattern.lanes != access.lanes || pattern.bytes != access.bytes) {
    pattern.lanes = access.lanes;
    pattern.bytes = access.bytes;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      pattern.relative[lane] = access.address[lane] - base;
    }
    pattern.cost = lds_cost(access);
  }
  count.lds_cycles += pattern.cost.cycles;
  count.lds_conflicts += pattern.cost.conflicts;
}

void Counters::count_segments(MemoryPattern& pattern) {
  std::array<uint64_t, size_t{2} * kLanes> segments;
  unsigned n = 0;
  for_lanes(pattern.lanes, [&](unsigned lane) {
    // Wraps round together with the differences; equal segments stay equal.
    const uint64_t at = pattern.base_in_segment + pattern.relative[lane];
    for (const uint64_t segment : {at / 64, (at + pattern.bytes - 1) / 64}) {
      if (n == 0 || segments[n - 1] != segment) segments[n++] = segment;
    }
  });
  const auto begin = segments.begin();
  std::sort(begin, begin + n);
  n = static_cast<unsigned>(std::unique(begin, begin + n) - begin);
  pattern.segments64 = n;
  for (unsigned i = 0; i < n; ++i) segments[i] /= 2;
  pattern.segments128 = static_cast<uint64_t>(std::unique(begin, begin + n) - begin);
}

void Counters::global(const Instruction& instruction, const uint64_t* address, uint64_t lanes,
                      unsigned bytes) {
  if (lanes == 0) return;
  auto& known = memory_patterns_[instruction.index];
  if (known == nullptr) known = std::make_unique<MemoryPatterns>();
  const uint64_t base = address[std::countr_zero(lanes)];
  MemoryPattern& pattern = (*known)[base / 32 % 4];
  uint64_t changed =
      (pattern.lanes ^ lanes) | (pattern.bytes ^ bytes) | (pattern.base_in_segment ^ base % 128);
  // Lanes left out are compared too: at worst a known pattern is counted anew.
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    changed |= pattern.relative[lane] ^ (address[lane] - base);
  }
  if (changed != 0) {
    pattern.lanes = lanes;
    pattern.bytes = bytes;
    pattern.base_in_segment = base % 128;
    for (unsigned lane = 0; lane < kLanes; ++lane) pattern.relative[lane] = address[lane] - base;
    count_segments(pattern);
  }
  Count& count = counts_[instruction.index];
  count.segments64 += pattern.segments64;
  count.segments128 += pattern.segments128;
  count.bytes += uint64_t{bytes} * static_cast<unsigned>(std::popcount(lanes));
}

Mix Counters::mix(uint64_t from, uint64_t to) const {
  Mix mix;
  for (const Instruction& instruction : program_) {
    if (instruction.line->address < from || instruction.line->address >= to) continue;
    const Count count = of(instruction.index);
    mix.by_pipe[static_cast<size_t>(instruction.pipe)] += count.executed * instruction.slots;
    mix.all += count;
  }
  return mix;
}

std::vector<BasicBlock> Counters::basic_blocks() const {
  std::set<uint32_t> starts = {0};
  for (const Instruction& instruction : program_) {
    if (instruction.pipe != Pipe::Branch) continue;
    starts.insert(instruction.target);
    starts.insert(instruction.index + 1);
  }
  std::vector<BasicBlock> blocks;
  for (auto start = starts.begin(); start != starts.end() && *start < program_.size(); ++start) {
    const auto next = std::next(start);
    const auto end = static_cast<uint32_t>(program_.size());
    blocks.push_back(
        {*start, next == starts.end() ? end : std::min(*next, end), executed_[*start]});
  }
  return blocks;
}

BasicBlock Counters::hottest_loop() const {
  BasicBlock hottest;
  uint64_t most_mfma = 0, most = 0;
  for (const Instruction& branch : program_) {
    if (branch.pipe != Pipe::Branch || branch.target > branch.index) continue;
    const BasicBlock loop{branch.target, branch.index + 1, executed_[branch.target]};
    uint64_t mfma = 0, all = 0;
    for (uint32_t i = loop.first; i < loop.last; ++i) {
      if (program_[i].pipe == Pipe::Mfma) mfma += executed_[i];
      all += executed_[i];
    }
    const bool inner = loop.first >= hottest.first && loop.last <= hottest.last;
    const bool better = mfma > most_mfma || (mfma == most_mfma && (mfma > 0 ? inner : all > most));
    if (executed_[branch.index] == 0 || !better) continue;
    hottest = loop;
    most_mfma = mfma;
    most = all;
  }
  return hottest;
}

std::string Counters::report() const {
  std::string text = fmt::format("{:<24}{:>10}", "", "entered");
  for (const char* name : kPipeNames) text += fmt::format("{:>9}", name);
  text += fmt::format("{:>10}{:>10}{:>10}{:>10}{:>12}\n", "lds cyc", "conflict", "64 B", "128 B",
                      "bytes");
  const auto row = [&](const std::string& title, uint64_t entered, const Mix& mix) {
    text += fmt::format("{:<24}{:>10}", title, entered);
    for (const uint64_t n : mix.by_pipe) text += fmt::format("{:>9}", n);
    text +=
        fmt::format("{:>10}{:>10}{:>10}{:>10}{:>12}\n", mix.all.lds_cycles, mix.all.lds_conflicts,
                    mix.all.segments64, mix.all.segments128, mix.all.bytes);
  };
  const auto mix_of = [&](const BasicBlock& block) {
    const uint64_t from = program_[block.first].line->address;
    return mix(from, program_[block.last - 1].line->address + 1);
  };
  row("whole run", program_.empty() ? 0 : executed_[0], mix());
  const BasicBlock loop = hottest_loop();
  if (loop.first == loop.last) return text;
  row("hottest loop", loop.entered, mix_of(loop));
  for (const BasicBlock& block : basic_blocks()) {
    if (block.first < loop.first || block.last > loop.last || block.entered == 0) continue;
    row(fmt::format("  {:#x}..{:#x}", program_[block.first].line->address,
                    program_[block.last - 1].line->address),
        block.entered, mix_of(block));
  }
  return text;
}

std::string Counters::annotated_listing() const {
  std::string text;
  for (const Instruction& instruction : program_) {
    const Count count = of(instruction.index);
    if (count.executed == 0) continue;
    text += fmt::format("{:>12x} {:>10}  {}", instruction.line->address, count.executed,
                        instruction.line->text);
    if (count.lds_cycles > 0) {
      text += fmt::format("  [lds cycles {}, conflicts {}]", count.lds_cycles, count.lds_conflicts);
    }
    if (count.segments64 > 0) {
      text += fmt::format("  [64 B {}, 128 B {}]", count.segments64, count.segments128);
    }
    text += '\n';
  }
  return text;
}

}  // namespace gfx90a
