// The search: every schedule of the space, feasible or not and why, ranked by predicted time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attention/pair_form.h"
#include "attention/row_form.h"
#include "attention/tiles.h"
#include "expr/count.h"
#include "schedule/divided_keys.h"
#include "schedule/rows.h"
#include "schedule/schedule.h"
#include "spec/spec.h"
#include "target/target.h"

namespace attngen::schedule {

// What the cost of a kernel depends on, taken from a spec once.
struct Kernel {
  int head_dim_qk = 0;
  int head_dim_v = 0;     // of a tile; all of the values unless they have several parts
  int value_parts = 1;    // tiles that share their scores' operands
  bool share_kv = false;  // values are the first columns of the keys
  int sides = 1;          // of such values, head_dim_v columns each, by a warpgroup of its own
  int heads_q = 1, heads_kv = 1;
  int maps = 1;      // of scores, over the same values
  bool bf16 = true;  // else fp16
  attention::KeyRange range;
  MaskHeads mask_heads;
  attention::RowForm rows;
  expr::OperationCounts score;      // per pair, of the user's score beyond a plain one
  expr::OperationCounts mask;       // per pair of a partial tile: the test and its select
  expr::OperationCounts weight;     // per pair: weight and reductions' elements
  expr::OperationCounts output;     // per element of O, beyond a factor of the row
  int column_bytes = 0;             // of inputs, that an element of O has for itself
  bool has_near = false;            // attention/near_form.h
  expr::OperationCounts near;       // per pair, in the place of score, or of weight
  bool has_far = false;             // attention/far_form.h
  bool has_scan = false;            // schedule/scan.h
  bool plain_score = true;          // the score is a multiply-add, or less, of the product
  bool key_line = false;            // beside which it has a multiple of kv_idx
  int row_constants = 0;            // terms of scores and weights that are kept for a row
  int row_load_registers = 0;       // for others, that pairs read (schedule/row_loads.h)
  bool indexed_score = false;       // score or weight reads kv_idx
  bool shares_reciprocals = false;  // of two columns: the weight is a sigmoid
  int key_loads = 0;                // elements of inputs that score and weight read for each key
  int key_rows = 0;                 // of which a block's elements stand behind an address
  double scattered = 0;             // what these take besides (schedule/lines.h)
  double mask_scattered = 0;        // and the mask's
  DividedKeys divided;              // of which score and weight have what tiles that fit take
  int table_bytes = 0;              // of a query in shared memory (attention/row_tables.h)
  int shared_loads = 0;             // elements that a pair reads there, and of shifted biases
  int bias_bytes = 0;               // of an element that comes by tiles (attention/pair_input.h)
  int bias_sharing = 1;             // neighbouring heads that read the same biases
  int bias_group = 1;               // rows of a tile that read the same ones
  bool bias_shifted = false;        // their rows begin anywhere: never by TMA
  bool batches_share = false;       // so do all batches, which then come side by side
  attention::Shared strips = attention::Shared::Nothing;  // what strips there may be
  int key_strips = 0;            // values of a key, computed once for a warpgroup's rows
  int strip_heads = 1;           // of a tile that have key strips of their own
  bool distance_strip = false;   // and those of a distance (attention/strips.h)
  int key_words = 0;             // of what a mask reads of a key, computed once for them
  bool masked = false;           // some pair may not exist
  bool tested_mask = false;      // the mask has no limits of a row: tested pair by pair
  bool mask_bytes = false;       // and loads an element of a u8 input
  bool mask_asks_twice = false;  // and a row's value both by itself and with each key
  bool mask_tile = false;        // and reads no more than bytes that come by tiles
  bool mask_bits = false;        // and comes by tiles itself, a bit for each pair
  bool searched_limits = false;  // a row's limits are searched for once a tile
  bool walks = false;            // the scout finds the blocks by itself
  std::optional<attention::BlockTest> test;  // and asks this of each one
  bool id_tables = false;                    // from tables of ids alone
  bool fixed_max = false;                    // unmasked blocks may keep the row's first maximum
  bool large_scores = false;                 // scores may leave what exponents hold
  RowOrder row_order = {};
  bool varlen = false;        // packed sequences
  int block_size = 0;         // block sparsity: keys of the caller's blocks
  int block_queries = 0;      // and queries
  double kept_blocks = 0;     // the share of a row of them that is taken to be kept
  double most_keys = 0;       // of the blocks that a list has room for; 0: for all
  bool group_blocks = false;  // which are the same for all query heads of a key head
  int list_room = 0;          // keys of a query's list of tokens; 0: there are none
  bool listed_keys = false;   // pairs read which key of it they have
  int masked_room = 0;        // keys of each list that the mask has instead; 0: there are none
  int page = 0;               // keys of a page that blocks come from; 0: they are not in pages
  bool rows_alike = true;     // neighbouring rows of blocks keep mostly the same
  std::string apart_blocks;   // why a step cannot take two of these blocks, or ""
  std::string heads_apart;    // why heads that share keys cannot share a tile, or ""
  std::vector<spec::Workload> workload;
  // Where a tile has rows of several heads, or keys of two blocks. Null: without strips or tiles.
  std::shared_ptr<const Kernel> of_several_heads, of_two_blocks;
  std::shared_ptr<const Kernel> without_tables;  // null: there are none

