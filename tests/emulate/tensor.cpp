#include "tensor.h"

#include <limits>

namespace attngen::emulate {
namespace {

constexpr uint16_t kPoison = 0xFFFF;  // what Guarded is filled with

}  // namespace

Tensor::Tensor(spec::DType dtype, const hold::Extent& extent)
    : dtype_(dtype),
      extent_(extent),
      memory_(extent.reach(), 2),
      values_(static_cast<size_t>(extent.reach()), std::numeric_limits<float>::quiet_NaN()) {}

uint16_t Tensor::bits(int64_t at) const {
  uint16_t x;
  std::memcpy(&x, memory_.data() + 2 * at, 2);
  return x;
}
void Tensor::put(int64_t at, uint16_t bits) { std::memcpy(memory_.data() + 2 * at, &bits, 2); }

double Tensor::stored(int64_t at) const { return hold::widen(dtype_, bits(at)); }

void Tensor::store() {
  extent_.for_rows([&](int64_t, int64_t, int64_t, int64_t at) {
    for (int64_t i = at; i < at + extent_.head_dim; ++i) {
      put(i, hold::narrow(dtype_, value(i)));
      value(i) = static_cast<float>(stored(i));
    }
  });
}

void Tensor::copy_row(const Tensor& other, int64_t from, int64_t to) {
  for (int64_t i = 0; i < extent_.head_dim; ++i) put(to + i, other.bits(from + i));
}

void Tensor::draw(float size, std::mt19937& random) {
  std::normal_distribution<float> normal;
  extent_.for_rows([&](int64_t, int64_t, int64_t, int64_t at) {
    for (int64_t i = at; i < at + extent_.head_dim; ++i) value(i) = size * normal(random);
  });
  store();
}

void Tensor::poison(int64_t b, int64_t row) {
  for (int64_t head = 0; head < extent_.heads; ++head) {
    const int64_t at = extent_.at(b, row, head);
    for (int64_t i = at; i < at + extent_.head_dim; ++i) {
      put(i, i % 3 == 0 ? 0x7F80 : 0x7FC0);  // of bf16; NaNs of fp16
      value(i) = static_cast<float>(stored(i));
    }
  }
}

bool Tensor::wrote_outside() const {
  std::vector<bool> inside(values_.size());
  extent_.for_rows([&](int64_t, int64_t, int64_t, int64_t at) {
    for (int64_t i = at; i < at + extent_.head_dim; ++i) inside[static_cast<size_t>(i)] = true;
  });
  for (size_t i = 0; i < inside.size(); ++i) {
    if (!inside[i] && bits(static_cast<int64_t>(i)) != kPoison) return true;
  }
  return !memory_.clean();
}

void oppose(Tensor& queries, Tensor& keys) {
  constexpr float kCommon = 128;
  queries.extent().for_rows(
      [&](int64_t, int64_t, int64_t, int64_t at) { queries.value(at + 1) = -queries.value(at); });
  keys.extent().for_rows([&](int64_t, int64_t, int64_t, int64_t at) {
    keys.value(at) += kCommon;
    keys.value(at + 1) += kCommon;
  });
  queries.store();
  keys.store();
}

}  // namespace attngen::emulate
