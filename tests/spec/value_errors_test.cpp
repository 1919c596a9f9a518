// Errors that intervals prove: indices out of a shape, numbers beyond what kernels hold, masks that
// hold for no pair.
#include <doctest/doctest.h>

#include "errors_of.h"

namespace attngen::spec {
namespace {

TEST_CASE("an index that is always out of its input's shape") {
  const std::string inputs =
      "inputs: {table: {dtype: f32, shape: [heads, 64]}, doc: {dtype: i32, shape: [batch, "
      "seq_kv]}}\n";
  CHECK(errors_with(inputs + "score: score + table[h, 64 + abs(q_pos - kv_idx)]\n") ==
        "s.yaml:7:25: error: an index of 'table' is always out of its dimension 64: it is at least "
        "64\n"
        "    7 | score: score + table[h, 64 + abs(q_pos - kv_idx)]\n"
        "      |                         ^~~~~~~~~~~~~~~~~~~~~~~~\n"
        "help: indices count from 0\n");
  CHECK(errors_with(inputs + "mask: doc[b, -1 - kv_idx] == 3\n") ==
        "s.yaml:7:14: error: an index of 'doc' is always out of its dimension seq_kv: it is at "
        "most -1\n"
        "    7 | mask: doc[b, -1 - kv_idx] == 3\n"
        "      |              ^~~~~~~~~~~\n"
        "help: indices count from 0\n");
  // Out for some pairs alone: clamped.
  CHECK(errors_with("inputs: {table: {dtype: f32, shape: [heads, 64]}}\n"
                    "score: score + table[h + 1, q_pos - kv_idx]\n") == "");
  CHECK(
      errors_with(inputs + "fixed: {seq_kv: 512}\nmask: doc[b, 512] < 3\n") ==
      "s.yaml:8:14: error: an index of 'doc' is always out of its dimension seq_kv: it is at least "
      "512\n"
      "    8 | mask: doc[b, 512] < 3\n"
      "      |              ^~~\n"
      "help: indices count from 0\n");
}

TEST_CASE("an index by itself on a dimension of something else") {
  const auto error = [](const std::string& shape, const std::string& load) {
    return errors_with("inputs: {x: {dtype: f32, shape: [" + shape + "]}}\nscore: score + x[" +
                       load + "]\n");
  };
  CHECK(error("heads_kv", "h") ==
        "s.yaml:7:18: error: 'h' counts query heads, but dimension 0 of 'x' is heads_kv\n"
        "    7 | score: score + x[h]\n"
        "      |                  ^\n"
        "help: write h_kv\n");
  CHECK(error("heads, seq_q, seq_kv", "b, q_idx, kv_idx") ==
        "s.yaml:7:18: error: 'b' counts batches, but dimension 0 of 'x' is heads\n"
        "    7 | score: score + x[b, q_idx, kv_idx]\n"
        "      |                  ^\n"
        "help: write h\n");
  CHECK(error("batch", "h").ends_with("help: write b\n"));
  CHECK(error("heads", "h_kv").ends_with("help: write h\n"));
  CHECK(error("batch, heads", "b, q_idx").find("'q_idx' counts queries, but dimension 1") !=
        std::string::npos);
  CHECK(error("heads", "kv_idx").find("'kv_idx' counts keys, but") != std::string::npos);
  CHECK(error("heads", "q_pos").find("'q_pos' counts positions, but") != std::string::npos);
  CHECK(error("seq_q", "b").ends_with("help: write q_idx\n"));
  CHECK(error("seq_kv", "h").ends_with("help: write kv_idx\n"));
  // Those that fit in another order.
  CHECK(error("batch, seq_kv, heads", "b, h, kv_idx") ==
        "s.yaml:7:21: error: 'h' counts query heads, but dimension 1 of 'x' is seq_kv\n"
        "    7 | score: score + x[b, h, kv_idx]\n"
        "      |                     ^\n"
        "help: write x[b, kv_idx, h]\n");
  CHECK(error("heads, seq_q, seq_kv", "kv_idx, h, q_idx")
            .ends_with("help: write x[h, q_idx, kv_idx]\n"));
  CHECK(error("batch, seq_kv", "q_pos, b").ends_with("help: write x[b, q_pos]\n"));
  CHECK(error("batch, seq_kv, heads", "b, h, kv_idx + 1").ends_with("help: write kv_idx\n"));
  CHECK(error("batch, seq_kv, heads", "b, h, h").ends_with("help: write kv_idx\n"));
  // Numbers take anything, and so do expressions.
  CHECK(error("8, 64, 4096", "h, b, kv_idx") == "");
  CHECK(error("batch, heads_kv", "b % 64, h // 4") == "");
  // Queries and keys may be of one sequence.
  CHECK(error("batch, seq_kv", "b, q_pos") == "");
  CHECK(error("seq_kv, seq_kv", "q_pos, kv_idx") == "");
  CHECK(error("heads, seq_q, seq_kv", "h, kv_idx, q_idx") ==
        "s.yaml:7:21: error: 'kv_idx' counts keys, but dimension 1 of 'x' is seq_q\n"
        "    7 | score: score + x[h, kv_idx, q_idx]\n"
        "      |                     ^~~~~~\n"
        "help: exchange kv_idx and q_idx\n");
  CHECK(error("seq_kv, seq_q", "q_pos, kv_idx").ends_with("help: exchange kv_idx and q_pos\n"));
  // Where each query head has a key head of its own, the two count the same.
  CHECK(
      errors_of("attngen: 1\nname: y\ndtype: bf16\nheads: {q: 4, kv: 4}\nhead_dim: {qk: 8, v: 8}\n"
                "inputs: {x: {dtype: f32, shape: [heads_kv]}, y: {dtype: f32, shape: [heads]}}\n"
                "score: score + x[h] + y[h_kv]\n") == "");
  CHECK(errors_with_recurrent("inputs: {x: {dtype: f32, shape: [heads]}}\nskip: x[t]\n")
            .ends_with("help: write h\n"));
}

TEST_CASE("numbers that kernels cannot hold") {
  CHECK(errors_with("mask: kv_idx < 100000 * 100000\n") ==
        "s.yaml:6:16: error: the value does not fit in i32: it is 10000000000\n"
        "    6 | mask: kv_idx < 100000 * 100000\n"
        "      |                ^~~~~~~~~~~~~~~\n"
        "help: add '.0' to a number to make it an f32\n");
  CHECK(
      errors_with("constants: {c: -2147483648}\nmask: kv_idx < 3 or kv_idx + 2 * (c - 1) > 0\n") ==
      "s.yaml:7:35: error: the value does not fit in i32: it is -2147483649\n"
      "    7 | mask: kv_idx < 3 or kv_idx + 2 * (c - 1) > 0\n"
      "      |                                   ^~~~~\n"
      "help: add '.0' to a number to make it an f32\n");
  CHECK(errors_with("mask: kv_idx > -2147483647 - 1 and kv_idx < 100000.0 * 100000\n") == "");
  CHECK(errors_with("score: score * (1e38 * 10)\n") ==
        "s.yaml:6:17: error: numbers come to 1e+39 here, which does not fit in f32\n"
        "    6 | score: score * (1e38 * 10)\n"
        "      |                 ^~~~~~~~~\n"
        "help: f32 holds 0, and 1.18e-38 to 3.4e38 in size\n");
  // Each by itself is one that f32 holds.
  CHECK(errors_with("score: 3e38 * tanh(score / 3e38)\n") == "");
  CHECK(errors_with("normalize: {weight: score * 1e30 * 1e30}\n") == "");
  CHECK(errors_with("score: score + where(score > 0, 0, -3.4e38)\n") == "");
}

TEST_CASE("a division by zero") {
  CHECK(errors_with("mask: kv_idx % 0 == 1\n") ==
        "s.yaml:6:16: error: '%' divides by 0\n"
        "    6 | mask: kv_idx % 0 == 1\n"
        "      |                ^\n"
        "help: the result is 0 for every pair: write another divisor\n");
  CHECK(errors_with("constants: {block: 0}\nmask: kv_idx // block == 1\n")
            .starts_with("s.yaml:7:17: error: '//' divides by 0\n"));
}

TEST_CASE("a mask that holds for no pair") {
  CHECK(errors_with("mask: kv_idx < 0\n") ==
        "s.yaml:6:7: error: the mask holds for no pair\n"
        "    6 | mask: kv_idx < 0\n"
        "      |       ^~~~~~~~~~\n");
  const auto refused = [](const std::string& mask) {
    const std::string error = errors_with("fixed: {seq_kv: 512}\nmask: " + mask + "\n");
    return error.starts_with("s.yaml:7:7: error: the mask holds for no pair\n");
  };
  for (const char* mask :
       {"false", "1 > 2", "h > 7", "not (kv_idx >= 0)", "kv_idx >= 512", "kv_idx >= seq_kv",
        "q_idx >= seq_q", "kv_idx < q_pos and kv_idx > q_pos",
        "kv_idx <= q_pos and (h == 0 and q_pos - kv_idx < 0)", "kv_idx == q_pos and kv_idx > q_pos",
        "q_pos - kv_idx < 4 and q_pos - kv_idx > 8 or b < 0"}) {
    CHECK_MESSAGE(refused(mask), mask);
  }
  for (const char* mask :
       {"true", "kv_idx <= q_pos and kv_idx >= q_pos", "kv_idx >= 511", "kv_idx == seq_kv - 1",
        "kv_idx < q_pos or kv_idx > q_pos", "q_pos < 0", "seq_q > 7"}) {
    CHECK_MESSAGE(!refused(mask), mask);
  }
  // A NaN is not at most infinity.
  CHECK(errors_with("inputs: {x: {dtype: f32, shape: []}}\nmask: not (x <= inf)\n") == "");
}

}  // namespace
}  // namespace attngen::spec
