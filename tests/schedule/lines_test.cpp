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

double scattered(const std::string& shape, const std::string& element) {
  return kernel_of(shape, "score: score * " + element).scattered;
}
// In lines of 1.5 loads each.
double lines(const std::string& shape, const std::string& element) {
  return (scattered(shape, element) + 1) / 1.5;
}

TEST_CASE("a load touches lines by what its indices are") {
  CHECK(lines("[seq_q, 300]", "x[q_idx, clamp(kv_idx - q_idx, 0, 299)]") == 8);
  CHECK(lines("[seq_kv, 300]", "x[kv_idx, clamp(kv_idx - q_idx, 0, 299)]") == 4);
  CHECK(lines("[seq_q, seq_kv, 64]", "x[q_idx, kv_idx, h]") == 32);
  CHECK(lines("[seq_q, seq_kv, heads]", "x[q_idx, kv_idx, h]") == 8);  // 16 bytes a key
  // Neighbours, mostly in one line.
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

// Whatever a form keeps of a row: q_idx times a number is one of its constants.
TEST_CASE("rows within a dimension are as far apart as their indices say") {
  CHECK(lines("[heads, 1000000]", "x[h, q_idx * 4096 + kv_idx]") == 8);
  CHECK(lines("[heads, 1000000]", "x[h, q_idx * seq_kv + kv_idx]") == 8);
  CHECK(lines("[heads, 1000000]", "x[h, q_idx * 8 + kv_idx]") == 2);
  CHECK(lines("[heads, 1000000]", "x[h, q_idx // 4 * 4096 + kv_idx]") == 2);
  CHECK(lines("[heads, 1000000]", "x[h, kv_idx * 4096 + q_idx]") == 4);
  CHECK(lines("[heads, 1000000]", "x[h, q_idx * 4096 % 16777216 + kv_idx]") == 8);
  // Neighbours: a distance; the rest of a picture's row; of a small table, one end of it.
  CHECK(scattered("[heads, 8192]", "x[h, kv_idx - q_idx + 4096]") == 0);
  CHECK(scattered("[heads, 64]", "x[h, q_idx * 63 % 64]") == 0);
  CHECK(scattered("[heads, 100000]", "x[h, clamp(q_idx * 999 - kv_idx, 0, 99)]") == 0);
}

// An element for each pair comes by tiles, and its load is no more.
TEST_CASE("what comes by tiles is data as an index of others") {
  const auto scattered_of = [](const std::string& element) {
    return read_kernel(
               "heads: {q: 4, kv: 4}\ninputs:\n  x: {dtype: f32, shape: [seq_q, 512]}\n"
               "  y: {dtype: f32, shape: [512, heads]}\n"
               "  pos: {dtype: bf16, shape: [seq_q, seq_kv]}\nscore: score + " +
               element + "\n")
        .scattered;
  };
  const double of_eight = 1.5 * 8 - 1;
  CHECK(scattered_of("pos[q_idx, kv_idx]") == 0);
  CHECK(scattered_of("x[q_idx, int(pos[q_idx, kv_idx])]") == of_eight);
  CHECK(scattered_of("y[int(pos[q_idx, kv_idx]), h]") == of_eight);
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
