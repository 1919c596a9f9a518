// Tensors of a call: 16-bit elements as a kernel reads them.
#pragma once

#include <cstdint>
#include <new>
#include <vector>

#include "attention/oracle.h"
#include "hold/storage.h"

namespace attngen::mi250 {

// Memory as hipMalloc gives it, so that transactions count as they would on a card.
template <typename T>
struct DeviceAllocator {
  using value_type = T;
  static constexpr std::align_val_t kAlignment{256};
  DeviceAllocator() = default;
  template <typename U>
  explicit DeviceAllocator(const DeviceAllocator<U>&) {}
  T* allocate(size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), kAlignment)); }
  void deallocate(T* p, size_t) { ::operator delete(p, kAlignment); }
  bool operator==(const DeviceAllocator&) const = default;
};

inline constexpr uint16_t kPoison = 0xFFFF;  // a NaN in both types

// A tensor as stored: 16-bit elements, poisoned where no element lies.
struct Tensor {
  hold::Extent extent;
  std::vector<uint16_t, DeviceAllocator<uint16_t>> bits;
  std::vector<float> values;  // widened, in the same places
  explicit Tensor(const hold::Extent& where = {});
  attention::TensorView view() const {
    return {values.data(), extent.batch_stride, extent.seq_stride, extent.head_stride};
  }
  // A row of `from` at a place of its own; of none, zeros.
  void copy_row(const Tensor& from, int64_t source, int64_t to);
  void clear_row(int64_t at);
};

}  // namespace attngen::mi250
