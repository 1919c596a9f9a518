// The quarter-rate unit. The hardware is good to about one unit in the last place; here results are
// the nearest floats. Subnormal inputs and results are zero, whatever the mode.
#include <cmath>

#include "float_math.h"
#include "lanes.h"
#include "opcodes.h"

namespace gfx90a {
namespace {

// 2^x of four numbers in [-200, 200]: x = n + f, |f| <= 1/2, and 2^f = e^(f ln 2) by its Taylor
// series, which after the eighth power lacks less than 2^-32.
__m128 exp2_four(__m128 x) {
  const auto all = [](double value) { return _mm256_set1_pd(value); };
  const __m256d wide = _mm256_cvtps_pd(x);
  const __m256d round = all(0x1.8p52);  // adding it rounds to an integer, in the low bits
  const __m256d shifted = _mm256_add_pd(wide, round);
  const __m256d fraction = _mm256_sub_pd(wide, _mm256_sub_pd(shifted, round));
  const __m256d t = _mm256_mul_pd(fraction, all(0.69314718055994530942));
  // Neighbouring terms, then neighbouring sums: shorter chains than one term after the other.
  const __m256d t2 = _mm256_mul_pd(t, t), t4 = _mm256_mul_pd(t2, t2);
  const auto two = [&](double constant, double linear) {
    return _mm256_fmadd_pd(all(linear), t, all(constant));
  };
  const __m256d low = _mm256_fmadd_pd(two(1.0 / 2, 1.0 / 6), t2, two(1.0, 1.0));
  const __m256d middle = _mm256_fmadd_pd(two(1.0 / 720, 1.0 / 5040), t2, two(1.0 / 24, 1.0 / 120));
  const __m256d high = _mm256_fmadd_pd(all(1.0 / 40320), t4, middle);
  const __m256d sum = _mm256_fmadd_pd(high, t4, low);
  // n into the exponent's bits; the sum's own exponent is that of 1 or 2.
  const __m256i power = _mm256_slli_epi64(_mm256_castpd_si256(shifted), 52);
  return _mm256_cvtpd_ps(_mm256_castsi256_pd(_mm256_add_epi64(_mm256_castpd_si256(sum), power)));
}

__m256 exp2_eight(__m256 x) {
  const __m256 limit = _mm256_set1_ps(200);  // a NaN becomes the limit
  const __m256 clamped = _mm256_max_ps(_mm256_min_ps(x, limit), _mm256_sub_ps(__m256{}, limit));
  const __m256 result = _mm256_set_m128(exp2_four(_mm256_extractf128_ps(clamped, 1)),
                                        exp2_four(_mm256_castps256_ps128(clamped)));
  const __m256 normal = _mm256_cmp_ps(result, _mm256_set1_ps(0x1p-126F), _CMP_GE_OQ);
  return _mm256_blendv_ps(_mm256_and_ps(result, normal), x, _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
}

void v_exp_f32(Wave& wave, const Instruction& in) {
  const Source<float> source(wave, in, 1);
  Destination<float> d;
  for (unsigned lane = 0; lane < kLanes; lane += 8) {
    d.set_eight(lane, exp2_eight(source.eight(lane)));
  }
  d.commit(wave, in);
}
float exp2_lane(float x) { return _mm256_cvtss_f32(exp2_eight(_mm256_set1_ps(x))); }

float reciprocal(float x) { return flushed(1.0F / flushed(x)); }
float reciprocal_root(float x) {
  return static_cast<float>(1.0 / std::sqrt(static_cast<double>(flushed(x))));
}
float root(float x) { return std::sqrt(flushed(x)); }
float log2_lane(float x) { return std::log2(flushed(x)); }

// In revolutions: sin(2 pi x). Beyond 256 of them the hardware gives up.
constexpr double kTurn = 6.28318530717958647692;
float sine(float x) {
  return std::fabs(x) > 256.0F ? 0.0F : static_cast<float>(std::sin(kTurn * x));
}
float cosine(float x) {
  return std::fabs(x) > 256.0F ? 1.0F : static_cast<float>(std::cos(kTurn * x));
}

template <float (*F)(float)>
constexpr Handler single = vector_op<[](float x) { return F(x); }>;
// fp16: computed as fp32 without flushing, and rounded.
template <float (*F)(float)>
constexpr Handler half = vector_op<[](Half x) { return Half{F(x.value)}; }>;

}  // namespace

void add_transcendental_ops(OpcodeTable& table) {
  table.add(Pipe::Transcendental,
            {
                {"v_exp_f32", v_exp_f32},
                {"v_log_f32", single<log2_lane>},
                {"v_rcp_f32", single<reciprocal>},
                {"v_rcp_iflag_f32", single<reciprocal>},
                {"v_rsq_f32", single<reciprocal_root>},
                {"v_sqrt_f32", single<root>},
                {"v_sin_f32", single<sine>},
                {"v_cos_f32", single<cosine>},
                {"v_exp_f16", half<exp2_lane>},
                {"v_log_f16", half<log2_lane>},
                {"v_rcp_f16", half<reciprocal>},
                {"v_rsq_f16", half<reciprocal_root>},
                {"v_sqrt_f16", half<root>},
                {"v_sin_f16", half<sine>},
                {"v_cos_f16", half<cosine>},
                {"v_rcp_f64", vector_op<[](double x) { return 1.0 / x; }>},
                {"v_rsq_f64", vector_op<[](double x) { return 1.0 / std::sqrt(x); }>},
                {"v_sqrt_f64", vector_op<[](double x) { return std::sqrt(x); }>},
            });
}

}  // namespace gfx90a
