#include "report/functions.h"

#include <doctest/doctest.h>

#include "spec/read.h"

namespace {

using attngen::schedule::Schedule;
using attngen::target::Family;

std::string functions_of(const std::string& lines, Family family = Family::Hopper, bool far = false,
                         const Schedule& schedule = {}) {
  attngen::text::Diagnostics diagnostics(
      {"s.yaml",
       "attngen: 1\nname: s\ndtype: bf16\nheads: {q: 4, kv: 4}\nhead_dim: {qk: 64, v: 64}\n"
       "inputs: {slopes: {dtype: f32, shape: [heads]}, bias: {dtype: f32, shape: [seq_kv]},\n"
       "         keep: {dtype: u8, shape: [seq_q, seq_kv]},\n"
       "         tilt: {dtype: f32, shape: [heads, seq_kv]},\n"
       "         rel: {dtype: f32, shape: [heads, seq_q, 20]},\n"
       "         gate: {dtype: bf16, shape: [batch, seq_q, dim]},\n"
       "         doc: {dtype: i32, shape: [batch, seq_kv], sorted: true}}\n" +
           lines});
  const auto spec = attngen::spec::read(diagnostics);
  REQUIRE(spec.has_value());
  return attngen::report::functions_text(*spec, family, schedule,
                                         {.near = true,
                                          .far = far,
                                          .level = true,
                                          .strips = attngen::attention::Shared::All,
                                          .bias = true,
                                          .places = true,
                                          .tables = true});
}

}  // namespace

TEST_CASE("what the user's functions cost is said") {
  CHECK(functions_of("") == "");
  CHECK(functions_of("score: 30 * tanh(score / 30)\n") ==
        "the score adds 1 tanh to a pair: 1 special function, 1 multiply-add\n"
        "near 0, where its rows mostly are, a cubic takes the tanh's place: 2 multiply-adds\n");
  CHECK(functions_of("score: 30 * tanh(score / 30)\n", Family::Cdna2) ==
        "the score adds 1 tanh to a pair: 2 special functions, 4 multiply-adds\n");
  CHECK(functions_of("score: score + slopes[h] * (kv_idx - q_pos)\nmask: kv_idx <= q_pos\n") ==
        "the score adds to a pair: 1 multiply-add\n"
        "the mask adds to a pair of a block that it cuts: 3 integer operations\n"
        "computed once for a row: slopes[h]; slopes[h] * 1.4426950408889634\n");
  CHECK(functions_of("score: score + rel[h, q_idx, kv_idx % 16]\n") ==
        "the score adds to a pair: 1 multiply-add, 1 load\n"
        "a tile's queries keep their rows of rel in shared memory: 80 bytes each\n");
  CHECK(functions_of("score: score + rel[h, q_idx, clamp(kv_idx - q_idx, 0, 19)]\n") ==
        "the score adds 1 max, 1 min to a pair: 1 multiply-add, 3 integer operations, 1 load\n"
        "a tile's queries keep their rows of rel in shared memory: 80 bytes each\n"
        "as plain softmax in blocks where the same for a row's keys: min(max(kv_idx - q_idx, 0), "
        "19)\n");
  CHECK(functions_of("score: score + bias[kv_idx]\nnormalize: {weight: sigmoid(score)}\n") ==
        "the score adds to a pair: 1 multiply-add, 0.5 loads\n"
        "the weight adds 1 sigmoid to a pair: 1.5 special functions, 5 multiply-adds, "
        "0.5 integer operations\n"
        "computed once for a warpgroup's rows: bias[kv_idx]\n");
  CHECK(functions_of("score: score - slopes[h] * log(1 + abs(q_pos - kv_idx))\n") ==
        "the score adds to a pair: 1 multiply-add, 0.1 integer operations, 0.5 loads\n"
        "computed once for the pairs of a warpgroup that are as far apart: -(slopes[h] * log(1 + "
        "abs(q_pos - kv_idx)))\n");
  CHECK(functions_of("normalize: {weight: sigmoid(score - 9)}\n") ==
        "the weight adds 1 sigmoid to a pair: 1.5 special functions, 5 multiply-adds, "
        "0.5 integer operations\n"
        "while all of a block's weights are small, an exponential takes the sigmoid's place: "
        "1 special function, 2 multiply-adds, 0.5 integer operations\n");
  CHECK(functions_of("normalize: {weight: sigmoid(score - 9)}\n", Family::Cdna2) ==
        "the weight adds 1 sigmoid to a pair: 2 special functions, 3 multiply-adds\n");
  CHECK(functions_of("normalize: {weight: relu(score)}\n") ==
        "the relu is taken where weights are rounded, at no cost\n");
  // The same for all pairs of a row: computed once.
  CHECK(functions_of("score: score * exp(slopes[h])\n").starts_with("computed once for a row: "));
}

TEST_CASE("what an output computes for each of its elements") {
  CHECK(functions_of("normalize:\n  output: acc / l * sigmoid(gate[b, q_idx, d])\n") ==
        "the output adds 1 sigmoid to an element of O: 2 special functions, 3 multiply-adds, 1 "
        "load\n");
  CHECK(functions_of("normalize: {output: acc / l * 2}\n") == "");
}

