#include "schedule/cost_tiles.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "schedule/block_rows.h"
#include "schedule/units.h"

namespace attngen::schedule {
namespace {

// What each warpgroup adds to the time from a tile's last keys to the next one's first, and to a
// tile beyond its output and its first scores: the next tile's place, its queries' barriers. Both
// fitted, as kExposed in step.cpp is.
constexpr double kLagClk = 850;
constexpr double kTileClk = 650;
// Tiles of fewer blocks have their share of kTileClk. Calls of 512 keys, the sweep's shortest, are
// predicted better so, with any number from 2 to 4; calls of one or two blocks were not measured.
constexpr double kFewBlocks = 4;

// What a tile waits for its first blocks: their slots come free when the last warpgroup is through
// with the tile before, and the trip from the L2 follows. Meanwhile the ring holds work for a step
// less than it has stages.
double refill_clk(const Schedule& s, const Step& step, const target::Target& t) {
  return std::max(0.0, t.l2_latency_clk + kLagClk * s.warpgroups - (s.stages - 1) * step.length);
}

// Of tile `i`, what its warpgroups compute in the mean: each passes over the blocks that only
// others need, which leaves these the pipes.
TestedBlocks own_blocks(const TileRows& rows, size_t i, const Schedule& s) {
  const int parts = s.row_blocks();
  TestedBlocks mean;
  for (int part = 0; part < parts; ++part) {
    const RowBlocks own = blocks_of(rows.parts[i * parts + static_cast<size_t>(part)], s.tile_kv);
    mean.full += static_cast<double>(own.full) / parts;
    mean.partial += static_cast<double>(own.partial) / parts;
  }
  return mean;
}

// Of the part that computes most, where others have no row: these shorten no step of it. Of calls
// of one tile a head alone: longer ones were fitted, as kExposed in step.cpp, by the mean.
double blocks_beside_none(const TileRows& rows, size_t i, const Schedule& s) {
  if (rows.count > 1) return 0;
  const auto parts = static_cast<size_t>(s.row_blocks());
  int64_t most = 0, least = std::numeric_limits<int64_t>::max();
  for (size_t part = 0; part < parts; ++part) {
    const RowBlocks own = blocks_of(rows.parts[i * parts + part], s.tile_kv);
    most = std::max(most, own.full + own.partial);
    least = std::min(least, own.full + own.partial);
  }
  return least == 0 ? static_cast<double>(most) : 0;
}

// Of three warpgroups the first and the last are most of a step apart, and two stages have no room
// for that and for rows that take long to come: tiles of 192 rows took 1.06 to 1.20 times as long
// by two stages as by three or four (head dims 72 and 88, H100, docs/ladder.md, run U).
constexpr double kOddRowsWait = 1.1;
bool waits_for_odd_rows(const Kernel& kernel, const Schedule& s) {
  const bool odd = has_odd_rows(kernel.head_dim_qk) || has_odd_rows(kernel.head_dim_v);
  return odd && s.warpgroups == 3 && s.stages == 2;
}

// Blocks of a tile whose values come as a state: of whole chunks, from the first key on.
double far_blocks(const RowBlocks& loaded, const Schedule& s, int chunk_keys) {
  const int64_t chunks = loaded.full * s.tile_kv / chunk_keys;
  const int64_t blocks = chunks * (chunk_keys / s.tile_kv);
  return static_cast<double>(blocks);
}

}  // namespace

// Of a tile of so many blocks. The ring holds those of further tiles if they are short: nobody
// waits for keys while these are begun and ended.
double CostModel::Steps::beyond(double blocks, int stages) const {
  const double own = fixed + start * std::min(1.0, blocks / kFewBlocks);
  const double tiles_ahead = std::floor((stages - 1) / std::max(1.0, blocks));
  return own + std::max(0.0, refill - tiles_ahead * own);
}

// What the output's elements take beyond a factor of their row. Their warpgroups end a tile
// together, and what is read was asked for at its beginning: it comes from the L2.
double CostModel::output_clk(const Schedule& s) const {
  const target::Target& t = target_;
  const expr::OperationCounts& n = kernel_.output;
  const double issued = (n.special + n.multiply + n.logic + n.load) / (t.warp * t.issue);
  double clk = std::max(n.special / t.special, issued);
  clk += kernel_.column_bytes * t.cores * t.clock_hz / t.l2_bytes_per_s;
  const double trip = kernel_.column_bytes > 0 ? t.l2_latency_clk : 0;
  return trip + clk * s.tile_q() * kernel_.output_columns();
}

// Until rows of tables are there: a trip, of which the first product covers little, a dozen
// instructions for each 16 bytes of a lane, and the memory, of which nobody asked before.
double CostModel::tables_clk(const Schedule& s) const {
  if (kernel_.table_bytes == 0) return 0;
  const target::Target& t = target_;
  const double bytes = kWarpgroupRows * s.warpgroups * kernel_.table_bytes;
  return t.l2_latency_clk + 12 * bytes / 16 / (t.warp * t.issue) +
         bytes * t.cores * t.clock_hz / t.memory_bytes_per_s;
}

// Of a tile, beyond its steps. The output is scaled, goes through shared memory (written, then read
// by TMA) and waits for the warpgroup three times. A warpgroup's first scores and weights and its
// last output have nothing of its own beside them; of several, others' work covers all but a share.
double CostModel::fixed_clk(const Schedule& s, const Resources& resources,
                            const Steps& steps) const {
  const target::Target& t = target_;
  const double output_bytes = kElement * s.tile_q() * kernel_.output_columns();
  double clk = 2 * output_bytes / t.shared_bytes_per_clk +
               kWarpgroupRows * s.warpgroups * kernel_.head_dim_v / t.multiply + 3 * t.barrier_clk +
               t.mbarrier_clk;
  clk += output_clk(s) + tables_clk(s);
  clk += steps.first.matrix / s.warpgroups;
  if (s.overlap == Overlap::IntraWarpgroup) clk += steps.first.chain / s.warpgroups;
  // Of two maps one warpgroup leaves its fp32 output for the other to add.
  if (kernel_.maps > 1) clk += 4 * output_bytes / t.shared_bytes_per_clk + 2 * t.barrier_clk;
  // Without room for the next tile's queries each warpgroup fetches its own in between, once its
  // output has left their memory: two trips.
  if (resources.query_stages < 2) {
    const double query_bytes = kElement * kWarpgroupRows * kernel_.head_dim_qk;
    clk += 2 * t.l2_latency_clk + query_bytes * t.cores * t.clock_hz / t.l2_bytes_per_s;
  }
  if (s.grid == Grid::Plain) clk += t.memory_latency_clk + t.wave_s * t.boost_clock_hz;
  return clk;
}

CostModel::Steps CostModel::steps_of(const Schedule& s, const Resources& resources) const {
  const target::Target& t = target_;
  const Block full = resources.forms.near  ? Block::Near
                     : resources.fixed_max ? Block::Full
                                           : Block::First;
  const int together = resources.blocks_per_core;
  const Kernel& kernel = kernel_.of(s, resources.forms.tables);
  Steps steps;
  steps.first = step_of(kernel, s, t, Block::First, together);
  steps.full = step_of(kernel, s, t, full, together);
  steps.partial = step_of(kernel, s, t, Block::Partial, together);
  if (resources.forms.far) steps.far = step_of(kernel, s, t, Block::Far);
  Schedule part = s;
  part.warpgroups = s.warpgroups / s.row_blocks();
  steps.alone = step_of(kernel, part, t, full).length;
  if (waits_for_odd_rows(kernel_, s)) {
    for (Step* const step : {&steps.first, &steps.full, &steps.partial}) {
      step->length *= kOddRowsWait;
    }
  }
  steps.fixed = fixed_clk(s, resources, steps);
  steps.start = kTileClk * s.warpgroups;
  steps.refill = refill_clk(s, steps.full, t);
  return steps;
}

CostModel::Steps CostModel::with_copies(Steps steps, const Schedule& s) const {
  for (Step* const step : {&steps.first, &steps.full, &steps.partial}) {
    step->length += copied_bias_clk(kernel_, s);
  }
  return steps;
}

const std::vector<TestedBlocks>& CostModel::tested(const Schedule& s,
                                                   const spec::Workload& w) const {
  const int queries = s.queries(kernel_.group());
  const TileShape shape{s.row_blocks(), queries, s.tile_kv};
  const auto [entry, is_new] = tested_.try_emplace({masked_call(w), shape});
  if (is_new) {
    entry->second = tester_of(w).ask(places_of(rows_.of(s, w), w.seq_q, queries),
                                     {w.seq_q, w.seq_kv, s.tile_kv});
  }
  return entry->second;
}

CostModel::Tiles CostModel::tiles_of(const Schedule& s, const Steps& steps, const spec::Workload& w,
                                     const Sharing& sharing) const {
  const int turns = sharing.turns;
  const TileRows& rows = rows_.of(s, w);
  const std::vector<TestedBlocks>* const asked = kernel_.test ? &tested(s, w) : nullptr;
  const bool sums = attention::sums_products(kernel_.rows);  // of far keys
  Tiles tiles;
  tiles.per_entry = rows.stride;
  tiles.clk.reserve(rows.keys.size());
  for (size_t i = 0; i < rows.keys.size(); ++i) {
    const RowBlocks loaded = blocks_of(rows.keys[i], s.tile_kv);
    TestedBlocks own = asked != nullptr ? (*asked)[i] : own_blocks(rows, i, s);
    double blocks = asked != nullptr ? own.full + own.partial
                                     : static_cast<double>(loaded.full + loaded.partial);
    if (kernel_.most_keys > 0 && blocks > 0) {
      const double named = std::min(1.0, kernel_.most_keys / (blocks * s.tile_kv));
      own = {own.full * named, own.partial * named};
      blocks *= named;
    }
    const double far =
        sharing.has_states ? far_blocks(loaded, s, chunk_keys(kernel_.head_dim_qk)) : 0;
    const double full = std::max(0.0, own.full - far);
    const double state_slots = far > 0 ? 2.0 * kernel_.head_dim_v / kStateRows : 0;
    const double summed = sums ? far : 0;
    tiles.blocks += blocks;
    tiles.own += own.full + own.partial;
    tiles.visited += turns * (blocks - far) + summed / 2;  // of far ones no values
    tiles.state_slots += turns * state_slots;
    // Of the split that has most; a mean need not be whole.
    const double most =
        sharing.splits > 1 ? std::ceil(blocks / static_cast<double>(sharing.splits)) : blocks;
    const double share = blocks > 0 ? most / blocks : 1;
    const double of_all = full * steps.full.length + own.partial * steps.partial.length;
    const bool is_known = asked == nullptr && kernel_.block_size == 0 && far == 0;
    const double of_one = is_known ? blocks_beside_none(rows, i, s) * steps.alone : 0;
    const double turn = steps.beyond(most, s.stages) + share * std::max(of_all, of_one) +
                        state_slots * steps.far.length;
    tiles.clk.push_back(turns * turn + summed * steps.far.length);
  }
  if (!sharing.are_even) {
    // One tile in two is taken to be three times as long as the other, all of them to visit what
    // the mask leaves.
    const size_t count = tiles.clk.size();
    for (size_t i = 0; i < count; ++i) {
      tiles.clk.push_back(tiles.clk[i] * 1.5);
      tiles.clk[i] *= 0.5;
    }
    tiles.per_entry /= 2;
  }
  return tiles;
}

}  // namespace attngen::schedule
