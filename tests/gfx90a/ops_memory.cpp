// Vector memory instructions: buffer, global and flat. Data moves when the instruction is issued.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>

#include "buffer.h"
#include "lanes.h"
#include "opcodes.h"

namespace gfx90a {
namespace {

using U = uint32_t;

enum class Space : uint8_t { Buffer, Global, Flat };

// Where each lane's access goes. A buffer's range is checked element by element of 4 bytes (or of
// the whole access if that is smaller).
class Addresses {
 public:
  // `at`: index of the operand that holds the (first) address.
  Addresses(Wave& wave, const Instruction& in, Space space, unsigned at) {
    if (space == Space::Buffer) {
      buffer_addresses(wave, in, at);
    } else {
      pointer_addresses(wave, in, space, at);
    }
  }
  // Whether element `i`, `size` bytes at 4 i, is in range.
  bool holds(unsigned lane, unsigned i, unsigned size) const {
    return !resource_ || resource_->holds(offset_[lane] + uint64_t{4} * i, size);
  }
  uint64_t of(unsigned lane) const { return address_[lane]; }
  const uint64_t* all() const { return address_; }
  // The lanes that are in range with all of `bytes`.
  uint64_t whole_lanes(uint64_t lanes, unsigned bytes) const {
    if (!resource_) return lanes;
    uint64_t whole = 0;
    for (; lanes != 0; lanes &= lanes - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
      const bool in_range = offset_[lane] + bytes <= resource_->bytes;
      whole |= static_cast<uint64_t>(in_range) << lane;
    }
    return whole;
  }

 private:
  // vaddr or `off`, resource, scalar offset.
  void buffer_addresses(Wave& wave, const Instruction& in, unsigned at) {
    if (in.idxen) throw Fault("buffer instructions with an index are not modelled");
    resource_.emplace(wave, in.op[at + 1].first);
    const uint64_t scalar_offset = scalar32(wave, in.op[at + 2]);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const uint64_t lane_offset = in.offen ? wave.v[in.op[at].first][lane] : 0;
      offset_[lane] = lane_offset + scalar_offset + static_cast<uint64_t>(in.offset);
      address_[lane] = resource_->base + offset_[lane];
    }
  }
  // A 64-bit address a lane and `off`, or a 32-bit offset a lane and a scalar base.
  void pointer_addresses(Wave& wave, const Instruction& in, Space space, unsigned at) {
    const unsigned base_at = space == Space::Flat ? 0 : in.operands - 1U;
    const bool has_base = space == Space::Global && in.op[base_at].scalar();
    const auto base =
        (has_base ? wave.s64(in.op[base_at].first) : 0) + static_cast<uint64_t>(int64_t{in.offset});
    const unsigned row = in.op[at].first;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const uint64_t high = has_base ? 0 : wave.v[row + 1][lane];
      address_[lane] = base + (high << 32 | wave.v[row][lane]);
    }
  }

  std::optional<BufferResource> resource_;
  uint64_t offset_[kLanes];  // within the resource
  uint64_t address_[kLanes];
};

MemoryOperation& issue(Wave& wave, const Instruction& in, Space space, unsigned first,
                       unsigned registers) {
  // Whether LDS or memory served it is not known, so its place on lgkmcnt is not either.
  if (space == Space::Flat) wave.waits.issue_scalar(in, first, registers);
  return wave.waits.issue_vector(in, first, registers);
}

void count(Wave& wave, const Instruction& in, const Addresses& addresses, unsigned bytes) {
  wave.block->counters.global(in, addresses.all(), addresses.whole_lanes(wave.exec(), bytes),
                              bytes);
}

// `buffer_load_dword ... lds`: lane i's dword goes to LDS at M0 + offset + 4 i.
void load_to_lds(Wave& wave, const Instruction& in) {
  const Addresses addresses(wave, in, Space::Buffer, 0);
  MemoryOperation& operation = wave.waits.issue_vector(in, 0, 0);
  operation.transfer = true;
  LdsAccess& access = operation.access[operation.accesses++];
  access.write = true;
  access.bytes = 4;
  access.lanes = wave.exec();
  const uint32_t first = (wave.s[kM0] & 0xFFFF) + static_cast<uint32_t>(in.offset);
  if (first % 4 != 0) throw Fault("M0 plus offset is not a multiple of 4");
  for (unsigned lane = 0; lane < kLanes; ++lane) access.address[lane] = first + 4 * lane;
  for_lanes(access.lanes, [&](unsigned lane) {
    const uint32_t to = access.address[lane];
    if (to + 4 > wave.block->lds_size) {
      throw Fault(fmt::format("writes LDS at {:#x} (lane {}), but the block has {} bytes", to, lane,
                              wave.block->lds_size));
    }
    uint32_t value = 0;
    if (addresses.holds(lane, 0, 4)) {
      value = *wave.block->memory.at<uint32_t>(addresses.of(lane), 4, false);
    }
    wave.block->lds[to / 4] = value;
  });
  wave.block->races.touch(access, wave.id, wave.block->interval);
  count(wave, in, addresses, 4);
}

