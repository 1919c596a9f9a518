// Whether biases come by tiles.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "kernels.h"

namespace attngen::schedule {
namespace {

int bias_bytes(const char* dtype, const std::string& points) {
  return read_kernel(fmt::format("heads: {{q: 4, kv: 4}}\nworkload: [{}]\n"
                                 "inputs: {{bias: {{dtype: {}, shape: [heads, seq_q, seq_kv]}}}}\n"
                                 "score: score + bias[h, q_idx, kv_idx]\n",
                                 points, dtype))
      .bias_bytes;
}

TEST_CASE("short rows of biases come by the pair, longer ones if TMA cannot take them") {
  CHECK(bias_bytes("bf16", "{seq_q: 49}") == 0);
  CHECK(bias_bytes("f32", "{seq_q: 197}, {seq_q: 49}") == 0);
  CHECK(bias_bytes("bf16", "{seq_q: 64}") == 0);
  CHECK(bias_bytes("bf16", "{seq_q: 148}") == 0);
  CHECK(bias_bytes("f32", "{seq_q: 148}") == 4);  // a multiple of 16 bytes
  CHECK(bias_bytes("bf16", "{seq_q: 577}") == 2);
  CHECK(bias_bytes("bf16", "{seq_q: 49}, {seq_q: 4096}") == 2);
}

}  // namespace
}  // namespace attngen::schedule
