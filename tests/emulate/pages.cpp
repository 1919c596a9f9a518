#include "pages.h"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace attngen::emulate {
namespace {

constexpr int64_t kOfNobody = 3;

int64_t pages_of(int64_t keys, int64_t size) { return (keys + size - 1) / size; }

}  // namespace

Pages::Pages(const spec::Spec& spec, const Call& call, std::mt19937& random)
    : spec_(spec), call_(call), size_(spec.page.value_or(1)) {
  // A stride of 0 leaves no place between sequences.
  const bool by_default = !spec.varlen && call.strides == hold::StrideKind::Default;
  stride_ = pages_of(call.max_kv, size_) + (by_default ? 0 : 2);
  count_ = kOfNobody;
  for (const Sequence& s : call.sequences) count_ += pages_of(s.seq_kv, size_);
  std::vector<int64_t> order(static_cast<size_t>(count_));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  auto next = order.begin();
  for (const Sequence& s : call.sequences) {
    const int64_t used = pages_of(s.seq_kv, size_);
    for (int64_t i = 0; i < stride_; ++i) {
      const double none[] = {-0x1p31, -1, static_cast<double>(count_), 0x1p31 - 1};
      table_.push_back(i < used ? static_cast<double>(*next++) : none[random() % std::size(none)]);
    }
  }
}

Tensor Pages::laid_out(const Tensor& tensor, spec::DType dtype) const {
  const hold::Extent& from = tensor.extent();
  // Pages have a stride also where all sequences' keys are the same.
  const auto kind =
      call_.strides == hold::StrideKind::Shared ? hold::StrideKind::Padded : call_.strides;
  Tensor pages(dtype, {count_, size_, from.heads, from.head_dim, kind, spec_.layout});
  for (size_t b = 0; b < call_.sequences.size(); ++b) {
    const Sequence& s = call_.sequences[b];
    for (int64_t key = 0; key < s.seq_kv; ++key) {
      const auto entry = b * static_cast<size_t>(stride_) + static_cast<size_t>(key / size_);
      const auto page = static_cast<int64_t>(table_[entry]);
      for (int64_t head = 0; head < from.heads; ++head) {
        const int64_t at = spec_.varlen ? from.at(0, s.kv_begin + key, head)
                                        : from.at(static_cast<int64_t>(b), key, head);
        pages.copy_row(tensor, at, pages.extent().at(page, key % size_, head));
      }
    }
  }
  return pages;
}

}  // namespace attngen::emulate
