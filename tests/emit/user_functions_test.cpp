#include "emit/user_functions.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>

#include "emit/device_text.h"
#include "emit/join.h"
#include "emit_test_support.h"
#include "variants.h"

namespace attngen::emit {
namespace {

std::string text_for(const char* lines) {
  const spec::Spec spec = spec_of(lines);
  const UserFunctions functions = user_functions(spec, form_of(spec));
  return functions.helpers + functions.text;
}

TEST_CASE("each variant has its form") {
  const auto form = [](const char* name) {
    for (const Variant& variant : kVariants) {
      if (variant.name == std::string(name)) return form_of(spec_of(variant.lines));
    }
    FAIL("no variant " << name);
    return attention::RowForm();
  };
  for (const char* name : {"full", "llama", "gemma", "gpt_oss", "mpt", "documents", "bias"}) {
    INFO(std::string(name));
    CHECK(form(name).exponential);
  }
  for (const char* name : {"sigmoid", "retention"}) {
    INFO(std::string(name));
    CHECK(form(name).row_free());
  }
  for (const char* name : {"softpick", "general"}) {
    INFO(std::string(name));
    CHECK_FALSE(form(name).exponential);
    CHECK_FALSE(form(name).row_free());
  }
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("the spec's own text stands beside its functions") {
  const std::string gemma = text_for(kVariants[2].lines);
  CHECK(has(gemma,
            "// score: cap * tanh(score / cap)\n"
            "__device__ __forceinline__ float score_of(float product, const Row& row, int, "
            "const Inputs& in) {\n"
            "  return in.cap * tanh_approx(product * row.c0);\n"));
  CHECK(has(gemma, "// mask: kv_idx <= q_pos and q_pos - kv_idx < window\n"));
  CHECK(has(gemma, "// lse: m + log(l)\n"));
}

TEST_CASE("a scale far above its default makes a score of the product that may be large") {
  CHECK(is_plain_score(spec_of("scale: 100\n")));
  CHECK_FALSE(is_plain_score(spec_of("scale: 1e6\n")));
  CHECK(has(text_for("scale: 3e38\n"), "return 1.442695f * (product * 3e+38f);"));
}

TEST_CASE("only what the spec needs") {
  const std::string full = text_for("");
  CHECK_FALSE(has(full, "score_of"));
  CHECK_FALSE(has(full, "pair_exists"));
  CHECK_FALSE(has(full, "from_bf16"));
  CHECK(has(full, "struct Inputs {};\n"));
  CHECK(has(full, "return {0, row.seq_kv, 0, row.seq_kv};"));
}

TEST_CASE("functions that emitted code calls are defined, whoever calls them") {
  // The mask's constants leave the row's own term no register: it is computed where it is added.
  std::string inputs = "inputs:\n  gate: {dtype: f32, shape: [batch, heads, seq_kv]}\n";
  std::string mask = "mask: true";
  for (int i = 0; i < 13; ++i) {
    inputs += fmt::format("  r{0}: {{dtype: i32, shape: [batch, seq_q]}}\n", i) +
              fmt::format("  k{0}: {{dtype: i32, shape: [batch, seq_kv]}}\n", i);
    mask += fmt::format(" and r{0}[b, q_idx] != k{0}[b, kv_idx]", i);
  }
  const std::string text = text_for(
      (inputs + mask + "\nscore: score + gelu(gate[b, h, q_pos]) - square(gate[b, h, kv_idx])\n")
          .c_str());
  CHECK(text.find("      gelu(") != std::string::npos);
  CHECK(text.find("__device__ __forceinline__ float gelu(float x) {") != std::string::npos);
  // Not what a comment quotes alone: -3 is folded in.
  const std::string quoted = text_for("score: score + sign(-3)\n");
  CHECK(quoted.find("// score: score + sign(-3)\n") != std::string::npos);
  CHECK(quoted.find("T sign(T x)") == std::string::npos);
}

TEST_CASE("inputs are addressed row-major, and clamped where an index is not the dimension's own") {
  const std::string bias = text_for(kVariants[6].lines);
  CHECK(has(bias, "in.half_bias[max(min(row.h - 3, 63), 0)]"));
  CHECK(has(bias, "  int batch;\n"));
  CHECK(has(bias, "in.batch - 1), 0)"));
  CHECK(has(bias, "(int64_t{row.b} * 2 + 1) * row.seq_kv + kv_idx"));
  const std::string mpt = text_for(kVariants[4].lines);
  CHECK(has(mpt, "__ldg(&in.slopes[row.h])"));
  CHECK_FALSE(has(mpt, "int batch"));
}

TEST_CASE("an index is held to the ends alone that some call passes") {
  const std::string text = text_for(
      "inputs:\n"
      "  near: {dtype: f32, shape: [129]}\n"
      "  lane: {dtype: f32, shape: [heads, 64]}\n"
      "  byte: {dtype: u8, shape: [batch, seq_kv]}\n"
      "  palette: {dtype: f32, shape: [256, 2]}\n"
      "  few: {dtype: f32, shape: [200]}\n"
      "  place: {dtype: i32, shape: [batch, seq_q, seq_kv]}\n"
      "score: score * palette[byte[b, kv_idx], h % 2] + lane[h, kv_idx % 64]\n"
      "  + near[clamp(place[b, q_idx, kv_idx], 0, 128)] + few[byte[b, kv_idx]]\n"
      "mask: byte[b, kv_idx % 128] < 3\n");
  CHECK(has(text, "in.near[min(max(__ldg(&lines.k1[kv_idx - lines.first]), 0), 128)]"));
  CHECK(has(text, "in.lane[int64_t{row.h} * 64 + (kv_idx & 63)]"));
  CHECK(has(text, "const int t0 = __ldg(&lines.k0[kv_idx - lines.first]);"));
  CHECK(has(text, "in.palette[int64_t{t0} * 2 + max(min(row.c0, 1), 0)]"));
  CHECK(has(text, "in.few[min(t0, 199)]"));
  // A call may have no key.
  CHECK(has(text, "max(min((kv_idx & 127), row.seq_kv - 1), 0)"));
}

TEST_CASE("a factor of the output that is a number is one number") {
  const std::string text = text_for("normalize: {weight: score, output: acc / 4096}\n");
  CHECK(has(text, "  values.output_scale = 2.1579186e-05f;\n"));  // the default scale too
}

TEST_CASE("where a query's saves begin is known to those that save") {
  CHECK(has(text_for("varlen: true\n"), "  int64_t first_save;"));
  CHECK_FALSE(has(text_for("varlen: true\nnormalize: none\n"), "first_save"));
}

TEST_CASE("ends of keys by a number of the call name it each time, in 64 bits") {
  const std::string text = text_for(
      "inputs: {frame: {dtype: i32, shape: []}}\nmask: kv_idx // frame <= q_pos // frame\n");
  CHECK_FALSE(has(text, "const int t0 = in.frame"));
  CHECK(has(text, "int64_t{max(in.frame, 1)}"));
  CHECK_FALSE(has(text, "(long long)"));
}

TEST_CASE("ids in no order are tabulated, and block tests read the tables") {
  const std::string ids = text_for(kVariants[12].lines);
  CHECK(has(ids, "  ::int4* attn_tables[3] = {};\n"));
  CHECK(has(ids,
            "//   0: mine[b, q_idx], over the queries of each tile\n"
            "//   1: theirs[b, h, kv_idx], over the keys of each block\n"
            "//   2: kind[b, h_kv, kv_idx], over the keys of each block\n"));
  CHECK(has(
      ids, "  constexpr TableShape shapes[] = {{false, 1}, {true, kHeadsQ}, {true, kHeadsKv}};\n"));
  CHECK(has(ids,
            "  const int blocks = (row.seq_kv + kTileKv - 1) / kTileKv;\n"
            "  const int64_t first = (int64_t{row.b} * kHeadsQ + row.h) * blocks;\n"
            "  return unpacked_ids(__ldg(&in.attn_tables[1][first + kv_first / kTileKv]));\n"));
  CHECK(has(ids,
            "  const Ids entry_0 = entry_of_0(q_first, row, in);\n"
            "  const Ids entry_1 = entry_of_1(kv_first, row, in);\n"
            "  const Ids entry_2 = entry_of_2(kv_first, row, in);\n"
            "  return entry_0.least <= entry_1.greatest && entry_1.least <= entry_0.greatest &&\n"
            "         ((entry_0.bits & entry_1.bits) != 0) && 0 < entry_2.greatest;\n"));
  CHECK_FALSE(has(text_for(kVariants[5].lines), "attn_tables"));  // ids that ascend
  const spec::Spec spec = spec_of(kVariants[12].lines);
  CHECK_FALSE(has(user_functions(spec, form_of(spec), target::Family::Cdna2).text, "attn_tables"));
}

TEST_CASE("a mask rounds after each operation on both vendors' devices") {
  const char* const lines =
      "inputs: {gate: {dtype: f32, shape: [batch, seq_kv]}, rate: {dtype: f32, shape: [heads]}}\n"
      "mask: gate[b, kv_idx] * rate[h] - gate[b, q_pos] * rate[h] >= kv_idx / 3 - q_pos / 7\n";
  CHECK(has(text_for(lines), "__fsub_rn("));
  const spec::Spec spec = spec_of(lines);
  const std::string amd = user_functions(spec, form_of(spec), target::Family::Cdna2).text;
  CHECK_FALSE(has(amd, "__fsub_rn"));
  CHECK(has(amd,
            "float subtract_apart(float x, float y) {\n"
            "#pragma clang fp contract(off)\n"
            "  return x - y;\n"));
  CHECK(has(amd, "  row.c2 = __fdiv_rn(float(row.q_pos), 7.0f);\n"));
  CHECK(has(amd, "  return subtract_apart("));
}

TEST_CASE("tables of packed sequences have each one's entries where its queries or keys begin") {
  const std::string text = text_for(
      "varlen: true\ninputs: {doc: {dtype: i32, shape: [seq_q]}, "
      "page: {dtype: i32, shape: [heads, seq_kv]}}\nmask: doc[q_idx] == page[h, kv_idx]\n");
  CHECK(has(text,
            "  const int64_t first = int64_t{row.q_begin} / kTileQueries + row.b;\n"
            "  return unpacked_ids(__ldg(&in.attn_tables[0][first + q_first / kTileQueries]));\n"));
  CHECK(has(text,
            "  const int64_t of_head = int64_t{in.total_kv} / kTileKv + in.batch;\n"
            "  const int64_t first = row.h * of_head + int64_t{row.kv_begin} / kTileKv + row.b;\n"
            "  return unpacked_ids(__ldg(&in.attn_tables[1][first + kv_first / kTileKv]));\n"));
  CHECK(has(text, "  int batch;\n  int total_kv;\n"));
}

TEST_CASE("a table that no block test reads has no function") {
  const spec::Spec spec = spec_of(kVariants[12].lines);
  const attention::RowForm form = form_of(spec);
  const DeviceNames names(spec, form);
  attention::BlockTest test = *attention::block_test(spec.mask, spec.inputs);
  CHECK(has(tables_text(spec, test, names), "entry_of_0("));
  test.kept = test.full = expr::boolean(true);
  CHECK_FALSE(has(tables_text(spec, test, names), "entry_of_0("));
}

TEST_CASE("searches of one input go on side by side, as many as have a bit each") {
  std::string mask = "doc[b, kv_idx] <= 7 and (false";
  for (int i = 0; i < 16; ++i) {
    mask += fmt::format(" or doc[b, q_pos] - {} == doc[b, kv_idx]", 2 * i);
  }
  const std::string inputs = "inputs: {doc: {dtype: i32, shape: [batch, seq_kv], sorted: true}}\n";
  const std::string text = text_for((inputs + "mask: " + mask + ")\n").c_str());
  // 16 first keys, then 17 last ones and the two of what is sure. There 7 is asked for again. What
  // may be less than all numbers is looked for by the next number, below which the ids are.
  CHECK(has(text, "  int counts0[32];\n"));
  // Bits 16 and 17: of 7, and of the id itself.
  CHECK(has(text, "  count<0b00000000000000110000000000000000>(in.doc + "));
  CHECK(has(text, "  int counts1[3];\n"));
  CHECK(has(text, "  count<0b000>(in.doc + "));
}

TEST_CASE("functions of what reads itself again and again are short") {
  const auto nested = [](std::string text, const char* before, const char* after) {
    for (int i = 0; i < 90; ++i) text.insert(0, before).append(after);
    return text;
  };
  const std::string inputs =
      "inputs: {doc: {dtype: i32, shape: [batch, seq_kv], sorted: true}, s: {dtype: f32, shape: "
      "[heads]}}\n";
  std::string rows = "a0: \"s[h]\"";
  for (int i = 1; i < 29; ++i) {
    rows += fmt::format(", a{0}: \"a{1} * a{1} + a{1} if h == {0} else 1.5\"", i, i - 1);
  }
  for (const std::string& lines :
       {"score: score + " + nested("s[h]", "silu(", ")") + "\n",
        "score: score if h == 0 else " + nested("score + s[h]", "silu(", ")") + "\n",
        "mask: kv_idx == 0 or " + nested("doc[b, kv_idx] - q_idx", "abs(", ") - 3") + " <= 3\n",
        "mask: kv_idx == 0 or " + nested("doc[b, kv_idx]", "(", ") % 9 + 3") + " <= 3\n",
        "normalize: {rows: {" + rows + ", m: \"max(rowmax(score), a28)\", " +
            "l: rowsum(exp(score - m))}, weight: exp(score - m), output: acc / l}\n"}) {
    INFO(lines);
    CHECK(text_for((inputs + lines).c_str()).size() < 100'000);
  }
}

TEST_CASE("what scores decide need not be exact, nor a logarithm for each pair") {
  CHECK(has(text_for("score: score + floor(kv_idx / 7)\n"), "__fdiv_rn("));
  CHECK_FALSE(has(text_for("score: score + floor(score / (kv_idx + 1))\n"), "__fdiv_rn("));
  CHECK(has(text_for("score: score - log(1 + square(q_pos - kv_idx))\n"), " __logf("));
  CHECK(has(text_for("score: score * log(h + 2)\n"), " logf("));
}

TEST_CASE("a join has the rows that its factors read") {
  const auto join_for = [](const char* lines) { return join_function(form_of(spec_of(lines))); };
  // A constant row has no factor, and nvcc warns of variables that nothing reads.
  CHECK(!has_word(join_for("inputs: {gate: {dtype: f32, shape: [heads]}}\n"
                           "normalize: {rows: {c: \"gate[h]\"}, weight: sigmoid(score - c)}\n"),
                  "LoopRows"));
  CHECK(has_word(join_for("normalize: {rows: {m: \"max(rowmax(score), 0)\"}, "
                          "weight: relu(exp(score - m) - exp(-m))}\n"),
                 "LoopRows"));
}

TEST_CASE("an empty row gives 0, and its saved NaN becomes -inf") {
  CHECK(has(text_for(""),
            "if (red.max_score == -INFINITY) values.output_scale = 0;  // no pair exists"));
  CHECK_FALSE(has(text_for(""), "Not by the maximum alone"));
  CHECK(has(
      text_for("normalize: {rows: {m: \"max(rowmax(score), 0)\", l: rowsum(exp(score - m))}, "
               "weight: exp(score - m), output: acc / l}\n"),
      "  // Not by the maximum alone: pairs weighed against the row's constant leave it at -inf.\n"
      "  if (red.max_score == -INFINITY && red.sum_exp == 0) values.output_scale = 0;"));
  const std::string general = text_for(kVariants[10].lines);
  CHECK(has(general, "if (values.empty) return 0;"));
  CHECK(has(general, "return values.empty && isnan(value) ? -INFINITY : value;"));
  CHECK_FALSE(has(text_for(""), "isnan"));
  // A factor may be infinite, a logarithm's argument below 0.
  for (const char* save : {"l * exp(top)", "log(7 - top)"}) {
    const std::string lines =
        "inputs: {top: {dtype: f32, shape: []}}\n"
        "normalize: {rows: {m: rowmax(score), l: rowsum(exp(score - m))}, weight: exp(score - m), "
        "output: acc / l, save: {n: \"" +
        std::string(save) + "\"}}\n";
    CHECK(has(text_for(lines.c_str()), "values.empty && isnan(value)"));
  }
}

TEST_CASE("text is the same each time and fits its columns") {
  for (const Variant& variant : kVariants) {
    const std::string text = text_for(variant.lines);
    CHECK(text == text_for(variant.lines));
    for (size_t at = 0; at < text.size();) {
      const size_t end = text.find('\n', at);
      INFO(text.substr(at, end - at));
      CHECK(end - at <= 100);
      at = end + 1;
    }
  }
}

TEST_CASE("an input's name is no name of the template's") {
  CHECK(has_name("a + kScale", "kScale"));
  CHECK(has_name("in.kScale * kScale", "kScale"));
  CHECK_FALSE(has_name("in.kScale + kScaled", "kScale"));
}

}  // namespace
}  // namespace attngen::emit
