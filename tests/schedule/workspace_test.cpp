#include "schedule/workspace.h"

#include <doctest/doctest.h>

#include <string>

#include "kernels.h"

namespace attngen::schedule {
namespace {

int64_t bytes_of(const std::string& heads, const std::string& workload) {
  text::Diagnostics diagnostics(
      {"spec.yaml", "attngen: 1\nname: test\ndtype: bf16\nhead_dim: {qk: 64, v: 64}\n" + heads +
                        "inputs: {doc: {dtype: i32, shape: [heads, seq_kv]}}\n"
                        "mask: doc[h, q_pos] == doc[h, kv_idx]\n" +
                        workload});
  const std::optional<spec::Spec> spec = spec::read(diagnostics);
  INFO(diagnostics.render(text::ErrorFormat::Gcc));
  REQUIRE(spec);
  Candidate candidate;
  candidate.cost.family = target::Family::Hopper;
  candidate.schedule.warpgroups = 2;
  candidate.schedule.tile_kv = 128;
  return workspace_bytes(*spec, candidate, spec->workload.front());
}

}  // namespace

TEST_CASE("tables have an entry for each tile of queries and each block of keys") {
  CHECK(bytes_of("heads: {q: 3, kv: 3}\n", "workload: {batch: 2, seq_q: 300, seq_kv: 500}\n") ==
        3 * 2 * (3 + 4) * 16);
}

TEST_CASE("of a call that no card holds the size is large, not wrong") {
  const std::string most = "2147418112";
  CHECK(bytes_of("heads: {q: 65535, kv: 65535}\n",
                 "workload: {batch: " + most + ", seq_q: " + most + ", seq_kv: " + most + "}\n") ==
        int64_t{1} << 62);
}

}  // namespace attngen::schedule
