#include "schedule/workspace.h"

#include <algorithm>
#include <cmath>
#include <variant>
#include <vector>

#include "attention/pair_form.h"
#include "attention/row_form.h"
#include "attention/tiles.h"
#include "expr/expr.h"
#include "schedule/resources.h"
#include "schedule/scan.h"
#include "schedule/splits.h"
#include "schedule/units.h"

namespace attngen::schedule {
namespace {

constexpr int64_t kSequence = 32;       // of a packed sequence, once they are sorted
constexpr int64_t kSplitSequence = 48;  // the same with its splits
constexpr int64_t kCounter = 4;         // of tiles, which a kernel before clears
constexpr int64_t kOwnCounter = 16;     // and one that the kernel clears, with the call's number
constexpr int64_t kTableEntry = 16;     // of ids of a tile or a block
constexpr int64_t kHighAndLowPart = 2;  // of a state's numbers
constexpr int kFloat = 4;               // of a column of the sum of keys, of a state's unit
constexpr int kAligned = 16;            // of all units

// Sizes in doubles: those of calls that no card holds would leave 64 bits.
constexpr double kMostBytes = 0x1p62;

int64_t heads_of(const attention::IdTable& table, const spec::Spec& spec) {
  switch (attention::heads_of(table)) {
    case attention::TableHeads::Q:
      return spec.heads.q;
    case attention::TableHeads::Kv:
      return spec.heads.kv();
    case attention::TableHeads::One:
      break;
  }
  return 1;
}

std::vector<attention::IdTable> tables_of(const spec::Spec& spec) {
  const auto test = attention::block_test(spec);
  return test ? test->tables : std::vector<attention::IdTable>{};
}

// An entry, and bits, for each tile and block.
double pair_table_bytes(const spec::Spec& spec, const attention::IdTable& table, const Schedule& s,
                        const spec::Workload& call) {
  const int64_t queries = s.queries(spec.heads.group());
  const int64_t tiles = (call.seq_q + queries - 1) / queries;
  const int64_t blocks = (call.seq_kv + s.tile_kv - 1) / s.tile_kv;
  const int64_t planes =
      (expr::mentions(table.value, "b") ? call.batch : 1) * heads_of(table, spec);
  const int64_t bits = mask_tile_bytes(s, spec.heads.group());
  return static_cast<double>(planes) * static_cast<double>(tiles * blocks) *
         static_cast<double>(kTableEntry + bits);
}

double table_bytes(const spec::Spec& spec, const Schedule& s, const spec::Workload& call) {
  if (call.seq_kv == 0) return 0;
  const int64_t queries = s.queries(spec.heads.group());
  double entries = 0;
  for (const attention::IdTable& table : tables_of(spec)) {
    if (table.of == attention::TableOf::Pairs) return pair_table_bytes(spec, table, s, call);
    const bool of_keys = table.of == attention::TableOf::Keys;
    const int64_t length = of_keys ? call.seq_kv : call.seq_q;
    const int64_t size = of_keys ? s.tile_kv : queries;
    // Packed sequences of any lengths have one for each more than fills their sum.
    const int64_t blocks = spec.varlen ? call.batch * length / size + call.batch
                                       : call.batch * ((length + size - 1) / size);
    entries += static_cast<double>(heads_of(table, spec)) * static_cast<double>(blocks);
  }
  return entries * kTableEntry;
}

// A state stands at the end of each chunk of keys; under a mask no tile has the last key behind it.
double state_bytes(const spec::Spec& spec, const Candidate& candidate, const spec::Workload& call) {
  if (!candidate.resources.forms.far) return 0;
  const auto derived = attention::derive_row_form(spec.normalize);
  const auto* rows = std::get_if<attention::RowForm>(&derived);
  if (rows == nullptr) return 0;
  const bool sums = attention::sums_products(*rows);
  const int qk = spec.head_dim.qk;
  // Packed sequences have room for the states of a single one.
  const int64_t batch = spec.varlen ? 1 : call.batch, sequences = spec.varlen ? call.batch : 1;
  const int64_t last = attention::is_masked(spec) && !spec.varlen ? 1 : 0;
  if (sequences * call.seq_q < fewest_far_queries(sums, qk)) return 0;
  if (candidate.schedule.scan && scans(spec.heads.q, spec.head_dim.v, call)) return 0;
  const int64_t chunks = (sequences * call.seq_kv - last) / chunk_keys(qk);
  const int64_t key_sum = attention::sums_keys(*rows) ? kFloat * qk : 0;
  const int64_t state = kHighAndLowPart * kElement * qk * spec.head_dim.v + key_sum;
  const double states =
      static_cast<double>(std::max<int64_t>(0, chunks) * batch) * static_cast<double>(spec.heads.q);
  const auto far = attention::pair_form(spec, *rows, {.far = true}).far;
  const double units =
      far && far->key_weight ? std::ceil(states * kFloat / kAligned) * kAligned : 0;
  return states * static_cast<double>(state) + units;
}

// What splits leave of each row.
double split_bytes(const spec::Spec& spec, const Candidate& candidate, const spec::Workload& call) {
  const ValueParts values = value_parts(spec);
  const int columns = values.columns * values.sides;
  const SplitHeads heads{
      spec.heads.q,        spec.heads.kv(), columns,      attention::is_masked(spec),
      spec.block_size > 0, spec.varlen,     values.count, spec.maps};
  spec::Workload visited = call;
  if (spec.gathers_lists()) visited.seq_kv = std::min<int64_t>(call.seq_kv, spec.token_count);
  const int64_t parts = most_parts(candidate.schedule, candidate.resources, heads, visited);
  if (parts == 0) return 0;
  const auto derived = attention::derive_row_form(spec.normalize);
  const auto* rows = std::get_if<attention::RowForm>(&derived);
  const int64_t part = part_bytes(columns, rows != nullptr ? rows->reductions.size() : 0);
  return static_cast<double>(parts) * static_cast<double>(part) * spec.heads.q * values.count;
}

// What packed sequences and the tiles' counter take.
double own_bytes(const spec::Spec& spec, const Schedule& s, const spec::Workload& call) {
  if (spec.varlen) {
    return static_cast<double>(s.split_keys ? call.batch * kSplitSequence + 3 * kCounter
                                            : call.batch * kSequence + 2 * kCounter);
  }
  if (!counts_tiles(s)) return 0;
  return static_cast<double>(tables_of(spec).empty() ? kOwnCounter : kCounter);
}

}  // namespace

int64_t workspace_bytes(const spec::Spec& spec, const Candidate& candidate,
                        const spec::Workload& call) {
  if (candidate.cost.family != target::Family::Hopper) return 0;
  const Schedule& s = candidate.schedule;
  const double bytes = table_bytes(spec, s, call) + state_bytes(spec, candidate, call) +
                       split_bytes(spec, candidate, call) + own_bytes(spec, s, call);
  return static_cast<int64_t>(std::min(bytes, kMostBytes));
}

}  // namespace attngen::schedule
