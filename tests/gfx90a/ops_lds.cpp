// LDS instructions. Data moves when the instruction is issued; `Waits`, `Races` and the barrier see
// to it that no program can tell.
#include <fmt/format.h>

#include <bit>

#include "lanes.h"
#include "opcodes.h"

namespace gfx90a {
namespace {

[[noreturn]] void refuse(const Wave& wave, const LdsAccess& access, unsigned lane) {
  throw Fault(
      fmt::format("{} {} bytes of LDS at {:#x} (lane {}); the block has {} bytes, and the "
                  "address must be a multiple of {}",
                  access.write ? "writes" : "reads", access.bytes, access.address[lane], lane,
                  wave.block->lds_size, access.bytes >= 4 ? 4 : access.bytes));
}

// Fills in the next access of an operation and checks it.
LdsAccess& open_access(Wave& wave, const Instruction& in, MemoryOperation& operation,
                       const Operand& address, uint32_t offset, unsigned bytes, bool write) {
  LdsAccess& access = operation.access[operation.accesses++];
  access.write = write;
  access.bytes = static_cast<uint16_t>(bytes);
  access.lanes = wave.exec();
  alignas(64) Row buffer;
  const uint32_t* row = row_of(wave, address, 0, address.bits32, buffer);
  const uint32_t most = wave.block->lds_size < bytes ? 0 : wave.block->lds_size - bytes + 1;
  const uint32_t alignment = bytes >= 4 ? 3 : bytes - 1;
  // An offset must not carry beyond 2^32 either.
  const auto wrong = [&](uint32_t at) {
    return static_cast<uint32_t>(at >= most) | static_cast<uint32_t>(at < offset) |
           (at & alignment);
  };
  uint32_t any_wrong = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    access.address[lane] = row[lane] + offset;
    any_wrong |= wrong(access.address[lane]);
  }
  for (uint64_t lanes = any_wrong != 0 ? access.lanes : 0; lanes != 0; lanes &= lanes - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
    if (wrong(access.address[lane]) != 0) refuse(wave, access, lane);
  }
  wave.waits.check_transfers(access);
  wave.block->races.touch(access, wave.id, wave.block->interval);
  wave.block->counters.lds(in, access, operation.accesses - 1);
  return access;
}

template <unsigned Dwords>
void read_dwords(Wave& wave, const LdsAccess& access, unsigned first) {
  const uint32_t* lds = wave.block->lds.data();
  if (access.lanes == ~uint64_t{0}) {
    return load_lanes<Dwords>(wave.v + first,
                              [&](unsigned lane) { return lds + access.address[lane] / 4; });
  }
  for (uint64_t lanes = access.lanes; lanes != 0; lanes &= lanes - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
    const uint32_t* from = lds + access.address[lane] / 4;
    for (unsigned i = 0; i < Dwords; ++i) wave.v[first + i][lane] = from[i];
  }
}

template <unsigned Dwords>
void write_dwords(Wave& wave, const LdsAccess& access, const Operand& data) {
  alignas(64) Row buffer[Dwords];
  const uint32_t* rows[Dwords];
  for (unsigned i = 0; i < Dwords; ++i) rows[i] = row_of(wave, data, i, data.bits32, buffer[i]);
  uint32_t* lds = wave.block->lds.data();
  for (uint64_t lanes = access.lanes; lanes != 0; lanes &= lanes - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
    uint32_t* to = lds + access.address[lane] / 4;
    for (unsigned i = 0; i < Dwords; ++i) to[i] = rows[i][lane];
  }
}

template <unsigned Dwords>
void ds_read(Wave& wave, const Instruction& in) {
  const unsigned first = in.op[0].first;
  MemoryOperation& operation = wave.waits.issue_lds(in, first, Dwords);
  read_dwords<Dwords>(wave,
                      open_access(wave, in, operation, in.op[1], static_cast<uint32_t>(in.offset),
                                  4 * Dwords, false),
                      first);
}

template <unsigned Dwords>
void ds_write(Wave& wave, const Instruction& in) {
  MemoryOperation& operation = wave.waits.issue_lds(in, 0, 0);
  write_dwords<Dwords>(wave,
                       open_access(wave, in, operation, in.op[0], static_cast<uint32_t>(in.offset),
                                   4 * Dwords, true),
                       in.op[1]);
}

// Two accesses at offsets in units of the element, or of 64 elements.
template <unsigned Dwords, unsigned Stride>
void ds_read2(Wave& wave, const Instruction& in) {
  const unsigned first = in.op[0].first;
  const uint32_t unit = 4 * Dwords * Stride;
  MemoryOperation& operation = wave.waits.issue_lds(in, first, 2 * Dwords);
  const LdsAccess& a = open_access(wave, in, operation, in.op[1],
                                   static_cast<uint32_t>(in.offset) * unit, 4 * Dwords, false);
  const LdsAccess& b = open_access(wave, in, operation, in.op[1],
                                   static_cast<uint32_t>(in.offset1) * unit, 4 * Dwords, false);
  read_dwords<Dwords>(wave, a, first);
  read_dwords<Dwords>(wave, b, first + Dwords);
}

template <unsigned Dwords, unsigned Stride>
void ds_write2(Wave& wave, const Instruction& in) {
  const uint32_t unit = 4 * Dwords * Stride;
  MemoryOperation& operation = wave.waits.issue_lds(in, 0, 0);
  write_dwords<Dwords>(wave,
                       open_access(wave, in, operation, in.op[0],
                                   static_cast<uint32_t>(in.offset) * unit, 4 * Dwords, true),
                       in.op[1]);
  write_dwords<Dwords>(wave,
                       open_access(wave, in, operation, in.op[0],
                                   static_cast<uint32_t>(in.offset1) * unit, 4 * Dwords, true),
                       in.op[2]);
}

template <class T, Into Part>
void ds_read_small(Wave& wave, const Instruction& in) {
  const unsigned first = in.op[0].first;
  MemoryOperation& operation = wave.waits.issue_lds(in, first, 1);
  const LdsAccess& access = open_access(wave, in, operation, in.op[1],
                                        static_cast<uint32_t>(in.offset), sizeof(T), false);
  for (uint64_t lanes = access.lanes; lanes != 0; lanes &= lanes - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
    T value;
    std::memcpy(&value, wave.block->lds_bytes() + access.address[lane], sizeof value);
    put_part<Part>(wave.v[first][lane], value);
  }
}

template <class T, unsigned Shift>
void ds_write_small(Wave& wave, const Instruction& in) {
  MemoryOperation& operation = wave.waits.issue_lds(in, 0, 0);
  const LdsAccess& access =
      open_access(wave, in, operation, in.op[0], static_cast<uint32_t>(in.offset), sizeof(T), true);
  const uint32_t* data = wave.v[in.op[1].first];
  for (uint64_t lanes = access.lanes; lanes != 0; lanes &= lanes - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
    const auto value = static_cast<T>(data[lane] >> Shift);
    std::memcpy(wave.block->lds_bytes() + access.address[lane], &value, sizeof value);
  }
}

// Lane exchanges through the LDS crossbar; they touch no memory. Lanes that EXEC leaves out give 0.
void finish_exchange(Wave& wave, const Instruction& in, const uint32_t* values) {
  wave.waits.issue_lds(in, in.op[0].first, 1);
  store_row(wave, in.op[0].first, values, wave.exec());
}

// Each lane reads from lane address / 4.
void ds_bpermute_b32(Wave& wave, const Instruction& in) {
  const uint64_t exec = wave.exec();
  const uint32_t *address = wave.v[in.op[1].first], *data = wave.v[in.op[2].first];
  alignas(64) Row out;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const uint32_t from = (address[lane] + static_cast<uint32_t>(in.offset)) / 4 % kLanes;
    out[lane] = data[from] & lane_mask(exec, from);
  }
  finish_exchange(wave, in, out);
}

