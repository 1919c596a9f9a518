#include "report/assumptions.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/explain.h"
#include "report/html.h"
#include "spec/read.h"
#include "target/target.h"

namespace {

using attngen::report::assumptions;
using attngen::target::Family;

attngen::spec::Spec spec_of(const std::string& lines) {
  attngen::text::Diagnostics diagnostics(
      {"s.yaml",
       "attngen: 1\nname: s\ndtype: bf16\nheads: {q: 4, kv: 4}\nhead_dim: {qk: 64, v: 64}\n" +
           lines});
  const auto spec = attngen::spec::read(diagnostics);
  INFO(diagnostics.render(attngen::text::ErrorFormat::Gcc));
  REQUIRE(spec.has_value());
  return *spec;
}

std::string assumed(const std::string& lines, Family family = Family::Hopper) {
  return fmt::format("{}", fmt::join(assumptions(spec_of(lines), family), "\n"));
}

}  // namespace

TEST_CASE("a mask of indices assumes nothing") {
  CHECK(assumed("") == "");
  CHECK(assumed("mask: kv_idx <= q_pos\n") == "");
  CHECK(assumed("mask: kv_idx <= q_pos and (kv_idx < 128 or q_pos - kv_idx < 100)\n") == "");
}

TEST_CASE("a mask of indices that bounds nothing") {
  const std::string said = "the mask is tested pair by pair: no block is passed over";
  CHECK(assumed("mask: sin(kv_idx) < 0.5\n") == said);
  CHECK(assumed("mask: (q_pos - kv_idx) % 4 == 0\n") == said);
  // Beside others that do, a condition is named.
  const std::string sine =
      "sin(kv_idx) < 0.5 is tested pair by pair: no block is passed over by it";
  CHECK(assumed("mask: sin(kv_idx) < 0.5 and kv_idx <= q_pos\n") == sine);
  CHECK(assumed("mask: kv_idx <= q_pos and (q_pos - kv_idx) % 4 == 0 and sin(kv_idx) < 0.5\n") ==
        "(q_pos - kv_idx) % 4 == 0 is tested pair by pair: no block is passed over by it\n" + sine);
  CHECK(assumed("mask: kv_idx <= q_pos and (kv_idx < 128 or q_pos - kv_idx < 100) and "
                "sin(kv_idx) < 0.5\n") == sine);
  CHECK(assumed("mask: kv_idx <= q_pos and h < 2 and q_idx < 77\n") == "");
  CHECK(assumed("mask: sin(kv_idx) < 0.5 and true\n") == said);
  CHECK(assumed("mask: sqrt(abs(kv_idx - q_pos)) < 10\n") == "");
  CHECK(assumed("mask: not (q_pos // 32 == kv_idx // 32)\n", Family::Cdna2) == said);
}

TEST_CASE("what a caller keeps") {
  CHECK(assumed("blocks: {size: 64, from: indices}\n") ==
        "predictions assume that block_counts keep every block, that rows of blocks are alike");
  CHECK(assumed("blocks: {size: 64, from: bitmap}\n"
                "mask: (q_pos // 64 - kv_idx // 64) % 4 == 0\n") ==
        "predictions assume that block_mask keeps every block, that rows of blocks are alike");
  CHECK(assumed("blocks: {size: 64, queries: 1, from: indices, most: 16}\n") ==
        "predictions assume that lists are as long as there is room for, that rows of blocks are "
        "alike");
  CHECK(assumed("varlen: true\n") ==
        "predictions assume that sequences are as long as the workload's in the mean");
}

TEST_CASE("lengths of which half would leave no pair") {
  const std::string start = "inputs: {start: {dtype: i32, shape: [batch]}}\n";
  const std::string skips = start + "mask: kv_idx <= q_pos and kv_idx >= 3 * start[b]\n";
  CHECK(assumed(skips) == "predictions assume that start is 0 where half leaves no pair");
  CHECK(assumed(start +
                "mask: kv_idx >= start[b] + 3000\nworkload: [{seq_q: 4096}, {seq_q: 8192}]\n") ==
        "predictions assume that start is 0 where half leaves no pair or is half of seq_kv");
  CHECK(
      assumed("inputs: {from: {dtype: i32, shape: [batch]}, to: {dtype: i32, shape: [batch]}}\n"
              "mask: kv_idx >= 3 * from[b] and kv_idx < to[b]\n") ==
      "predictions assume that from, to leave three quarters of seq_kv where half leaves no pair");
  CHECK(assumed(start + "mask: kv_idx >= seq_kv + start[b]\n") ==
        "predictions assume that start is half of seq_kv");
}

