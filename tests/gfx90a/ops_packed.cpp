// Packed arithmetic (VOP3P): two results a lane. For the low result op_sel picks each source's
// half, for the high one op_sel_hi; neg_lo and neg_hi negate floating-point sources.
#include <cmath>

#include "float_math.h"
#include "lanes.h"
#include "opcodes.h"

namespace gfx90a {
namespace {

bool bit(uint8_t bits, unsigned i) { return ((bits >> i) & 1) != 0; }

// v_pk_*_f32: the halves are the registers of a pair.
class PairSource {
 public:
  PairSource(const Wave& wave, const Instruction& in, unsigned i, bool high) {
    const Operand& operand = in.op[i];
    const bool upper = bit(high ? in.op_sel_hi : in.op_sel, i - 1);
    if (operand.kind == Operand::Kind::Constant && upper) {
      throw Fault("the upper half of a constant: what the hardware reads is not known");
    }
    row_ = row_of(wave, operand, upper ? 1 : 0, operand.bits32, buffer_);
    flip_ = bit(high ? in.neg_hi : in.neg_lo, i - 1) ? 0x80000000 : 0;
  }
  float operator[](unsigned lane) const { return std::bit_cast<float>(row_[lane] ^ flip_); }
  const uint32_t* row() const { return row_; }  // without the negation

 private:
  alignas(64) Row buffer_;
  const uint32_t* row_;
  uint32_t flip_;
};

template <auto F, bool Three>
void pair_result(const Wave& wave, const Instruction& in, bool high, uint32_t* results) {
  const PairSource a(wave, in, 1, high), b(wave, in, 2, high);
  const PairSource c(wave, in, Three ? 3 : 2, high);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    float value = 0.0F;
    if constexpr (Three) {
      value = F(a[lane], b[lane], c[lane]);
    } else {
      value = F(a[lane], b[lane]);
    }
    results[lane] = std::bit_cast<uint32_t>(value);
  }
  if (!in.clamp) return;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    results[lane] = std::bit_cast<uint32_t>(modified(in, std::bit_cast<float>(results[lane])));
  }
}

template <auto F, bool Three>
void plain_pair_result(const Wave& wave, const Instruction& in, bool high, uint32_t* results) {
  const PairSource a(wave, in, 1, high), b(wave, in, 2, high);
  if constexpr (Three) {
    const PairSource c(wave, in, 3, high);
    apply_to_rows<F, float, float, float>(results, a.row(), b.row(), c.row());
  } else {
    apply_to_rows<F, float, float>(results, a.row(), b.row());
  }
}

template <auto F, bool Three>
void pair_op(Wave& wave, const Instruction& in) {
  alignas(64) Row low, high;
  const unsigned to = in.op[0].first;
  const bool plain = !in.clamp && in.neg_lo == 0 && in.neg_hi == 0;
  if (plain && wave.exec() == ~uint64_t{0}) {
    plain_pair_result<F, Three>(wave, in, false, low);  // not yet to its row, a source maybe
    plain_pair_result<F, Three>(wave, in, true, wave.v[to + 1]);
    store_row(wave, to, low, ~uint64_t{0});
    return;
  }
  pair_result<F, Three>(wave, in, false, low);
  pair_result<F, Three>(wave, in, true, high);
  store_row(wave, to, low, wave.exec());
  store_row(wave, to + 1, high, wave.exec());
}

// v_pk_mov_b32 d, a, b: the low register from `a`, the high one from `b`.
void v_pk_mov_b32(Wave& wave, const Instruction& in) {
  alignas(64) Row from[2], buffer;
  for (unsigned i = 0; i < 2; ++i) {
    const Operand& operand = in.op[1 + i];
    const uint32_t* row = row_of(wave, operand, bit(in.op_sel, i) ? 1 : 0, operand.bits32, buffer);
    std::memcpy(from[i], row, sizeof(Row));
  }
  for (unsigned i = 0; i < 2; ++i) store_row(wave, in.op[0].first + i, from[i], wave.exec());
}

// The halves of a register.
const uint32_t* packed_row(const Wave& wave, const Operand& operand, uint32_t* buffer) {
  return row_of(wave, operand, 0, operand.inline_float ? operand.bits16 : operand.bits32, buffer);
}

struct HalfSource {
  HalfSource(const Wave& wave, const Instruction& in, unsigned i, bool high) {
    alignas(64) Row buffer;
    const uint32_t* row = packed_row(wave, in.op[i], buffer);
    halves_to_floats(row, bit(high ? in.op_sel_hi : in.op_sel, i - 1) ? 16 : 0, values);
    if (!bit(high ? in.neg_hi : in.neg_lo, i - 1)) return;
    for (float& value : values) value = -value;
  }
  alignas(64) float values[kLanes];
};

template <auto F, bool Three>
void half_op(Wave& wave, const Instruction& in) {
  alignas(64) Row rows[2];
  for (unsigned high = 0; high < 2; ++high) {
    const HalfSource a(wave, in, 1, high != 0), b(wave, in, 2, high != 0);
    const HalfSource c(wave, in, Three ? 3 : 2, high != 0);
    alignas(64) float results[kLanes];
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      if constexpr (Three) {
        results[lane] = F(a.values[lane], b.values[lane], c.values[lane]);
      } else {
        results[lane] = F(a.values[lane], b.values[lane]);
      }
      if (in.clamp) results[lane] = modified(in, results[lane]);
    }
    floats_to_halves(results, rows[high]);
  }
  for (unsigned lane = 0; lane < kLanes; ++lane) rows[0][lane] |= rows[1][lane] << 16;
  store_row(wave, in.op[0].first, rows[0], wave.exec());
}

