// Additions with carries, which are scalar masks: one bit a lane, 0 in lanes that EXEC leaves out.
#include "lanes.h"
#include "opcodes.h"

namespace gfx90a {
namespace {

// Operands: result, carry out, a, b, carry in (if any).
template <auto F, bool CarryIn>
void carry_op(Wave& wave, const Instruction& in) {
  if (!in.plain) throw Fault("SDWA and DPP forms of additions with carry are not modelled");
  const Source<uint32_t> a(wave, in, 2), b(wave, in, 3);
  const uint64_t carry_in = CarryIn ? mask_of(wave, in.op[4]) : 0;
  Destination<uint32_t> d;
  alignas(64) Row carries;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    // A carry or a borrow shows in bit 32 of the sum in 64 bits.
    const uint64_t sum = F(uint64_t{a[lane]}, uint64_t{b[lane]}, (carry_in >> lane) & 1);
    d.set(lane, static_cast<uint32_t>(sum));
    carries[lane] = static_cast<uint32_t>(sum >> 32) & 1;
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
  using L = uint64_t;
  constexpr auto add = [](L a, L b, L carry) { return a + b + carry; };
  constexpr auto sub = [](L a, L b, L borrow) { return a - b - borrow; };
  constexpr auto subrev = [](L a, L b, L borrow) { return b - a - borrow; };
  table.add(Pipe::Valu, {
                            {"v_add_co_u32", carry_op<add, false>},
                            {"v_sub_co_u32", carry_op<sub, false>},
                            {"v_subrev_co_u32", carry_op<subrev, false>},
                            {"v_addc_co_u32", carry_op<add, true>},
                            {"v_subb_co_u32", carry_op<sub, true>},
                            {"v_subbrev_co_u32", carry_op<subrev, true>},
                            {"v_mad_u64_u32", mad64<uint64_t, uint32_t>},
                            {"v_mad_i64_i32", mad64<int64_t, int32_t>},
                            {"v_cndmask_b32", v_cndmask_b32},
                        });
}

}  // namespace gfx90a
