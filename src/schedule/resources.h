// What a schedule needs of a core, and whether the core has it.
#pragma once

#include <optional>
#include <string>

#include "schedule/schedule.h"
#include "schedule/search.h"
#include "target/target.h"

namespace attngen::schedule {

// Values wider than one accumulator are split: each tile has `columns` of them, a multiple of what
// TMA moves at a time, and computes the scores anew. Those that are columns of the keys, which a
// tile has all of, are split between `sides` of its warpgroups, which compute scores by turns.
struct ValueParts {
  int count = 1, columns = 0, sides = 1;
};
ValueParts value_parts(const spec::Spec& spec);
ValueParts value_parts(int head_dim_v);  // of values that are no columns of the keys
// Whether those that are can be split into sides of whole chunks of shared memory.
bool has_even_sides(int head_dim_v);

// Whether the keys of a tile that stand in one page are too few for a box of TMA, or so few that it
// takes longer: then threads copy keys and values row by row. H200, 2026-11-30 (the ladder, runs AO
// and AP), pages of 8, of the speed of keys side by side: 0.77 to 1.00 by rows, 0.74 to 0.93 by
// boxes, save one query of one text, 0.90 and 0.95; latent keys 0.88 to 0.96 and 0.73 to 0.89.
bool copies_rows(const Kernel& kernel, const Schedule& schedule);

// Where copies of pages are many another warp than the producer's brings values, if one is left:
// biases that come by tiles have two, and beside a scout of given blocks one ranks tiles. H200,
// 2026-11-29 (the ladder, run AN), a chunk of 512 queries: pages of 16 keys 943 -> 749 us; of 64,
// two copies, 761 -> 797.
bool has_values_apart(const Kernel& kernel, const Schedule& schedule);

struct Fit {
  std::optional<Resources> resources;
  std::string reason;  // why there are none, with the numbers
};

// The Hopper template (templates/hopper): one producer warpgroup, `warpgroups` consumers of 64
// rows of scores each, rings of `stages` K and V tiles, one block a core. Block-sparse kernels of
// one consumer warpgroup have two, if both fit. Of two maps, or two sides,
// the warpgroups of a pair take one each.
Fit fit_hopper(const Kernel& kernel, const Schedule& schedule, const target::Target& target);

// Whether a scan may stand beside this schedule's tiles (schedule/scan.h); those it fits in.
bool takes_scan(const Kernel& kernel, const Schedule& schedule, const Resources& resources);

// The CDNA2 template (templates/cdna2): 2 x `warpgroups` waves of 32 query rows, one K and one V
// tile in LDS, the next block's scores beside this block's weights; as many blocks a CU as
// registers and LDS allow.
Fit fit_cdna2(const Kernel& kernel, const Schedule& schedule, const target::Target& target);

// Why the heads that share a key head cannot share a tile, or "".
std::string why_unpackable(const Kernel& kernel);

}  // namespace attngen::schedule
