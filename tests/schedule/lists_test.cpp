// Lists of tokens: a tile is one query's heads, its keys are the list's.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "attention/listed.h"
#include "kernels.h"
#include "schedule/search.h"

namespace attngen::schedule {
namespace {

Kernel kernel_of_lists(int room, int heads_kv = 4, const std::string& call = "seq_q: 32768") {
  return read_kernel("heads: {q: 64, kv: " + std::to_string(heads_kv) +
                     "}\nmask: kv_idx <= q_pos\ntokens: {indices: " + std::to_string(room) +
                     "}\nworkload: {" + call + "}\n");
}

Schedule line(int warpgroups, int tile_kv) {
  Schedule schedule;
  schedule.warpgroups = warpgroups;
  schedule.tile_kv = tile_kv;
  schedule.ping_pong = false;
  schedule.pack_heads = true;
  return schedule;
}

TEST_CASE("a tile has one query, whatever its heads") {
  for (const int heads_kv : {1, 4, 64}) {
    const Judged judged = judge(kernel_of_lists(2048, heads_kv), line(1, 64), h100());
    REQUIRE(judged.candidate);
    CHECK(judged.candidate->schedule.queries(64 / heads_kv) == 1);
    CHECK(judged.candidate->resources.blocks_per_core == 2);
  }
}

TEST_CASE("what no tile of a list can be") {
  const auto reason = [](const Schedule& schedule) {
    return judge(kernel_of_lists(2048), schedule, h100()).reason;
  };
  CHECK(reason(line(2, 64)) == "a query has 64 rows");
  CHECK(reason(line(1, 48)) == "a warp gathers 32 keys at a time; 48 are no multiple");
  Schedule other = line(1, 64);
  other.order = Order::LongestFirst;
  CHECK(reason(other) == "tiles of one query come in linear order");
  other = line(1, 64);
  other.pack_heads = false;
  CHECK(reason(other) == "lists of keys are of the heads of a key head: they share a tile");
}

TEST_CASE("a call has as many keys as a list, and every schedule that is found fits") {
  const auto seconds = [](int room) {
    const Ranking ranking = search(kernel_of_lists(room), h200());
    REQUIRE(!ranking.ranked.empty());
    return ranking.ranked.front().cost.seconds;
  };
  CHECK(seconds(4096) > 1.8 * seconds(2048));
  CHECK(seconds(4096) < 2.1 * seconds(2048));
  CHECK(seconds(100'000) == doctest::Approx(seconds(32768)));
  const Ranking ranking = search(kernel_of_lists(2048), h200());
  CHECK(std::ranges::all_of(ranking.ranked, [](const Candidate& c) {
    return c.schedule.one_query && c.schedule.order == Order::Linear && !c.schedule.split_keys;
  }));
}

TEST_CASE("a call of few queries splits their lists, which are as long as there is room for") {
  const auto best = [](int room, const std::string& call) {
    return search(kernel_of_lists(room, 1, call), h200()).ranked.front().schedule.split_keys;
  };
  CHECK(best(2048, "seq_q: 1, seq_kv: 32768"));
  CHECK(best(2048, "batch: 32, seq_q: 1, seq_kv: 32768"));
  CHECK_FALSE(best(64, "seq_q: 1, seq_kv: 32768"));
  CHECK_FALSE(best(2048, "batch: 256, seq_q: 1, seq_kv: 32768"));
}

TEST_CASE("lists as a mask have tiles of many queries, and any key is read") {
  const spec::Spec lists = spec_of_lines(head_dims(128, 128) +
                                         "heads: {q: 32, kv: 8}\nmask: kv_idx <= q_pos\n"
                                         "tokens: {indices: 2048, distinct: true}\n"
                                         "workload: {seq_q: 8192}\n");
  const Kernel gathered = kernel_of_spec(lists);
  const Kernel masked = kernel_of_spec(attention::lists_as_mask(lists));
  CHECK(gathered.list_room == 2048);
  CHECK(masked.list_room == 0);
  CHECK(masked.masked_room == 2048);
  const Ranking ranking = search(masked, h200());
  REQUIRE(!ranking.ranked.empty());
  const Candidate& best = ranking.ranked.front();
  CHECK(best.schedule.lists_as_mask);
  CHECK_FALSE(best.schedule.one_query);
  // 2048 keys of each of 8192 queries and 32 heads, by two products of 128 columns.
  CHECK(best.cost.seconds * best.cost.flop_per_s == doctest::Approx(4.0 * 2048 * 8192 * 32 * 128));
  CHECK(best.cost.seconds < 0.2 * search(gathered, h200()).ranked.front().cost.seconds);
  Schedule as_mask = line(1, 64);
  as_mask.lists_as_mask = true;
  CHECK(judge(gathered, as_mask, h200()).reason ==
        "a mask is made of lists of tokens whose keys are distinct; there are none");
}

TEST_CASE("lists of packed sequences: tiles of one query, which a persistent grid shares out") {
  const Kernel kernel =
      kernel_of_spec(spec_of_lines(head_dims(128, 128) +
                                   "heads: {q: 64, kv: 4}\nvarlen: true\nmask: kv_idx <= q_pos\n"
                                   "tokens: {indices: 2048, distinct: true}\n"
                                   "workload: {batch: 4, seq_q: 8192}\n"));
  const Ranking ranking = search(kernel, h200());
  REQUIRE(!ranking.ranked.empty());
  for (const Candidate& candidate : ranking.ranked) {
    CHECK(candidate.schedule.grid == Grid::Persistent);
    CHECK(candidate.schedule.order == Order::Linear);
  }
  const auto reason = [&](Schedule given) { return judge(kernel, given, h200()).reason; };
  Schedule given = line(1, 64);
  given.pack_heads = true;
  given.grid = Grid::Persistent;
  CHECK(reason(given) == "");
  given.grid = Grid::Plain;
  CHECK(reason(given) == "packed sequences need a persistent grid");
  given.grid = Grid::Persistent;
  given.lists_as_mask = true;
  CHECK(reason(given) == "a mask is not made of the lists of packed sequences");
}

}  // namespace
}  // namespace attngen::schedule
