// The quarter-rate unit. The hardware is good to about one unit in the last place; here results are
// the nearest floats. Subnormal inputs and results are zero, whatever the mode.
#include <cmath>

#include "float_math.h"
#include "lanes.h"
#include "opcodes.h"

namespace gfx90a {
namespace {

// 2^x without a call or branch, so that loops over lanes vectorise: x = n + f, |f| <= 1/2, and
// 2^f = e^(f ln 2) by its Taylor series, which after the eighth power lacks less than 2^-32.
[[gnu::always_inline]] inline float exp2_lane(float x) {
  const double clamped = x > 200.0F ? 200.0 : x > -200.0F ? static_cast<double>(x) : -200.0;
  constexpr double kRound = 0x1.8p52;  // adding it rounds to an integer, in the low bits
  const double shifted = clamped + kRound;
  const double t = (clamped - (shifted - kRound)) * 0.69314718055994530942;
  double sum = 1.0 / 40320;
  sum = __builtin_fma(sum, t, 1.0 / 5040);
  sum = __builtin_fma(sum, t, 1.0 / 720);
  sum = __builtin_fma(sum, t, 1.0 / 120);
  sum = __builtin_fma(sum, t, 1.0 / 24);
  sum = __builtin_fma(sum, t, 1.0 / 6);
  sum = __builtin_fma(sum, t, 0.5);
  sum = __builtin_fma(sum, t, 1.0);
  sum = __builtin_fma(sum, t, 1.0);
  const uint64_t power = (std::bit_cast<uint64_t>(shifted) + 1023) << 52;
  const auto result = static_cast<float>(sum * std::bit_cast<double>(power));
  return x != x ? x : flushed(result);
}

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
                {"v_exp_f32", single<exp2_lane>},
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
