#include "attention/row_tables.h"

#include <fmt/format.h>

#include <string>

#include "attention/pair_form.h"
#include "support.h"

namespace attngen::attention {
namespace {

using testing::read_spec;
using testing::text_with_inputs;

constexpr const char* kInputs =
    "  rel: {dtype: bf16, shape: [batch, heads, seq_q, 257]}\n"
    "  far: {dtype: f32, shape: [heads, seq_q, 150]}\n"
    "  wide: {dtype: bf16, shape: [heads, seq_q, 521]}\n"
    "  shared: {dtype: bf16, shape: [heads, 64]}\n"
    "  turned: {dtype: bf16, shape: [heads, seq_kv, 64]}\n";

PairForm tables_of(const std::string& score) {
  const spec::Spec spec = read_spec(text_with_inputs(kInputs) + "score: " + score + "\n");
  const auto rows = derive_row_form(spec.normalize);
  return pair_form(spec, std::get<RowForm>(rows), {.places = true, .row_tables = true});
}

std::string text_for(const std::string& score) { return expr::print(tables_of(score).score); }

TEST_CASE("a load of a query's own row of fixed length becomes an element of a table") {
  const PairForm form = tables_of("tanh(score) + rel[b, h, q_idx, kv_idx % 257]");
  REQUIRE(form.row_tables.size() == 1);
  CHECK(expr::print(form.row_tables[0].first) == "rel[b, h, q_idx, 0]");
  CHECK(form.row_tables[0].bytes == 514);
  CHECK(expr::print(form.score).find("rel.t0[kv_idx % 257]") != std::string::npos);
  CHECK(form.divides_keys);
}

TEST_CASE("an index is clamped at the ends that it is not proven to be within") {
  CHECK(text_for("tanh(score) + rel[b, h, q_idx, clamp(kv_idx - q_pos, -128, 128) + 128]")
            .find("rel.t0[min(max(kv_idx - q_pos, -128), 128) + 128]") != std::string::npos);
  CHECK(text_for("tanh(score) + rel[b, h, q_idx, kv_idx // 64]")
            .find("rel.t0[min(kv_idx // 64, 256)]") != std::string::npos);
  CHECK(text_for("tanh(score) + rel[b, h, q_idx, kv_idx - q_pos]")
            .find("rel.t0[max(min(kv_idx - q_pos, 256), 0)]") != std::string::npos);
  // A float beyond 32 bits is no index yet.
  CHECK(text_for("tanh(score) + rel[b, h, q_idx, int(score * 1e-9)]").find("rel.t0[max(min(int(") !=
        std::string::npos);
}

TEST_CASE("an index whose parts may pass 32 bits is clamped at both ends") {
  for (const char* index :
       {"min(square(kv_idx - q_pos), 64)", "square(1000 * kv_idx) // 1000000",
        "-square(kv_idx - q_pos)", "abs(kv_idx * kv_idx)", "square(kv_idx - q_pos) + 3 * kv_idx"}) {
    CAPTURE(index);
    const std::string score = text_for(fmt::format("tanh(score) + rel[b, h, q_idx, {}]", index));
    CHECK(score.find("rel.t0[max(min(") != std::string::npos);
  }
  CHECK(text_for("tanh(score) + rel[b, h, q_idx, min(abs(kv_idx - q_pos), 64)]")
            .find("rel.t0[min(abs(kv_idx - q_pos), 64)]") != std::string::npos);
}

TEST_CASE("rows that queries share, of keys or too long are no tables") {
  for (const char* load :
       {"wide[h, q_idx, kv_idx // 2]", "shared[h, kv_idx // 64]", "turned[h, kv_idx, q_idx]",
        "rel[b, h, kv_idx, q_idx]", "rel[b, h, q_idx, h]"}) {
    CAPTURE(load);
    CHECK(tables_of(std::string("tanh(score) + ") + load).row_tables.empty());
  }
}

TEST_CASE("elements of a row share its table; a table without room is left out") {
  const PairForm form = tables_of(
      "tanh(score) + far[h, q_idx, kv_idx // 3] * far[h, q_idx, kv_idx // 3 + 1] + "
      "rel[b, h, q_idx, kv_idx % 64]");
  REQUIRE(form.row_tables.size() == 1);
  CHECK(form.row_tables[0].bytes == 600);
  CHECK(expr::print(form.score).find("rel[b, h, q_idx, kv_idx % 64]") != std::string::npos);
}

TEST_CASE("rows begin at 16 bytes, eight of them in different banks") {
  const auto table = [](int bytes) { return RowTable{"t", {}, bytes}; };
  CHECK(places_of({}) == std::vector<int>{0});
  const std::vector<RowTable> whole{table(128), table(64)};
  CHECK(places_of(whole) == std::vector<int>{0, 128, 208});  // 13 times 16
  const std::vector<RowTable> odd{table(514)};
  CHECK(places_of(odd) == std::vector<int>{0, 560});  // from 34 chunks on, which it may touch
}

}  // namespace
}  // namespace attngen::attention
