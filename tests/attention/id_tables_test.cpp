#include "attention/id_tables.h"

#include <optional>
#include <string>

#include "random_mask.h"
#include "support.h"
#include "visits.h"

namespace attngen::attention {
namespace {

using testing::check_least;
using testing::mask_of;

std::optional<BlockTest> test_of(const std::string& mask) {
  const spec::Spec spec = testing::spec_of("mask: '" + mask + "'\n");
  return block_test(spec.mask, spec.inputs);
}

TEST_CASE("a table for every id of a query or of a key, each once") {
  const auto tables_of = [](const std::string& mask) {
    std::string text;
    const auto test = test_of(mask);
    if (!test) return text;
    for (const IdTable& table : test->tables) {
      text +=
          expr::print(table.value) + (table.of == TableOf::Keys ? " of keys; " : " of queries; ");
    }
    return text;
  };
  CHECK(tables_of("page[b, q_pos] == page[b, kv_idx]") ==
        "page[b, q_pos] of queries; page[b, kv_idx] of keys; ");
  CHECK(tables_of("page[b, kv_idx] > 1 and page[b, kv_idx] < 4 and kv_idx <= q_pos") ==
        "page[b, kv_idx] of keys; ");
  CHECK(tables_of("page[b, page[b, kv_idx]] < 3") == "page[b, page[b, kv_idx]] of keys; ");
  // In the order of the text, whichever compiler attngen was built with.
  CHECK(tables_of("(chunk[b, kv_idx] > 2 and page[b, q_pos] < 3) or chunk[b, q_pos] == 1") ==
        "chunk[b, kv_idx] of keys; page[b, q_pos] of queries; chunk[b, q_pos] of queries; ");
  CHECK(tables_of("page[b, kv_idx] < 3 if chunk[b, kv_idx] > 2 else page[b, q_pos] < 4") ==
        "chunk[b, kv_idx] of keys; page[b, kv_idx] of keys; page[b, q_pos] of queries; ");
  // Of the pair of a query and a key nothing is known.
  CHECK(tables_of("page[b, q_pos - kv_idx] == 3 or kv_idx < 2") == "");
  // Asked for beside a product, of which nothing is known.
  CHECK(tables_of("kv_idx // 64 % 2 == 0 and kv_idx < max(page[b, q_pos], q_idx * (kv_idx - 5))") ==
        "");
  // Ids that ascend need none.
  CHECK(tables_of("span[b, kv_idx] == span[b, q_pos] or kv_idx < 2") == "");
}

TEST_CASE("floats: a table of all that depends on the query, or the key, alone") {
  const auto test = test_of("abs(sink[q_idx % 4] - 2 * sink[kv_idx % 4] + 1) <= 3");
  REQUIRE(test);
  REQUIRE(test->tables.size() == 2);
  CHECK(expr::print(test->tables[0].value) == "sink[q_idx % 4]");
  CHECK(expr::print(test->tables[1].value) == "2 * sink[kv_idx % 4]");
  CHECK(test->tables[1].of == TableOf::Keys);
  // A NaN in a table makes a comparison false: some pair may exist, not all must.
  const auto floor = test_of("sink[q_idx % 4] - sink[kv_idx % 4] > -20");
  REQUIRE(floor);
  CHECK(expr::print(floor->kept) == "not -20 >= 0.greatest[q_first] - 1.least[kv_first]");
  CHECK(expr::print(floor->full) == "-20 < 0.least[q_first] - 1.greatest[kv_first]");
  CHECK(test_of("kv_idx < 0.5 * q_pos")->tables.empty());
  CHECK_FALSE(test_of("sin(kv_idx) < sink[h] * q_pos"));
}

// Stretches of equal ids that descend along the keys.
TEST_CASE("of documents that lie one behind the other no block too many is visited") {
  for (const char* mask : {"page[b, q_pos] == page[b, kv_idx]",
                           "page[b, q_pos] == page[b, kv_idx] and kv_idx <= q_pos",
                           "page[b, q_pos] <= page[b, kv_idx]", "page[b, kv_idx] < 4",
                           "not (page[b, q_pos] == page[b, kv_idx])"}) {
    check_least(mask, true);
  }
  // In any order at all, where one side is a number.
  check_least("chunk[b, kv_idx] < 2", true);
  check_least("chunk[b, q_pos] >= 2 and chunk[b, kv_idx] <= 0");
}

// What the least and the greatest cannot tell: a tile of the ids 2 and 5, and a block of the id 3.
TEST_CASE("nor of ids in no order") {
  check_least("chunk[b, q_pos] == chunk[b, kv_idx]", true);
  const BlockTest test = *test_of("chunk[b, q_pos] == chunk[b, kv_idx]");
  CHECK(expr::print(test.kept).find("0.meets.1[q_first, kv_first]") != std::string::npos);
  CHECK(reads_table(test.kept));
  CHECK(reads_table(test.kept, 1));
  CHECK_FALSE(reads_table(test.kept, 2));
  CHECK_FALSE(reads_table(mask_of("chunk[b, q_pos] == 3")));
}

// The tests' specs have four query and two key heads.
TEST_CASE(
    "a mask that loads for each pair is asked beforehand, where four heads share the answer") {
  const auto asks = [](const std::string& mask, const std::string& more = "") {
    return asks_pairs(testing::spec_of("mask: '" + mask + "'\n" + more));
  };
  CHECK(asks("page[b, q_pos - kv_idx] == 3"));
  CHECK(asks("kv_idx <= q_pos and not page[b, page[b, q_idx] + kv_idx] == 3"));
  CHECK_FALSE(asks("page[b, q_pos] == page[b, kv_idx]"));
  CHECK_FALSE(asks("sin(q_pos * kv_idx) > 0"));
  CHECK_FALSE(asks("page[b, q_pos - kv_idx] == h"));
  CHECK_FALSE(asks("page[b, q_pos - kv_idx] == h_kv"));
  CHECK_FALSE(asks("page[b, q_pos - kv_idx] == 3", "blocks: {size: 64, from: bitmap}\n"));

  const auto spec = testing::spec_of("mask: 'page[b, q_pos - kv_idx] == 3 and kv_idx <= q_pos'\n");
  const BlockTest test = *block_test(spec);
  CHECK(asks_pairs(test));
  CHECK(expr::print(test.kept) == "0.any[q_first, kv_first]");
  CHECK(expr::print(test.full) == "0.all[q_first, kv_first]");
  REQUIRE(test.tables.size() == 1);
  CHECK(test.tables[0].of == TableOf::Pairs);
  CHECK_FALSE(asks_pairs(*test_of("page[b, q_pos] == page[b, kv_idx]")));
  CHECK_FALSE(asks_pairs(*test_of("kv_idx // 64 % 2 == 0")));
}

}  // namespace
}  // namespace attngen::attention
