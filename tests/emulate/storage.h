// The storage type of an emulated kernel: bf16, or fp16 with EMULATE_FP16.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace emulator {

// Rounded to the nearest, ties to even.
#ifdef EMULATE_FP16
inline uint16_t to_storage(float x) { return std::bit_cast<uint16_t>(static_cast<_Float16>(x)); }
inline float from_storage(uint16_t x) { return static_cast<float>(std::bit_cast<_Float16>(x)); }
#else
inline uint16_t to_storage(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  if (std::isnan(x)) return 0x7FFF;
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}
inline float from_storage(uint16_t x) {
  return std::bit_cast<float>(static_cast<uint32_t>(x) << 16);
}
#endif

}  // namespace emulator
