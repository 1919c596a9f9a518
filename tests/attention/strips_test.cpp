#include "attention/strips.h"

#include <string>

#include "attention/pair_form.h"
#include "support.h"

namespace attngen::attention {
namespace {

using testing::read_spec;
using testing::spec_of;
using testing::text_with_inputs;

// Of a score, or of a whole spec's lines.
PairForm stripped(const std::string& score, const std::string& more = "") {
  const spec::Spec spec = spec_of("scale: 1\nscore: \"" + score + "\"\n" + more);
  const auto rows = derive_row_form(spec.normalize);
  REQUIRE(std::holds_alternative<RowForm>(rows));
  return pair_form(spec, std::get<RowForm>(rows),
                   {.row_keys = true, .key_rows = true, .strips = Shared::All});
}

std::string printed(const expr::Expr& e) { return e ? expr::print(e) : "none"; }

// Of expressions as they are.
Strips plain_strips() {
  return {Shared::All, [](const expr::Expr&) { return false; },
          [](const expr::Expr& load, size_t dim) { return load.operand(dim); }};
}

Reach reach_of(const std::string& score) {
  const spec::Spec spec = spec_of("score: \"" + score + "\"\n");
  return plain_strips().reach(spec.score);
}

TEST_CASE("on which pairs a value depends is proven") {
  CHECK(reach_of("sink[h] * seq_kv") == Reach::Tile);
  CHECK(reach_of("page[b, kv_idx] + kv_idx % 8") == Reach::Key);
  CHECK(reach_of("page[b, q_pos] * 0.5") == Reach::Row);
  CHECK(reach_of("abs(kv_idx - q_pos)") == Reach::Distance);
  CHECK(reach_of("log(1.5 + 2 * (q_idx + 3) - 2 * kv_idx)") == Reach::Distance);
  CHECK(reach_of("page[b, kv_idx - q_pos]") == Reach::Distance);
  CHECK(reach_of("sink[h] if kv_idx > q_pos else abs(q_idx - kv_idx)") == Reach::Distance);
  CHECK(reach_of("kv_idx - 2 * q_pos") == Reach::Pair);
  CHECK(reach_of("kv_idx // 64 - q_pos // 64") == Reach::Pair);
  CHECK(reach_of("sqrt(kv_idx) - sqrt(q_pos)") == Reach::Pair);
  CHECK(reach_of("pair[q_idx, kv_idx]") == Reach::Pair);
  CHECK(reach_of("abs(kv_idx - q_pos) + page[b, kv_idx]") == Reach::Pair);
  CHECK(reach_of("score") == Reach::Pair);
}

TEST_CASE("a key's element and a function of the distance are strips") {
  const PairForm key = stripped("score + page[b, kv_idx]");
  CHECK(printed(key.of_key.at(0)) == "page[b, kv_idx]");
  CHECK(printed(key.score) == "$product + $key");
  CHECK(key.key_rows.empty());
  CHECK_FALSE(key.of_distance);
  const PairForm distance = stripped("score - sink[h] * log(1 + abs(q_pos - kv_idx))");
  CHECK(printed(distance.score) == "$product + $distance");
  CHECK(printed(distance.of_distance) == "-(sink[h] * log(1 + abs(q_pos - kv_idx)))");
  CHECK_FALSE(distance.reads("kv_idx"));
}

TEST_CASE("terms that depend on the same come together, whatever stands between") {
  const PairForm form =
      stripped("page[b, kv_idx] - sqrt(1 + abs(q_pos - kv_idx)) + score - chunk[b, kv_idx] * 0.25");
  CHECK(printed(form.score) == "$product + $key + $distance");
  CHECK(printed(form.of_key.at(0)) == "page[b, kv_idx] - chunk[b, kv_idx] * 0.25");
  CHECK(printed(form.of_distance) == "-sqrt(1 + abs(q_pos - kv_idx))");
}

TEST_CASE("there are three strips of keys; what has another value stays with the pair") {
  const PairForm two = stripped("(score + page[b, kv_idx]) * chunk[b, kv_idx]");
  REQUIRE(two.of_key.size() == 2);
  CHECK(printed(two.of_key[0]) == "page[b, kv_idx]");
  CHECK(printed(two.of_key[1]) == "chunk[b, kv_idx]");
  CHECK(printed(two.score) == "($product + $key) * $key1");
  const PairForm four = stripped(
      "((score + page[b, kv_idx]) * chunk[b, kv_idx] + exp(page[b, kv_idx])) * "
      "exp(chunk[b, kv_idx])");
  CHECK(four.of_key.size() == 3);
  CHECK(printed(four.score) ==
        "(($product + $key1) * $key2 + $key) * exp2($key2 * 1.4426950408889634)");
}

TEST_CASE("rows of several heads share what keys alone give all of them") {
  const auto packed = [](const std::string& score) {
    const spec::Spec spec = spec_of("score: \"" + score + "\"\n");
    return pair_form(spec, std::get<RowForm>(derive_row_form(spec.normalize)),
                     {.key_rows = true, .strips = Shared::OfKeys});
  };
  CHECK(packed("score + page[b, kv_idx]").of_key.size() == 1);
  CHECK(packed("score + exp(page[b, kv_idx]) * seq_q").of_key.size() == 1);
  CHECK_FALSE(packed("score - sqrt(1 + abs(q_pos - kv_idx))").has_value_strips());
  CHECK_FALSE(packed("score / (1 + log(1 + abs(q_pos - kv_idx)))").has_value_strips());
  const PairForm of_head = packed("score + sink[h] * exp(page[b, kv_idx])");
  REQUIRE(of_head.of_key.size() == 1);
  CHECK(expr::inputs_of(of_head.of_key[0]) == std::vector<std::string>{"page"});
}

TEST_CASE("a divisor of the key or the distance alone is inverted once") {
  const PairForm key = stripped("score / page[b, kv_idx]");
  CHECK(printed(key.of_key.at(0)) == "1 / page[b, kv_idx]");
  CHECK(printed(key.score) == "$product * $key");
  const PairForm distance = stripped("score / (1 + abs(q_pos - kv_idx))");
  CHECK(printed(distance.of_distance) == "1 / (1 + abs(q_pos - kv_idx))");
  CHECK(printed(distance.score) == "$product * $distance");
  // Where the one strip of distances has another value.
  const PairForm other =
      stripped("score / (1 + abs(q_pos - kv_idx)) - log(2 + abs(q_pos - kv_idx))");
  CHECK(other.of_distance);
}

// Of a part of its arithmetic another rounding would be made.
TEST_CASE("a step has a strip of its own, or one of what it rounds as a whole") {
  const std::string step = "floor(page[b, kv_idx] * 0.1 - chunk[b, q_pos] * 0.1)";
  const PairForm form = stripped("score + " + step);
  CHECK_FALSE(form.has_value_strips());
  CHECK(printed(form.score).find("page.k0[kv_idx] * 0.1") != std::string::npos);
  const PairForm key = stripped("score + floor(page[b, kv_idx] * 0.1)");
  CHECK(printed(key.of_key.at(0)) == "floor(page[b, kv_idx] * 0.1)");
}

TEST_CASE("what grows evenly along the keys needs no strip") {
  CHECK_FALSE(stripped("score + sink[h] * (kv_idx - q_pos)").has_value_strips());
  CHECK_FALSE(stripped("score * exp(sink[h] * (kv_idx - q_pos))", "normalize: {weight: score}\n")
                  .has_value_strips());
  CHECK_FALSE(stripped("score * 2 + kv_idx").has_value_strips());
  CHECK_FALSE(stripped("30 * tanh(score / 30)").has_value_strips());
}

TEST_CASE("weights have strips too") {
  const PairForm form =
      stripped("score", "normalize: {weight: sigmoid(score - sqrt(1 + abs(q_pos - kv_idx)))}\n");
  REQUIRE(form.of_distance);
  CHECK(printed(form.weight).find("$distance") != std::string::npos);
}

PairForm indexed(const std::string& index, const std::string& more = "") {
  const spec::Spec spec =
      read_spec(text_with_inputs("  rel: {dtype: f32, shape: [batch, seq_q, 9]}\n"
                                 "  near: {dtype: i32, shape: [9]}\n"
                                 "  place: {dtype: i32, shape: [batch, seq_kv]}\n"
                                 "score: \"score + rel[b, q_idx, " +
                                 index + "]" + more + "\"\n"));
  return pair_form(spec, std::get<RowForm>(derive_row_form(spec.normalize)),
                   {.key_rows = true, .row_tables = true, .strips = Shared::All});
}
std::string element_of(const PairForm& form) {
  REQUIRE(form.score.op() == expr::Op::Add);
  return expr::print(form.score.operand(1));
}

TEST_CASE("an index of a pair's own element is a strip, held to its dimension") {
  const PairForm distance = indexed("near[abs(q_idx - kv_idx)]");
  CHECK(printed(distance.of_distance) == "max(min(near[abs(q_idx - kv_idx)], 8), 0)");
  CHECK(element_of(distance) == "rel.t0[$distance]");
  CHECK(distance.of_distance.type() == expr::Type::Int);
  const PairForm key = indexed("place[b, kv_idx]");
  CHECK(printed(key.of_key.at(0)) == "max(min(place[b, kv_idx], 8), 0)");
  CHECK(element_of(key) == "rel.t0[$key]");
  CHECK(printed(indexed("int(log2(1 + abs(q_idx - kv_idx)))").of_distance) ==
        "max(min(int(log2(1 + abs(q_idx - kv_idx))), 8), 0)");
}

TEST_CASE("an index of key and query takes what depends on the key alone from a strip") {
  const PairForm form = indexed("clamp(place[b, kv_idx] - place[b, q_idx] + 4, 0, 8)");
  CHECK(printed(form.of_key.at(0)) == "place[b, kv_idx]");
  CHECK(element_of(form) == "rel.t0[min(max($key - $c0 + 4, 0), 8)]");
}

TEST_CASE("an index that takes no longer than to read it is no strip") {
  for (const char* index : {"clamp(kv_idx - q_idx, -4, 4) + 4", "kv_idx // 7", "kv_idx % 7"}) {
    CAPTURE(index);
    CHECK_FALSE(indexed(index).has_value_strips());
  }
}

TEST_CASE("a value and an index of the distance have one strip between them") {
  const PairForm form = indexed("near[abs(q_idx - kv_idx)]", " - log(1 + abs(q_idx - kv_idx))");
  CHECK(printed(form.of_distance) == "-log(1 + abs(q_idx - kv_idx))");
  CHECK(printed(form.score).find("near[abs(q_idx - kv_idx)]") != std::string::npos);
}

TEST_CASE("a mask reads ids of keys from strips, the first two of them") {
  const PairForm form = stripped(
      "score",
      "mask: \"page[b, q_pos] == page[b, kv_idx] or chunk[b, kv_idx] < page[b, kv_idx]\"\n");
  REQUIRE(form.key_words.size() == 2);
  CHECK(printed(form.key_words[0]) == "page[b, kv_idx]");
  CHECK(printed(form.key_words[1]) == "chunk[b, kv_idx]");
  CHECK(printed(form.mask) == "$c0 == $key_word0 or $key_word1 < $key_word0");
  CHECK_FALSE(form.mask_loads());
  CHECK_FALSE(form.has_value_strips());
  CHECK(stripped("score",
                 "mask: \"page[b, kv_idx] == chunk[b, kv_idx] or span[b, kv_idx] == 7 or "
                 "pair[q_idx, kv_idx] == 1\"\n")
            .mask_loads());
}

TEST_CASE("a mask reads whatever depends on the key alone from strips, if it is worth one") {
  const auto masked = [](const std::string& mask) {
    return stripped("score", "mask: \"" + mask + "\"\n");
  };
  const PairForm frames = masked("q_idx % 1560 == kv_idx % 1560");
  REQUIRE(frames.key_words.size() == 1);
  CHECK(printed(frames.key_words[0]) == "kv_idx % 1560");
  CHECK(printed(frames.mask) == "$c0 == $key_word0");
  const PairForm pages = masked("page[b % 2, q_pos] == page[b % 2, kv_idx]");
  REQUIRE(pages.key_words.size() == 1);
  CHECK(printed(pages.key_words[0]) == "page[b % 2, kv_idx]");
  const PairForm sinks = masked("0.5 * page[b, q_pos] - 0.5 * page[b, kv_idx] > sink[h]");
  REQUIRE(sinks.key_words.size() == 1);
  CHECK(printed(sinks.key_words[0]) == "0.5 * page[b, kv_idx]");
  CHECK(printed(sinks.mask) == "$c0 - $key_float0 > $c1");
  CHECK(printed(masked("page[b, kv_idx] > sink[h]").mask) == "$key_float0 > $c0");
  CHECK(masked("kv_idx <= 0.5 * q_pos").key_words.empty());
  CHECK(printed(masked("0.5 * page[b, kv_idx] > -20").mask) == "$key_float0 > -20");
  CHECK(masked("q_idx // 64 == kv_idx // 64").key_words.empty());
  CHECK(masked("kv_idx < page[b, q_pos] or page[b, 7] == 1").key_words.empty());
  CHECK(masked("(q_pos - kv_idx) % 3 == 0").key_words.empty());
}

TEST_CASE("a mask whose rows search their limits reads no id of a key") {
  const std::string mask = "mask: \"doc_id[b, q_pos] == doc_id[b, kv_idx]\"\n";
  CHECK(stripped("score", mask).key_words.empty());
  CHECK(stripped("score", mask + "normalize: {weight: relu(score)}\n").key_words.size() == 1);
}

// A shared operand is met once, however often it occurs.
TEST_CASE("a deep expression takes no time") {
  std::string score = "abs(q_pos - kv_idx)";
  for (int i = 0; i < 60; ++i) score.insert(0, "sqrt(").append(")");
  CHECK(stripped("score + " + score).of_distance);
  expr::Expr sum = spec_of("score: \"score + page[b, kv_idx]\"\n").score;
  for (int i = 0; i < 60; ++i) sum = expr::make(expr::Op::Add, {sum, sum});
  CHECK(plain_strips()(sum));
}

}  // namespace
}  // namespace attngen::attention
