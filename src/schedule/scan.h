// Scans: of calls with heads enough for the cores, whose keys far behind come as states, a thread
// block goes along a head, a chunk of queries and keys at a time, and keeps the state of the keys
// before in its core (templates/hopper/parts/scan.cuh). One kernel takes the place of that of
// states and of the tiles'.
//
// All is loaded once, and no state goes through memory. What it brings beside states and tiles, by
// the number of blocks: docs/ladder.md, run AV.
#pragma once

#include "attention/pair_form.h"
#include "attention/row_form.h"
#include "schedule/search.h"
#include "schedule/units.h"
#include "spec/spec.h"
#include "target/target.h"

namespace attngen::schedule {

inline constexpr int kScanRows = 64;  // queries, and keys, of a chunk

// Columns of the values are shared out among blocks, which each multiply queries and keys anew.
constexpr int scan_parts(int head_dim_v) { return head_dim_v / kStateRows; }
// Blocks that run at a time: the cores of an H100 and of an H200.
inline constexpr int kScanWave = 132;
// Blocks of a call, one for each head of each batch and part of the values, from which on a scan is
// as fast: of one part 48 to 60, of two 64 to 80, of four 90 to 96 (run AV). So many for each wave:
// a second one that is almost empty takes as long as the first.
constexpr int fewest_scans(int parts) { return 40 + 16 * parts; }
// Rows from which on it is. Short calls go through few waves of blocks, of which the last is short.
constexpr int fewest_scan_rows(int parts) { return parts == 1 ? 512 : 1024; }

// Whether kernels whose far keys come as states may have a scan beside: weights that need no sum,
// a row's keys from the first up to its own, states that a warpgroup's registers hold.
bool may_scan(const spec::Spec& spec, const attention::RowForm& rows,
              const attention::PairForm& pairs);

// Whether a call goes by a scan, if its kernel has one: as many keys as queries.
bool scans(int heads_q, int head_dim_v, const spec::Workload& call);

ScanTime scan_time(const Kernel& kernel, const spec::Workload& call, const target::Target& target);

}  // namespace attngen::schedule
