#include "tensor.h"

#include <algorithm>
#include <limits>

namespace attngen::mi250 {

Tensor::Tensor(const hold::Extent& where) : extent(where) {
  const auto reach = static_cast<size_t>(extent.reach());
  bits.assign(reach, kPoison);
  values.assign(reach, std::numeric_limits<float>::quiet_NaN());
}

void Tensor::copy_row(const Tensor& from, int64_t source, int64_t to) {
  std::copy_n(from.bits.begin() + source, extent.head_dim, bits.begin() + to);
  std::copy_n(from.values.begin() + source, extent.head_dim, values.begin() + to);
}

void Tensor::clear_row(int64_t at) {
  std::fill_n(bits.begin() + at, extent.head_dim, uint16_t{0});
  std::fill_n(values.begin() + at, extent.head_dim, 0.0F);
}

}  // namespace attngen::mi250