TEST_CASE("of ids in order a pair is told by its row's first and last key") {
  const std::string documents = "mask: doc[b, q_pos] == doc[b, kv_idx] and kv_idx <= q_pos\n";
  CHECK(functions_of(documents) ==
        "the mask adds to a pair of a block that it cuts: 3 integer operations\n");
  CHECK(functions_of(documents, Family::Cdna2) ==
        "the mask adds to a pair of a block that it cuts: 4 integer operations, 1 load\n"
        "computed once for a row: doc[b, q_pos]\n");
}

TEST_CASE("what a mask needs of a key alone is read once for a warpgroup, and tested for a pair") {
  const std::string shifted = "mask: abs(kv_idx % 56 - q_idx % 56) <= 3\n";
  CHECK(functions_of(shifted) ==
        "the mask adds 1 abs to a pair of a block that it cuts: 4 integer operations, 0.5 loads\n"
        "computed once for a row: q_idx % 56\n");
}

TEST_CASE("no function of a mask is called where its rows have limits") {
  CHECK(functions_of("mask: abs(q_pos - kv_idx) < 100\n") ==
        "the mask adds to a pair of a block that it cuts: 3 integer operations\n");
}

TEST_CASE("the counts are those of the schedule's kernel") {
  const std::string bits = "mask: keep[q_idx, kv_idx] > 0\n";
  CHECK(functions_of(bits).starts_with(
      "the mask adds to a pair of a block that it cuts: 2 integer operations\n"));
  const std::string biased = "score: score + bias[kv_idx]\n";
  CHECK(functions_of(biased).starts_with("the score adds to a pair: 1 multiply-add, 0.5 loads\n"));
  CHECK(functions_of(biased, Family::Hopper, false, {.pack_heads = true})
            .starts_with("the score adds to a pair: 1 multiply-add, 0.5 loads\n"));
  CHECK(
      functions_of("score: score + tilt[h, kv_idx]\n", Family::Hopper, false, {.pack_heads = true})
          .starts_with("the score adds to a pair: 1 multiply-add, 0.5 loads\n"));
  CHECK(functions_of("normalize: {rows: {l: rowsum(score * score)}, weight: score, "
                     "output: acc - l}\n")
            .starts_with("the normaliser adds to a pair: "));
}

TEST_CASE("what far keys cost is said") {
  const std::string decay =
      "score: score * exp(slopes[h] * (q_pos - kv_idx))\nmask: kv_idx <= q_pos\n";
  const std::string linear = decay + "normalize: {weight: score}\n";
  const auto says = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  CHECK(says(functions_of(linear, Family::Hopper, true),
             "from 1024 queries on, whole chunks of 256 keys behind a tile come as a state: no "
             "product a pair\n"));
  CHECK(says(functions_of(decay + "normalize: {rows: {l: rowsum(abs(score))}, weight: score, "
                                  "output: acc - l}\n",
                          Family::Hopper, true),
             "from 1024 queries on, whole chunks of 256 keys behind a tile come as a state: one "
             "product and 1 multiply-add a pair\n"));
  CHECK(says(functions_of(linear), "come as no state: none under this schedule"));
  Schedule scan;
  scan.scan = true;
  CHECK(
      says(functions_of(linear, Family::Hopper, true, scan),
           "calls of as many keys as queries, 512 or more, and 56 heads or more of all batches for "
           "each 132 begun go along heads by chunks of 64 instead: no state leaves a core\n"));
}

TEST_CASE("what keeps far keys from coming as states is said") {
  const std::string decay = "score: score * exp(slopes[h] * (q_pos - kv_idx))\n";
  const auto obstacle = [](const std::string& lines) {
    const std::string text = functions_of(lines);
    const size_t at = text.find("come as no state: ");
    return at == std::string::npos ? "" : text.substr(at + 18, text.find('\n', at) - at - 18);
  };
  CHECK(obstacle(decay + "normalize: none\n").starts_with("none under this schedule"));
  CHECK(obstacle("mask: kv_idx <= q_pos\n") == "");  // softmax
  CHECK(obstacle(decay + "mask: kv_idx > q_pos - 9\nnormalize: none\n") ==
        "rows do not see all keys from the first on");
  const std::string padded = "mask: kv_idx <= q_pos and doc[b, kv_idx] > 0\n";
  CHECK(obstacle(decay + padded + "normalize: none\n") ==
        "the mask leaves keys out for all rows; a factor of the score could: score * valid[b, "
        "kv_idx]");
  CHECK(obstacle(decay + padded +
                 "normalize: {rows: {l: rowsum(abs(score))}, weight: score, "
                 "output: acc - l}\n") == "rows do not see all keys from the first on");
  CHECK(obstacle(decay + "maps: 2\nnormalize: {weight: score}\n") == "two maps share an output");
  CHECK(obstacle(decay + "normalize: {rows: {l: rowsum(square(score))}, weight: score, "
                         "output: acc * rsqrt(l)}\n") ==
        "rows take more of their weights than sums of them or of their absolute values");
  CHECK(obstacle("score: score * tilt[h, kv_idx]\nnormalize: {rows: {l: rowsum(abs(score))}, "
                 "weight: score, output: acc - l}\n") ==
        "a sum of absolute values takes weights that rise evenly along the keys");
}
