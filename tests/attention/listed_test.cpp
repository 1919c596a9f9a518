// Lists of tokens as a mask.
#include "attention/listed.h"

#include <doctest/doctest.h>

#include "expr/print.h"
#include "support.h"

namespace attngen::attention {
namespace {

TEST_CASE("the mask has the lists, and its text bounds the keys still") {
  const spec::Spec lists =
      testing::spec_of("mask: 'kv_idx <= q_pos'\ntokens: {indices: 64, distinct: true}\n");
  CHECK(lists.gathers_lists());
  CHECK_FALSE(asks_pairs(lists));
  const spec::Spec masked = lists_as_mask(lists);
  CHECK_FALSE(masked.gathers_lists());
  CHECK(asks_pairs(masked));
  const KeyRange range = key_range(masked.mask, masked.inputs),
                 causal = key_range(lists.token_mask, lists.inputs);
  CHECK(expr::same(range.end, causal.end));
  CHECK_FALSE(expr::same(range.full_end, causal.full_end));  // no block is whole by its text
  const auto test = block_test(masked);
  REQUIRE(test);
  CHECK(asks_lists(*test));
  const auto other = block_test(testing::spec_of("mask: 'keep[q_idx, kv_idx] != 0'\n"));
  REQUIRE(other);
  CHECK(asks_pairs(*other));
  CHECK_FALSE(asks_lists(*other));
}

TEST_CASE("lists that may be a mask") {
  const auto may_be = [](const std::string& lines) {
    return may_be_mask(testing::read_spec(
        "attngen: 1\nname: t\ndtype: bf16\nheads: {q: 4, kv: 2}\nhead_dim: {qk: 16, v: 8}\n" +
        lines));
  };
  CHECK(may_be("tokens: {indices: 64, distinct: true}\n"));
  CHECK_FALSE(may_be("tokens: {indices: 64}\n"));
  CHECK_FALSE(may_be("varlen: true\ntokens: {indices: 64, distinct: true}\n"));
}

}  // namespace
}  // namespace attngen::attention
