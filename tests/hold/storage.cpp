#include "storage.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "attention/oracle.h"

namespace attngen::hold {

double widen(spec::DType dtype, uint16_t bits) {
  if (dtype == spec::DType::Bf16) {
    return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits) << 16));
  }
  const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == 31) return mantissa != 0 ? std::nan("") : sign * INFINITY;
  return sign *
         (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25));
}

uint16_t narrow(spec::DType dtype, double value) {
  const double rounded = attention::round_to(dtype, value);
  if (dtype == spec::DType::Bf16) {
    return static_cast<uint16_t>(std::bit_cast<uint32_t>(static_cast<float>(rounded)) >> 16);
  }
  const uint16_t sign = std::signbit(rounded) ? 0x8000 : 0;
  const double size = std::abs(rounded);
  if (std::isnan(size)) return 0x7E00;
  if (std::isinf(size)) return sign | 0x7C00;
  if (size < 0x1p-14)
    return static_cast<uint16_t>(sign | static_cast<uint16_t>(std::ldexp(size, 24)));
  const int exponent = std::ilogb(size);
  const auto mantissa = static_cast<uint16_t>(std::ldexp(size, 10 - exponent) - 1024);
  return static_cast<uint16_t>(sign | (exponent + 15) << 10 | mantissa);
}

const char* name_of(StrideKind kind) {
  static constexpr const char* kNames[] = {"default", "padded", "swapped", "shared"};
  return kNames[static_cast<int>(kind)];
}

Extent::Extent(int64_t batch_, int64_t length_, int64_t heads_, int64_t head_dim_, StrideKind kind,
               spec::Layout layout)
    : batch(batch_), length(length_), heads(heads_), head_dim(head_dim_) {
  bool bshd = layout == spec::Layout::Bshd;
  if (kind == StrideKind::Swapped) bshd = !bshd;
  const int64_t pad = kind == StrideKind::Padded || kind == StrideKind::Shared ? 8 : 0;
  const int64_t rows = std::max<int64_t>(length, 1);
  const int64_t inner = head_dim + pad;
  if (bshd) {
    head_stride = inner;
    seq_stride = heads * inner + 2 * pad;
    batch_stride = rows * seq_stride + 3 * pad;
  } else {
    seq_stride = inner;
    head_stride = rows * inner + 2 * pad;
    batch_stride = heads * head_stride + 3 * pad;
  }
  if (kind == StrideKind::Shared) batch_stride = 0;
}

int64_t Extent::reach() const {
  return length == 0 || batch == 0 ? 0 : at(batch - 1, length - 1, heads - 1) + head_dim;
}

}  // namespace attngen::hold
