// A cache in pages: keys and values of a call as a kernel reads them through a table.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "far.h"
#include "shape.h"
#include "spec/spec.h"
#include "tensor.h"

namespace attngen::mi250 {

class Pages {
 public:
  // Pages in no order, among them some of nobody. Sequences may share their first one, and of
  // strides `shared` all. Some numbers in the table are of no page.
  Pages(const spec::Spec& spec, const Shape& shape, std::mt19937_64& random);

  // What the table makes of keys, or values, for the oracle: those of the first sequence in pages
  // that others share, and zeros in those that do not exist.
  void settle(Tensor& tensor) const;
  // `tensor`, [batch, seq_kv, heads, head_dim] or packed, laid out in pages. What no key fills is
  // NaN.
  Tensor laid_out(const Tensor& tensor) const;

  // The same pages with gigabytes between the first and the last. Returns their stride.
  int64_t spread(const Tensor& pages, std::unique_ptr<Far>& far) const;

  int64_t count() const { return count_; }
  int64_t size() const { return size_; }
  int64_t table_stride() const { return stride_; }
  const std::vector<int32_t>& table() const { return table_; }
  // Entries of the table that a kernel may read of a sequence.
  int64_t used(int64_t b) const { return (keys(b) + size_ - 1) / size_; }

 private:
  int64_t keys(int64_t b) const;
  int32_t entry(int64_t b, int64_t key) const {
    return table_[static_cast<size_t>(b * stride_ + key / size_)];
  }
  bool exists(int64_t b, int64_t key) const { return entry(b, key) >= 0 && entry(b, key) < count_; }
  // Of the unpaged tensor.
  int64_t place(const Tensor& tensor, int64_t b, int64_t key, int64_t head) const;
  // visit(b, key, head)
  template <typename Visit>
  void for_keys(const Visit& visit) const;

  const spec::Spec& spec_;
  const Shape& shape_;
  int64_t size_, count_ = 0, stride_ = 0;
  std::vector<int32_t> table_;
};

}  // namespace attngen::mi250
