// Additions with carries, which are scalar masks: one bit a lane, 0 in lanes that EXEC leaves out.
#include "lanes.h"
#include "opcodes.h"

namespace gfx90a {
namespace {

// The carry of the upper bits: what two of a, b and the inverted sum have; the borrow of a - b:
// what two of the inverted a, b and the difference have.
constexpr uint32_t two_of(uint32_t a, uint32_t b, uint32_t c) { return (a & b) | ((a | b) & c); }

struct Sum {
  uint32_t sum, carry;  // the carry is bit 31
};
constexpr auto kAdd = [](uint32_t a, uint32_t b, uint32_t carry) {
  const uint32_t sum = a + b + carry;
  return Sum{sum, two_of(a, b, ~sum)};
};
constexpr auto kSubtract = [](uint32_t a, uint32_t b, uint32_t borrow) {
  const uint32_t difference = a - b - borrow;
  return Sum{difference, two_of(~a, b, difference)};
};
constexpr auto kSubtractFrom = [](uint32_t a, uint32_t b, uint32_t borrow) {
  return kSubtract(b, a, borrow);
};

// Operands: result, carry out, a, b, carry in (if any).
template <auto F, bool CarryIn>
void carry_op(Wave& wave, const Instruction& in) {
  if (!in.plain) throw Fault("SDWA and DPP forms of additions with carry are not modelled");
  const Source<uint32_t> a(wave, in, 2), b(wave, in, 3);
  const uint64_t carry_in = CarryIn ? mask_of(wave, in.op[4]) : 0;
  Destination<uint32_t> d;
  alignas(64) Row carries;
  for (unsigned half = 0; half < kLanes; half += kLanes / 2) {
    const auto carry_bits = static_cast<uint32_t>(carry_in >> half);
    for (unsigned bit = 0; bit < kLanes / 2; ++bit) {
      const unsigned lane = half + bit;
      const Sum result = F(a[lane], b[lane], (carry_bits >> bit) & 1);
      d.set(lane, result.sum);
      carries[lane] = result.carry & 0x80000000;
    }
  }
  d.commit(wave, in);
  wave.set_s64(in.op[1].first, nonzero_lanes(carries) & wave.exec());
}

// v_mad_u64_u32 d[2], carry, a, b, c[2].
template <class Wide, class Narrow>
void mad64(Wave& wave, const Instruction& in) {
  const Source<Narrow> a(wave, in, 2), b(wave, in, 3);
  const Source<uint64_t> c(wave, in, 4);
  Destination<uint64_t> d;
  uint64_t carry_out = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const auto product = static_cast<uint64_t>(Wide{a[lane]} * Wide{b[lane]});
    const uint64_t sum = product + c[lane];
    d.set(lane, sum);
    carry_out |= static_cast<uint64_t>(sum < product) << lane;
  }
  d.commit(wave, in);
  wave.set_s64(in.op[1].first, carry_out & wave.exec());
}

// v_cndmask_b32 d, a, b, mask: b where the mask is set.
void v_cndmask_b32(Wave& wave, const Instruction& in) {
  const Source<uint32_t> a(wave, in, 1), b(wave, in, 2);
  const uint64_t mask = mask_of(wave, in.op[3]);
  Destination<uint32_t> d;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const uint32_t take = lane_mask(mask, lane);
    d.set(lane, (b[lane] & take) | (a[lane] & ~take));
  }
  d.commit(wave, in);
}

}  // namespace

void add_carry_ops(OpcodeTable& table) {
  table.add(Pipe::Valu, {
                            {"v_add_co_u32", carry_op<kAdd, false>},
                            {"v_sub_co_u32", carry_op<kSubtract, false>},
                            {"v_subrev_co_u32", carry_op<kSubtractFrom, false>},
                            {"v_addc_co_u32", carry_op<kAdd, true>},
                            {"v_subb_co_u32", carry_op<kSubtract, true>},
                            {"v_subbrev_co_u32", carry_op<kSubtractFrom, true>},
                            {"v_mad_u64_u32", mad64<uint64_t, uint32_t>},
                            {"v_mad_i64_i32", mad64<int64_t, int32_t>},
                            {"v_cndmask_b32", v_cndmask_b32},
                        });
}

}  // namespace gfx90a
