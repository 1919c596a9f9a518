// Matrix instructions: D = A B + C on M x K times K x M blocks, by all 64 lanes whatever EXEC is.
//
// Layout (AMD's matrix instruction calculator), for `blocks` independent products and E elements of
// K a lane:
//   A[i][k]: lane i + M (block + blocks (k / E)), element k % E;  B[k][j]: the same with j for i
//   D[i][j]: lane j + M ((i / 4) % G), register i % 4 + 4 (i / (4 G)) + M M / 64 block, G = 64 / M
//   M = 4: D[i][j]: lane j + 4 block, register i
// Sums run over k upwards, each step a fused multiply-add in fp32; the hardware's order within an
// instruction is not published. fp16 and bf16 forms flush subnormal inputs and results to zero (as
// MI200 does); fp32 forms do not.
#include <array>
#include <utility>

#include "float_mode.h"
#include "lanes.h"
#include "opcodes.h"

namespace gfx90a {
namespace {

enum class Element : uint8_t { F16, Bf16, F32 };

template <Element Type>
constexpr unsigned kPerRegister = Type == Element::F32 ? 1 : 2;

// fp16 to fp32, subnormal values to zero of their sign.
__m256 flushed_floats(__m128i halves) {
  const __m256 values = _mm256_cvtph_ps(halves), sign = _mm256_set1_ps(-0.0F);
  const __m256 small = _mm256_cmp_ps(_mm256_andnot_ps(sign, values), _mm256_set1_ps(0x1p-14F),
                                     _CMP_LT_OQ);  // not a NaN
  return _mm256_andnot_ps(_mm256_andnot_ps(sign, small), values);
}

// The elements of eight lanes that one register holds; of fp32 the low one alone.
struct Pair {
  __m256 low, high;
};
template <Element Type>
Pair elements_of(__m256i lanes) {
  if constexpr (Type == Element::F32) {
    return {_mm256_castsi256_ps(lanes), __m256{}};
  } else if constexpr (Type == Element::Bf16) {
    const __m256i high = _mm256_and_si256(lanes, _mm256_set1_epi32(static_cast<int>(0xFFFF0000)));
    return {_mm256_castsi256_ps(_mm256_slli_epi32(lanes, 16)), _mm256_castsi256_ps(high)};
  } else {
    // Low halves to the front of each 128 bits, then to the front of all.
    const __m256i order = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15));
    const __m256i sorted =
        _mm256_permute4x64_epi64(_mm256_shuffle_epi8(lanes, order), 0b11'01'10'00);
    return {flushed_floats(_mm256_castsi256_si128(sorted)),
            flushed_floats(_mm256_extracti128_si256(sorted, 1))};
  }
}

template <Element Type, unsigned E>
struct Operands {
  Operands(const Wave& wave, const Operand& operand) {
    if (!operand.vector()) throw Fault("an MFMA operand that is no vector register");
    constexpr unsigned kHalves = kPerRegister<Type>;
    for (unsigned r = 0; r < E / kHalves; ++r) {
      const uint32_t* row = wave.v[operand.first + r];
      for (unsigned lane = 0; lane < kLanes; lane += 8) {
        const Pair pair =
            elements_of<Type>(_mm256_load_si256(reinterpret_cast<const __m256i*>(row + lane)));
        _mm256_store_ps(&values[r * kHalves][lane], pair.low);
        if constexpr (kHalves == 2) _mm256_store_ps(&values[r * kHalves + 1][lane], pair.high);
      }
    }
  }
  alignas(64) float values[E][kLanes];  // [element][lane]
};

// Puts C into the rows of D, where the sums are then made.
template <unsigned Registers>
float (*start_sums(Wave& wave, const Operand& d, const Operand& c))[kLanes] {
  if (!c.vector()) {
    for (unsigned r = 0; r < Registers; ++r) fill(wave.v[d.first + r], scalar32(wave, c));
  } else if (c.first != d.first) {
    std::memmove(wave.v[d.first], wave.v[c.first], Registers * sizeof(Row));
  }
  return reinterpret_cast<float(*)[kLanes]>(wave.v[d.first]);
}

// M of 32 or 16: a row of D is M / 8 vectors of 8 neighbouring lanes. Rows are computed together
// until eight vectors are in flight, which hides the latency of the multiply-add.
template <unsigned M, unsigned K, unsigned Blocks, unsigned E>
void multiply(const float (*a)[kLanes], const float (*b)[kLanes], float (*d)[kLanes]) {
  constexpr unsigned kVectors = M / 8, kRows = 8 / kVectors, kGroups = kLanes / M;
  for (unsigned block = 0; block < Blocks; ++block) {
    for (unsigned i = 0; i < M; i += kRows) {
      float* rows[kRows];
      __m256 sum[kRows][kVectors];
      for (unsigned r = 0; r < kRows; ++r) {
        const unsigned row = i + r;
        rows[r] = d[row % 4 + 4 * (row / (4 * kGroups)) + M * M / kLanes * block] +
                  size_t{M} * ((row / 4) % kGroups);
        for (unsigned v = 0; v < kVectors; ++v) sum[r][v] = _mm256_load_ps(rows[r] + size_t{8} * v);
      }
      const auto add_product = [&](unsigned k) {
        const unsigned lane = M * (block + Blocks * (k / E));
        __m256 columns[kVectors];
        for (unsigned v = 0; v < kVectors; ++v) {
          columns[v] = _mm256_load_ps(b[k % E] + lane + size_t{8} * v);
          // Else the compiler loads them anew for each row, and loads take longer than the rest.
          __asm__("" : "+x"(columns[v]));
        }
        for (unsigned r = 0; r < kRows; ++r) {
          const __m256 factor = _mm256_set1_ps(a[k % E][lane + i + r]);
          for (unsigned v = 0; v < kVectors; ++v) {
            sum[r][v] = _mm256_fmadd_ps(factor, columns[v], sum[r][v]);
          }
        }
      };
      [&]<unsigned... k>(std::integer_sequence<unsigned, k...>) { (add_product(k), ...); }
      (std::make_integer_sequence<unsigned, K>());
      for (unsigned r = 0; r < kRows; ++r) {
        for (unsigned v = 0; v < kVectors; ++v) _mm256_store_ps(rows[r] + 8 * v, sum[r][v]);
      }
    }
  }
}

// M = 4, sixteen blocks.
template <unsigned K>
void multiply_small(const float (*a)[kLanes], const float (*b)[kLanes], float (*d)[kLanes]) {
  for (unsigned i = 0; i < 4; ++i) {
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      for (unsigned k = 0; k < K; ++k) {
        d[i][lane] = __builtin_fmaf(a[k][lane / 4 * 4 + i], b[k][lane], d[i][lane]);
      }
    }
  }
}

