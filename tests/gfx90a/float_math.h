// Floating-point rules of the vector unit that differ from C++'s.
#pragma once

#include <immintrin.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace gfx90a {

template <class T>
bool is_nan(T x) {
  return x != x;
}

// The fp16 next to it.
inline uint16_t half_bits(float x) {
  const __m128i half = _mm_cvtps_ph(_mm_set_ss(x), _MM_FROUND_TO_NEAREST_INT);
  return static_cast<uint16_t>(_mm_extract_epi16(half, 0));
}

// A NaN loses to a number, and +0 is greater than -0.
template <class T>
T maximum(T a, T b) {
  if (a == b) return std::signbit(a) ? b : a;
  return is_nan(b) || a > b ? a : b;
}
template <class T>
T minimum(T a, T b) {
  if (a == b) return std::signbit(a) ? a : b;
  return is_nan(b) || a < b ? a : b;
}
template <>
inline float maximum(float a, float b) {  // without branches, so that loops over lanes vectorise
  const auto both = std::bit_cast<float>(std::bit_cast<uint32_t>(a) & std::bit_cast<uint32_t>(b));
  const float greater = a > b ? a : b;  // b if unordered
  return a == b ? both : b != b ? a : greater;
}
template <>
inline float minimum(float a, float b) {
  const auto both = std::bit_cast<float>(std::bit_cast<uint32_t>(a) | std::bit_cast<uint32_t>(b));
  const float lesser = a < b ? a : b;
  return a == b ? both : b != b ? a : lesser;
}
template <class T>
T median(T a, T b, T c) {
  if (is_nan(a) || is_nan(b) || is_nan(c)) return minimum(minimum(a, b), c);
  return maximum(minimum(a, b), minimum(maximum(a, b), c));
}

// Subnormal values as zero of the same sign, whatever the mode: what the transcendental unit does.
inline float flushed(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  return (bits & 0x7F800000) == 0 ? std::bit_cast<float>(bits & 0x80000000) : x;
}

inline int biased_exponent(float x) {
  return static_cast<int>((std::bit_cast<uint32_t>(x) >> 23) & 0xFF);
}

}  // namespace gfx90a