// Each lane sends to lane address / 4.
void ds_permute_b32(Wave& wave, const Instruction& in) {
  const uint32_t *address = wave.v[in.op[1].first], *data = wave.v[in.op[2].first];
  alignas(64) Row out = {};
  for (uint64_t lanes = wave.exec(); lanes != 0; lanes &= lanes - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
    out[(address[lane] + static_cast<uint32_t>(in.offset)) / 4 % kLanes] = data[lane];
  }
  finish_exchange(wave, in, out);
}

// The pattern: four two-bit lanes of a quad if bit 15 is set, else and, or, xor masks of the lane's
// number within 32.
void ds_swizzle_b32(Wave& wave, const Instruction& in) {
  const uint64_t exec = wave.exec();
  const uint32_t pattern = in.immediate;
  if (pattern >= 0xC000) throw Fault("this pattern of ds_swizzle is not modelled");
  const uint32_t* data = wave.v[in.op[1].first];
  alignas(64) Row out;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    unsigned from = 0;
    if ((pattern & 0x8000) != 0) {
      from = (lane & ~3U) | ((pattern >> (2 * (lane & 3))) & 3);
    } else {
      const uint32_t keep = pattern & 31, set = (pattern >> 5) & 31, flip = (pattern >> 10) & 31;
      from = (lane & 32) | (((lane & 31 & keep) | set) ^ flip);
    }
    out[lane] = data[from] & lane_mask(exec, from);
  }
  finish_exchange(wave, in, out);
}

}  // namespace

