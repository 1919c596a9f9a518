#include "attention/started.h"

#include <doctest/doctest.h>

#include "support.h"

namespace attngen::attention {
namespace {

using testing::form_of;
using Names = std::set<std::string, std::less<>>;

TEST_CASE("weights wait for a maximum, by way of other rows too") {
  const RowForm direct = form_of("  rows: {m: rowmax(score)}\n  weight: exp(score - m) * score");
  CHECK(rows_of_maxima(direct) == Names{"m"});
  CHECK(weights_wait(direct));
  const RowForm by_way =
      form_of("  rows: {m: rowmax(score), n: m + 1}\n  weight: exp(score - n) * score");
  CHECK(rows_of_maxima(by_way) == Names{"m", "n"});
  CHECK(weights_wait(by_way));
}

TEST_CASE("a sum alone may wait, or nothing") {
  const RowForm sum = form_of(
      "  rows: {m: rowmax(score), l: rowsum(exp(score - m))}\n  weight: relu(score)\n"
      "  output: acc / (1 + l)");
  CHECK(sum.row_free());
  CHECK(weights_wait(sum));
  const RowForm none =
      form_of("  rows: {m: rowmax(score)}\n  weight: relu(score)\n  output: acc - m");
  CHECK(rows_of_maxima(none).empty());
  CHECK_FALSE(weights_wait(none));
}

}  // namespace
}  // namespace attngen::attention
