// Calls that go along heads (schedule/scan.h).
#include "schedule/scan.h"

#include <doctest/doctest.h>

#include <string>

#include "kernels.h"
#include "schedule/workspace.h"

namespace attngen::schedule {
namespace {

const std::string kLinear =
    "heads: {q: 16, kv: 16}\nscore: score * exp((q_pos - kv_idx) * log(0.97))\n";

bool may_scan(const std::string& lines, int qk = 64, int v = 64) {
  return kernel_of_lines(head_dims(qk, v) + kLinear + lines).has_scan;
}

Candidate best(const spec::Spec& spec) {
  return search(kernel_of_spec(spec), h200()).ranked.front();
}

TEST_CASE("causal weights that need no sum, or that of the keys, may go by a scan") {
  const std::string causal = "mask: kv_idx <= q_pos\n", none = "normalize: none\n";
  CHECK(may_scan(causal + none));
  CHECK(may_scan("mask: q_pos >= kv_idx\n" + none));
  CHECK(may_scan(causal + none, 256, 256));
  CHECK(
      may_scan(causal + "normalize: {rows: {l: rowsum(score)}, weight: score, output: acc / l}\n"));
  CHECK_FALSE(may_scan(none));  // all pairs
  CHECK_FALSE(may_scan(
      causal + "normalize: {rows: {l: rowsum(score)}, weight: score, output: acc / l}\n", 256));
  CHECK_FALSE(may_scan("mask: kv_idx <= q_pos or kv_idx < 64\n" + none));
  CHECK_FALSE(may_scan(causal + none, 320, 64));
  CHECK_FALSE(may_scan(causal + none, 64, 384));
  CHECK_FALSE(may_scan("varlen: true\n" + causal + none));
  CHECK_FALSE(may_scan(causal + "normalize: {rows: {l: rowsum(abs(score))}, weight: score, output: "
                                "acc - l}\n"));
}

TEST_CASE("a call goes by a scan that has heads enough and as many keys as queries") {
  const auto goes = [](int64_t batch, int64_t seq_q, int64_t seq_kv, int v = 64) {
    return scans(16, v, {batch, seq_q, seq_kv, 1});
  };
  CHECK(goes(4, 512, 512));
  CHECK_FALSE(goes(3, 512, 512));  // 48 blocks
  CHECK_FALSE(goes(4, 511, 511));
  CHECK_FALSE(goes(4, 512, 1024));
  CHECK(goes(3, 1024, 1024, 128));  // 96, two a head
  CHECK_FALSE(goes(2, 1024, 1024, 128));
  CHECK_FALSE(goes(3, 1023, 1023, 128));
  CHECK_FALSE(goes(3, 1024, 1024, 192));  // 144: the second wave has 12
  CHECK(goes(4, 1024, 1024, 192));        // 192 of 264
}

TEST_CASE("a scan's time is that of its chunks, or of memory") {
  const Kernel kernel =
      kernel_of_lines(head_dims(128, 128) + kLinear + "mask: kv_idx <= q_pos\nnormalize: none\n");
  const auto time = [&](int64_t batch, int64_t seq) {
    return scan_time(kernel, {batch, seq, seq, 1}, h200());
  };
  CHECK(time(4, 4096).bound == Bound::Latency);
  CHECK(time(4, 8192).seconds > 1.9 * time(4, 4096).seconds);
  CHECK(time(3, 4096).seconds == time(4, 4096).seconds);  // cores without a block
  CHECK(time(5, 4096).seconds > 1.9 * time(4, 4096).seconds);
}

TEST_CASE("a scan is told beside tiles, and needs no room for states") {
  spec::Spec spec =
      spec_of_lines(head_dims(64, 64) + kLinear + "mask: kv_idx <= q_pos\nnormalize: none\n");
  spec.workload = {{8, 4096, 4096, 1}};
  const Candidate scanned = best(spec);
  CHECK(scanned.schedule.scan);
  CHECK(scanned.cost.scan.seconds > 0);
  CHECK(scanned.cost.scan.seconds < scanned.cost.seconds);
  CHECK(workspace_bytes(spec, scanned, spec.workload.front()) < 100);
  spec.workload = {{1, 4096, 4096, 1}};
  const Candidate tiled = best(spec);
  CHECK(tiled.schedule.scan);  // which other calls go by
  CHECK(tiled.cost.scan.seconds == 0);
  CHECK(workspace_bytes(spec, tiled, spec.workload.front()) > 1000000);
  Schedule shared = tiled.schedule;
  shared.weights = Place::Shared;
  CHECK(fit_hopper(kernel_of_spec(spec), shared, h200()).reason.starts_with("a scan takes causal"));
  shared.scan = false;
  shared.stages = 2;
  CHECK(fit_hopper(kernel_of_spec(spec), shared, h200()).resources);
}

}  // namespace
}  // namespace attngen::schedule
