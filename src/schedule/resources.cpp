#include "schedule/resources.h"

#include <fmt/format.h>

#include <algorithm>

#include "schedule/register_need.h"
#include "schedule/splits.h"
#include "schedule/units.h"

namespace attngen::schedule {
namespace {

constexpr int kMaxColumns = 256;  // of one wgmma
constexpr int kNarrowChunk = 32;  // columns of the narrower of the two chunks
constexpr int kAlignment = 1024;  // of the tiles, and so of all of it
constexpr int kBarrier = 8;       // bytes of one

// setmaxnreg targets of the producer and of the consumers, by number of consumers: multiples of 8
// whose sum over all threads fits the registers that the launch grants (168 x 384, 128 x 512,
// 96 x 640; beyond that the kernel hangs). Those of 2 and 3 consumers are FlashAttention-3's.
struct RegisterPlan {
  int producer, consumer;
};
constexpr RegisterPlan kRegisterPlans[] = {{56, 240}, {24, 240}, {32, 160}, {24, 112}};
// Where two of the producer's warps copy biases: their addresses take more than 24.
constexpr RegisterPlan kCopyingPlans[] = {{56, 240}, {40, 232}, {32, 160}, {32, 112}};
// Where one of them looks for blocks or for a sequence, or two gather keys.
constexpr RegisterPlan kSearchingPlans[] = {{56, 240}, {40, 232}, {56, 152}, {32, 112}};
// Where it looks for the blocks of each warpgroup, for two at a time, for those of a part of the
// values, or for those of a share of a packed sequence's keys; or copies rows of pages.
constexpr RegisterPlan kMergingPlans[] = {{96, 240}, {56, 224}, {56, 152}, {56, 104}};

// Whether the scout looks for blocks of a share of a packed sequence's keys, or of a part of its
// values: beside the blocks it keeps where the sequence lies, and which share or part it is.
bool holds_packed_shares(const Kernel& kernel, const Schedule& s) {
  return kernel.block_size > 0 && kernel.varlen && (s.split_keys || kernel.value_parts > 1);
}

// Of two blocks a core, with one consumer each: 128 x 256 at the launch. The second where one of
// the producer's warps reads what several rows keep, or for a share of a packed sequence's keys, or
// gathers keys.
constexpr RegisterPlan kSharedCorePlan{40, 216}, kSharedMergingPlan{56, 200};
constexpr int kReservedBytes = 1024;  // of shared memory, by the system for every block

const RegisterPlan& shared_core_plan(const Kernel& kernel, const Schedule& s) {
  const bool merges = rows_differ(s, kernel.block_queries, kernel.group()) ||
                      holds_packed_shares(kernel, s) || kernel.list_room > 0 ||
                      copies_rows(kernel, s);
  return merges ? kSharedMergingPlan : kSharedCorePlan;
}

const RegisterPlan& register_plan(const Kernel& kernel, const Schedule& s, int blocks_per_core) {
  if (blocks_per_core == 2) return shared_core_plan(kernel, s);
  const bool sparse = kernel.block_size > 0;
  const bool merges = rows_of_blocks(s, kernel.block_queries, kernel.group()) > 1 ||
                      gathers(s, kernel.block_size) || (sparse && kernel.value_parts > 1) ||
                      holds_packed_shares(kernel, s) || copies_rows(kernel, s);
  if (merges) return kMergingPlans[s.warpgroups - 1];
  const bool searches = kernel.has_scout() || kernel.varlen || kernel.list_room > 0;
  if (searches) return kSearchingPlans[s.warpgroups - 1];
  return (kernel.bias_bytes > 0 ? kCopyingPlans : kRegisterPlans)[s.warpgroups - 1];
}

// Columns as the template stores them (its chunk_columns): in chunks of 64 (128 bytes), the widest
// span of the TMA swizzle, or of 32 where that pads less and rows begin at multiples of 32 bytes.
int padded_columns(int columns) {
  const bool pads_less = (columns + 31) / 32 % 2 != 0;
  const bool odd_rows = columns > kNarrowChunk && has_odd_rows(columns);
  return round_up(columns, pads_less && !odd_rows ? kNarrowChunk : 64);
}

int tile_bytes(int rows, int columns) { return rows * padded_columns(columns) * kElement; }

int bytes_of(const Tensor& tensor) {
  // Elements of four bytes stand as two columns.
  const int columns = tensor.cols * tensor.element_bytes / kElement;
  return tensor.place == Place::Shared ? tensor.stages * tile_bytes(tensor.rows, columns) : 0;
}

// Of two sides, which hand their weights to one another: whether these have room where a block's
// keys have columns that are no values.
bool has_weights_in_keys(const Kernel& kernel, const Schedule& s) {
  if (kernel.sides == 1) return false;
  const int free_columns = padded_columns(kernel.head_dim_qk) - kernel.output_columns();
  return s.tile_kv * free_columns * kElement >= tile_bytes(kWarpgroupRows, s.tile_kv);
}

// The intermediate tensors of a tile. The output leaves through the queries' memory, so the query
// tensor is as wide as the wider of the two.
std::vector<Tensor> tensors_of(const Kernel& kernel, const Schedule& s, int query_stages) {
  const int rows = kWarpgroupRows * s.warpgroups;
  const int query_columns = std::max(kernel.head_dim_qk, kernel.head_dim_v, [](int a, int b) {
    return padded_columns(a) < padded_columns(b);
  });
  std::vector<Tensor> tensors{
      {"query", rows / kernel.sides, kernel.share_kv ? kernel.head_dim_qk : query_columns, kElement,
       Place::Shared, query_stages},
      {"key", s.tile_kv * kernel.maps, kernel.head_dim_qk, kElement, Place::Shared, s.stages},
      {"scores", rows, s.tile_kv, 4, Place::Registers, 1},
      {"weights", kernel.sides > 1 ? kWarpgroupRows : rows, s.tile_kv, kElement, s.weights,
       kernel.sides == 1                ? 1
       : has_weights_in_keys(kernel, s) ? 0
                                        : s.stages},
      {"accumulator", rows, kernel.head_dim_v, 4, Place::Registers, 1}};
  if (!kernel.share_kv) {
    tensors.insert(tensors.begin() + 2,
                   {"value", s.tile_kv, kernel.head_dim_v, kElement, Place::Shared, s.stages});
  }
  if (kernel.bias_bytes > 0 && !kernel.bias_shifted) {
    tensors.push_back({"bias", s.tile_q(), s.tile_kv, kernel.bias_bytes, Place::Shared, s.stages});
  }
  return tensors;
}

// Words, of each warpgroup's block and the next: a key's once, or for each head, eight words apart,
// a distance's twice, a word apart (the template's strips.cuh).
int strip_bytes(const Kernel& kernel, const Schedule& s) {
  constexpr int kWord = 4, kBlocks = 2;
  const int of_distances = round_up(kWarpgroupRows + s.tile_kv, 32) + 16;
  const int of_keys = kernel.strip_heads > 1 ? kernel.strip_heads * (s.tile_kv + 8) : s.tile_kv;
  const int words = of_keys * kernel.key_strips + s.tile_kv * kernel.key_words +
                    (kernel.distance_strip ? 2 * of_distances : 0);
  return s.warpgroups * kBlocks * words * kWord;
}

// What the template's Tile takes.
int tile_bytes(const Kernel& kernel, const Schedule& s) {
  if (!kernel.varlen) return s.split_keys && kernel.value_parts > 1 ? 32 : 16;
  return s.split_keys ? 48 : 32;
}

// Of what the scout finds (the template's find.cuh), of the blocks that it marks, 1024 of each of
// the rows that a tile looks at, and its barriers.
int scout_bytes(const Kernel& kernel, const Schedule& s, int tile) {
  constexpr int kBarriers = 3, kKeyRange = 16, kVisits = 34 * 4, kKeepers = 32 * 8;
  constexpr int kCells = 1024 / 8;
  const bool sparse = kernel.block_size > 0;
  const int rows = sparse ? rows_of_blocks(s, kernel.block_queries, kernel.group()) : 0;
  const int content = kernel.searched_limits                                 ? kKeyRange
                      : rows_differ(s, kernel.block_queries, kernel.group()) ? kVisits + kKeepers
                                                                             : kVisits;
  return kBarriers * kBarrier + round_up(tile + content, 16) + rows * kCells;
}

// What each thread of a side leaves to the other (the template's RowsSoFar): of two rows the
// reductions, or what is empty, and the factors; where the maximum is kept what that needs.
int bytes_of_rows_so_far(const Kernel& kernel, const Schedule& s) {
  constexpr int kWord = 4, kRows = 2;
  const int granted = register_plan(kernel, s, 1).consumer;
  const bool fixed_max = kernel.fixed_max && register_need(kernel, s, true) <= granted;
  const int reductions = static_cast<int>(kernel.rows.reductions.size());
  const int words = (reductions > 0 ? kRows * reductions : 1) + kRows + (fixed_max ? 1 : 0) +
                    (fixed_max && kernel.large_scores ? 1 : 0);
  return kWarpgroupLanes * words * kWord;
}

// What tiles of biases take beyond those that TMA brings: their rows may lie as they do in memory,
// each within one chunk more.
int bytes_of_pitched_biases(const Kernel& kernel, const Schedule& s) {
  constexpr int kCopyChunk = 16;
  if (kernel.bias_bytes == 0) return 0;
  const int row = s.tile_kv * kernel.bias_bytes + kCopyChunk;
  const int by_tma =
      kernel.bias_shifted ? 0 : tile_bytes(s.tile_q(), s.tile_kv * kernel.bias_bytes / kElement);
  return s.stages * std::max(0, s.tile_q() * row - by_tma);
}

// What the template's Shared holds beside its tensors: strips, barriers, tiles, what the producer
// says of each slot, and each row's first and last key where it searches for them.
int bookkeeping_bytes(const Kernel& kernel, const Schedule& s, int query_stages) {
  constexpr int kVisit = 8, kApart = 4, kKeepers = 8, kAnyVisit = 4, kKeyRange = 16, kRowKeys = 8;
  const int tile = tile_bytes(kernel, s);
  const int slots = query_stages * s.warpgroups / kernel.sides;  // of queries, with three barriers
  const int rings = kernel.share_kv ? 2 : 4;  // barriers of a slot of keys and of one of values
  // The last barrier is the tile counter's.
  int bytes = strip_bytes(kernel, s) + kBarrier * (3 * slots + rings * s.stages + 1) + tile * slots;
  if (kernel.searched_limits) {
    bytes += kKeyRange * slots + kRowKeys * kWarpgroupRows * s.warpgroups;
  } else if (kernel.walks || kernel.block_size > 0) {
    const int apart = gathers(s, kernel.block_size) ? kApart : 0;
    const int keepers = rows_differ(s, kernel.block_queries, kernel.group()) ? kKeepers : 0;
    bytes += kAnyVisit * slots + (kVisit + apart + keepers) * s.stages;
  }
  if (kernel.has_scout()) bytes += scout_bytes(kernel, s, tile);
  if (kernel.mask_bits) bytes += s.stages * mask_tile_bytes(s, kernel.group());
  constexpr int kGatherers = 2, kPlace = 4;  // of the warps that gather each its keys at hand
  if (kernel.list_room > 0) bytes += kGatherers * s.tile_kv * kPlace;
  if (kernel.listed_keys) bytes += s.stages * s.tile_kv * kPlace;
  if (copies_rows(kernel, s)) bytes += (kernel.share_kv ? 1 : 1 + s.stages) * s.tile_kv * kPlace;
  if (kernel.sides > 1) bytes += bytes_of_rows_so_far(kernel, s);
  bytes += kWarpgroupRows * s.warpgroups * kernel.table_bytes;
  bytes += bytes_of_pitched_biases(kernel, s);
  constexpr int kBlock = 16;  // with its tile and a barrier a call of who brings some of a block
  if (kernel.bias_bytes > 0) bytes += (s.stages + 1) * (kBarrier + tile + kBlock);
  if (has_values_apart(kernel, s)) bytes += s.stages * (2 * kBarrier + tile + kBlock);
  constexpr int kRank = 1;
  const int ranked =
      ranked_tiles(s, kernel.block_queries, kernel.group(), kernel.masked, kernel.varlen);
  if (ranked > 0) bytes += kBarrier + kRank * ranked;
  return round_up(bytes, kAlignment);
}

int shared_bytes_of(const Kernel& kernel, const Schedule& s, int query_stages) {
  int bytes = bookkeeping_bytes(kernel, s, query_stages);
  for (const Tensor& tensor : tensors_of(kernel, s, query_stages)) bytes += bytes_of(tensor);
  return bytes;
}

// Whether far keys that are summed come without a wait: two blocks of them are read at a time, and
// as many are to be on their way. With two slots in all, long calls took a tenth to a quarter
// longer by states than without (head dims 192/128 and 256, H200, 2026-11-23, a throw-away script).
bool has_slots_for_far_keys(const Kernel& kernel, const Schedule& s) {
  const bool in_values = kernel.head_dim_v >= kernel.head_dim_qk;  // slots of theirs take turns
  return !attention::sums_products(kernel.rows) || (in_values ? 2 : 1) * s.stages >= 4;
}

// A product's columns that an instruction holds beside its operands in the 128 registers of a
// launch of two blocks: of 256 columns ptxas asks for 158.
constexpr int kMostColumnsOfTwo = 160;

// Every tile is one of few steps, a window of a picture: half of its time or more are its start and
// end, which wait for memory.
bool has_short_tiles(const Kernel& kernel) {
  constexpr int64_t kFewKeys = 256;
  return !kernel.workload.empty() && !kernel.varlen &&
         std::ranges::all_of(kernel.workload, [](const spec::Workload& w) {
           return w.seq_q <= kWarpgroupRows && w.seq_kv <= kFewKeys;
         });
}

// One warpgroup alone leaves the tensor cores idle under its own arithmetic. Where a tile cannot be
// higher, since other rows keep other keys or there are no others, a second block beside it fills
// the gaps.
int blocks_per_core(const Kernel& kernel, const Schedule& s, const target::Target& target) {
  const bool has_gaps =
      kernel.block_size > 0 || kernel.list_room > 0 || (kernel.walks && !kernel.searched_limits);
  if (!(has_gaps || has_short_tiles(kernel)) || s.warpgroups > 1) return 1;
  if (std::max(kernel.head_dim_v, s.tile_kv) > kMostColumnsOfTwo) return 1;
  const int shared = shared_bytes_of(kernel, s, 1);
  const bool fits = register_need(kernel, s, false) <= shared_core_plan(kernel, s).consumer &&
                    2 * (shared + kReservedBytes) <= target.shared_bytes_per_core;
  return fits ? 2 : 1;
}

// A step takes a part of one of the caller's blocks, or two of them.
std::string why_steps_unfit(const Kernel& kernel, int tile_kv, int queries) {
  const int size = kernel.block_size;
  if (size % tile_kv == 0) return {};
  if (tile_kv != 2 * size) return fmt::format("{} keys do not divide blocks of {}", tile_kv, size);
  if (!kernel.apart_blocks.empty()) {
    return fmt::format("{} keys are two blocks of {}: {}", tile_kv, size, kernel.apart_blocks);
  }
  if (kernel.block_queries % queries == 0) return {};
  return fmt::format(
      "{} keys are two blocks of {}, which the warpgroups of {} queries do not all keep", tile_kv,
      size, queries);
}

// The rows of blocks that a tile stands in are bits of a number.
constexpr int kMostRows = 64;

std::string why_blocks_unfit(const Kernel& kernel, const Schedule& s) {
  const int queries = s.queries(kernel.group());
  std::string reason = why_steps_unfit(kernel, s.tile_kv, queries);
  if (!reason.empty()) return reason;
  if (s.ping_pong && skips_blocks(s, kernel.block_queries, kernel.group())) {
    return fmt::format(
        "{} queries do not divide blocks of {}: the warpgroups keep different blocks, and there "
        "is no ping-pong",
        queries, kernel.block_queries);
  }
  const int rows = rows_of_blocks(s, kernel.block_queries, kernel.group());
  if (rows > kMostRows) {
    return fmt::format("{} queries stand in {} rows of blocks; a kernel tells {} apart", queries,
                       rows, kMostRows);
  }
  return {};
}

constexpr int kGatheredKeys = 32;  // of a list, at a time: one by each lane of a warp

// A tile has the heads of one query; two of the producer's warps gather its keys and values.
std::string why_lists_unfit(const Kernel& kernel, const Schedule& s) {
  if (!s.pack_heads) return "lists of keys are of the heads of a key head: they share a tile";
  if (s.row_blocks() > 1) return fmt::format("a query has {} rows", kWarpgroupRows);
  if (s.tile_kv % kGatheredKeys != 0) {
    return fmt::format("a warp gathers {} keys at a time; {} are no multiple", kGatheredKeys,
                       s.tile_kv);
  }
  if (kernel.varlen && s.grid != Grid::Persistent) return "packed sequences need a persistent grid";
  return counts_tiles(s) ? "tiles of one query come in linear order" : "";
}

std::string why_too_large(const Kernel& kernel, const Schedule& s, const target::Target& target) {
  // The estimate is a careful one, and a least tile that spills is better than none.
  const int least_keys = kernel.list_room > 0 ? kGatheredKeys : kLeastTileKv;
  const bool least = s.row_blocks() == 1 && s.tile_kv == least_keys;
  const int need = register_need(kernel, s, false);
  const int granted = register_plan(kernel, s, blocks_per_core(kernel, s, target)).consumer;
  if (need > granted && !least) {
    return fmt::format("needs {} registers a thread; with {} a thread gets {}", need,
                       plural(s.warpgroups, "warpgroup"), granted);
  }
  const int bytes = shared_bytes_of(kernel, s, 1);
  if (bytes > target.shared_bytes_per_block) {
    return fmt::format("needs {} bytes of shared memory; {} has {}", bytes, target.name,
                       target.shared_bytes_per_block);
  }
  return {};
}

std::string refusal(const Kernel& kernel, const Schedule& s, const target::Target& target) {
  if (kernel.head_dim_v > kMaxColumns) {
    return fmt::format("head_dim.v is {}; one matrix instruction has at most {} columns",
                       kernel.head_dim_v, kMaxColumns);
  }
  if (s.pack_heads) {
    std::string reason = why_unpackable(kernel);
    if (!reason.empty()) return reason;
  }
  if (s.warpgroups % kernel.maps != 0) {
    return fmt::format("{} cannot share out {} maps of scores, one each",
                       plural(s.warpgroups, "warpgroup"), kernel.maps);
  }
  if (s.warpgroups % kernel.sides != 0) {
    return fmt::format("{} cannot share out {} sides of the values, one each",
                       plural(s.warpgroups, "warpgroup"), kernel.sides);
  }
  const bool in_order = s.overlap == Overlap::None && !s.ping_pong && s.weights == Place::Shared;
  if (kernel.sides > 1 && !in_order) {
    return "two sides of the values weigh blocks by turns: no overlap, no ping-pong, weights in "
           "shared memory";
  }
  if (s.lists_as_mask && kernel.masked_room == 0) {
    return kernel.varlen
               ? "a mask is not made of the lists of packed sequences"
               : "a mask is made of lists of tokens whose keys are distinct; there are none";
  }
  if (s.ping_pong && s.warpgroups < 2) return "ping-pong needs two warpgroups; there is 1";
  if (kernel.varlen && kernel.list_room == 0 && !counts_tiles(s)) {
    return "packed sequences need a persistent grid that starts the longest first";
  }
  if (kernel.block_size > 0) {
    std::string reason = why_blocks_unfit(kernel, s);
    if (!reason.empty()) return reason;
  }
  if (kernel.list_room > 0) {
    std::string reason = why_lists_unfit(kernel, s);
    if (!reason.empty()) return reason;
  }
  return why_too_large(kernel, s, target);
}

}  // namespace

bool copies_rows(const Kernel& kernel, const Schedule& s) {
  if (kernel.page == 0) return false;
  constexpr int kRows = 8;  // of the least box, those that a swizzle spans
  const int keys = page_keys(s, kernel.page, kernel.block_size);
  return keys % kRows != 0 || keys == kRows;
}

bool has_values_apart(const Kernel& kernel, const Schedule& s) {
  constexpr int kMany = 4;
  const bool many =
      copies_rows(kernel, s) || page_copies(s, kernel.page, kernel.block_size) >= kMany;
  return many && !kernel.share_kv && kernel.bias_bytes == 0 && kernel.block_size == 0;
}

bool takes_scan(const Kernel& kernel, const Schedule& s, const Resources& resources) {
  return kernel.has_scan && resources.forms.far && s.weights == Place::Registers;
}

bool has_even_sides(int head_dim_v) {
  constexpr int kSides = 2, kWideChunk = 64;
  return head_dim_v % (kSides * kWideChunk) == 0 && head_dim_v <= kSides * kMaxColumns;
}

ValueParts value_parts(int head_dim_v) {
  const int count = (head_dim_v + kMaxColumns - 1) / kMaxColumns;
  if (count <= 1) return {1, head_dim_v, 1};
  const int least = (head_dim_v + count - 1) / count;
  return {count, (least + kNarrowChunk - 1) / kNarrowChunk * kNarrowChunk, 1};
}

ValueParts value_parts(const spec::Spec& spec) {
  const ValueParts parts = value_parts(spec.head_dim.v);
  if (parts.count == 1 || !spec.v_prefix) return parts;
  return {1, spec.head_dim.v / parts.count, parts.count};
}

// A query's heads stand side by side in the rows of one warpgroup.
std::string why_unpackable(const Kernel& kernel) {
  if (kernel.group() == 1 && kernel.list_room == 0) {
    return "every query head has a key head of its own: none share a tile";
  }
  return kernel.heads_apart;
}

namespace {

Fit fit_kernel(const Kernel& kernel, const Schedule& s, const target::Target& target) {
  std::string reason = refusal(kernel, s, target);
  if (!reason.empty()) return {std::nullopt, std::move(reason)};
  Resources resources;
  resources.threads = kWarpgroupLanes * (s.warpgroups + 1);
  resources.blocks_per_core = blocks_per_core(kernel, s, target);
  resources.places = target.cores * resources.blocks_per_core;
  const RegisterPlan& plan = register_plan(kernel, s, resources.blocks_per_core);
  resources.producer_registers = plan.producer;
  resources.consumer_registers = plan.consumer;
  resources.fixed_max =
      kernel.fixed_max && register_need(kernel, s, true) <= resources.consumer_registers;
  resources.forms.near = kernel.has_near && (resources.fixed_max || !kernel.rows.exponential) &&
                         register_need(kernel, s, true) <= resources.consumer_registers;
  resources.forms.far = kernel.has_far && s.tile_kv == kStateRows && !s.pack_heads &&
                        !s.split_keys && has_slots_for_far_keys(kernel, s) &&
                        register_need_of_far_keys(kernel, s) <= resources.consumer_registers;
  if (s.scan && !takes_scan(kernel, s, resources)) {
    return {std::nullopt,
            "a scan takes causal weights without sums of absolute values, whose far keys come to "
            "tiles of 64 keys as states, and weights in registers"};
  }
  if (kernel.has_strips()) resources.forms.strips = kernel.strips;
  resources.forms.bias = kernel.bias_bytes > 0;
  resources.forms.places = !gathers(s, kernel.block_size);
  const bool differ = rows_differ(s, kernel.block_queries, kernel.group());
  resources.forms.level = resources.fixed_max && resources.forms.places && !differ;
  resources.forms.tables = kernel.table_bytes > 0;
  resources.forms.join = s.split_keys;
  resources.scout = kernel.has_scout();
  resources.values_apart = has_values_apart(kernel, s);
  resources.page_rows = copies_rows(kernel, s);
  resources.parts_in_turn = resources.forms.far && attention::sums_products(kernel.rows) &&
                            kernel.value_parts > 1 && s.grid == Grid::Persistent && !kernel.varlen;
  resources.weights_in_keys = has_weights_in_keys(kernel, s);
  resources.row_order = kernel.row_order;
  resources.register_need = register_need(kernel, s, resources.fixed_max || resources.forms.near);
  // A persistent block that has room loads the next tile's queries early.
  resources.query_stages = s.grid == Grid::Persistent ? 2 : 1;
  resources.shared_bytes = shared_bytes_of(kernel, s, resources.query_stages);
  const int most_shared = resources.blocks_per_core == 1
                              ? target.shared_bytes_per_block
                              : target.shared_bytes_per_core / 2 - kReservedBytes;
  if (resources.shared_bytes > most_shared) {
    resources.query_stages = 1;
    resources.shared_bytes = shared_bytes_of(kernel, s, resources.query_stages);
  }
  return {resources, ""};
}

}  // namespace

Fit fit_hopper(const Kernel& kernel, const Schedule& s, const target::Target& target) {
  Fit fit = fit_kernel(kernel.of(s), s, target);
  if (fit.resources || !kernel.without_tables) return fit;
  return fit_kernel(kernel.of(s, false), s, target);
}

}  // namespace attngen::schedule
