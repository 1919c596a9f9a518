// What elements of O cost by themselves.
#include <doctest/doctest.h>

#include "kernels.h"

namespace attngen::schedule {
namespace {

Kernel kernel_with(const std::string& output) {
  return read_kernel(
      "heads: {q: 16, kv: 16}\ninputs:\n  gate: {dtype: bf16, shape: [batch, seq_q, heads, dim]}\n"
      "  skip: {dtype: f32, shape: [batch, seq_q, dim]}\n"
      "normalize:\n  rows: {m: rowmax(score), l: rowsum(exp(score - m))}\n"
      "  weight: exp(score - m)\n  output: " +
      output + "\n");
}

TEST_CASE("an output's factor of the row costs its elements nothing, what else it does does") {
  const Kernel plain = kernel_with("acc / l * 3");
  CHECK(plain.output.special + plain.output.multiply + plain.output.logic == 0);
  CHECK(plain.column_bytes == 0);
  const Kernel gated = kernel_with("acc / l * sigmoid(gate[b, q_idx, h, d])");
  CHECK(gated.output.special == 2);  // an exponential and a reciprocal
  CHECK(gated.column_bytes == 2);
  const Kernel added =
      kernel_with("acc / l * gate[b, q_idx, h, d] + gate[b, q_idx, h, d] * skip[b, q_idx, d]");
  CHECK(added.column_bytes == 2 + 4);

  const Candidate without = search(plain, h100()).ranked.front();
  const Candidate with = search(gated, h100()).ranked.front();
  CHECK(with.cost.fixed_clk > 1.5 * without.cost.fixed_clk);
  CHECK(with.cost.seconds > without.cost.seconds);
}

}  // namespace
}  // namespace attngen::schedule
