#include "attention/pair_input.h"

#include <fmt/format.h>

#include <string>

#include "support.h"

namespace attngen::attention {
namespace {

spec::Spec spec_with(const std::string& lines) {
  return testing::read_spec(
      "attngen: 1\nname: t\ndtype: bf16\nheads: {q: 4, kv: 2}\nhead_dim: {qk: 16, v: 8}\n" + lines);
}

TEST_CASE("rows of an input with an element for each pair may begin anywhere") {
  const auto shift_of = [](const std::string& index, const char* dim = "4096",
                           const std::string& more = "") -> std::string {
    const spec::Spec spec =
        spec_with(fmt::format("inputs: {{len: {{dtype: i32, shape: [batch]}}, bd: {{dtype: bf16, "
                              "shape: [heads, seq_q, {}]}}}}\nscore: score + bd[h, q_idx, {}]\n{}",
                              dim, index, more));
    const auto found = pair_input(spec);
    if (!found) return "none";
    return found->shift
               ? fmt::format("{} q_idx + {}", found->shift->slope, expr::print(found->shift->first))
               : "plain";
  };
  CHECK(shift_of("kv_idx - q_idx + 2048") == "-1 q_idx + 2048");
  CHECK(shift_of("kv_idx - q_pos + seq_kv - 1", "seq_kv") == "-1 q_idx + seq_q - 1");
  CHECK(shift_of("kv_idx + 3 * (q_idx - len[b])", "seq_q") == "3 q_idx + -(len[b] * 3)");
  CHECK(shift_of("kv_idx") == "0 q_idx + 0");
  CHECK(shift_of("kv_idx - 1", "seq_kv") == "0 q_idx + -1");
  CHECK(shift_of("kv_idx", "seq_kv") == "plain");
  CHECK(shift_of("q_idx - kv_idx + 2048") == "none");
  CHECK(shift_of("2 * kv_idx") == "none");
  CHECK(shift_of("kv_idx + q_idx // 2") == "none");
  CHECK(shift_of("max(kv_idx - q_idx, 0)") == "none");
  CHECK(shift_of("kv_idx + 100000 * q_idx") == "none");
  CHECK(shift_of("kv_idx - q_idx", "heads") == "none");
  CHECK(shift_of("kv_idx - q_idx", "64", "varlen: true\n") == "none");
  CHECK(shift_of("kv_idx - q_idx + map", "64", "maps: 2\n") == "none");
  CHECK(shift_of("kv_idx - q_idx") == "-1 q_idx + 0");
}

TEST_CASE("an input without a shift comes before one with it, and a score's before a mask's") {
  const auto name_of = [](const std::string& lines) {
    const auto found =
        pair_input(spec_with("inputs: {bd: {dtype: bf16, shape: [seq_q, 600]}, pair: {dtype: f32, "
                             "shape: [seq_q, seq_kv]},"
                             " keep: {dtype: u8, shape: [seq_q, seq_kv]}}\n" +
                             lines));
    return found ? found->input.name : "none";
  };
  const std::string shifted = "score: score + bd[q_idx, kv_idx - q_idx]\n";
  CHECK(name_of("score: score + bd[q_idx, kv_idx - q_idx] + pair[q_idx, kv_idx]\n") == "pair");
  CHECK(name_of(shifted + "mask: keep[q_idx, kv_idx] > 0\n") == "bd");
  CHECK(name_of("score: score + keep[q_idx, kv_idx] + bd[q_idx, kv_idx - q_idx]\n") == "bd");
  CHECK(name_of("score: score + keep[q_idx, kv_idx]\nmask: pair[q_idx, kv_idx] > 0\n") == "keep");
  CHECK(name_of("mask: bd[q_idx, kv_idx - q_idx] > 0\n") == "none");
  CHECK(name_of("mask: keep[q_idx, kv_idx - q_idx] > 0\n") == "none");
  CHECK(batches_share_pairs(
      spec_with("inputs: {bd: {dtype: bf16, shape: [seq_q, 600]}}\n" + shifted)));
}

}  // namespace
}  // namespace attngen::attention
