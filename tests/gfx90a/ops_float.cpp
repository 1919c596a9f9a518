// Single-precision arithmetic at full rate. Subnormal numbers follow the MODE register, which the
// run carries over to the host's own control register.
#include <cmath>

#include "float_math.h"
#include "lanes.h"
#include "opcodes.h"

namespace gfx90a {
namespace {

float fraction(float x) {  // in [0, 1)
  const float f = x - std::floor(x);
  return f < 1.0F ? f : std::bit_cast<float>(0x3F7FFFFFU);
}

float legacy_product(float a, float b) { return a == 0.0F || b == 0.0F ? 0.0F : a * b; }

bool finite(float x) { return biased_exponent(x) != 255; }

float mantissa(float x) {
  int exponent = 0;
  return finite(x) ? std::frexp(x, &exponent) : x;
}

int32_t exponent_of(float x) {
  int exponent = 0;
  if (finite(x)) std::frexp(x, &exponent);
  return x == 0.0F ? 0 : exponent;
}

// The steps of a division: v_div_scale brings numerator (`of` == numerator) or denominator into a
// range in which no step overflows, v_div_fmas undoes it in the lanes of VCC, v_div_fixup puts in
// the special cases.
struct Scaled {
  float value;
  bool undo;
};
Scaled div_scale(float of, float denominator, float numerator) {
  const int n = biased_exponent(numerator), d = biased_exponent(denominator);
  const auto subnormal = [](double x) { return x != 0 && std::fabs(x) < 0x1p-126; };
  const double quotient = static_cast<double>(numerator) / denominator;
  const bool reciprocal_tiny = subnormal(1.0 / denominator);
  if (numerator == 0.0F || denominator == 0.0F) return {NAN, false};
  if (n - d >= 96) return {of == denominator ? std::ldexp(of, 64) : of, true};
  if (d == 0) return {std::ldexp(of, 64), false};
  if (reciprocal_tiny && subnormal(quotient)) {
    return {of == denominator ? std::ldexp(of, -64) : of, true};
  }
  if (reciprocal_tiny) return {std::ldexp(of, -64), false};
  if (subnormal(quotient)) return {of == numerator ? std::ldexp(of, 64) : of, true};
  if (n <= 23) return {std::ldexp(of, 64), false};
  return {of, false};
}

void v_div_scale_f32(Wave& wave, const Instruction& in) {
  const Source<float> of(wave, in, 2), denominator(wave, in, 3), numerator(wave, in, 4);
  Destination<float> d;
  uint64_t undo = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const Scaled scaled = div_scale(of[lane], denominator[lane], numerator[lane]);
    d.set(lane, scaled.value);
    undo |= static_cast<uint64_t>(scaled.undo) << lane;
  }
  d.commit(wave, in);
  wave.set_s64(in.op[1].first, undo & wave.exec());
}

void v_div_fmas_f32(Wave& wave, const Instruction& in) {
  const Source<float> a(wave, in, 1), b(wave, in, 2), c(wave, in, 3);
  Destination<float> d;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const float sum = std::fma(a[lane], b[lane], c[lane]);
    const bool undo = ((wave.s64(kVcc) >> lane) & 1) != 0;
    d.set(lane, undo ? std::ldexp(sum, biased_exponent(c[lane]) > 127 ? 64 : -64) : sum);
  }
  d.commit(wave, in);
}

float div_fixup(float quotient, float denominator, float numerator) {
  const float sign = std::signbit(denominator) != std::signbit(numerator) ? -1.0F : 1.0F;
  if (is_nan(numerator)) return numerator;
  if (is_nan(denominator)) return denominator;
  const bool huge = !finite(numerator), wide = !finite(denominator);
  if ((denominator == 0.0F && numerator == 0.0F) || (huge && wide)) return -NAN;
  if (denominator == 0.0F || huge) return sign * INFINITY;
  if (wide || numerator == 0.0F) return sign * 0.0F;
  if (biased_exponent(numerator) - biased_exponent(denominator) < -150) return sign * 0.0F;
  if (is_nan(quotient)) return sign * INFINITY;  // the steps overflowed
  return sign * std::fabs(quotient);
}

}  // namespace

