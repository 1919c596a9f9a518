// The CDNA2 family: what fits a CU, what the search picks, what schedules it refuses.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "attention/row_form.h"
#include "kernels.h"
#include "schedule/resources.h"
#include "schedule/step_cdna2.h"
#include "spec/read.h"

namespace attngen::schedule {
namespace {

const target::Target& mi250() { return *target::find("mi250"); }

Schedule tile(int warpgroups, int tile_kv) {
  return {warpgroups,  tile_kv,      1, Place::Registers, Overlap::IntraWarpgroup, false,
          Grid::Plain, Order::Linear};
}
Kernel kernel(int head_dim) { return benchmark_kernel(head_dim, head_dim, 8192, true, true); }

TEST_CASE("two waves a SIMD up to head dim 128, three at 64, one at 256") {
  struct Row {
    int head_dim, waves, shared_bytes;
  };
  for (const Row& row : {Row{64, 3, 16384}, Row{128, 2, 32768}, Row{256, 1, 65536}}) {
    CAPTURE(row.head_dim);
    const Fit fit = fit_cdna2(kernel(row.head_dim), tile(2, 64), mi250());
    REQUIRE(fit.resources);
    CHECK(fit.resources->threads == 256);
    CHECK(fit.resources->waves_per_simd == row.waves);
    CHECK(fit.resources->shared_bytes == row.shared_bytes);
    CHECK(fit.resources->register_need <= fit.resources->consumer_registers);
  }
}

TEST_CASE("a mask that is tested and loads, and weights beside loads, ask for registers") {
  const auto need = [](auto change) {
    Kernel changed = kernel(64);
    change(changed);
    return fit_cdna2(changed, tile(2, 64), mi250()).resources->register_need;
  };
  const int plain = need([](Kernel&) {});
  CHECK(need([](Kernel& k) { k.tested_mask = true; }) == plain + 8);
  CHECK(need([](Kernel& k) { k.mask.load = 1; }) == plain + 8);
  CHECK(need([](Kernel& k) { k.rows.exponential = false; }) == plain + 24);
  CHECK(need([](Kernel& k) {
          k.rows.exponential = false;
          k.mask.load = 1;
        }) == plain + 24 + 8 + 64 / 2);
}

TEST_CASE("ALiBi of head dim 64 has two waves a SIMD") {
  const auto waves = [](const std::string& score) {
    Kernel alibi = read_kernel(
        "heads: {q: 4, kv: 4}\ninputs: {slopes: {dtype: f32, shape: [heads]}}\nscore: " + score +
            "\nmask: kv_idx <= q_pos\n",
        target::Family::Cdna2);
    alibi.head_dim_qk = alibi.head_dim_v = 64;
    return fit_cdna2(alibi, tile(2, 64), mi250()).resources->waves_per_simd;
  };
  // Of three clang-15 spills 66 registers.
  CHECK(waves("score + slopes[h] * (kv_idx - q_pos)") == 2);
  CHECK(waves("score + slopes[h] * q_pos") == 3);
}

TEST_CASE("where no tile fits by its estimate the least one is taken") {
  Kernel heavy = kernel(256);
  heavy.rows.exponential = false;
  heavy.plain_score = false;
  heavy.key_loads = 2;
  heavy.tested_mask = true;
  heavy.mask.load = 2;
  CHECK_FALSE(fit_cdna2(heavy, tile(1, 32), mi250()).resources);
  CHECK_FALSE(fit_cdna2(heavy, tile(2, 64), mi250()).resources);
  CHECK_FALSE(fit_cdna2(heavy, tile(4, 32), mi250()).resources);
  const Fit least = fit_cdna2(heavy, tile(2, 32), mi250());
  REQUIRE(least.resources);
  CHECK(least.resources->register_need <= least.resources->consumer_registers);
}

TEST_CASE("tanh is an exponential and a reciprocal, in bf16 too; reports speak of AMD's units") {
  text::Diagnostics diagnostics(
      {"s.yaml",
       "attngen: 1\nname: s\ndtype: bf16\nheads: {q: 4, kv: 4}\nhead_dim: {qk: 64, v: 64}\n"
       "score: tanh(score)\n"});
  const auto spec = spec::read(diagnostics);
  REQUIRE(spec);
  const auto rows = attention::derive_row_form(spec->normalize);
  const Kernel cdna2 =
      describe_kernel(*spec, std::get<attention::RowForm>(rows), target::Family::Cdna2);
  CHECK(cdna2.score.special == 2);
  const Judged judged = judge(kernel(64), tile(2, 64), mi250());
  REQUIRE(judged.candidate);
  CHECK(bound_name(judged.candidate->cost) == std::string("matrix cores"));
}

TEST_CASE("rows of keys that cannot exchange chunks are an odd number of chunks apart") {
  // 80 columns are 10 chunks of 16 bytes, stored 11 apart; 96 rows of values.
  const Fit fit = fit_cdna2(kernel(80), tile(2, 64), mi250());
  REQUIRE(fit.resources);
  CHECK(fit.resources->shared_bytes == 64 * 11 * 16 + 96 * 64 * 2);
}

TEST_CASE("what the family does in one way alone is refused by name") {
  const auto reason = [](auto change) {
    Schedule schedule = tile(2, 64);
    change(schedule);
    return judge(kernel(128), schedule, mi250()).reason;
  };
  CHECK(reason([](Schedule& s) { s.warpgroups = 3; }) ==
        "3 warpgroups; this family's tiles divide among 1, 2 or 4");
  CHECK(reason([](Schedule& s) { s.tile_kv = 96; }) ==
        "a tile of 96 keys; this family has 32, 64 and 128");
  CHECK(reason([](Schedule& s) { s.stages = 2; }) ==
        "2 stages; this family has 1 in LDS and the next in registers");
  CHECK(reason([](Schedule& s) { s.weights = Place::Shared; }) ==
        "weights in LDS; this family keeps them in registers");
  CHECK(reason([](Schedule& s) { s.overlap = Overlap::None; }) ==
        "this family always overlaps within a wave");
  CHECK(reason([](Schedule& s) { s.ping_pong = true; }) ==
        "ping-pong; SIMDs alternate between waves by themselves");
  CHECK(reason([](Schedule& s) { s.split_keys = true; }) ==
        "split keys; this family's tiles visit all keys of their rows");
  CHECK(reason([](Schedule& s) { s.grid = Grid::Persistent; }) ==
        "this family's grid is plain: one block a tile");
  CHECK(judge(kernel(256), tile(2, 128), mi250()).reason ==
        "needs 131072 bytes of LDS; mi250 has 65536");
}

TEST_CASE("a tile has queries and keys of one block of the caller's") {
  const auto sparse = [](const std::string& blocks) {
    return read_kernel("heads: {q: 4, kv: 1}\nblocks: " + blocks + "\nworkload: {seq_q: 8192}\n",
                       target::Family::Cdna2);
  };
  const Kernel squares = sparse("{size: 64, from: bitmap}");
  CHECK(fit_cdna2(squares, tile(1, 64), mi250()).resources);
  CHECK(fit_cdna2(squares, tile(2, 64), mi250()).reason ==
        "a tile has 128 queries; those of 64 keep the same blocks");
  CHECK(fit_cdna2(sparse("{size: 192, from: bitmap}"), tile(1, 128), mi250()).reason ==
        "a tile of 128 keys; blocks have 192");
  Schedule packed = tile(2, 32);
  packed.pack_heads = true;
  CHECK(fit_cdna2(sparse("{size: 64, from: indices, per: heads_kv}"), packed, mi250()).resources);
  CHECK(fit_cdna2(squares, packed, mi250()).reason == "each head keeps blocks of its own");
  const auto seconds = [&](const std::string& blocks) {
    return search(sparse(blocks), mi250()).ranked.front().cost.seconds;
  };
  // 16 of 128 blocks.
  CHECK(seconds("{size: 64, from: indices, most: 16}") <
        0.25 * seconds("{size: 64, from: indices}"));
}

TEST_CASE(
    "pages that hold no whole tiles come row by row, which takes registers and a longer step") {
  const auto fit_of = [](int page, int tile_kv) {
    Kernel paged = kernel(128);
    paged.page = page;
    return *fit_cdna2(paged, tile(2, tile_kv), mi250()).resources;
  };
  const Resources side_by_side = fit_of(0, 64), whole = fit_of(128, 64), parts = fit_of(32, 64);
  CHECK_FALSE(side_by_side.page_rows);
  CHECK_FALSE(whole.page_rows);
  CHECK(parts.page_rows);
  CHECK(fit_of(96, 64).page_rows);
  CHECK_FALSE(fit_of(96, 32).page_rows);
  CHECK(whole.register_need == side_by_side.register_need);
  CHECK(parts.register_need > whole.register_need);
  const auto step = [](const Resources& resources) {
    return step_cdna2(kernel(128), tile(2, 64), resources, BlockCdna2::Full);
  };
  CHECK(step(whole).valu == step(side_by_side).valu);
  CHECK(step(parts).valu == step(whole).valu + 10 * (4 + 4));  // of each, four rows a thread
}

TEST_CASE("the search ranks what fits, fastest first, and keeps the matrix units busy") {
  for (const int head_dim : {64, 128, 256}) {
    CAPTURE(head_dim);
    const Ranking ranking = search(kernel(head_dim), mi250());
    REQUIRE(!ranking.ranked.empty());
    CHECK(std::ranges::is_sorted(ranking.ranked, {},
                                 [](const Candidate& c) { return c.cost.seconds; }));
    const Candidate& first = ranking.ranked.front();
    CHECK(first.schedule.order == Order::LongestFirst);
    CHECK(first.cost.matrix_clk <= first.cost.step_clk);
    CHECK(first.cost.matrix_clk >= 0.8 * first.cost.step_clk);
    // Never above what a GEMM of the card reaches.
    CHECK(first.cost.flop_per_s <= mi250().matrix_flop_sustained);
  }
}

TEST_CASE("of a long cache the memory brings the keys of a window alone") {
  const auto seconds = [](int64_t seq_kv) {
    const Kernel kernel = read_kernel(
        "heads: {q: 8, kv: 1}\nmask: kv_idx <= q_pos and q_pos - kv_idx < 400\n"
        "workload: {batch: 1, seq_q: 1, seq_kv: " +
        std::to_string(seq_kv) + "}\n");
    return search(kernel, mi250()).ranked.front().cost.seconds;
  };
  CHECK(seconds(1 << 18) == doctest::Approx(seconds(512)).epsilon(0.02));
}

// One query of each of 16 caches of 8192 keys.
Kernel one_query(const std::string& heads, const std::string& lines = "") {
  return read_kernel(
      "heads: " + heads + "\n" + lines + "workload: {batch: 16, seq_q: 1, seq_kv: 8192}\n",
      target::Family::Cdna2);
}

TEST_CASE("few queries of grouped heads share a tile") {
  const Kernel kernel = one_query("{q: 32, kv: 8}");
  CHECK(search(kernel, mi250()).ranked.front().schedule.pack_heads);
  Schedule schedule = tile(1, 64);
  const Cost apart = judge(kernel, schedule, mi250()).candidate->cost;
  schedule.pack_heads = true;
  const Cost packed = judge(kernel, schedule, mi250()).candidate->cost;
  CHECK(apart.waves == doctest::Approx(4 * packed.waves));
  CHECK(apart.blocks == doctest::Approx(4 * packed.blocks));
  CHECK(packed.flop_per_l2_byte > 3.9 * apart.flop_per_l2_byte);
  CHECK(apart.seconds > 2 * packed.seconds);
  // Of many queries packed tiles would hardly be fewer.
  Kernel many = kernel;
  many.workload.front().seq_q = 4096;
  for (const Candidate& c : search(many, mi250()).ranked) CHECK_FALSE(c.schedule.pack_heads);
}

TEST_CASE("heads are packed on CDNA2 where they are on Hopper, and with biases of their own too") {
  const auto reason = [](const Kernel& kernel) {
    Schedule schedule = tile(1, 64);
    schedule.pack_heads = true;
    return judge(kernel, schedule, mi250()).reason;
  };
  CHECK(reason(one_query("{q: 28, kv: 4}")) == "");
  CHECK(reason(one_query("{q: 64, kv: 1}")) == "");
  CHECK(reason(one_query("{q: 65, kv: 1}")) == "");
  CHECK(reason(one_query("{q: 8, kv: 8}")) ==
        "every query head has a key head of its own: none share a tile");
  CHECK(reason(one_query("{q: 8, kv: 1}", "mask: kv_idx < 100 * h\n")) ==
        "the mask reads h: heads may need different keys");
  const std::string biases =
      "inputs: {bias: {dtype: f32, shape: [heads, seq_q, seq_kv]}}\n"
      "score: score + bias[h, q_idx, kv_idx]\n";
  CHECK(reason(one_query("{q: 8, kv: 1}", biases)) == "");
}

TEST_CASE("long rows of head dim 64 have three waves a SIMD") {
  CHECK(search(kernel(64), mi250()).ranked.front().resources.waves_per_simd == 3);
}

TEST_CASE("blocks that have a CU each take no longer than one alone") {
  const auto seconds = [](int heads) {
    Kernel k = kernel(64);
    k.heads_q = k.heads_kv = heads;
    k.workload = {{1, 128, 8192, 1}};
    const Judged judged = judge(k, tile(2, 64), mi250());
    REQUIRE(judged.candidate);
    return judged.candidate->cost.seconds;
  };
  CHECK(seconds(64) < 1.25 * seconds(1));   // the clock falls with the load
  CHECK(seconds(208) > 1.75 * seconds(1));  // two on each
}

TEST_CASE("a step of one wave, as llvm-mca accounts for the emitted kernels") {
  struct Row {
    int head_dim, tile_kv;
    double slots;  // scripts/mi250_timing.py, 2026-11-22
  };
  for (const Row& row : {Row{64, 64, 556}, Row{128, 64, 1047}, Row{128, 32, 527}, Row{80, 64, 762},
                         Row{256, 64, 2125}}) {
    CAPTURE(row.head_dim);
    const Schedule schedule = tile(2, row.tile_kv);
    const Kernel k = kernel(row.head_dim);
    const Fit fit = fit_cdna2(k, schedule, mi250());
    REQUIRE(fit.resources);
    const StepCdna2 step = step_cdna2(k, schedule, *fit.resources, BlockCdna2::Full);
    CHECK(step.alone == doctest::Approx(row.slots).epsilon(0.05));
    CHECK(step_cdna2(k, schedule, *fit.resources, BlockCdna2::Cut).valu > step.valu);
  }
}

}  // namespace
}  // namespace attngen::schedule
