// What reaches across lanes or picks parts of registers: DPP, SDWA, lane reads and writes,
// accumulator moves.
#include <bit>

#include "lanes.h"
#include "opcodes.h"

namespace gfx90a {
namespace {

uint32_t selected(uint32_t value, Select select, bool sign_extend) {
  const auto index = static_cast<unsigned>(select);
  if (select == Select::Dword) return value;
  if (index < 4) {
    const uint32_t byte = (value >> (8 * index)) & 0xFF;
    return sign_extend ? static_cast<uint32_t>(static_cast<int8_t>(byte)) : byte;
  }
  const uint32_t word = select == Select::Word1 ? value >> 16 : value & 0xFFFF;
  return sign_extend ? static_cast<uint32_t>(static_cast<int16_t>(word)) : word;
}

uint32_t placed(uint32_t value, uint32_t old, Select select, Unused unused) {
  if (select == Select::Dword) return value;
  const auto index = static_cast<unsigned>(select);
  const unsigned width = index < 4 ? 8 : 16, first = index < 4 ? 8 * index : 16 * (index - 4);
  const uint32_t mask = ((uint32_t{1} << width) - 1) << first;
  const uint32_t put = (value << first) & mask;
  if (unused == Unused::Preserve) return put | (old & ~mask);
  if (unused == Unused::Pad) return put;
  const bool negative = ((value >> (width - 1)) & 1) != 0;
  const uint32_t above = first + width == 32 ? 0 : ~uint32_t{0} << (first + width);
  return put | (negative ? above : 0);
}

// A source lane exists if the pattern names it and EXEC has it.
bool has_source(const Wave& wave, const Dpp& dpp, unsigned lane) {
  return dpp.from[lane] >= 0 && ((wave.exec() >> dpp.from[lane]) & 1) != 0;
}

void v_readlane_b32(Wave& wave, const Instruction& in) {
  const uint32_t lane = scalar32(wave, in.op[2]) % kLanes;
  wave.s[in.op[0].first] = wave.v[in.op[1].first][lane];
}

void v_readfirstlane_b32(Wave& wave, const Instruction& in) {
  const uint64_t exec = wave.exec();
  const unsigned lane = exec == 0 ? 0 : static_cast<unsigned>(std::countr_zero(exec));
  wave.s[in.op[0].first] =
      in.op[1].vector() ? wave.v[in.op[1].first][lane] : scalar32(wave, in.op[1]);
}

void v_writelane_b32(Wave& wave, const Instruction& in) {
  const uint32_t lane = scalar32(wave, in.op[2]) % kLanes;
  wave.v[in.op[0].first][lane] = scalar32(wave, in.op[1]);
}

// How many bits of `a` belong to lanes before this one, plus b.
template <bool High>
void v_mbcnt(Wave& wave, const Instruction& in) {
  const Source<uint32_t> a(wave, in, 1), b(wave, in, 2);
  Destination<uint32_t> d;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const uint64_t before = (uint64_t{1} << lane) - 1;
    const auto mask = static_cast<uint32_t>(High ? before >> 32 : before);
    d.set(lane, static_cast<uint32_t>(std::popcount(a[lane] & mask)) + b[lane]);
  }
  d.commit(wave, in);
}

void v_swap_b32(Wave& wave, const Instruction& in) {
  alignas(64) Row a, b;
  std::memcpy(a, wave.v[in.op[0].first], sizeof a);
  std::memcpy(b, wave.v[in.op[1].first], sizeof b);
  store_row(wave, in.op[0].first, b, wave.exec());
  store_row(wave, in.op[1].first, a, wave.exec());
}

}  // namespace

uint64_t dpp_lanes(const Wave& wave, const Instruction& in) {
  uint64_t lanes = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const unsigned row = lane / 16, bank = lane % 16 / 4;
    const bool masked =
        ((in.dpp->row_mask >> row) & 1) != 0 && ((in.dpp->bank_mask >> bank) & 1) != 0;
    const bool written = masked && (in.dpp->bound_zero || has_source(wave, *in.dpp, lane));
    lanes |= static_cast<uint64_t>(written) << lane;
  }
  return lanes;
}

const uint32_t* select_source(const Wave& wave, const Instruction& in, unsigned index,
                              const uint32_t* row, uint32_t* buffer) {
  alignas(64) Row out;
  if (in.dpp != nullptr) {
    if (index > 0) return row;  // DPP moves the first source alone
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      out[lane] =
          has_source(wave, *in.dpp, lane) ? row[static_cast<uint8_t>(in.dpp->from[lane])] : 0;
    }
  } else {
    const bool sign_extend = in.op[index + 1].sext;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      out[lane] = selected(row[lane], in.sdwa.src[index], sign_extend);
    }
  }
  std::memcpy(buffer, out, sizeof out);
  return buffer;
}

void select_destination(const Wave& wave, const Instruction& in, unsigned row, uint32_t* values) {
  if (in.dpp != nullptr) return;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    values[lane] = placed(values[lane], wave.v[row][lane], in.sdwa.dst, in.sdwa.unused);
  }
}

void add_lane_ops(OpcodeTable& table) {
  table.add(Pipe::Valu, {
                            {"v_readlane_b32", v_readlane_b32},
                            {"v_readfirstlane_b32", v_readfirstlane_b32},
                            {"v_writelane_b32", v_writelane_b32},
                            {"v_mbcnt_lo_u32_b32", v_mbcnt<false>},
                            {"v_mbcnt_hi_u32_b32", v_mbcnt<true>},
                            {"v_swap_b32", v_swap_b32},
                        });
  constexpr auto same = [](uint32_t a) { return a; };
  table.add(Pipe::AccMove, {
                               {"v_accvgpr_read_b32", vector_op<same>},
                               {"v_accvgpr_write_b32", vector_op<same>},
                               {"v_accvgpr_mov_b32", vector_op<same>},
                           });
}

}  // namespace gfx90a
