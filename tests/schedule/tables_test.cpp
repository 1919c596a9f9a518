// Rows of tables that a tile's queries keep in shared memory.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "kernels.h"
#include "schedule/resources.h"
#include "schedule/step.h"

namespace attngen::schedule {
namespace {

constexpr Schedule kSchedule{.warpgroups = 2, .tile_kv = 64, .stages = 2};

Kernel kernel_with(int columns, const std::string& score) {
  return read_kernel(
      fmt::format("heads: {{q: 4, kv: 4}}\nworkload: [{{seq_q: 4096}}]\n"
                  "inputs: {{rel: {{dtype: bf16, shape: [heads, seq_q, {}]}}}}\n"
                  "score: score + {}\n",
                  columns, score));
}

TEST_CASE("a tile has a row for each of its queries") {
  const Kernel kernel = kernel_with(64, "rel[h, q_idx, kv_idx % 64]");
  CHECK(kernel.table_bytes == 144);
  CHECK(kernel.shared_loads == 1);
  CHECK(kernel.scattered == 0);
  const Fit fit = fit_hopper(kernel, kSchedule, h100());
  REQUIRE(fit.resources);
  CHECK(fit.resources->forms.tables);
  const Fit plain = fit_hopper(kernel_with(64, "0"), kSchedule, h100());
  REQUIRE(plain.resources);
  CHECK(fit.resources->shared_bytes - plain.resources->shared_bytes == 2 * 64 * 144);
}

TEST_CASE("threads gather what there is no room for") {
  const Kernel kernel = kernel_with(512, "rel[h, q_idx, min(kv_idx // 8, 511)]");
  Schedule wide = kSchedule;
  wide.tile_kv = 128;
  CHECK(fit_hopper(kernel, kSchedule, h100()).resources->forms.tables);
  const Fit fit = fit_hopper(kernel, wide, h100());
  REQUIRE(fit.resources);
  CHECK_FALSE(fit.resources->forms.tables);
  CHECK(kernel.of(wide, false).scattered > 0);
}

TEST_CASE("in tiles that fit it a key's quotient costs nothing, and its remainder no arithmetic") {
  const Kernel quotient = kernel_with(64, "rel[h, q_idx, kv_idx // 64]");
  CHECK(quotient.shared_loads == 0);
  CHECK(quotient.divided.beyond.load == 1);
  const Kernel remainder = kernel_with(64, "rel[h, q_idx, kv_idx % 64]");
  CHECK(remainder.divided.beyond.load == 0);
  CHECK(remainder.divided.beyond.logic >= 1);
  for (const int tile_kv : {32, 64, 128, 192}) CHECK(remainder.divided.fit(tile_kv));
  for (const int tile_kv : {48, 96, 176}) CHECK_FALSE(remainder.divided.fit(tile_kv));
  CHECK_FALSE(kernel_with(14, "rel[h, q_idx, kv_idx % 14]").divided.fit(112));
  CHECK(operations(quotient, Block::First, 64).load == 0);
  CHECK(operations(quotient, Block::First, 96).load == 1);
  const Candidate best = search(quotient, h100()).ranked.front();
  CHECK(quotient.divided.fit(best.schedule.tile_kv));
}

}  // namespace
}  // namespace attngen::schedule
