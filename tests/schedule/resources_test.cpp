#include "schedule/resources.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>

#include "kernels.h"
#include "schedule/register_need.h"

namespace attngen::schedule {
namespace {

Kernel plain_kernel(int qk, int v) { return benchmark_kernel(qk, v, 4096, false, false); }

Schedule shape(int warpgroups, int tile_kv, Place weights = Place::Registers,
               Overlap overlap = Overlap::IntraWarpgroup) {
  return {warpgroups, tile_kv, 2, weights, overlap, false, Grid::Plain, Order::Linear};
}

TEST_CASE("the shared memory of 128x128, head dim 128, 2 stages") {
  // Q 128 x 128 x 2 bytes, K and V twice each, 1 KiB of barriers.
  const Resources r = *fit_hopper(plain_kernel(128, 128), shape(2, 128), h100()).resources;
  CHECK(r.shared_bytes == 32768 + 2 * 32768 + 2 * 32768 + 1024);
  CHECK(r.query_stages == 1);
  CHECK(r.threads == 384);
  CHECK(r.producer_registers == 24);
  CHECK(r.consumer_registers == 240);
}

TEST_CASE("a persistent block loads the next queries early where there is room") {
  Schedule persistent = shape(2, 128);
  persistent.grid = Grid::Persistent;
  const Resources r = *fit_hopper(plain_kernel(128, 128), persistent, h100()).resources;
  CHECK(r.query_stages == 2);
  CHECK(r.shared_bytes == 2 * 32768 + 2 * 32768 + 2 * 32768 + 1024);
  persistent.tile_kv = 176;
  CHECK(fit_hopper(plain_kernel(128, 128), persistent, h100()).resources->query_stages == 1);
}

TEST_CASE("columns are padded to chunks, the output needs the queries' room") {
  const auto shared_bytes = [](int qk, int v) {
    return fit_hopper(plain_kernel(qk, v), shape(1, 64), h100()).resources->shared_bytes - 1024;
  };
  // Q has 96 columns for O's sake, K 64, V 80 -> 96: three chunks of 32.
  CHECK(shared_bytes(64, 80) == 64 * 96 * 2 + 2 * (64 * 64 * 2) + 2 * (64 * 96 * 2));
  // Rows of 72 begin at odd multiples of 16 bytes: two chunks of 64, of the narrower O too.
  CHECK(shared_bytes(72, 64) == 64 * 128 * 2 + 2 * (64 * 128 * 2) + 2 * (64 * 64 * 2));
  CHECK(shared_bytes(96, 72) == 64 * 128 * 2 + 2 * (64 * 96 * 2) + 2 * (64 * 128 * 2));
  // One chunk either way.
  CHECK(shared_bytes(24, 24) == 64 * 32 * 2 + 2 * (64 * 32 * 2) + 2 * (64 * 32 * 2));
}

TEST_CASE("weights in shared memory take a tile of their own") {
  const int without =
      fit_hopper(plain_kernel(64, 64), shape(3, 128), h100()).resources->shared_bytes;
  const int with = fit_hopper(plain_kernel(64, 64), shape(3, 128, Place::Shared), h100())
                       .resources->shared_bytes;
  CHECK(with == without + 192 * 128 * 2);
}

TEST_CASE("setmaxnreg targets fit the registers that the launch grants") {
  // Granted a thread: 65536 / threads, in multiples of 8.
  for (int warpgroups = 1; warpgroups <= 4; ++warpgroups) {
    CAPTURE(warpgroups);
    const Resources r = *fit_hopper(plain_kernel(64, 64), shape(warpgroups, 64), h100()).resources;
    const int granted = std::min(65536 / r.threads / 8 * 8, 255) * r.threads;
    CHECK(128 * r.producer_registers + 128 * warpgroups * r.consumer_registers <= granted);
    CHECK(r.producer_registers % 8 == 0);
    CHECK(r.consumer_registers % 8 == 0);
  }
}

TEST_CASE("rejections have numbers") {
  const auto reason = [](int qk, int v, const Schedule& schedule) {
    const Fit fit = fit_hopper(plain_kernel(qk, v), schedule, h100());
    CHECK_FALSE(fit.resources.has_value());
    return fit.reason;
  };
  Schedule deep = shape(2, 128);
  deep.stages = 4;
  CHECK(reason(128, 128, deep) == "needs 295936 bytes of shared memory; h100 has 232448");
  CHECK(reason(64, 64, shape(4, 128)) ==
        "needs 160 registers a thread; with 4 warpgroups a thread gets 112");
  CHECK(reason(256, 256, shape(1, 160)) ==
        "needs 282 registers a thread; with 1 warpgroup a thread gets 240");
  CHECK(reason(64, 512, shape(2, 64)) ==
        "head_dim.v is 512; one matrix instruction has at most 256 columns");
  Schedule alone = shape(1, 64);
  alone.ping_pong = true;
  CHECK(reason(64, 64, alone) == "ping-pong needs two warpgroups; there is 1");
}

TEST_CASE("wide values are split into parts that TMA moves whole") {
  CHECK(value_parts(256).count == 1);
  CHECK(value_parts(40).columns == 40);
  for (int dim = 264; dim <= 1024; dim += 8) {
    CAPTURE(dim);
    const ValueParts parts = value_parts(dim);
    CHECK(parts.columns <= 256);
    CHECK(parts.columns % 32 == 0);
    CHECK(parts.count * parts.columns >= dim);
    CHECK((parts.count - 1) * parts.columns < dim);  // no part is empty
  }
}

TEST_CASE("block sparsity restricts the tiles") {
  Kernel kernel = plain_kernel(64, 64);
  kernel.block_size = kernel.block_queries = 128;
  const auto reason = [&](const Schedule& schedule) {
    return fit_hopper(kernel, schedule, h100()).reason;
  };
  CHECK(reason(shape(2, 64)) == "");
  CHECK(reason(shape(2, 96)) == "96 keys do not divide blocks of 128");
  Schedule ping_pong = shape(3, 64);
  CHECK(reason(ping_pong) == "");
  ping_pong.ping_pong = true;
  CHECK(
      reason(ping_pong) ==
      "192 queries do not divide blocks of 128: the warpgroups keep different blocks, and there is "
      "no ping-pong");
  for (int warpgroups = 1; warpgroups <= 4; ++warpgroups) {
    const Resources r = *fit_hopper(kernel, shape(warpgroups, 32), h100()).resources;
    const int granted = std::min(65536 / r.threads / 8 * 8, 255) * r.threads;
    CHECK(128 * r.producer_registers + 128 * warpgroups * r.consumer_registers <= granted);
    CHECK(r.producer_registers >= 32);  // a producer that searches
  }
  for (const Candidate& candidate : search(kernel, h100()).ranked) {
    const int tile_kv = candidate.schedule.tile_kv;
    CHECK((128 % tile_kv == 0 || tile_kv == 2 * 128));
    CHECK((!candidate.schedule.ping_pong || 128 % candidate.schedule.tile_q() == 0));
  }
}

TEST_CASE("a step of two blocks") {
  Kernel kernel = softmax_kernel(128, 128, 8, 1, 1024, "true", true);
  kernel.heads_kv = 2;
  kernel.block_size = kernel.block_queries = 64;
  const auto reason = [&](const Schedule& schedule) {
    return fit_hopper(kernel, schedule, h100()).reason;
  };
  CHECK(reason(shape(1, 128)) == "");
  CHECK(reason(shape(1, 192)) == "192 keys do not divide blocks of 64");
  CHECK(reason(shape(2, 128)) ==
        "128 keys are two blocks of 64, which the warpgroups of 128 queries do not all keep");
  kernel.group_blocks = true;
  Schedule packed = shape(2, 128);
  packed.pack_heads = true;
  CHECK(reason(packed) == "");
  kernel.apart_blocks = "biases are loaded for one at a time";
  CHECK(reason(packed) == "128 keys are two blocks of 64: biases are loaded for one at a time");
}

TEST_CASE("what ptxas was seen to fit in 160 and 112 registers") {
  // Head dim 64, weights in registers: 192x112 and 256x64 fit; more than 192x128 does not.
  const auto fits = [](const Schedule& schedule) {
    return fit_hopper(plain_kernel(64, 64), schedule, h100()).resources.has_value();
  };
  CHECK(fits(shape(3, 112)));
  CHECK(fits(shape(4, 64)));
  CHECK_FALSE(fits(shape(3, 144)));
  CHECK_FALSE(fits(shape(4, 80)));
}

TEST_CASE("the user's own score needs registers too") {
  // A soft cap at head dim 128: 192x80 compiles without a spill, 192x96 does not.
  Kernel kernel = softmax_kernel(128, 128, 1, 1, 1024, "true", true);
  kernel.plain_score = false;
  CHECK(fit_hopper(kernel, shape(3, 80), h100()).resources->fixed_max);
  CHECK(fit_hopper(kernel, shape(3, 96), h100()).reason ==
        "needs 169 registers a thread; with 3 warpgroups a thread gets 160");
  // A score that reads the key's number takes more, one that reads memory for each key most.
  kernel.indexed_score = true;
  CHECK_FALSE(fit_hopper(kernel, shape(3, 80), h100()).resources.has_value());
  CHECK(fit_hopper(kernel, shape(2, 128), h100()).resources.has_value());
  kernel.key_loads = 1;
  CHECK_FALSE(fit_hopper(kernel, shape(2, 128), h100()).resources.has_value());
}

// Position terms by a small network, as FIRE has them: ptxas spilled 1736 bytes of 32 terms in
// 192x64, none in 128x64; of 16 terms 40 bytes in 192x64, none in 192x48.
TEST_CASE("what pairs of a row read alike takes registers, beyond the few that are kept") {
  const auto terms = [](int count, const std::string& of_row) {
    std::string score = "score";
    for (int i = 0; i < count; ++i) {
      score += fmt::format(
          " + {0}{1}] * relu(w[{1}] * (log(1 + q_pos - kv_idx) / log(2 + q_pos)) + c[{1}])", of_row,
          i);
    }
    return read_kernel(
        "heads: {q: 16, kv: 16}\ninputs:\n  w: {dtype: f32, shape: [64]}\n"
        "  c: {dtype: f32, shape: [64]}\n  u: {dtype: f32, shape: [heads, 64]}\n"
        "  y: {dtype: f32, shape: [seq_q, 64]}\nscore: " +
        score + "\n");
  };
  // Of three a term eleven are kept, and log(2 + q_pos).
  CHECK(terms(1, "u[h, ").row_load_registers == 0);
  CHECK(terms(3, "u[h, ").row_load_registers == 0);
  CHECK(terms(16, "u[h, ").row_load_registers == 48 - 11);
  CHECK(terms(16, "y[q_idx, ").row_load_registers == 48 - 11 + 12);  // of two rows
  const auto need = [](const Kernel& kernel) { return register_need(kernel, shape(3, 64), false); };
  CHECK(need(terms(16, "u[h, ")) == need(terms(3, "u[h, ")) + 37 + 12 - 10);  // and constants
  // Once a term, however often it stands in the score.
  std::string score = "sin(score * w[0]) + cos(score * w[0])";
  for (int i = 1; i < 14; ++i) score += fmt::format(" + tanh(score * w[{}])", i);
  CHECK(read_kernel("inputs: {w: {dtype: f32, shape: [14]}}\nscore: " + score +
                    "\nheads: {q: 1, kv: 1}\n")
            .row_load_registers == 14 - 12);
}

TEST_CASE("a softmax whose mask reads a byte of each pair takes registers for them") {
  // Of each head, so that no kernel asks before.
  const auto need = [](const std::string& element, const std::string& lines) {
    const Kernel kernel = read_kernel("heads: {q: 8, kv: 2}\ninputs: {keep: {dtype: " + element +
                                      ", shape: [heads, seq_q, seq_kv]}}\n" + lines);
    return fit_hopper(kernel, shape(2, 80), h100()).resources->register_need;
  };
  // Not where the pair stands: each thread loads its own.
  const std::string mask = "mask: keep[h, q_idx, max(kv_idx - 1, 0)] != 0\n";
  CHECK(need("u8", mask) == need("i32", mask) + 27);
  const std::string sigmoid = mask + "normalize: {weight: sigmoid(score - 3)}\n";
  CHECK(need("u8", sigmoid) == need("i32", sigmoid));
  // What comes by tiles leaves nothing to keep.
  CHECK(need("u8", "mask: keep[h, q_idx, kv_idx] != 0\n") == need("u8", "") + 8 + (80 - 64) / 5);
}

TEST_CASE("a row's value that a mask asks by itself and with keys takes registers") {
  const auto need = [](const std::string& image) {
    const Kernel kernel = read_kernel(
        "heads: {q: 8, kv: 2}\n"
        "inputs: {img: {dtype: i32, shape: [batch, seq_kv]}, "
        "text: {dtype: i32, shape: [batch, seq_kv]}}\n"
        "mask: kv_idx <= q_pos or (" +
        image + "img[b, q_pos] == img[b, kv_idx])\n");
    return fit_hopper(kernel, shape(2, 96), h100()).resources->register_need;
  };
  CHECK(need("img[b, q_pos] >= 0 and ") == need("") + 96 / 8 + 2);
  // Where no key is compared with it, its answer takes its place.
  CHECK(need("text[b, q_pos] == 0 and ") == need("") + 1);
}

TEST_CASE("a lone warpgroup shares its core where keys have gaps") {
  Kernel kernel = plain_kernel(128, 128);
  CHECK(fit_hopper(kernel, shape(1, 64), h100()).resources->blocks_per_core == 1);
  kernel.block_size = kernel.block_queries = 64;
  Schedule schedule = shape(1, 64);
  schedule.grid = Grid::Persistent;
  const Resources two = *fit_hopper(kernel, schedule, h100()).resources;
  CHECK(two.blocks_per_core == 2);
  CHECK(two.producer_registers + two.consumer_registers == 256);  // of 512 that a core has
  CHECK(2 * (two.shared_bytes + 1024) <= h100().shared_bytes_per_core);
  schedule.stages = 4;  // 160 KiB of keys and values
  CHECK(fit_hopper(kernel, schedule, h100()).resources->blocks_per_core == 1);
  kernel.block_size = kernel.block_queries = 128;
  CHECK(fit_hopper(kernel, shape(2, 64), h100()).resources->blocks_per_core == 1);
  // A mask's gaps; values whose product does not fit in the registers of a launch.
  kernel.block_size = kernel.block_queries = 0;
  kernel.walks = true;
  schedule = shape(1, 32);
  CHECK(fit_hopper(kernel, schedule, h100()).resources->blocks_per_core == 2);
  kernel.head_dim_v = 256;
  CHECK(fit_hopper(kernel, schedule, h100()).resources->blocks_per_core == 1);
}

TEST_CASE("a lone warpgroup shares its core where tiles are short") {
  Kernel kernel = plain_kernel(32, 32);
  const auto blocks = [&](int64_t seq_q, int64_t seq_kv) {
    kernel.workload = {{4096, 49, 49}, {4096, seq_q, seq_kv}};
    Schedule schedule = shape(1, 64);
    schedule.grid = Grid::Persistent;
    return fit_hopper(kernel, schedule, h100()).resources->blocks_per_core;
  };
  CHECK(blocks(64, 64) == 2);
  CHECK(blocks(1, 256) == 2);
  CHECK(blocks(65, 64) == 1);
  CHECK(blocks(64, 257) == 1);
}

}  // namespace
}  // namespace attngen::schedule
