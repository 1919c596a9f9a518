#include "schedule/schedule.h"

#include <doctest/doctest.h>

namespace attngen::schedule {
namespace {

const Schedule kTall{4, 64, 3, Place::Shared, Overlap::None, false, Grid::Plain, Order::Linear};

Schedule with_packed_heads() {
  Schedule schedule;
  schedule.pack_heads = true;
  return schedule;
}

Schedule with_split_keys() {
  Schedule schedule;
  schedule.split_keys = true;
  return schedule;
}

TEST_CASE("a schedule is one line of JSON, keys in a fixed order") {
  CHECK(to_json(Schedule{}) ==
        R"({"warpgroups": 2, "tile_kv": 128, "stages": 2, "weights": "registers", )"
        R"("overlap": "intra_warpgroup", "ping_pong": true, "grid": "persistent", )"
        R"("order": "linear"})");
}

TEST_CASE("heads that are not packed, keys that are not split need no key") {
  CHECK(to_json(with_packed_heads()).ends_with(R"("order": "linear", "pack_heads": true})"));
  CHECK(to_json(with_split_keys()).ends_with(R"("order": "linear", "split_keys": true})"));
}

TEST_CASE("a schedule in words") {
  CHECK(describe(Schedule{}) ==
        "128x128, 2 stages, 2 warpgroups, weights in registers, intra-warpgroup overlap, "
        "ping-pong, persistent");
  CHECK(describe(with_packed_heads()) == describe(Schedule{}) + ", heads packed");
  CHECK(describe(with_split_keys()) == describe(Schedule{}) + ", keys split");
  Schedule as_mask;
  as_mask.lists_as_mask = true;
  CHECK(describe(as_mask) == describe(Schedule{}) + ", lists as a mask");
  CHECK(to_json(as_mask).ends_with(R"("order": "linear", "lists_as_mask": true})"));
  Schedule scan;
  scan.scan = true;
  CHECK(describe(scan) == describe(Schedule{}) + ", with a scan");
  CHECK(describe(kTall) ==
        "256x64, 3 stages, 4 warpgroups, weights in shared memory, one block a tile");
  Schedule one;
  one.warpgroups = one.stages = 1;
  one.ping_pong = false;
  one.order = Order::LongestFirst;
  CHECK(describe(one) ==
        "64x128, 1 stage, 1 warpgroup, weights in registers, intra-warpgroup overlap, persistent, "
        "longest first");
}

}  // namespace
}  // namespace attngen::schedule
