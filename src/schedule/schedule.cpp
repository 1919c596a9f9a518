#include "schedule/schedule.h"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace attngen::schedule {
namespace {

template <typename Enum, size_t n>
using Names = std::array<std::pair<Enum, const char*>, n>;

constexpr Names<Place, 2> kPlaces{{{Place::Registers, "registers"}, {Place::Shared, "shared"}}};
constexpr Names<Overlap, 2> kOverlaps{
    {{Overlap::None, "none"}, {Overlap::IntraWarpgroup, "intra_warpgroup"}}};
constexpr Names<Grid, 2> kGrids{{{Grid::Plain, "plain"}, {Grid::Persistent, "persistent"}}};
constexpr Names<Order, 2> kOrders{
    {{Order::Linear, "linear"}, {Order::LongestFirst, "longest_first"}}};

template <typename Enum, size_t n>
const char* find_name(const Names<Enum, n>& names, Enum value) {
  for (const auto& [known, name] : names) {
    if (known == value) return name;
  }
  return "";
}

}  // namespace

std::string plural(int count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

const char* name_of(Place place) { return find_name(kPlaces, place); }
const char* name_of(Overlap overlap) { return find_name(kOverlaps, overlap); }
const char* name_of(Grid grid) { return find_name(kGrids, grid); }
const char* name_of(Order order) { return find_name(kOrders, order); }

std::string to_json(const Schedule& s) {
  return fmt::format(
      R"({{"warpgroups": {}, "tile_kv": {}, "stages": {}, "weights": "{}", "overlap": "{}", )"
      R"("ping_pong": {}, "grid": "{}", "order": "{}"{}{}{}{}}})",
      s.warpgroups, s.tile_kv, s.stages, name_of(s.weights), name_of(s.overlap), s.ping_pong,
      name_of(s.grid), name_of(s.order), s.pack_heads ? R"(, "pack_heads": true)" : "",
      s.split_keys ? R"(, "split_keys": true)" : "",
      s.lists_as_mask ? R"(, "lists_as_mask": true)" : "", s.scan ? R"(, "scan": true)" : "");
}

std::string describe(const Schedule& s) {
  std::string text = fmt::format("{}x{}, {}, {}, weights in {}", s.tile_q(), s.tile_kv,
                                 plural(s.stages, "stage"), plural(s.warpgroups, "warpgroup"),
                                 s.weights == Place::Registers ? "registers" : "shared memory");
  if (s.overlap == Overlap::IntraWarpgroup) text += ", intra-warpgroup overlap";
  if (s.ping_pong) text += ", ping-pong";
  text += s.grid == Grid::Persistent ? ", persistent" : ", one block a tile";
  if (s.order == Order::LongestFirst) text += ", longest first";
  if (s.pack_heads) text += ", heads packed";
  if (s.split_keys) text += ", keys split";
  if (s.lists_as_mask) text += ", lists as a mask";
  if (s.scan) text += ", with a scan";
  return text;
}

}  // namespace attngen::schedule