  // Whether a tile's blocks of keys take trips to memory to find. A packed sequence alone takes one
  // or two, for which a warp of its own brought nothing.
  bool has_scout() const { return walks || block_size > 0; }
  bool has_strips() const { return key_strips > 0 || distance_strip || key_words > 0; }
  // As a schedule has it: nothing comes by tiles where a tile's rows are of several heads, or where
  // its keys stand in two places; strips are few or none. `tables`: whether shared memory has
  // room for them.
  const Kernel& of(const Schedule& schedule, bool tables = true) const;
  int group() const { return heads_q / heads_kv; }           // query heads that share a key head
  int partners() const { return maps * sides; }              // warpgroups that share 64 query rows
  int output_columns() const { return head_dim_v * sides; }  // of a tile
  int loaded_columns() const { return share_kv ? 0 : head_dim_v; }  // of values beside the keys
};
Kernel describe_kernel(const spec::Spec& spec, const attention::RowForm& rows,
                       target::Family family = target::Family::Hopper);

// What a family's template can do for pairs.
attention::PairAbilities pair_abilities(target::Family family, const Forms& forms);
// And how exact its functions are.
expr::Accuracy accuracy_of(const spec::Spec& spec, target::Family family);

enum class Bound : unsigned char { Matrix, Special, Issue, Shared, L2, Memory, Latency };

// What a scan is predicted to take (schedule/scan.h); 0: no scan takes the place of tiles.
struct ScanTime {
  double seconds = 0;  // launch included
  Bound bound = Bound::Latency;
};

// Predicted time of the workload (weighted mean), and where a main-loop step's clocks go.
struct Cost {
  double seconds = 0;
  Bound bound = Bound::Matrix;
  target::Family family = target::Family::Hopper;
  // Clocks of one block of keys on one core, all its warpgroups: what each pipe is busy.
  double matrix_clk = 0, special_clk = 0, issue_clk = 0, shared_clk = 0, l2_clk = 0, memory_clk = 0;
  double step_clk = 0;    // the step's predicted length, overlap and latency included
  double fixed_clk = 0;   // per tile: prologue, epilogue, barriers
  double flop_per_s = 0;  // of existing pairs, over the workload
  double flop_per_byte = 0, flop_per_l2_byte = 0;  // of traffic with memory and with the L2
  // Of the first workload point, the share of a core, or of each block that shares one:
  double waves = 0;     // tiles, or splits of them
  double splits = 1;    // of each tile
  double blocks = 0;    // blocks of keys, or what is as much work
  double core_clk = 0;  // until the last core is done
  double idle = 0;      // share of core_clk spent waiting for that core
  double crowded = 0;   // and for other cores at the L2
  double existing = 0;  // share of visited pairs, as far as is known or assumed beforehand; or 0
  double clock_hz = 0;  // under the power limit
  // Of that point, the kernel's time, and what launches, the asking of pairs beforehand, the making
  // of states and the joining of splits take of it.
  double first_seconds = 0, launch_seconds = 0, asking_seconds = 0, states_seconds = 0,
         join_seconds = 0;
  ScanTime scan;  // of that point, which takes the place of all of these
};

// Clocks of the kernel's whole time for each block of keys, at the first workload point: what a
// pipe that bounds it is busy most of. No less than a step, though some warpgroups pass over
// blocks.
double kernel_clk(const Cost& cost);

// "tensor cores", or "matrix cores" on CDNA2.
const char* bound_name(const Cost& cost);

struct Candidate {
  Schedule schedule;
  Resources resources;
  Cost cost;
};
struct Rejection {
  Schedule schedule;
  std::string reason;  // "needs 245760 bytes of shared memory; h100 has 232448"
};
struct Ranking {
  std::vector<Candidate> ranked;    // fastest first; ties in the order of the space
  std::vector<Rejection> rejected;  // in the order of the space
  bool of_given = false;            // one schedule was judged, none searched for
  // For who searches both ways, of lists that may be gathered or become a mask: the fastest of the
  // way that is not `ranked`. search() leaves it empty.
  std::optional<Candidate> other_way = {};
};

// Exhaustive and deterministic.
Ranking search(const Kernel& kernel, const target::Target& target);

// One schedule alone, for --schedule: a Candidate, or the reason why it is not feasible.
struct Judged {
  Schedule schedule;  // the given one, of the kernel's partners
  std::optional<Candidate> candidate;
  std::string reason;
};
Judged judge(const Kernel& kernel, const Schedule& schedule, const target::Target& target);

}  // namespace attngen::schedule
