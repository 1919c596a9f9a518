// How a template family spells a thread's share of a block of scores, and exchanges between the
// threads that share a row.
#pragma once

#include <string_view>

#include "expr/print.h"
#include "target/target.h"

namespace attngen::emit {

struct Fragment {
  expr::Vendor vendor = expr::Vendor::Nvidia;
  std::string_view scores;              // the parameter; after it comes `row`, if that is not empty
  std::string_view row;                 // which of several rows a thread holds
  std::string_view groups;              // a row's elements are [j][e] for j < groups
  int elements = 0;                     // and e < elements
  std::string_view key;                 // the element's key, from the thread's first
  std::string_view end = "row.seq_kv";  // of the row's keys
  std::string_view element;             // the element itself
  std::string_view max, sum;            // over the threads of a row: functions of `helpers`
  std::string_view helpers;             // the template file of what the text may call
  std::string_view keys_of_thread;      // what a thread sees of a row, for comments
};

inline constexpr Fragment kHopperFragment{
    .vendor = expr::Vendor::Nvidia,
    .scores = "float (&scores)[kTileKv / 8][2][2]",
    .row = "int r",
    .groups = "kTileKv / 8",
    .elements = 2,
    .key = "kv_first + 8 * j + e",
    .element = "scores[j][r][e]",
    .max = "quad_max",
    .sum = "quad_sum",
    .helpers = "hopper/parts/helpers.cuh",
    .keys_of_thread = "this thread's columns",
};

// Of steps of two blocks, wherever they stand.
inline constexpr std::string_view kGatheredKey =
    "kv_first + 8 * j + e + (8 * j < kBlockKv ? 0 : row.apart)";
// Where a warpgroup's rows keep different blocks.
inline constexpr std::string_view kOwnEnd = "row.end";

inline constexpr Fragment kCdna2Fragment{
    .vendor = expr::Vendor::Amd,
    .scores = "Scores& scores",
    .row = "",
    .groups = "kKeyBlocks",
    .elements = 16,
    .key = "kv_first + key_of(j, e)",
    .element = "scores[j][e]",
    .max = "pair_max",
    .sum = "pair_sum",
    .helpers = "cdna2/parts/helpers.h",
    .keys_of_thread = "this lane's keys",
};

inline const Fragment& fragment_of(target::Family family) {
  return family == target::Family::Cdna2 ? kCdna2Fragment : kHopperFragment;
}

}  // namespace attngen::emit