TEST_CASE("where keys begin and end") {
  CHECK(assumed("inputs: {kv_len: {dtype: i32, shape: [batch]}}\nmask: kv_idx < kv_len[b]\n") ==
        "predictions assume that kv_len is half of seq_kv");
  CHECK(assumed("inputs: {from: {dtype: i32, shape: [batch]}, to: {dtype: i32, shape: [batch]}}\n"
                "mask: from[b] <= kv_idx and kv_idx < to[b]\n") ==
        "predictions assume that from, to leave half of seq_kv");
  const std::string lengths =
      "inputs: {from: {dtype: i32, shape: [batch]}, to: {dtype: i32, shape: [batch]}}\n"
      "mask: from[b] <= kv_idx and kv_idx < to[b]\n";
  CHECK(assumed(lengths + "workload: {seq_q: 64, values: {from: 2, to: 60}}\n").empty());
  CHECK(assumed(lengths + "workload: [{seq_q: 64, values: {from: 2, to: 60}},\n"
                          "           {seq_q: 32, values: {to: 30}}]\n") ==
        "predictions assume that from is half of seq_kv");
  CHECK(assumed("mask: q_pos - kv_idx < 128 * (b + 1)\n") ==
        "predictions assume that b leaves out no key");
  CHECK(assumed("mask: q_pos - kv_idx < 128 * (h + 1)\n").empty());
  CHECK(assumed("inputs: {doc: {dtype: i32, shape: [batch, seq_kv], sorted: true},\n"
                "         n: {dtype: i32, shape: [batch, heads]}}\n"
                "mask: doc[b, q_pos] == doc[b, kv_idx] and q_pos - kv_idx < n[b, h]\n") ==
        "predictions assume that doc holds one id alone, that n is half of seq_kv");
  CHECK(assumed("inputs: {doc: {dtype: i32, shape: [batch, seq_kv], sorted: true}}\n"
                "workload: {seq_q: 64, values: {doc: 16}}\n"
                "mask: doc[b, q_pos] == doc[b, kv_idx]\n")
            .empty());
}

TEST_CASE("what is looked for in ids in order is not tested pair by pair") {
  CHECK(assumed("inputs: {at: {dtype: i32, shape: [seq_q], sorted: true},\n"
                "         of: {dtype: i32, shape: [seq_kv], sorted: true}}\n"
                "mask: of[kv_idx] <= at[q_idx]\n") ==
        "predictions assume that of holds one id alone");
}

TEST_CASE("blocks of a gap, which MI250's kernels visit") {
  const std::string sinks = "mask: kv_idx <= q_pos and (kv_idx < 4 or q_pos - kv_idx < 2048)\n";
  CHECK(assumed(sinks).empty());
  CHECK(assumed(sinks, Family::Cdna2) ==
        "blocks of a gap in the mask are visited: only what is before a tile's first key and after "
        "its last is passed over");
}

TEST_CASE("blocks that a kernel asks of, and pairs that it tests") {
  const std::string unsorted =
      "inputs: {doc: {dtype: i32, shape: [batch, seq_kv]}}\n"
      "mask: doc[b, q_pos] == doc[b, kv_idx]\n";
  CHECK(assumed(unsorted) ==
        "predictions assume that doc keeps what ids in stretches of 512 keys would");
  CHECK(assumed(unsorted + "workload: {seq_q: 64, values: {doc: 1024}}\n").empty());
  CHECK(assumed("inputs: {valid: {dtype: u8, shape: [batch, seq_kv]}}\n"
                "mask: valid[b, kv_idx] != 0\n") ==
        "predictions assume that valid keeps three in four of the blocks that it decides");
  CHECK(assumed("inputs: {fade: {dtype: f32, shape: [batch, seq_kv]}}\n"
                "mask: fade[b, q_pos] - fade[b, kv_idx] > -20\n") ==
        "predictions assume that fade keeps a fifth of the blocks that it decides");
  CHECK(assumed(unsorted, Family::Cdna2) ==
        "doc is tested pair by pair: no block is passed over by it");
  CHECK(assumed("inputs: {tree: {dtype: u8, shape: [heads, seq_q, seq_kv]}}\n"
                "mask: kv_idx <= q_pos and tree[h, q_idx, kv_idx] != 0\n") ==
        "tree is tested pair by pair: no block is passed over by it");
  const std::string shared =
      "inputs: {tree: {dtype: u8, shape: [seq_q, seq_kv]}}\n"
      "mask: kv_idx <= q_pos and tree[q_idx, kv_idx] != 0\n";
  CHECK(assumed(shared) ==
        "predictions assume that the mask keeps half of the blocks that its text leaves open, and "
        "half of these whole\n"
        "a kernel before asks the mask of all pairs: blocks without one are passed over");
  CHECK(assumed(shared, Family::Cdna2) ==
        "tree is tested pair by pair: no block is passed over by it");
}

// Each level's ends read those of the level below several times.
TEST_CASE("what a mask's limits share is read once") {
  std::string id = "(kv_idx + b)";
  for (int i = 0; i < 40; ++i) id = fmt::format("({} % {})", id, 997 - i);
  CHECK(assumed(fmt::format("mask: {} < 20 and kv_idx <= q_pos\n", id)) ==
        "predictions assume that b empties no block");
}

TEST_CASE("--explain and the page say it") {
  const attngen::spec::Spec spec = spec_of("blocks: {size: 64, from: indices}\n");
  const attngen::target::Target& target = *attngen::target::find("h100");
  attngen::schedule::Ranking ranking;
  ranking.ranked.resize(1);
  CHECK(
      attngen::report::explain(spec, target, ranking)
          .find("\npredictions assume that block_counts keep every block, that rows of blocks are "
                "alike\n") != std::string::npos);
  CHECK(attngen::report::html(spec, target, ranking)
            .find("<dt>Assumed</dt><dd>predictions assume that block_counts keep every block, "
                  "that rows of blocks are alike</dd>") != std::string::npos);
}
