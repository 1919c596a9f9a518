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

std::string error_of(const std::string& json) {
  const ReadSchedule read = from_json(json);
  CHECK_FALSE(read.schedule.has_value());
  return read.error;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

TEST_CASE("a schedule is one line of JSON, keys in a fixed order") {
  CHECK(to_json(Schedule{}) ==
        R"({"warpgroups": 2, "tile_kv": 128, "stages": 2, "weights": "registers", )"
        R"("overlap": "intra_warpgroup", "ping_pong": true, "grid": "persistent", )"
        R"("order": "linear"})");
}

TEST_CASE("heads that are not packed need no key") {
  const std::string json = to_json(with_packed_heads());
  CHECK(json.ends_with(R"("order": "linear", "pack_heads": true})"));
  CHECK(from_json(replaced(json, R"("pack_heads": true)", R"("pack_heads": false)")).schedule ==
        Schedule{});
  CHECK(error_of(replaced(json, R"("pack_heads": true)", R"("pack_heads": 1)")) ==
        "pack_heads: expected true or false");
  CHECK(error_of(replaced(json, "pack_heads", "pack_head")) ==
        "unknown key 'pack_head'; did you mean 'pack_heads'?");
}

TEST_CASE("JSON gives the schedule back") {
  for (const Schedule& schedule : {Schedule{}, kTall, with_packed_heads()}) {
    const ReadSchedule read = from_json(to_json(schedule));
    CHECK(read.error.empty());
    CHECK(read.schedule == schedule);
  }
}

TEST_CASE("reading a schedule is strict") {
  const std::string json = to_json(Schedule{});
  CHECK(error_of(replaced(json, "stages", "stagse")) ==
        "unknown key 'stagse'; did you mean 'stages'?");
  CHECK(error_of(replaced(json, R"("stages": 2, )", "")) == "stages: missing");
  CHECK(error_of(replaced(json, R"("stages": 2)", R"("stages": 9)")) ==
        "stages: expected a whole number from 1 to 8");
  CHECK(error_of(replaced(json, R"("stages": 2)", R"("stages": 2.5)")) ==
        "stages: expected a whole number from 1 to 8");
  CHECK(error_of(replaced(json, "128", "120")) ==
        "tile_kv: expected a multiple of 16 from 16 to 256");
  CHECK(error_of(replaced(json, "128", "99999999999999999999")) ==
        "tile_kv: expected a multiple of 16 from 16 to 256");
  CHECK(error_of(replaced(json, "true", "1")) == "ping_pong: expected true or false");
  CHECK(error_of(replaced(json, R"("registers")", R"("register")")) ==
        "weights: unknown value 'register'; did you mean 'registers'?");
  CHECK(error_of(replaced(json, R"("persistent")", "7")) ==
        "grid: expected 'plain' or 'persistent'");
  CHECK(error_of("[]") == "expected an object");
  CHECK(error_of("{") == "not JSON, at byte 2");
  CHECK(error_of("") == "not JSON, at byte 1");
  CHECK_FALSE(from_json("\"\xff\"").error.empty());
}

TEST_CASE("a schedule in words") {
  CHECK(describe(Schedule{}) ==
        "128x128, 2 stages, 2 warpgroups, weights in registers, intra-warpgroup overlap, "
        "ping-pong, persistent");
  CHECK(describe(with_packed_heads()) == describe(Schedule{}) + ", heads packed");
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
