// What the search takes the loads of scores and masks to touch.
#include "schedule/lines.h"

#include <doctest/doctest.h>

#include <string>

#include "kernels.h"
#include "schedule/step.h"

namespace attngen::schedule {
namespace {

Kernel kernel_of(const std::string& shape, const std::string& lines) {
  return read_kernel("heads: {q: 4, kv: 4}\ninputs:\n  x: {dtype: f32, shape: " + shape +
                     "}\n  id: {dtype: i32, shape: [batch, seq_q, seq_kv]}\n" + lines + "\n");
}

// In lines of 1.5 loads each.
double lines(const std::string& shape, const std::string& element) {
  return (kernel_of(shape, "score: score * " + element).scattered + 1) / 1.5;
}

TEST_CASE("a load touches lines by what its indices are") {
  CHECK(lines("[seq_q, 300]", "x[q_idx, clamp(kv_idx - q_idx, 0, 299)]") == 8);
  CHECK(lines("[seq_kv, 300]", "x[kv_idx, clamp(kv_idx - q_idx, 0, 299)]") == 4);
  CHECK(lines("[seq_q, seq_kv, 64]", "x[q_idx, kv_idx, h]") == 32);
  CHECK(lines("[seq_q, seq_kv, heads]", "x[q_idx, kv_idx, h]") == 8);  // 16 bytes a key
  // Neighbours, mostly in one line.
  const auto scattered = [](const std::string& shape, const std::string& element) {
    return kernel_of(shape, "score: score * " + element).scattered;
  };
  CHECK(scattered("[20, heads]", "x[clamp(kv_idx - q_idx, 0, 19), h]") == 0);
  CHECK(scattered("[batch, seq_kv]", "x[b, kv_idx]") == 0);
  // Once a row, beside no key.
  CHECK(scattered("[seq_q, 3]", "x[q_idx, 0]") == 0);
  // Ids that touch 8 lines say which of 8 others.
  const double ids = 1.5 * 8 - 1;
  CHECK(scattered("[512, heads]", "x[id[b, q_idx, kv_idx], h]") == 2 * ids);
  CHECK(scattered("[16, heads]", "x[id[b, q_idx, kv_idx], h]") == ids + 1.5 * 2 - 1);
  CHECK(scattered("[heads, 512]", "x[h, id[b, q_idx, kv_idx]]") == ids);
}

TEST_CASE("loads of many lines take a step longer, a mask's where it cuts") {
  const auto length = [](const std::string& body) {
    const Kernel kernel = kernel_of("[seq_q, 300]", body);
    return step_of(kernel, Schedule{}, h100(), Block::Full, 1).length;
  };
  const double plain = length("");
  // 64 x 128 pairs of each warpgroup, 4 warps whose loads take 12 clk.
  CHECK(length("score: score * x[q_idx, clamp(kv_idx - q_idx, 0, 299)]") > plain + 64 * 12);
  const Kernel masked = kernel_of("[seq_q, 300]", "mask: x[q_idx, (kv_idx + h) % 300] > 0");
  CHECK(masked.scattered == 0);
  CHECK(masked.mask_scattered == 1.5 * 8 - 1);
}

}  // namespace
}  // namespace attngen::schedule