void add_lds_ops(OpcodeTable& table) {
  table.add(Pipe::Lds, {
                           {"ds_read_b32", ds_read<1>},
                           {"ds_read_b64", ds_read<2>},
                           {"ds_read_b96", ds_read<3>},
                           {"ds_read_b128", ds_read<4>},
                           {"ds_write_b32", ds_write<1>},
                           {"ds_write_b64", ds_write<2>},
                           {"ds_write_b96", ds_write<3>},
                           {"ds_write_b128", ds_write<4>},
                           {"ds_read2_b32", ds_read2<1, 1>},
                           {"ds_read2_b64", ds_read2<2, 1>},
                           {"ds_read2st64_b32", ds_read2<1, 64>},
                           {"ds_read2st64_b64", ds_read2<2, 64>},
                           {"ds_write2_b32", ds_write2<1, 1>},
                           {"ds_write2_b64", ds_write2<2, 1>},
                           {"ds_write2st64_b32", ds_write2<1, 64>},
                           {"ds_write2st64_b64", ds_write2<2, 64>},
                           {"ds_read_u8", ds_read_small<uint8_t, Into::Whole>},
                           {"ds_read_i8", ds_read_small<int8_t, Into::Whole>},
                           {"ds_read_u16", ds_read_small<uint16_t, Into::Whole>},
                           {"ds_read_i16", ds_read_small<int16_t, Into::Whole>},
                           {"ds_read_u8_d16", ds_read_small<uint8_t, Into::Low>},
                           {"ds_read_u8_d16_hi", ds_read_small<uint8_t, Into::High>},
                           {"ds_read_i8_d16", ds_read_small<int8_t, Into::Low>},
                           {"ds_read_i8_d16_hi", ds_read_small<int8_t, Into::High>},
                           {"ds_read_u16_d16", ds_read_small<uint16_t, Into::Low>},
                           {"ds_read_u16_d16_hi", ds_read_small<uint16_t, Into::High>},
                           {"ds_write_b8", ds_write_small<uint8_t, 0>},
                           {"ds_write_b16", ds_write_small<uint16_t, 0>},
                           {"ds_write_b8_d16_hi", ds_write_small<uint8_t, 16>},
                           {"ds_write_b16_d16_hi", ds_write_small<uint16_t, 16>},
                           {"ds_bpermute_b32", ds_bpermute_b32},
                           {"ds_permute_b32", ds_permute_b32},
                           {"ds_swizzle_b32", ds_swizzle_b32},
                       });
}

}  // namespace gfx90a
