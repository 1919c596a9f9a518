#include "schedule/scan.h"

#include <algorithm>
#include <cmath>

#include "attention/output_columns.h"
#include "schedule/resources.h"
#include "schedule/units.h"

namespace attngen::schedule {
namespace {

bool is_causal(const expr::Expr& mask) {
  const auto is = [&](size_t i, std::string_view name) {
    return mask.operand(i).op() == expr::Op::Variable && mask.operand(i).name() == name;
  };
  return (mask.op() == expr::Op::LessEqual && is(0, "kv_idx") && is(1, "q_pos")) ||
         (mask.op() == expr::Op::GreaterEqual && is(0, "q_pos") && is(1, "kv_idx"));
}

// A chunk follows another by so much: what it takes, and for each 64 columns of the head dim. Run
// AV of docs/ladder.md: calls of 32 heads and 8192 rows took 0.8 us a chunk at head dim 64 and 1.25
// at 128, with gates of keys 0.98 and 1.35.
constexpr double kChunkSeconds = 0.42e-6, kColumnsSeconds = 0.45e-6;
// Until a block's first chunk is there, and from its last one on.
constexpr double kEndsSeconds = 3e-6;

}  // namespace

bool may_scan(const spec::Spec& spec, const attention::RowForm& rows,
              const attention::PairForm& pairs) {
  // Beside wider states the sum of the keys has no room: mLSTM at head dim 256 took 0.457 ms by a
  // scan and 0.373 by tiles (H200, 2026-12-01, scripts/bench_variants.py).
  const int most_columns = attention::sums_keys(rows) ? 128 : 256;
  return pairs.far && !attention::sums_products(rows) && is_causal(spec.mask) && !spec.varlen &&
         !attention::has_columns(rows.output) && !pairs.of_distance && pairs.key_words.empty() &&
         spec.head_dim.qk <= most_columns && value_parts(spec).count == 1;
}

bool scans(int heads_q, int head_dim_v, const spec::Workload& call) {
  const int parts = scan_parts(head_dim_v);
  const int64_t blocks = call.batch * heads_q * parts;
  const int64_t waves = (blocks + kScanWave - 1) / kScanWave;
  return call.seq_q == call.seq_kv && call.seq_q >= fewest_scan_rows(parts) &&
         blocks >= waves * fewest_scans(parts);
}

ScanTime scan_time(const Kernel& kernel, const spec::Workload& call, const target::Target& t) {
  const int parts = scan_parts(kernel.head_dim_v);
  const auto rows = static_cast<double>(call.seq_q);
  const double heads = static_cast<double>(call.batch) * kernel.heads_q;
  const double chunk = kChunkSeconds + kColumnsSeconds * kernel.head_dim_qk / kStateRows;
  const double in_core =
      std::ceil(heads * parts / t.cores) * std::ceil(rows / kScanRows) * chunk + kEndsSeconds;
  const double of_query = kernel.head_dim_qk + kernel.head_dim_v;  // and of its output
  const double elements = rows * of_query * (heads + heads / kernel.group());
  const double memory = elements * kElement / t.memory_bytes_per_s;
  return {std::max(in_core, memory) + t.launch_s,
          memory > in_core ? Bound::Memory : Bound::Latency};
}

}  // namespace attngen::schedule
