// Conversions. Float to integer truncates and saturates; a NaN gives 0.
#include <algorithm>
#include <cmath>

#include "float_math.h"
#include "lanes.h"
#include "opcodes.h"

namespace gfx90a {
namespace {

using I = int32_t;
using U = uint32_t;

template <class To, class From>
To saturated(From x) {
  constexpr auto kLow = static_cast<double>(std::numeric_limits<To>::min());
  constexpr auto kHigh = static_cast<double>(std::numeric_limits<To>::max());
  const auto wide = static_cast<double>(x);
  if (is_nan(wide)) return 0;
  return static_cast<To>(std::clamp(std::trunc(wide), kLow, kHigh));
}

template <unsigned Byte>
float unsigned_byte(uint32_t x) {
  return static_cast<float>((x >> (8 * Byte)) & 0xFF);
}

// Two fp32 to packed fp16, rounding toward zero.
void v_cvt_pkrtz_f16_f32(Wave& wave, const Instruction& in) {
  const Source<float> a(wave, in, 1), b(wave, in, 2);
  Destination<uint32_t> d;
  alignas(32) float low[kLanes], high[kLanes];
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    low[lane] = a[lane];
    high[lane] = b[lane];
  }
  alignas(32) uint32_t packed[kLanes];
  for (unsigned lane = 0; lane < kLanes; lane += 8) {
    const auto halves = [&](const float* values) {
      return _mm256_cvtepu16_epi32(
          _mm256_cvtps_ph(_mm256_load_ps(values + lane), _MM_FROUND_TO_ZERO));
    };
    _mm256_store_si256(reinterpret_cast<__m256i*>(packed + lane),
                       _mm256_or_si256(halves(low), _mm256_slli_epi32(halves(high), 16)));
  }
  for (unsigned lane = 0; lane < kLanes; ++lane) d.set(lane, packed[lane]);
  d.commit(wave, in);
}

template <class T>
uint32_t packed_shorts(T a, T b) {
  const auto low = static_cast<uint16_t>(a), high = static_cast<uint16_t>(b);
  return low | static_cast<uint32_t>(high) << 16;
}

}  // namespace

void add_conversion_ops(OpcodeTable& table) {
  table.add(
      Pipe::Valu,
      {
          {"v_cvt_f32_i32", vector_op<[](I a) { return (static_cast<float>(a)); }>},
          {"v_cvt_f32_u32", vector_op<[](U a) { return (static_cast<float>(a)); }>},
          {"v_cvt_i32_f32", vector_op<[](float a) { return (saturated<I>(a)); }>},
          {"v_cvt_u32_f32", vector_op<[](float a) { return (saturated<U>(a)); }>},
          {"v_cvt_rpi_i32_f32",
           vector_op<[](float a) { return (saturated<I>(std::floor(a + 0.5F))); }>},
          {"v_cvt_flr_i32_f32", vector_op<[](float a) { return (saturated<I>(std::floor(a))); }>},
          {"v_cvt_f32_ubyte0", vector_op<[](U a) { return (unsigned_byte<0>(a)); }>},
          {"v_cvt_f32_ubyte1", vector_op<[](U a) { return (unsigned_byte<1>(a)); }>},
          {"v_cvt_f32_ubyte2", vector_op<[](U a) { return (unsigned_byte<2>(a)); }>},
          {"v_cvt_f32_ubyte3", vector_op<[](U a) { return (unsigned_byte<3>(a)); }>},
          {"v_cvt_f16_f32", vector_op<[](float a) { return Half{a}; }>},
          {"v_cvt_f32_f16", vector_op<[](Half a) { return a.value; }>},
          {"v_cvt_f16_u16", vector_op<[](Short a) { return Half{static_cast<float>(a.bits)}; }>},
          {"v_cvt_f16_i16", vector_op<[](Short a) {
             return Half{static_cast<float>(static_cast<int16_t>(a.bits))};
           }>},
          {"v_cvt_u16_f16", vector_op<[](Half a) { return Short{saturated<uint16_t>(a.value)}; }>},
          {"v_cvt_i16_f16", vector_op<[](Half a) {
             return Short{static_cast<uint16_t>(saturated<int16_t>(a.value))};
           }>},
          {"v_cvt_f64_f32", vector_op<[](float a) { return (static_cast<double>(a)); }>},
          {"v_cvt_f32_f64", vector_op<[](double a) { return (static_cast<float>(a)); }>},
          {"v_cvt_f64_i32", vector_op<[](I a) { return (static_cast<double>(a)); }>},
          {"v_cvt_f64_u32", vector_op<[](U a) { return (static_cast<double>(a)); }>},
          {"v_cvt_i32_f64", vector_op<[](double a) { return (saturated<I>(a)); }>},
          {"v_cvt_u32_f64", vector_op<[](double a) { return (saturated<U>(a)); }>},
          {"v_cvt_pkrtz_f16_f32", v_cvt_pkrtz_f16_f32},
          {"v_cvt_pk_u16_u32", vector_op<[](U a, U b) {
             return (packed_shorts(std::min<U>(a, 0xFFFF), std::min<U>(b, 0xFFFF)));
           }>},
          {"v_cvt_pk_i16_i32", vector_op<[](I a, I b) {
             return packed_shorts(std::clamp(a, -32768, 32767), std::clamp(b, -32768, 32767));
           }>},
      });
}

}  // namespace gfx90a