void add_float_ops(OpcodeTable& table) {
  constexpr auto fma = [](float a, float b, float c) { return __builtin_fmaf(a, b, c); };
  constexpr auto mad = [](float a, float b, float c) { return a * b + c; };
  table.add(
      Pipe::Valu,
      {
          {"v_add_f32", vector_op<[](float a, float b) { return a + b; }>},
          {"v_sub_f32", vector_op<[](float a, float b) { return a - b; }>},
          {"v_subrev_f32", vector_op<[](float a, float b) { return b - a; }>},
          {"v_mul_f32", vector_op<[](float a, float b) { return a * b; }>},
          {"v_mul_legacy_f32", vector_op<[](float a, float b) { return legacy_product(a, b); }>},
          {"v_fma_f32", vector_op<fma>},
          {"v_fmac_f32", accumulate_op<fma>},
          {"v_mad_f32", vector_op<mad>},
          {"v_mac_f32", accumulate_op<mad>},
          {"v_madmk_f32", vector_op<[](float a, float k, float b) { return a * k + b; }>},
          {"v_madak_f32", vector_op<mad>},
          {"v_max_f32", vector_op<[](float a, float b) { return maximum(a, b); }>},
          {"v_min_f32", vector_op<[](float a, float b) { return minimum(a, b); }>},
          {"v_max3_f32",
           vector_op<[](float a, float b, float c) { return maximum(maximum(a, b), c); }>},
          {"v_min3_f32",
           vector_op<[](float a, float b, float c) { return minimum(minimum(a, b), c); }>},
          {"v_med3_f32", vector_op<[](float a, float b, float c) { return median(a, b, c); }>},
          {"v_floor_f32", vector_op<[](float a) { return std::floor(a); }>},
          {"v_ceil_f32", vector_op<[](float a) { return std::ceil(a); }>},
          {"v_trunc_f32", vector_op<[](float a) { return std::trunc(a); }>},
          {"v_rndne_f32", vector_op<[](float a) { return std::nearbyint(a); }>},
          {"v_fract_f32", vector_op<[](float a) { return fraction(a); }>},
          {"v_ldexp_f32", vector_op<[](float a, int32_t b) { return std::ldexp(a, b); }>},
          {"v_frexp_mant_f32", vector_op<[](float a) { return mantissa(a); }>},
          {"v_frexp_exp_i32_f32", vector_op<[](float a) { return exponent_of(a); }>},
          {"v_div_scale_f32", v_div_scale_f32},
          {"v_div_fmas_f32", v_div_fmas_f32},
          {"v_div_fixup_f32",
           vector_op<[](float q, float d, float n) { return div_fixup(q, d, n); }>},
      });
}

void add_double_ops(OpcodeTable& table) {
  constexpr auto fma = [](double a, double b, double c) { return __builtin_fma(a, b, c); };
  table.add(Pipe::Valu,
            {
                {"v_add_f64", vector_op<[](double a, double b) { return a + b; }>},
                {"v_mul_f64", vector_op<[](double a, double b) { return a * b; }>},
                {"v_fma_f64", vector_op<fma>},
                {"v_fmac_f64", accumulate_op<fma>},
                {"v_max_f64", vector_op<[](double a, double b) { return maximum(a, b); }>},
                {"v_min_f64", vector_op<[](double a, double b) { return minimum(a, b); }>},
                {"v_floor_f64", vector_op<[](double a) { return std::floor(a); }>},
                {"v_ceil_f64", vector_op<[](double a) { return std::ceil(a); }>},
                {"v_trunc_f64", vector_op<[](double a) { return std::trunc(a); }>},
                {"v_rndne_f64", vector_op<[](double a) { return std::nearbyint(a); }>},
                {"v_ldexp_f64", vector_op<[](double a, int32_t b) { return std::ldexp(a, b); }>},
            });
}

}  // namespace gfx90a