template <Element Type, unsigned M, unsigned K, unsigned Blocks>
void mfma(Wave& wave, const Instruction& in) {
  constexpr unsigned E = M * K * Blocks / kLanes, kRegisters = M * M * Blocks / kLanes;
  const FlushSubnormals flush(Type != Element::F32);
  const Operands<Type, E> a(wave, in.op[1]), b(wave, in.op[2]);
  float(*d)[kLanes] = start_sums<kRegisters>(wave, in.op[0], in.op[3]);
  if constexpr (M == 4) {
    multiply_small<K>(a.values, b.values, d);
  } else {
    multiply<M, K, Blocks, E>(a.values, b.values, d);
  }
}

}  // namespace

void add_mfma_ops(OpcodeTable& table) {
  constexpr auto F16 = Element::F16, Bf16 = Element::Bf16, F32 = Element::F32;
  table.add(Pipe::Mfma, {
                            {"v_mfma_f32_32x32x8f16", mfma<F16, 32, 8, 1>},
                            {"v_mfma_f32_16x16x16f16", mfma<F16, 16, 16, 1>},
                            {"v_mfma_f32_32x32x4f16", mfma<F16, 32, 4, 2>},
                            {"v_mfma_f32_16x16x4f16", mfma<F16, 16, 4, 4>},
                            {"v_mfma_f32_4x4x4f16", mfma<F16, 4, 4, 16>},
                            {"v_mfma_f32_32x32x8bf16_1k", mfma<Bf16, 32, 8, 1>},
                            {"v_mfma_f32_16x16x16bf16_1k", mfma<Bf16, 16, 16, 1>},
                            {"v_mfma_f32_32x32x4bf16_1k", mfma<Bf16, 32, 4, 2>},
                            {"v_mfma_f32_16x16x4bf16_1k", mfma<Bf16, 16, 4, 4>},
                            {"v_mfma_f32_4x4x4bf16_1k", mfma<Bf16, 4, 4, 16>},
                            {"v_mfma_f32_32x32x4bf16", mfma<Bf16, 32, 4, 1>},
                            {"v_mfma_f32_16x16x8bf16", mfma<Bf16, 16, 8, 1>},
                            {"v_mfma_f32_32x32x2f32", mfma<F32, 32, 2, 1>},
                            {"v_mfma_f32_16x16x4f32", mfma<F32, 16, 4, 1>},
                            {"v_mfma_f32_4x4x1f32", mfma<F32, 4, 1, 16>},
                        });
}

}  // namespace gfx90a
