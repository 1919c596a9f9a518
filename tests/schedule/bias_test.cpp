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

Kernel shifted(int seq, const std::string& more = "") {
  return read_kernel(
      fmt::format("heads: {{q: 8, kv: 4}}\nworkload: {{seq_q: {}}}\n"
                  "inputs: {{bd: {{dtype: bf16, shape: [heads, seq_q, 4096]}}}}\n"
                  "score: score + bd[h, q_idx, kv_idx - q_idx + 2048]\n{}",
                  seq, more));
}

TEST_CASE("rows of biases that begin anywhere come by tiles from the lengths of odd ones on") {
  CHECK(shifted(400).bias_bytes == 0);
  CHECK(shifted(408).bias_bytes == 2);
  CHECK(shifted(2048).bias_shifted);
  CHECK(shifted(2048).batches_share);
  CHECK(shifted(2048).bias_sharing == 1);
}

TEST_CASE("where heads share a tile they come by the pair") {
  const Kernel kernel = shifted(2048);
  CHECK(kernel.heads_apart.empty());
  Schedule schedule;
  CHECK(kernel.of(schedule).bias_bytes == 2);
  schedule.pack_heads = true;
  CHECK(kernel.of(schedule).bias_bytes == 0);
}

}  // namespace
}  // namespace attngen::schedule
