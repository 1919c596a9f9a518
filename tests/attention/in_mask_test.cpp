#include "attention/in_mask.h"

#include <string>

#include "expr/print.h"
#include "support.h"

namespace attngen::attention {
namespace {

std::string under(const std::string& mask, const std::string& score) {
  const spec::Spec spec =
      testing::spec_of("mask: " + mask + "\nscore: score + " + score + "\nnormalize: softmax\n");
  return expr::print(within_mask(spec.score, spec.mask));
}

TEST_CASE("absolute values and positive parts whose sign the mask decides") {
  CHECK(under("kv_idx <= q_pos", "abs(q_pos - kv_idx)") == "score + (q_pos - kv_idx)");
  CHECK(under("q_pos >= kv_idx and h > 1", "abs(kv_idx - q_pos)") == "score + -(kv_idx - q_pos)");
  CHECK(under("kv_idx < q_pos", "max(0, q_pos - 1 - kv_idx)") == "score + (q_pos - 1 - kv_idx)");
  CHECK(under("kv_idx <= q_pos", "max(q_pos - kv_idx + 7, 0)") == "score + (q_pos - kv_idx + 7)");
  CHECK(under("kv_idx >= q_idx and kv_idx < 9 + q_idx", "abs(q_idx - kv_idx)") ==
        "score + -(q_idx - kv_idx)");
}

TEST_CASE("others stay") {
  const auto stays = [](const std::string& mask, const std::string& score) {
    return under(mask, score) == "score + " + score;
  };
  CHECK(stays("kv_idx <= q_pos or h == 0", "abs(q_pos - kv_idx)"));
  CHECK(stays("not kv_idx <= q_pos", "abs(q_pos - kv_idx)"));
  CHECK(stays("kv_idx <= q_pos", "abs(q_idx - kv_idx)"));
  CHECK(stays("kv_idx <= q_pos + 1", "abs(q_pos - kv_idx)"));
  CHECK(stays("kv_idx <= q_pos", "max(q_pos - kv_idx - 1, 0)"));
  CHECK(stays("kv_idx <= q_pos", "abs(q_pos - 2 * kv_idx)"));
  CHECK(stays("kv_idx <= q_pos", "max(q_pos - kv_idx, 3)"));
}

}  // namespace
}  // namespace attngen::attention
