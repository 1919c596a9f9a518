// Tensors as kernels store them: 16-bit elements, at strides.
#pragma once

#include <cstdint>

#include "spec/spec.h"

namespace attngen::hold {

double widen(spec::DType dtype, uint16_t bits);
// Rounded to nearest, ties to even.
uint16_t narrow(spec::DType dtype, double value);

// Default: contiguous in the spec's layout. Padded: between rows, heads and batches. Swapped: those
// of the other layout.
// Shared: padded, and keys and values are the same of all batches, whose stride is 0.
enum class StrideKind : uint8_t { Default, Padded, Swapped, Shared };
const char* name_of(StrideKind);

// Where the elements of a tensor [batch, length, heads, head_dim] lie; head_dim is contiguous.
struct Extent {
  int64_t batch = 0, length = 0, heads = 0, head_dim = 0;
  int64_t batch_stride = 0, seq_stride = 0, head_stride = 0;  // elements

  Extent() = default;
  Extent(int64_t batch, int64_t length, int64_t heads, int64_t head_dim, StrideKind kind,
         spec::Layout layout);
  int64_t at(int64_t b, int64_t row, int64_t head) const {
    return b * batch_stride + row * seq_stride + head * head_stride;
  }
  // Elements from the first to behind the last.
  int64_t reach() const;
  // visit(b, row, head, place of its first element)
  template <typename Visit>
  void for_rows(const Visit& visit) const {
    for (int64_t b = 0; b < batch; ++b) {
      for (int64_t row = 0; row < length; ++row) {
        for (int64_t head = 0; head < heads; ++head) visit(b, row, head, at(b, row, head));
      }
    }
  }
};

}  // namespace attngen::hold
