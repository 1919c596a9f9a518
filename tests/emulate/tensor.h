// A tensor of a call, as the kernel reads it and as floats.
#pragma once

#include <random>
#include <vector>

#include "attention/oracle.h"
#include "hold/storage.h"
#include "memory.h"
#include "spec/spec.h"

namespace attngen::emulate {

class Tensor {
 public:
  // All of it poisoned.
  Tensor(spec::DType dtype, const hold::Extent& extent);
  void draw(float size, std::mt19937& random);
  // Of every head of a row: NaN and infinities.
  void poison(int64_t b, int64_t row);

  float& value(int64_t at) { return values_[static_cast<size_t>(at)]; }
  // What the kernel reads of `values`, and `values` rounded so.
  void store();
  double stored(int64_t at) const;
  // Of another tensor's memory the row at `from`, to the place `to` of this one's.
  void copy_row(const Tensor& other, int64_t from, int64_t to);
  // Whether something was written where no element lies.
  bool wrote_outside() const;

  const hold::Extent& extent() const { return extent_; }
  uint8_t* memory() { return memory_.data(); }
  attention::TensorView view() const {
    return {values_.data(), extent_.batch_stride, extent_.seq_stride, extent_.head_stride};
  }

 private:
  uint16_t bits(int64_t at) const;
  void put(int64_t at, uint16_t bits);

  spec::DType dtype_;
  hold::Extent extent_;
  Guarded memory_;
  std::vector<float> values_;
};

// All keys have much in common that no query sees: sums of keys are large, and products with them
// what a rounding of the sums would drown.
void oppose(Tensor& queries, Tensor& keys);

}  // namespace attngen::emulate