// Whether all 64 lanes load from within a range that is mapped.
bool loads_whole(Wave& wave, const Addresses& addresses, unsigned bytes) {
  constexpr uint64_t kAllLanes = ~uint64_t{0};
  return wave.exec() == kAllLanes && addresses.whole_lanes(kAllLanes, bytes) == kAllLanes &&
         wave.block->memory.readable(addresses.all(), kLanes, bytes);
}

template <unsigned Dwords>
void load_lane(Wave& wave, const Addresses& addresses, unsigned first, unsigned lane) {
  uint32_t values[Dwords] = {};
  bool all = true;
  for (unsigned i = 0; i < Dwords; ++i) all = all && addresses.holds(lane, i, 4);
  if (all) {
    std::memcpy(values, wave.block->memory.at(addresses.of(lane), sizeof values, false),
                sizeof values);
  } else {
    for (unsigned i = 0; i < Dwords; ++i) {
      if (!addresses.holds(lane, i, 4)) continue;
      std::memcpy(values + i, wave.block->memory.at(addresses.of(lane) + uint64_t{4} * i, 4, false),
                  4);
    }
  }
  for (unsigned i = 0; i < Dwords; ++i) wave.v[first + i][lane] = values[i];
}

template <Space Where, unsigned Dwords>
void load(Wave& wave, const Instruction& in) {
  if (in.lds) return load_to_lds(wave, in);
  const Addresses addresses(wave, in, Where, 1);
  const unsigned first = in.op[0].first;
  if (loads_whole(wave, addresses, 4 * Dwords)) {
    load_lanes<Dwords>(wave.v + first, [&](unsigned lane) {
      return std::bit_cast<const std::byte*>(addresses.of(lane));
    });
  } else {
    for_lanes(wave.exec(), [&](unsigned lane) { load_lane<Dwords>(wave, addresses, first, lane); });
  }
  issue(wave, in, Where, first, Dwords);
  count(wave, in, addresses, 4 * Dwords);
}

template <Space Where, unsigned Dwords>
void store(Wave& wave, const Instruction& in) {
  constexpr bool kBuffer = Where == Space::Buffer;
  const Addresses addresses(wave, in, Where, kBuffer ? 1 : 0);
  const unsigned first = in.op[kBuffer ? 0 : 1].first;
  for_lanes(wave.exec(), [&](unsigned lane) {
    for (unsigned i = 0; i < Dwords; ++i) {
      if (!addresses.holds(lane, i, 4)) continue;
      std::memcpy(wave.block->memory.at(addresses.of(lane) + uint64_t{4} * i, 4, true),
                  &wave.v[first + i][lane], 4);
    }
  });
  issue(wave, in, Where, 0, 0);
  count(wave, in, addresses, 4 * Dwords);
}

template <Space Where, class T, Into Part>
void load_small(Wave& wave, const Instruction& in) {
  const Addresses addresses(wave, in, Where, 1);
  const unsigned first = in.op[0].first;
  for_lanes(wave.exec(), [&](unsigned lane) {
    T value = 0;
    if (addresses.holds(lane, 0, sizeof(T))) {
      std::memcpy(&value, wave.block->memory.at(addresses.of(lane), sizeof(T), false), sizeof(T));
    }
    put_part<Part>(wave.v[first][lane], value);
  });
  issue(wave, in, Where, first, 1);
  count(wave, in, addresses, sizeof(T));
}

template <Space Where, class T, unsigned Shift>
void store_small(Wave& wave, const Instruction& in) {
  constexpr bool kBuffer = Where == Space::Buffer;
  const Addresses addresses(wave, in, Where, kBuffer ? 1 : 0);
  const unsigned first = in.op[kBuffer ? 0 : 1].first;
  for_lanes(wave.exec(), [&](unsigned lane) {
    if (!addresses.holds(lane, 0, sizeof(T))) return;
    const auto value = static_cast<T>(wave.v[first][lane] >> Shift);
    std::memcpy(wave.block->memory.at(addresses.of(lane), sizeof(T), true), &value, sizeof(T));
  });
  issue(wave, in, Where, 0, 0);
  count(wave, in, addresses, sizeof(T));
}

