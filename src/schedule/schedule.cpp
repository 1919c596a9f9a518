#include "schedule/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "text/diagnostics.h"

namespace attngen::schedule {
namespace {

using Json = nlohmann::json;

constexpr int kMaxWarpgroups = 4;
constexpr int kMaxTileKv = 256;  // the widest matrix instruction
constexpr int kMaxStages = 8;

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

struct Bad {
  std::string message;
};

// All but this one must be there: schedules that were written before it existed are good still.
constexpr const char* kOptional = "pack_heads";

const std::vector<std::string>& keys() {
  static const std::vector<std::string> names{"warpgroups", "tile_kv", "stages",
                                              "weights",    "overlap", "ping_pong",
                                              "grid",       "order",   kOptional};
  return names;
}

void read(const Json& json, const char* key, int low, int high, int step, int& value) {
  const Json& at = json[key];
  const bool whole = at.is_number_integer();
  const int64_t number = whole ? at.get<int64_t>() : 0;
  if (!whole || number < low || number > high || number % step != 0) {
    const std::string multiple = step > 1 ? fmt::format("multiple of {}", step) : "whole number";
    throw Bad{fmt::format("{}: expected a {} from {} to {}", key, multiple, low, high)};
  }
  value = static_cast<int>(number);
}

template <typename Enum, size_t n>
void read(const Json& json, const char* key, const Names<Enum, n>& names, Enum& value) {
  std::vector<std::string> valid;
  for (const auto& [known, name] : names) valid.emplace_back(name);
  if (!json[key].is_string()) {
    throw Bad{fmt::format("{}: expected '{}'", key, fmt::join(valid, "' or '"))};
  }
  const auto word = json[key].get<std::string>();
  const auto found = std::find(valid.begin(), valid.end(), word);
  if (found == valid.end()) {
    throw Bad{
        fmt::format("{}: unknown value '{}'{}", key, word, text::did_you_mean(word, valid, "; "))};
  }
  value = names[static_cast<size_t>(found - valid.begin())].first;
}

void read(const Json& json, const char* key, bool& value) {
  if (!json[key].is_boolean()) throw Bad{fmt::format("{}: expected true or false", key)};
  value = json[key].get<bool>();
}

Schedule read_schedule(const Json& json) {
  if (!json.is_object()) throw Bad{"expected an object"};
  for (const auto& [key, value] : json.items()) {
    if (std::find(keys().begin(), keys().end(), key) == keys().end()) {
      throw Bad{fmt::format("unknown key '{}'{}", key, text::did_you_mean(key, keys(), "; "))};
    }
  }
  for (const std::string& key : keys()) {
    if (!json.contains(key) && key != kOptional) throw Bad{fmt::format("{}: missing", key)};
  }
  Schedule schedule;
  read(json, "warpgroups", 1, kMaxWarpgroups, 1, schedule.warpgroups);
  read(json, "tile_kv", kLeastTileKv, kMaxTileKv, kLeastTileKv, schedule.tile_kv);
  read(json, "stages", 1, kMaxStages, 1, schedule.stages);
  read(json, "weights", kPlaces, schedule.weights);
  read(json, "overlap", kOverlaps, schedule.overlap);
  read(json, "ping_pong", schedule.ping_pong);
  read(json, "grid", kGrids, schedule.grid);
  read(json, "order", kOrders, schedule.order);
  if (json.contains(kOptional)) read(json, kOptional, schedule.pack_heads);
  return schedule;
}

std::string plural(int count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace

const char* name_of(Place place) { return find_name(kPlaces, place); }
const char* name_of(Overlap overlap) { return find_name(kOverlaps, overlap); }
const char* name_of(Grid grid) { return find_name(kGrids, grid); }
const char* name_of(Order order) { return find_name(kOrders, order); }

std::string to_json(const Schedule& s) {
  return fmt::format(
      R"({{"warpgroups": {}, "tile_kv": {}, "stages": {}, "weights": "{}", "overlap": "{}", )"
      R"("ping_pong": {}, "grid": "{}", "order": "{}"{}}})",
      s.warpgroups, s.tile_kv, s.stages, name_of(s.weights), name_of(s.overlap), s.ping_pong,
      name_of(s.grid), name_of(s.order), s.pack_heads ? R"(, "pack_heads": true)" : "");
}

ReadSchedule from_json(std::string_view json) {
  try {
    return {read_schedule(Json::parse(json)), ""};
  } catch (const Bad& bad) {
    return {std::nullopt, bad.message};
  } catch (const Json::parse_error& bad) {
    return {std::nullopt, fmt::format("not JSON, at byte {}", bad.byte)};
  } catch (const Json::exception&) {
    return {std::nullopt, "not valid UTF-8"};
  }
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
  return text;
}

}  // namespace attngen::schedule