template <auto F>
void short_op(Wave& wave, const Instruction& in) {
  if (in.clamp) throw Fault("clamp of packed integers is not modelled");
  alignas(64) Row results, buffer[3];
  const uint32_t* rows[3] = {};
  for (unsigned i = 0; i < 3; ++i) {
    const bool has = i + 1 < in.operands;
    rows[i] = has ? packed_row(wave, in.op[i + 1], buffer[i]) : rows[0];
  }
  const auto pick = [&](unsigned i, unsigned lane, bool high) {
    return static_cast<uint16_t>(rows[i][lane] >>
                                 (bit(high ? in.op_sel_hi : in.op_sel, i) ? 16 : 0));
  };
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const auto one = [&](bool high) -> uint32_t {
      return static_cast<uint16_t>(
          F(pick(0, lane, high), pick(1, lane, high), pick(2, lane, high)));
    };
    results[lane] = one(false) | one(true) << 16;
  }
  store_row(wave, in.op[0].first, results, wave.exec());
}

// v_dot2_f32_f16: both products and the sum with `c`, rounded once here.
template <bool Accumulate>
void dot2(Wave& wave, const Instruction& in) {
  const HalfSource a0(wave, in, 1, false), a1(wave, in, 1, true);
  const HalfSource b0(wave, in, 2, false), b1(wave, in, 2, true);
  const Source<float> c(wave, in, Accumulate ? 0 : 3);
  Destination<float> d;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const double low = static_cast<double>(a0.values[lane]) * static_cast<double>(b0.values[lane]);
    const double high = static_cast<double>(a1.values[lane]) * static_cast<double>(b1.values[lane]);
    d.set(lane, static_cast<float>(low + high + static_cast<double>(c[lane])));
  }
  d.commit(wave, in);
}

}  // namespace

void add_packed_ops(OpcodeTable& table) {
  constexpr auto add = [](float a, float b) { return a + b; };
  constexpr auto mul = [](float a, float b) { return a * b; };
  constexpr auto fma = [](float a, float b, float c) { return __builtin_fmaf(a, b, c); };
  constexpr auto half_fma = [](float a, float b, float c) {
    return static_cast<float>(
        __builtin_fma(static_cast<double>(a), static_cast<double>(b), static_cast<double>(c)));
  };
  constexpr auto max = [](float a, float b) { return maximum(a, b); };
  constexpr auto min = [](float a, float b) { return minimum(a, b); };
  using S16 = int16_t;
  using U16 = uint16_t;
  table.add(
      Pipe::Packed,
      {
          {"v_pk_add_f32", pair_op<add, false>},
          {"v_pk_mul_f32", pair_op<mul, false>},
          {"v_pk_fma_f32", pair_op<fma, true>},
          {"v_pk_mov_b32", v_pk_mov_b32},
          {"v_pk_add_f16", half_op<add, false>},
          {"v_pk_mul_f16", half_op<mul, false>},
          {"v_pk_fma_f16", half_op<half_fma, true>},
          {"v_pk_max_f16", half_op<max, false>},
          {"v_pk_min_f16", half_op<min, false>},
          {"v_pk_add_u16", short_op<[](U16 a, U16 b, U16) { return a + b; }>},
          {"v_pk_sub_u16", short_op<[](U16 a, U16 b, U16) { return a - b; }>},
          {"v_pk_sub_i16", short_op<[](U16 a, U16 b, U16) { return a - b; }>},
          {"v_pk_add_i16", short_op<[](U16 a, U16 b, U16) { return a + b; }>},
          {"v_pk_mul_lo_u16", short_op<[](uint32_t a, uint32_t b, U16) { return a * b; }>},
          {"v_pk_mad_u16", short_op<[](uint32_t a, uint32_t b, uint32_t c) { return a * b + c; }>},
          {"v_pk_mad_i16", short_op<[](uint32_t a, uint32_t b, uint32_t c) { return a * b + c; }>},
          {"v_pk_lshlrev_b16", short_op<[](U16 a, U16 b, U16) { return b << (a & 15); }>},
          {"v_pk_lshrrev_b16", short_op<[](U16 a, U16 b, U16) { return (b >> (a & 15)); }>},
          {"v_pk_ashrrev_i16", short_op<[](U16 a, S16 b, U16) { return (b >> (a & 15)); }>},
          {"v_pk_max_u16", short_op<[](U16 a, U16 b, U16) { return (a > b ? a : b); }>},
          {"v_pk_min_u16", short_op<[](U16 a, U16 b, U16) { return a < b ? a : b; }>},
          {"v_pk_max_i16", short_op<[](S16 a, S16 b, U16) { return (a > b ? a : b); }>},
          {"v_pk_min_i16", short_op<[](S16 a, S16 b, U16) { return a < b ? a : b; }>},
          {"v_dot2_f32_f16", dot2<false>},
          {"v_dot2c_f32_f16", dot2<true>},
      });
}

}  // namespace gfx90a