uint32_t add_floats(uint32_t a, uint32_t b) {
  return std::bit_cast<uint32_t>(std::bit_cast<float>(a) + std::bit_cast<float>(b));
}

// One dword a lane, lanes in order. With glc the old value comes back: into the data register of a
// buffer form, into a register of its own otherwise.
template <Space Where, auto F>
void atomic(Wave& wave, const Instruction& in) {
  constexpr bool kBuffer = Where == Space::Buffer;
  const unsigned address_at = kBuffer ? 1 : in.glc ? 1 : 0;
  const unsigned data = in.op[kBuffer ? 0 : in.glc ? 2 : 1].first;
  const Addresses addresses(wave, in, Where, address_at);
  for_lanes(wave.exec(), [&](unsigned lane) {
    uint32_t old = 0;
    if (addresses.holds(lane, 0, 4)) {
      auto* at = wave.block->memory.at(addresses.of(lane), 4, true);
      std::memcpy(&old, at, 4);
      const uint32_t result = F(old, wave.v[data][lane]);
      std::memcpy(at, &result, 4);
    }
    if (in.glc) wave.v[in.op[0].first][lane] = old;
  });
  issue(wave, in, Where, in.glc ? in.op[0].first : 0U, in.glc ? 1 : 0);
  count(wave, in, addresses, 4);
}

template <Space Where>
void add_space(OpcodeTable& table, const std::string& space) {
  const auto add = [&](const char* name, Handler run) {
    table.add(Pipe::Vmem, {{(space + name).c_str(), run}});
  };
  add("load_dword", load<Where, 1>);
  add("load_dwordx2", load<Where, 2>);
  add("load_dwordx3", load<Where, 3>);
  add("load_dwordx4", load<Where, 4>);
  add("load_ubyte", load_small<Where, uint8_t, Into::Whole>);
  add("load_sbyte", load_small<Where, int8_t, Into::Whole>);
  add("load_ushort", load_small<Where, uint16_t, Into::Whole>);
  add("load_sshort", load_small<Where, int16_t, Into::Whole>);
  add("load_ubyte_d16", load_small<Where, uint8_t, Into::Low>);
  add("load_ubyte_d16_hi", load_small<Where, uint8_t, Into::High>);
  add("load_short_d16", load_small<Where, uint16_t, Into::Low>);
  add("load_short_d16_hi", load_small<Where, uint16_t, Into::High>);
  add("store_dword", store<Where, 1>);
  add("store_dwordx2", store<Where, 2>);
  add("store_dwordx3", store<Where, 3>);
  add("store_dwordx4", store<Where, 4>);
  add("store_byte", store_small<Where, uint8_t, 0>);
  add("store_short", store_small<Where, uint16_t, 0>);
  add("store_byte_d16_hi", store_small<Where, uint8_t, 16>);
  add("store_short_d16_hi", store_small<Where, uint16_t, 16>);
  add("atomic_add", atomic<Where, [](U a, U b) { return a + b; }>);
  add("atomic_sub", atomic<Where, [](U a, U b) { return a - b; }>);
  add("atomic_and", atomic<Where, [](U a, U b) { return a & b; }>);
  add("atomic_or", atomic<Where, [](U a, U b) { return a | b; }>);
  add("atomic_swap", atomic<Where, [](U, U b) { return b; }>);
  add("atomic_umax", atomic<Where, [](U a, U b) { return std::max(a, b); }>);
  add("atomic_umin", atomic<Where, [](U a, U b) { return std::min(a, b); }>);
  add("atomic_add_f32", atomic<Where, [](U a, U b) { return add_floats(a, b); }>);
}

}  // namespace

void add_memory_ops(OpcodeTable& table) {
  add_space<Space::Buffer>(table, "buffer_");
  add_space<Space::Global>(table, "global_");
  add_space<Space::Flat>(table, "flat_");
  // Caches are not modelled.
  table.add(Pipe::Vmem, {{"buffer_wbl2", nothing},
                         {"buffer_invl2", nothing},
                         {"buffer_wbinvl1", nothing},
                         {"buffer_wbinvl1_vol", nothing}});
}

}  // namespace gfx90a
