// How a template family spells a thread's share of a block of scores, and exchanges between the
// threads that share a row.
#pragma once

#include <string_view>

#include "expr/print.h"
#include "target/target.h"

namespace attngen::emit {

struct Fragment {
  expr::Vendor vendor = expr::Vendor::Nvidia;
  std::string_view scores;          // the parameter; after it comes `row`, if that is not empty
  std::string_view row;             // which of several rows a thread holds
  std::string_view groups;          // a row's elements are [j][e] for j < groups
  int elements = 0;                 // and e < elements
  std::string_view key;             // the element's key, from the thread's first
  std::string_view element;         // the element itself
  std::string_view max, sum;        // over the threads of a row
  std::string_view keys_of_thread;  // what a thread sees of a row, for comments
};

inline const Fragment& fragment_of(target::Family family) {
  static constexpr Fragment kHopper{expr::Vendor::Nvidia,
                                    "float (&scores)[kTileKv / 8][2][2]",
                                    "int r",
                                    "kTileKv / 8",
                                    2,
                                    "kv_first + 8 * j + e",
                                    "scores[j][r][e]",
                                    "quad_max",
                                    "quad_sum",
                                    "this thread's columns"};
  static constexpr Fragment kCdna2{
      expr::Vendor::Amd,         "Scores& scores", "",         "kKeyBlocks", 16,
      "kv_first + key_of(j, e)", "scores[j][e]",   "pair_max", "pair_sum",   "this lane's keys"};
  return family == target::Family::Cdna2 ? kCdna2 : kHopper;
}

}  // namespace attngen::emit
