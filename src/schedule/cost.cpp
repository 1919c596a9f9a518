#include "schedule/cost.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <numeric>
#include <span>

#include "attention/given.h"
#include "schedule/block_rows.h"
#include "schedule/cost_tiles.h"
#include "schedule/grid.h"
#include "schedule/scan.h"
#include "schedule/splits.h"
#include "schedule/units.h"

namespace attngen::schedule {
namespace {

// Of tile rows, where each of a row's blocks is asked for.
constexpr int64_t kMostTestedRows = 64;

// Keys and values of the heads whose tiles stand side by side in the longest-first order, as the
// template has it.
constexpr double kSectionBytes = 16 << 20;

// Whole kernels draw more than the loops of products and exponentials that the hardware file's
// clocks were measured with: loads, stores, L2. At 16384 keys of head dim 128 the tensor cores are
// busy for 93 % of softmax's time and 95 % of ReLU's (ncu); at the 734 and 787 TFLOP/s of a hot
// card that makes 1.46 and 1.53 GHz, where the loops' clocks make 1.59 and 1.65. The fit, as of
// kExposed in step.cpp, says the same.
constexpr double kWholeKernel = 1.35;

// The clock under the power limit falls with the share of time that the tensor cores are busy: from
// the boost clock towards that of a pure product loop, or lower if the special units run beside it.
double clock_under_load(const target::Target& t, double matrix_share, double special_share) {
  const double products_alone = t.matrix_flop_sustained / (t.cores * t.matrix_flop);
  // clock_hz was measured with the special units 0.4 busy.
  const double beside = matrix_share > 0 ? std::min(1.0, special_share / matrix_share / 0.4) : 0;
  const double loaded = products_alone + beside * (t.clock_hz - products_alone);
  return t.boost_clock_hz - kWholeKernel * matrix_share * (t.boost_clock_hz - loaded);
}

// Cores that are not in step with one another ask the L2 for different keys, and are taken to wait
// for each other there the longer the more of its rate they use; in linear order those of a head
// ask for the same ones. Of the time, at the full rate. Fitted, as kExposed in step.cpp is: tiles
// of 128 rows read 1.5 times what those of 192 do, and lose to them in long causal calls as they do
// not in long ones without a mask. Kernels that the fit had not seen are predicted better with it,
// best with the second of the powers 1 to 4. What the cores wait for was not measured. The fit said
// 0.06; ReLU over 4096 keys of 32 heads (1 % between 192x64 and 128x128) asks for more, and the
// fitted half is chosen for better with it: 1.0027 of the fastest in the mean, where it was 1.0035.
constexpr double kL2Crowded = 0.08;

void crowd(PointCost& p) {
  const double share = std::min(1.0, p.l2_seconds / p.core_seconds);
  const double longer = 1 + kL2Crowded * share * share;
  p.core_seconds *= longer;
  p.crowded = 1 - 1 / longer;
  p.idle /= longer;
}

// What runs side by side takes as long as the longest of it, and longer where another is nearly as
// long: they wait for each other. Where memory bounds a call it tells apart tiles whose bytes are
// the same: on an H100 (2026-11-23) the first of such a tie took 1.25 times as long as the fastest.
// Of the powers 4, 6, 8 and 12 this one leaves the choices where cores are the bound as they were.
double side_by_side(std::initializer_list<double> seconds) {
  constexpr double kPower = 12;
  double sum = 0;
  for (const double each : seconds) sum += std::pow(each, kPower);
  return std::pow(sum, 1 / kPower);
}

// A call ends with its last tile, and one whose warpgroups weigh at the same time is late. The more
// tiles a core has, the less it matters: beside kernels whose warpgroups take turns, 128x128 takes
// 26 % longer at one tile a core, 6 at two, -1 to 3 at four, -1 at eight and more. Other scores and
// weights take 0 to 7 % longer at one, 0 to 5 at two. Where tiles differ, by a causal mask, it
// takes -1 to 2 % longer at any number (H100, 2026-11-27, a throw-away script). The square is the
// simplest form that chooses by these times; why it falls so fast was not measured.
double late_clk(const Step& full, double blocks_of_tile, double waves) {
  const double tiles = std::max(1.0, waves);
  return full.in_phase * blocks_of_tile / (tiles * tiles);
}

// The kernel that makes the states takes this for 64 keys, a block. H200, 2026-11-22 and 23: of 64
// columns 0.26 at 16384 keys, 0.39 at 4096; of 128 columns 0.41 and 0.51.
constexpr double kSliceSeconds = 0.4e-6;

// By which states make a call longer. While far keys are summed their kernel takes some of the
// cores from the main one, else all wait for it.
double seconds_of_states(const Kernel& kernel, const spec::Workload& w, bool sums,
                         const target::Target& t) {
  const double blocks = static_cast<double>(w.batch) * kernel.heads_q * kernel.value_parts *
                        kernel.head_dim_v / kStateRows * kernel.head_dim_qk /
                        state_columns(sums, kernel.head_dim_qk);
  const double waves = sums ? blocks / t.cores : std::ceil(blocks / t.cores);
  const int chunk = chunk_keys(kernel.head_dim_qk);
  const int64_t chunks = w.seq_kv / chunk;
  const double slices = static_cast<double>(chunks) * chunk / kStateRows;
  return waves * slices * kSliceSeconds;
}

// The search takes milliseconds; where every block is asked about, a few rows must do.
int64_t most_rows_of(const Kernel& kernel) {
  return rows_of_each(kernel.workload, kernel.test ? kMostTestedRows : kMostRows);
}

// Whether what a call holds decides how many blocks a tile visits.
bool tiles_by_data(const Kernel& kernel) {
  const attention::KeyRange& range = kernel.range;
  return !expr::inputs_of(range.begin).empty() || !expr::inputs_of(range.end).empty() ||
         (kernel.test && !expr::inputs_of(kernel.test->kept).empty());
}

// TMA takes no rows of biases that begin between multiples of 16 bytes, as shifted ones mostly do.
bool copies_biases(const Kernel& kernel, const spec::Workload& w) {
  return kernel.bias_bytes > 0 && (kernel.bias_shifted || w.seq_kv * kernel.bias_bytes % 16 != 0);
}

// Heads, of all batches, that read the same biases.
double readers_of_biases(const Kernel& kernel, const spec::Workload& w) {
  return static_cast<double>(kernel.bias_sharing) *
         (kernel.batches_share ? static_cast<double>(w.batch) : 1);
}

// Of pairs a clk that a core asks a mask of before the kernel: bytes, 33.5 million took 18 us
// beside the launch (H200, 2026-11-26, a throw-away script, 128x128).
constexpr double kAskedPairs = 8;

// Of lists' keys a clk that a core marks: 117 million in 161 us (H200, 2026-11-30, ncu, the prepass
// of 32/8 heads, lists of 2048 of 8192 keys, docs/ladder.md, AR).
constexpr double kMarkedKeys = 2.8;

// A tile's lists are read once for as many blocks of keys as have their bits in shared memory.
double marking_seconds(const Kernel& kernel, const Schedule& s, const spec::Workload& w,
                       const target::Target& t) {
  const int64_t blocks = (w.seq_kv + s.tile_kv - 1) / s.tile_kv;
  const int64_t at_once = listed_blocks(s, kernel.group());
  const int64_t reads = (blocks + at_once - 1) / at_once;
  const double lists = static_cast<double>(w.batch * w.seq_q) * kernel.heads_kv;
  return lists * static_cast<double>(reads) * kernel.masked_room /
         (kMarkedKeys * t.cores * t.boost_clock_hz);
}

double asking_seconds(const Kernel& kernel, const Schedule& s, const spec::Workload& w,
                      const target::Target& t) {
  if (kernel.masked_room > 0) return marking_seconds(kernel, s, w, t);
  if (!kernel.test || !attention::asks_pairs(*kernel.test)) return 0;
  const expr::Expr& mask = kernel.test->tables.front().value;
  const double planes = (expr::mentions(mask, "b") ? static_cast<double>(w.batch) : 1) *
                        (expr::mentions(mask, "h_kv") ? kernel.heads_kv : 1);
  return planes * static_cast<double>(w.seq_q) * static_cast<double>(w.seq_kv) /
         (kAskedPairs * t.cores * t.boost_clock_hz);
}

// A kernel that sorts sequences or fills tables comes before the main one.
double launch_seconds(const Kernel& kernel, const target::Target& t) {
  const bool prepares = kernel.varlen || (kernel.test && !kernel.test->tables.empty());
  return t.launch_s * (prepares ? 2 : 1);
}

// The kernel that joins splits is launched beside the main one, and ends later. 8.6 MB that the one
// leaves and the other reads make a call 5 us longer (H100, 2026-11-27, throw-away scripts).
constexpr double kJoinSeconds = 3.5e-6, kPartBytesPerS = 3.4e12;

// The same kernel that finds nothing to join: at most so much, of 64 sequences that took 511 us
// with it and without (H200, 2026-11-27, a throw-away script).
constexpr double kNoJoinSeconds = 1e-6;

double joining_seconds(const Kernel& kernel, const spec::Workload& w, int64_t splits) {
  const double rows =
      static_cast<double>(w.batch * w.seq_q) * kernel.heads_q * kernel.value_parts * kernel.maps;
  const auto part = part_bytes(kernel.output_columns(), kernel.rows.reductions.size());
  return kJoinSeconds + 2 * rows * static_cast<double>(splits * part) / kPartBytesPerS;
}

// A packed sequence that is never split, much longer than the others, may end the call. One is
// taken to be so many times as long as the mean: a long text among those of a batch.
constexpr double kLongSequence = 8;

double longest_clk(const std::vector<double>& clk, const spec::Workload& w) {
  const double sum = std::accumulate(clk.begin(), clk.end(), 0.0);
  const double mean = sum / static_cast<double>(std::max<size_t>(1, clk.size()));
  return mean * std::min(kLongSequence, static_cast<double>(w.batch));
}

// Splits begin when the memory has brought a block of keys to each of them, its own; and while they
// weigh their last one the memory has nothing to do. In seconds. Without this the schedules chosen
// for 21 such calls took 1.032 times as long as the fastest of 5 to 13, with it 1.021 (H200,
// 2026-11-27, throw-away scripts).
struct SplitEnds {
  double first = 0, last = 0;
};

// The share that tiles' keys are apart, below which they are taken to be alike.
constexpr double kAlike = 0.05;

// In waves of such tiles the last one leaves cores idle, and memory with them: 160 tiles of one
// query and 16384 keys took 377 us, four splits of each 312 (H200, 2026-11-27, a throw-away
// script).
double seconds_of_waves(const PointCost& p, const SplitEnds& ends) {
  const double whole = std::floor(p.waves);
  const auto seconds = [&](double of_time, double of_work, const SplitEnds& own) {
    return side_by_side({of_time * p.core_seconds + own.first, of_work * p.l2_seconds,
                         of_work * p.memory_seconds + own.last});
  };
  if (whole == 0 || whole == p.waves) return seconds(1, 1, ends);
  const double time = whole / (whole + 1), work = whole / p.waves;
  return seconds(time, work, ends) + seconds(1 - time, 1 - work, {});
}

// TMA takes so many times as long for rows that begin at odd multiples of 16 bytes: those of head
// dims that are no multiple of 16. On an H100 rows of 136 and 200 elements came at 18 and 20 bytes
// a clk and core, of 88 at 14, where others come at 33 (docs/ladder.md, run U).
constexpr double kOddRows = 1.8;
double slowed(int head_dim) { return has_odd_rows(head_dim) ? kOddRows * head_dim : head_dim; }

// Of what tiles of the parts of the values read, the share that comes from memory: side by side,
// they find the keys that they share in the L2.
double share_once(const Kernel& kernel) {
  const double keys = kernel.maps * kernel.head_dim_qk, parts = kernel.value_parts;
  return (keys + parts * kernel.head_dim_v) / (parts * (keys + kernel.head_dim_v));
}

// The time of rows that threads copy, over that of TMA's boxes: two warps of a block alone do not
// keep the L2 busy. H200, 2026-11-29 (throw-away scripts), lists of 2048 keys of 8192, causal: 64
// heads of 4, head dim 128, 4.37 ms, where TMA's boxes are predicted to take 3.9; 128 latent heads
// 7.73 ms. Of one block a core none but latent heads were timed.
double gathering(const Kernel& kernel, const Resources& resources) {
  if (kernel.list_room == 0) return 1;
  return resources.blocks_per_core == 2 ? 1.15 : 1.6;
}

}  // namespace

double bytes_of_query(const Kernel& kernel) {
  return kElement * kernel.maps * kernel.head_dim_qk +
         (kElement + kernel.column_bytes) * kernel.output_columns() + kernel.table_bytes;
}

double bytes_of_keys(const Kernel& kernel, int64_t keys) {
  return kElement * static_cast<double>(keys) *
         (kernel.maps * kernel.head_dim_qk + kernel.loaded_columns());
}

double flop_of_pairs(const Kernel& kernel, double pairs) {
  return 2 * pairs * kernel.maps *
         (static_cast<double>(kernel.head_dim_qk) / kernel.value_parts + kernel.output_columns());
}

CostModel::CostModel(const Kernel& kernel, const target::Target& target)
    : kernel_(kernel),
      target_(target),
      most_rows_(most_rows_of(kernel)),
      rows_(kernel, most_rows_) {}

BlockTester& CostModel::tester_of(const spec::Workload& w) const {
  const auto known = testers_.find(w.values);
  if (known != testers_.end()) return known->second;
  return testers_.emplace(w.values, attention::given(*kernel_.test, w.values)).first->second;
}

double CostModel::pairs_of_head(const spec::Workload& w) const {
  const auto [entry, is_new] = pairs_.try_emplace(masked_call(w));
  if (is_new) {
    const TileRows single = tile_rows(attention::given(kernel_.range, w.values), w.seq_q, w.seq_kv,
                                      1, most_rows_, kWarpgroupRows, kernel_.mask_heads);
    entry->second = kernel_.test ? single.stride * tester_of(w).pairs(places_of(single, w.seq_q, 1),
                                                                      w.seq_q, w.seq_kv)
                    : kernel_.most_keys > 0 ? pairs_of(single, kernel_.most_keys)
                                            : pairs_of(single);
  }
  return entry->second;
}

// 1 where data decide which blocks a tile visits.
double CostModel::apart_share(const TileRows& rows) const {
  return kernel_.test || kernel_.block_size > 0 ? 1 : spread_of(rows);
}

bool CostModel::uneven_tiles(bool pack_heads) const {
  if (kernel_.block_size > 0 || kernel_.varlen) return true;
  if (rows_.uneven(pack_heads) || tiles_by_data(kernel_)) return true;
  if (pack_heads) return false;
  // Side by side, heads that read the same biases find them in the L2.
  return std::ranges::any_of(
      kernel_.workload, [&](const spec::Workload& w) { return readers_of_biases(kernel_, w) > 1; });
}

std::span<const Order> CostModel::orders(bool pack_heads) const {
  static constexpr Order kBoth[] = {Order::Linear, Order::LongestFirst};
  const std::span<const Order> both(kBoth);
  if (kernel_.list_room > 0) return both.first(1);
  if (uneven_tiles(pack_heads)) return both.last(1);
  return kernel_.test ? both : both.first(1);
}

Cost CostModel::operator()(const Schedule& s, const Resources& resources) const {
  const Steps steps = steps_of(s, resources);
  const Steps copying = with_copies(steps, s);
  Cost cost;
  cost.matrix_clk = steps.full.matrix;
  cost.special_clk = steps.full.special;
  cost.issue_clk = steps.full.arithmetic;
  cost.shared_clk = steps.full.shared;
  cost.step_clk = steps.full.length;
  std::vector<PointCost> points;
  points.reserve(kernel_.workload.size());
  for (const spec::Workload& w : kernel_.workload) {
    points.push_back(point(s, resources, copies_biases(kernel_, w) ? copying : steps, w));
  }
  add_points(cost, points, kernel_.workload, target_);
  return cost;
}

// Every block is read from the L2, `blocks` in all. From memory come once the inputs that are read,
// and keys and values again where those of the tiles in flight do not stay in the L2: cores /
// (tiles of a head) heads at a time, whose groups share them.
CostModel::Traffic CostModel::traffic(const Schedule& s, const spec::Workload& w, double heads,
                                      double tile_heads, double blocks) const {
  const target::Target& t = target_;
  const double step_bytes = bytes_of_keys(kernel_, s.tile_kv);
  const double query_bytes = static_cast<double>(w.seq_q) * heads * bytes_of_query(kernel_);
  const double loads = blocks * loads_of_kept(kernel_, s);
  const double read = loads * step_bytes;
  const double read_of_l2 =
      loads * kElement * s.tile_kv *
      (kernel_.maps * slowed(kernel_.head_dim_qk) + slowed(kernel_.loaded_columns()));
  const double head_bytes = bytes_of_keys(kernel_, w.seq_kv);
  // Tiles of one row with the same keys.
  const double sharing = s.pack_heads ? head_parts(kernel_.group()) : kernel_.group();
  // Few queries read no key but their window's.
  const double most = kernel_.block_size > 0 ? read : read / sharing;
  const double once =
      share_once(kernel_) * std::min(most, head_bytes * static_cast<double>(w.batch) *
                                               kernel_.heads_kv * kernel_.value_parts);
  const double heads_in_flight =
      std::min(tile_heads, std::ceil(t.cores / static_cast<double>(rows_.of(s, w).count)));
  const double in_flight = std::ceil(heads_in_flight / sharing) * head_bytes;
  // In linear order the tiles of a head run side by side and read its keys together; so do tiles
  // that have the same keys in any order.
  const double missed =
      s.order == Order::Linear ? 0 : apart_share(rows_.of(s, w)) * missed_share(in_flight, t);
  // A section's heads have their tiles side by side.
  const double section = std::max(1.0, kSectionBytes / head_bytes) * kernel_.group();
  const double sharing_biases =
      s.order == Order::LongestFirst ? std::min(readers_of_biases(kernel_, w), section) : 1;
  const int64_t rows = w.seq_q * (s.pack_heads ? s.rows_of_query(kernel_.group()) : 1);
  const auto rows_of_tile = static_cast<double>(std::min<int64_t>(s.tile_q(), rows));
  const double biases = blocks * kernel_.bias_bytes * rows_of_tile / kernel_.bias_group * s.tile_kv;
  return {(read_of_l2 + query_bytes + biases) / t.l2_bytes_per_s,
          (once + query_bytes + biases / sharing_biases + missed * std::max(0.0, read - once)) /
              t.memory_bytes_per_s};
}

PointCost CostModel::point(const Schedule& s, const Resources& resources, const Steps& steps,
                           const spec::Workload& w) const {
  const target::Target& t = target_;
  const TileRows& rows = rows_.of(s, w);
  const bool sums = attention::sums_products(kernel_.rows);  // of far keys
  const bool has_states =
      resources.forms.far && w.seq_q >= fewest_far_queries(sums, kernel_.head_dim_qk);
  // Each part of the values has tiles as a head of its own would, if a tile does not take all.
  const double heads = static_cast<double>(w.batch) * kernel_.heads_q * kernel_.value_parts;
  const int turns = has_states && resources.parts_in_turn ? kernel_.value_parts : 1;
  const int64_t splits = splits_of(s, resources, split_heads(kernel_), w);
  // What has tiles of its own: a query head, or those of a group that share them.
  const double tile_heads =
      s.pack_heads ? heads / kernel_.group() * head_parts(kernel_.group()) : heads / turns;
  const int places = t.cores * resources.blocks_per_core;

  const bool own_lengths = kernel_.varlen && kernel_.list_room == 0;  // of each sequence's tiles
  const bool has_lengths = own_lengths && w.batch > 1;
  const bool may_split = most_parts(s, resources, split_heads(kernel_), w) > 0;
  // Which blocks are kept, and how long each packed sequence is, is known at run time alone. By the
  // lengths splits are shared out.
  const bool keeps_some = kernel_.block_size > 0 && kernel_.most_keys == 0;
  const bool are_even = !keeps_some && (!has_lengths || splits > 1);
  const Tiles tiles = tiles_of(s, steps, w, {has_states, turns, splits, are_even});
  const double scale = rows.stride * tile_heads;  // from the rows at hand to all tiles
  const double read = tiles.visited * scale, read_per_core = read / places;
  const double blocks_of_tile =
      tiles.blocks / static_cast<double>(std::max<size_t>(1, rows.keys.size()) * splits);
  const double shares = tile_heads * static_cast<double>(splits);
  const double waves = static_cast<double>(rows.count) * shares / places;
  const bool are_alike = apart_share(rows) < kAlike && !tiles_by_data(kernel_) && !own_lengths;
  // Alike ones come in no other order than this, whatever it is called.
  const bool is_linear = s.order == Order::Linear || are_alike;
  const double longest = has_lengths && !may_split ? longest_clk(tiles.clk, w) : 0;
  const double clk =
      std::max(longest,
               makespan({&tiles.clk, tiles.per_entry, shares, kernel_.row_order.first_longest},
                        places, s.grid, s.order)) +
      (is_linear && !kernel_.test ? late_clk(steps.full, blocks_of_tile, waves) : 0);
  const double busy = std::accumulate(tiles.clk.begin(), tiles.clk.end(), 0.0) *
                      (tiles.per_entry * shares) / places;

  PointCost p;
  // A slot of a state takes one product, a block's two.
  p.blocks = (tiles.visited + tiles.state_slots / 2) * scale / places;
  p.tile_clk = turns * steps.beyond(blocks_of_tile, s.stages);
  p.clock = clock_under_load(t, read_per_core * steps.full.matrix / clk,
                             read_per_core * steps.full.special / clk);
  p.core_seconds = clk / p.clock;
  p.idle = clk > 0 ? std::max(0.0, 1 - busy / clk) : 0;
  p.waves = waves;
  p.splits = static_cast<double>(splits);
  double pairs = pairs_of_head(w) * heads;
  if (kernel_.masked_room > 0) {
    pairs = std::min(pairs, heads * static_cast<double>(w.seq_q) * kernel_.masked_room);
  }
  p.flop = flop_of_pairs(kernel_, pairs);
  const double visited = tiles.own * scale * turns * s.tile_q() * s.tile_kv;
  const bool are_counted = kernel_.test || !kernel_.tested_mask;  // one by one, or by their ends
  p.existing = are_counted && visited > 0 ? std::min(1.0, pairs / visited) : 0;
  const Traffic moved = traffic(s, w, heads, tile_heads, read);
  p.l2_seconds = moved.l2_seconds * gathering(kernel_, resources);
  p.memory_seconds = moved.memory_seconds;
  if (!is_linear) crowd(p);
  p.launch_seconds = launch_seconds(kernel_, t);
  p.asking_seconds = asking_seconds(kernel_, s, w, t);
  if (has_states) p.states_seconds = seconds_of_states(kernel_, w, sums, t);
  if (s.scan && scans(kernel_.heads_q, kernel_.head_dim_v, w)) {
    p.scan = scan_time(kernel_, w, t);
  }
  SplitEnds ends;
  if (splits == 1 && may_split) p.join_seconds = kNoJoinSeconds;
  if (splits > 1) {
    p.join_seconds = joining_seconds(kernel_, w, splits);
    const double first_bytes = std::min<double>(places, shares) * bytes_of_keys(kernel_, s.tile_kv);
    ends = {first_bytes / t.memory_bytes_per_s, steps.full.length / p.clock};
  }
  p.seconds = (are_alike ? seconds_of_waves(p, ends)
                         : side_by_side({p.core_seconds + ends.first, p.l2_seconds,
                                         p.memory_seconds + ends.last})) +
              p.launch_seconds + p.asking_seconds + p.states_seconds + p.join_seconds;
  return p;
}

}  // namespace attngen::schedule
