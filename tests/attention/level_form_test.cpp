#include "attention/level_form.h"

#include <string>

#include "attention/pair_form.h"
#include "support.h"

namespace attngen::attention {
namespace {

using testing::read_spec;
using testing::text_with_inputs;

PairForm form_for(const std::string& score, PairAbilities abilities) {
  const spec::Spec spec =
      read_spec(text_with_inputs("  rel: {dtype: f32, shape: [batch, heads, seq_q, 9]}\n"
                                 "  key: {dtype: f32, shape: [batch, seq_kv]}\n"
                                 "  near: {dtype: f32, shape: [9, heads]}\n"
                                 "scale: 0.25\n"
                                 "score: \"" +
                                 score + "\"\n"));
  return pair_form(spec, std::get<RowForm>(derive_row_form(spec.normalize)), abilities);
}

std::optional<LevelForm> level_of(const std::string& score) {
  return form_for(score,
                  {.level = true, .key_rows = true, .row_tables = true, .strips = Shared::All})
      .level;
}

std::string indices_of(const std::string& score) {
  std::string text;
  const auto form = level_of(score);
  if (!form) return "none";
  for (const expr::Expr& index : form->indices) text += expr::print(index) + "; ";
  return text;
}

TEST_CASE("an index that ends along the keys may be the same for a block") {
  CHECK(indices_of("score + rel[b, h, q_idx, clamp(kv_idx - q_pos, -4, 4) + 4]") ==
        "min(max(kv_idx - q_pos, -4), 4) + 4; ");
  CHECK(indices_of("score - 2 * rel[b, h, q_idx, min(8, max(0, 5 - kv_idx))]") != "none");
  CHECK(indices_of("score + rel[b, h, q_idx, kv_idx // 32]") == "min(kv_idx // 32, 8); ");
  // Held to its dimension.
  CHECK(indices_of("score + rel[b, h, q_idx, kv_idx - q_pos]") ==
        "max(min(kv_idx - q_pos, 8), 0); ");
}

TEST_CASE("indices are met once, and a score's factor is the product's") {
  const auto form =
      level_of("score + rel[b, h, q_idx, min(kv_idx, 8)] * rel[b, h, q_idx, min(kv_idx, 8)] - 0.5");
  REQUIRE(form);
  CHECK(form->indices.size() == 1);
  CHECK(form->factor == 0.25);
  const auto less = level_of("rel[b, h, q_idx, min(kv_idx, 8)] - score * 2");
  REQUIRE(less);
  CHECK(less->factor == -0.5);
}

TEST_CASE("what changes with every key is never the same, nor what may turn back") {
  for (const char* score :
       {"score + rel[b, h, q_idx, kv_idx % 9]",
        "score + rel[b, h, q_idx, abs(min(kv_idx - q_pos, 8))]",
        "score + rel[b, h, q_idx, min(kv_idx, 8) - min(kv_idx, 4)]",
        "score + 0.1 * (min(kv_idx, 8) + kv_idx + q_idx * 3)",
        "score + rel[b, h, q_idx, min(kv_idx, 8)] + key[b, kv_idx]",
        "score + rel[b, h, q_idx, min(kv_idx, 8)] + tanh(kv_idx * 0.5)",
        "score * rel[b, h, q_idx, min(kv_idx, 8)]",
        "tanh(score) + rel[b, h, q_idx, min(kv_idx, 8)]",
        "score + near[clamp(kv_idx - q_pos, -4, 4) + 4, h]", "score + kv_idx * 0.5"}) {
    CAPTURE(std::string(score));
    CHECK(indices_of(score) == "none");
  }
}

// A shared operand is met once, however often it occurs.
TEST_CASE("a deep expression takes no time") {
  using expr::make;
  using expr::Op;
  expr::Expr index = make(Op::Min, {expr::variable("kv_idx", expr::Type::Int), expr::integer(8)});
  for (int i = 0; i < 60; ++i) index = make(Op::Add, {index, index});
  expr::Expr sum = make(Op::ToFloat, {index});
  for (int i = 0; i < 60; ++i) sum = make(Op::Multiply, {sum, sum});
  const expr::Expr product = expr::variable(kProduct, expr::Type::Float);
  const auto form = level_form(make(Op::Add, {product, sum}));
  REQUIRE(form);
  CHECK(form->indices.size() == 1);
}

TEST_CASE("a kernel that is not able to tell has no level form") {
  CHECK_FALSE(form_for("score + rel[b, h, q_idx, min(kv_idx, 8)]", {.row_tables = true}).level);
}

}  // namespace
}  // namespace attngen::attention
