// A cache in pages: keys and values of a call as a kernel reads them through a table.
#pragma once

#include <random>
#include <vector>

#include "call.h"
#include "spec/spec.h"
#include "tensor.h"

namespace attngen::emulate {

class Pages {
 public:
  // Pages in no order, among them some of nobody; all that no key fills is NaN.
  Pages(const spec::Spec& spec, const Call& call, std::mt19937& random);

  // `tensor`, [batch, seq_kv, heads, head_dim] or packed, laid out in pages.
  Tensor laid_out(const Tensor& tensor, spec::DType dtype) const;
  int64_t count() const { return count_; }
  // Elements from one sequence's pages to the next's, of which some are of no page.
  int64_t table_stride() const { return stride_; }
  const std::vector<double>& table() const { return table_; }

 private:
  const spec::Spec& spec_;
  const Call& call_;
  int64_t size_, count_ = 0, stride_ = 0;
  std::vector<double> table_;
};

}  // namespace attngen::emulate
