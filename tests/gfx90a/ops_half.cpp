// fp16 arithmetic, one value a lane. Sums and products of two fp16 values round correctly by way of
// fp32; a fused multiply-add goes by way of double.
#include <cmath>

#include "float_math.h"
#include "lanes.h"
#include "opcodes.h"

namespace gfx90a {

void halves_to_floats(const uint32_t* rows, unsigned shift, float* values) {
  for (unsigned lane = 0; lane < kLanes; lane += 8) {
    __m256i eight = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(rows + lane));
    eight = _mm256_and_si256(_mm256_srli_epi32(eight, static_cast<int>(shift)),
                             _mm256_set1_epi32(0xFFFF));
    const __m128i halves =
        _mm_packus_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
    _mm256_storeu_ps(values + lane, _mm256_cvtph_ps(halves));
  }
}

void floats_to_halves(const float* values, uint32_t* rows) {
  for (unsigned lane = 0; lane < kLanes; lane += 8) {
    const __m128i halves =
        _mm256_cvtps_ph(_mm256_loadu_ps(values + lane), _MM_FROUND_TO_NEAREST_INT);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(rows + lane), _mm256_cvtepu16_epi32(halves));
  }
}

namespace {

Half fused(Half a, Half b, Half c) {
  return {static_cast<float>(std::fma(static_cast<double>(a.value), static_cast<double>(b.value),
                                      static_cast<double>(c.value)))};
}

// The result goes into one half of the destination, the lower one unless op_sel says otherwise; the
// other half stays.
void store_half(Wave& wave, const Instruction& in, const float* results, bool high) {
  alignas(64) Row rows;
  floats_to_halves(results, rows);
  const uint32_t* old = wave.v[in.op[0].first];
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    rows[lane] =
        high ? (old[lane] & 0xFFFF) | rows[lane] << 16 : (old[lane] & 0xFFFF0000) | rows[lane];
  }
  store_row(wave, in.op[0].first, rows, wave.exec());
}

// Of the fp16 instructions with one result, this one keeps the upper half.
void v_fma_f16(Wave& wave, const Instruction& in) {
  const Source<Half> a(wave, in, 1), b(wave, in, 2), c(wave, in, 3);
  alignas(64) float results[kLanes];
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    results[lane] = modified(in, fused(a[lane], b[lane], c[lane]).value);
  }
  store_half(wave, in, results, (in.op_sel & 8) != 0);
}

void v_pack_b32_f16(Wave& wave, const Instruction& in) {
  const Source<Half> low(wave, in, 1), high(wave, in, 2);
  alignas(64) float values[2][kLanes];
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    values[0][lane] = low[lane].value;
    values[1][lane] = high[lane].value;
  }
  alignas(64) Row rows[2];
  for (unsigned i = 0; i < 2; ++i) floats_to_halves(values[i], rows[i]);
  for (unsigned lane = 0; lane < kLanes; ++lane) rows[0][lane] |= rows[1][lane] << 16;
  store_row(wave, in.op[0].first, rows[0], wave.exec());
}

// v_fma_mix: each source is fp32, or either half of a register where op_sel_hi says so.
struct MixSource {
  MixSource(const Wave& wave, const Instruction& in, unsigned i) {
    const Operand& operand = in.op[i];
    const unsigned bit = i - 1;
    alignas(64) Row buffer;
    const bool half = ((in.op_sel_hi >> bit) & 1) != 0;
    const uint32_t* row = row_of(wave, operand, 0, half ? operand.bits16 : operand.bits32, buffer);
    if (half) {
      halves_to_floats(row, ((in.op_sel >> bit) & 1) != 0 ? 16 : 0, values);
    } else {
      std::memcpy(values, row, sizeof values);
    }
    for (float& value : values) {
      if (operand.abs) value = std::fabs(value);
      if (operand.neg) value = -value;
    }
  }
  alignas(64) float values[kLanes];
};

void mix(const Wave& wave, const Instruction& in, float* results) {
  const MixSource a(wave, in, 1), b(wave, in, 2), c(wave, in, 3);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const float sum = __builtin_fmaf(a.values[lane], b.values[lane], c.values[lane]);
    results[lane] = in.clamp ? modified(in, sum) : sum;
  }
}

void v_fma_mix_f32(Wave& wave, const Instruction& in) {
  alignas(64) float results[kLanes];
  mix(wave, in, results);
  alignas(64) Row rows;
  std::memcpy(rows, results, sizeof rows);
  store_row(wave, in.op[0].first, rows, wave.exec());
}

template <bool High>
void v_fma_mix_f16(Wave& wave, const Instruction& in) {
  alignas(64) float results[kLanes];
  mix(wave, in, results);
  store_half(wave, in, results, High);
}

}  // namespace

void add_half_ops(OpcodeTable& table) {
  constexpr auto add = [](Half a, Half b) { return Half{a.value + b.value}; };
  table.add(
      Pipe::Valu,
      {
          {"v_add_f16", vector_op<add>},
          {"v_sub_f16", vector_op<[](Half a, Half b) { return Half{a.value - b.value}; }>},
          {"v_subrev_f16", vector_op<[](Half a, Half b) { return Half{b.value - a.value}; }>},
          {"v_mul_f16", vector_op<[](Half a, Half b) { return Half{a.value * b.value}; }>},
          {"v_max_f16", vector_op<[](Half a, Half b) { return Half{maximum(a.value, b.value)}; }>},
          {"v_min_f16", vector_op<[](Half a, Half b) { return Half{minimum(a.value, b.value)}; }>},
          {"v_fmac_f16", accumulate_op<[](Half a, Half b, Half c) { return fused(a, b, c); }>},
          {"v_floor_f16", vector_op<[](Half a) { return Half{std::floor(a.value)}; }>},
          {"v_ceil_f16", vector_op<[](Half a) { return Half{std::ceil(a.value)}; }>},
          {"v_trunc_f16", vector_op<[](Half a) { return Half{std::trunc(a.value)}; }>},
          {"v_rndne_f16", vector_op<[](Half a) { return Half{std::nearbyint(a.value)}; }>},
          {"v_fma_f16", v_fma_f16},
          {"v_pack_b32_f16", v_pack_b32_f16},
          {"v_fma_mix_f32", v_fma_mix_f32},
          {"v_fma_mixlo_f16", v_fma_mix_f16<false>},
          {"v_fma_mixhi_f16", v_fma_mix_f16<true>},
      });
}

}  // namespace gfx90a
