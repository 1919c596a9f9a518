#include "pages.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

namespace attngen::mi250 {
namespace {

constexpr int64_t kOfNobody = 3;

}  // namespace

Pages::Pages(const spec::Spec& spec, const Shape& shape, std::mt19937_64& random)
    : spec_(spec), shape_(shape), size_(spec.page.value_or(1)) {
  // A stride of 0 leaves no place between sequences.
  const bool by_default = shape.packed.empty() && shape.strides == hold::StrideKind::Default;
  stride_ = (shape.seq_kv + size_ - 1) / size_ + (by_default ? 0 : 2);
  count_ = kOfNobody;
  for (int64_t b = 0; b < shape.batch; ++b) count_ += used(b);
  std::vector<int32_t> order(static_cast<size_t>(count_));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  using Limits = std::numeric_limits<int32_t>;
  const std::array none{Limits::min(), -1, static_cast<int32_t>(count_), Limits::max()};
  auto next = order.begin();
  for (int64_t b = 0; b < shape.batch; ++b) {
    for (int64_t i = 0; i < stride_; ++i) {
      const bool is_page = i < used(b) && random() % 5 != 0;
      table_.push_back(is_page ? *next++ : none[random() % none.size()]);
    }
    if (b == 0 || shape.is_poisoned(b)) continue;
    // As many of the first sequence's as both have full.
    const int64_t alike = std::min(keys(0), keys(b)) / size_;
    const bool all = shape.strides == hold::StrideKind::Shared && shape.packed.empty();
    const int64_t shared = all ? used(b) : std::min<int64_t>(alike, random() % 2 == 0 ? 1 : 0);
    std::copy_n(table_.begin(), shared, table_.begin() + b * stride_);
  }
}

int64_t Pages::keys(int64_t b) const {
  return shape_.packed.empty() ? shape_.seq_kv : shape_.packed[static_cast<size_t>(b)].seq_kv;
}

int64_t Pages::place(const Tensor& tensor, int64_t b, int64_t key, int64_t head) const {
  if (shape_.packed.empty()) return tensor.extent.at(b, key, head);
  return tensor.extent.at(0, shape_.packed[static_cast<size_t>(b)].kv_begin + key, head);
}

template <typename Visit>
void Pages::for_keys(const Visit& visit) const {
  for (int64_t b = 0; b < shape_.batch; ++b) {
    for (int64_t key = 0; key < keys(b); ++key) {
      for (int64_t head = 0; head < spec_.heads.kv(); ++head) visit(b, key, head);
    }
  }
}

void Pages::settle(Tensor& tensor) const {
  for_keys([&](int64_t b, int64_t key, int64_t head) {
    const int64_t at = place(tensor, b, key, head);
    if (!exists(b, key)) {
      tensor.clear_row(at);
    } else if (b > 0 && key < keys(0) && entry(b, key) == entry(0, key)) {
      tensor.copy_row(tensor, place(tensor, 0, key, head), at);
    }
  });
}

Tensor Pages::laid_out(const Tensor& tensor) const {
  // Pages have a stride also where all sequences' keys are the same.
  const hold::Extent& from = tensor.extent;
  const auto kind =
      shape_.strides == hold::StrideKind::Shared ? hold::StrideKind::Padded : shape_.strides;
  Tensor pages({count_, size_, from.heads, from.head_dim, kind, spec_.layout});
  for_keys([&](int64_t b, int64_t key, int64_t head) {
    if (!exists(b, key)) return;
    pages.copy_row(tensor, place(tensor, b, key, head),
                   pages.extent.at(entry(b, key), key % size_, head));
  });
  return pages;
}

int64_t Pages::spread(const Tensor& pages, std::unique_ptr<Far>& far) const {
  constexpr int64_t kElements = int64_t{5} << 30;  // 10 GB
  constexpr int64_t kMostStride = (int64_t{1} << 31) - 8;
  const int64_t stride = std::min(kElements / count_ / 8 * 8, kMostStride);
  const auto size = static_cast<int64_t>(pages.bits.size());
  far = std::make_unique<Far>(static_cast<size_t>(count_ * stride) * sizeof(uint16_t));
  for (int64_t page = 0; page < count_; ++page) {
    const int64_t from = page * pages.extent.batch_stride;
    std::copy_n(pages.bits.begin() + from, std::min(size - from, pages.extent.batch_stride),
                far->data() + page * stride);
  }
  return stride;
}

}  // namespace attngen::mi250
