// What a right spec is read as.
#include "spec/read.h"

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "expr/print.h"
#include "spec/form.h"

namespace attngen::spec {
namespace {

Spec read_text(const std::string& content, const std::string& name = "s.yaml") {
  text::Diagnostics diagnostics({name, content});
  std::optional<Spec> spec = read(diagnostics);
  REQUIRE_MESSAGE(spec, diagnostics.render(text::ErrorFormat::Gcc));
  return std::move(*spec);
}

const std::string kSmall =
    "attngen: 1\n"
    "name: small\n"
    "dtype: bf16\n"
    "heads: {q: 8, kv: 2}\n"
    "head_dim: {qk: 64, v: 128}\n";

TEST_CASE("every shipped spec is right and bears its file's name") {
  int count = 0;
  for (const char* folder : {"/specs/models", "/specs/variants"}) {
    const std::filesystem::path path = std::string(ATTNGEN_SOURCE_DIR) + folder;
    if (!std::filesystem::exists(path)) continue;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
      if (entry.path().extension() != ".yaml") continue;
      std::ifstream in(entry.path(), std::ios::binary);
      std::ostringstream content;
      content << in.rdbuf();
      const Spec spec = read_text(content.str(), entry.path().filename().string());
      CHECK(spec.name == entry.path().stem().string());
      CHECK_FALSE(spec.doc.empty());
      ++count;
    }
  }
  CHECK(count >= 10);
}

TEST_CASE("defaults") {
  const Spec spec = read_text(kSmall);
  CHECK(spec.name == "small");
  CHECK(spec.pattern == Pattern::Parallel);
  CHECK(spec.heads.q == 8);
  CHECK(spec.heads.kv() == 2);
  CHECK(spec.heads.v == 2);
  CHECK(spec.heads.group() == 4);
  CHECK(spec.head_dim.v == 128);
  CHECK(spec.layout == Layout::Bshd);
  CHECK_FALSE(spec.varlen);
  CHECK_FALSE(spec.page);
  CHECK_FALSE(spec.v_prefix);
  CHECK(spec.scale == 0.125);
  CHECK(spec.passes == std::vector{Pass::Forward});
  CHECK(spec.targets == std::vector<std::string>{"h100"});
  REQUIRE(spec.workload.size() == 1);
  CHECK(spec.workload[0].seq_kv == 4096);
  CHECK(spec.score_text == "score");
  CHECK(spec.mask_text == "true");
  CHECK(spec.normalize_text == "softmax");
  CHECK(spec.score.op() == expr::Op::Variable);
  CHECK(spec.mask.is_number(1));
  CHECK_FALSE(spec.recurrent);
}

// The defaults of the schema are those of the reader.
TEST_CASE("defaults written out change nothing") {
  for (const Pattern pattern : {Pattern::Parallel, Pattern::Recurrent}) {
    std::string base = "attngen: 1\nname: y\ndtype: fp16\nhead_dim: {qk: 64, v: 64}\n";
    base += pattern == Pattern::Parallel ? "heads: {q: 2, kv: 1}\n"
                                         : "pattern: recurrent\nheads: {q: 2, k: 2, v: 2}\n";
    std::string written;
    for (const Key& key : spec_type().keys) {
      if (key.fallback.is_null() || (key.only && key.only != pattern)) continue;
      if (key.name != "pattern") written += key.name + ": " + key.fallback.dump() + "\n";
    }
    CHECK(written.size() > 100);
    CHECK(read_text(base).hash == read_text(base + written).hash);
  }
}

TEST_CASE("softmax and none are spelled in the long form") {
  const Spec softmax = read_text(kSmall);
  const Spec spelled = read_text(kSmall +
                                 "normalize:\n"
                                 "  rows:\n"
                                 "    m: rowmax(score)\n"
                                 "    l: rowsum(exp(score -\n"
                                 "       m))\n"
                                 "  weight: exp(score - m)\n"
                                 "  output: acc / l\n"
                                 "  save: {lse: m + log(l)}\n");
  CHECK(softmax.hash == spelled.hash);
  CHECK(spelled.normalize_text ==
        "m = rowmax(score)\n"
        "l = rowsum(exp(score - m))\n"
        "weight = exp(score - m)\n"
        "output = acc / l\n"
        "save lse = m + log(l)");
  REQUIRE(softmax.normalize.rows.size() == 2);
  CHECK(softmax.normalize.rows[1].name == "l");
  CHECK(expr::print(softmax.normalize.rows[1].value) == "rowsum(exp(score - m))");
  CHECK(softmax.normalize.saves[0].name == "lse");
  // What is left out of softmax's is softmax's.
  const Spec output = read_text(kSmall + "normalize: {output: acc / l}\n");
  CHECK(softmax.hash == output.hash);
  CHECK(output.normalize_text == spelled.normalize_text);
  CHECK(softmax.hash == read_text(kSmall + "normalize: {save: {lse: m + log(l)}}\n").hash);
  const Spec saved = read_text(kSmall + "normalize: {save: {top: m}}\n");
  REQUIRE(saved.normalize.saves.size() == 1);
  CHECK(saved.normalize.saves[0].name == "top");

  const Spec none = read_text(kSmall + "normalize: none\n");
  CHECK(none.normalize.rows.empty());
  CHECK(none.normalize.saves.empty());
  CHECK(none.hash == read_text(kSmall + "normalize: {weight: score, output: acc}").hash);
  CHECK(none.hash == read_text(kSmall + "normalize: {weight: score}").hash);
  CHECK(none.hash != softmax.hash);
}

TEST_CASE("all fields") {
  const Spec spec = read_text(kSmall +
                              "$schema: https://example.org/attngen.schema.json\n"
                              "doc: \"caf\\u00e9\"\n"
                              "layout: bhsd\n"
                              "varlen: true\n"
                              "kv_cache: {paged: 64}\n"
                              "scale: 0.5\n"
                              "passes: [forward, backward, decode]\n"
                              "inputs:\n"
                              "  slopes: {dtype: f32, shape: [heads]}\n"
                              "  doc_id: {dtype: i32, shape: [heads, seq_kv], sorted: true}\n"
                              "  cap: {dtype: f32, shape: []}\n"
                              "  table: {dtype: u8, shape: [seq_q, 32]}\n"
                              "constants: {window: 4096, soft: 50.0}\n"
                              "fixed: {seq_q: 64}\n"
                              "workload:\n"
                              "  - {seq_q: 64}\n"
                              "  - {batch: 2, seq_q: 64, seq_kv: 1e3, weight: 0.5}\n"
                              "targets: [h100, mi250]\n"
                              "score: cap * tanh(score / cap) + slopes[h] * (kv_idx - q_pos)\n"
                              "mask: q_pos - kv_idx < window and table[q_idx, 3] > doc_id[h, 0]\n"
                              "blocks: {size: 64, from: indices}\n");
  CHECK(spec.doc == "caf\xC3\xA9");
  CHECK(spec.layout == Layout::Bhsd);
  CHECK(spec.varlen);
  CHECK(spec.page == 64);
  CHECK(spec.scale == 0.5);
  CHECK(spec.passes == std::vector{Pass::Forward, Pass::Backward, Pass::Decode});
  REQUIRE(spec.inputs.size() == 4);
  CHECK(spec.inputs[0].name == "slopes");
  CHECK(spec.find_input("doc_id")->sorted);
  CHECK(spec.find_input("cap")->shape.empty());
  CHECK(spec.find_input("table")->element == Input::Element::U8);
  CHECK(name_of(spec.find_input("table")->shape[1]) == "32");
  CHECK(spec.find_input("none") == nullptr);
  CHECK(spec.constants[1] == std::pair<std::string, double>("soft", 50));
  CHECK(spec.fixed.seq_q == 64);
  CHECK_FALSE(spec.fixed.batch);
  REQUIRE(spec.workload.size() == 2);
  CHECK(spec.workload[0].seq_kv == 64);
  CHECK(spec.workload[1].seq_kv == 1000);
  CHECK(spec.workload[1].weight == 0.5);
  CHECK(spec.sparsity == Spec::Sparsity::BlockIndices);
  CHECK(spec.block_size == 64);
  CHECK(spec.block_heads == spec.heads.q);
  CHECK(expr::print(spec.mask) == "q_pos - kv_idx < 4096 and table[q_idx, 3] > doc_id[h, 0]");
  CHECK(spec.score.type() == expr::Type::Float);
}

TEST_CASE("a workload has the fixed lengths that it leaves out") {
  const auto point_of = [](const std::string& lines) {
    return read_text(kSmall + lines).workload.at(0);
  };
  const Workload all =
      point_of("fixed: {batch: 2, seq_q: 64, seq_kv: 128}\nworkload: {seq_q: 64}\n");
  CHECK(all.batch == 2);
  CHECK(all.seq_q == 64);
  CHECK(all.seq_kv == 128);
  CHECK(point_of("fixed: {seq_kv: 128}\nworkload: [{seq_q: 32}]\n").seq_kv == 128);
  CHECK(point_of("fixed: {seq_q: 32}\nworkload: {seq_q: 32}\n").seq_kv == 32);
  const Workload batch = point_of("fixed: {seq_q: 49, seq_kv: 49}\nworkload: {batch: 4096}\n");
  CHECK(batch.batch == 4096);
  CHECK(batch.seq_q == 49);
  CHECK(batch.seq_kv == 49);
  CHECK(point_of("fixed: {seq_q: 64}\nworkload: {seq_kv: 128}\n").seq_q == 64);
}

TEST_CASE("who keeps blocks") {
  const std::string line = "blocks: {size: 64, from: bitmap";
  const Spec heads = read_text(kSmall + line + ", per: heads}\n");
  const Spec groups = read_text(kSmall + line + ", per: heads_kv}\n");
  CHECK(heads.block_heads == heads.heads.q);
  CHECK(groups.block_heads == groups.heads.kv());
  const Spec apart = read_text(kSmall + line + ", rows: apart}\n");
  CHECK(heads.rows_alike);
  CHECK_FALSE(apart.rows_alike);
  CHECK(heads.hash == read_text(kSmall + line + ", rows: alike}\n").hash);
  CHECK(heads.hash != apart.hash);
  CHECK(heads.hash == read_text(kSmall + line + "}\n").hash);
  CHECK(heads.hash != groups.hash);
}

TEST_CASE("blocks of fewer queries, and lists of fewer blocks") {
  const std::string line = "blocks: {size: 64, from: indices";
  const Spec square = read_text(kSmall + line + "}\n");
  const Spec chosen = read_text(kSmall + line + ", queries: 1, most: 16}\n");
  CHECK(square.block_queries == 64);
  CHECK_FALSE(square.most_blocks);
  CHECK(chosen.block_size == 64);
  CHECK(chosen.block_queries == 1);
  CHECK(chosen.most_blocks == 16);
  CHECK(square.hash == read_text(kSmall + line + ", queries: 64}\n").hash);
  CHECK(square.hash != read_text(kSmall + line + ", queries: 1}\n").hash);
  CHECK(square.hash != read_text(kSmall + line + ", most: 16}\n").hash);
}

TEST_CASE("latent attention") {
  const Spec spec = read_text(
      "attngen: 1\nname: mla\ndtype: bf16\nheads: {q: 128, kv: 1}\nhead_dim: {qk: 576, v: 512}\n"
      "share_kv: {v_prefix: 512}\ntokens: {indices: 2048}\n");
  CHECK(spec.v_prefix == 512);
  CHECK(spec.sparsity == Spec::Sparsity::TokenIndices);
  CHECK(spec.token_count == 2048);
}

TEST_CASE("lists of tokens say which pairs there are, and the mask is asked of these") {
  const Spec spec = read_text(kSmall + "tokens: {indices: 64}\nmask: kv_idx <= q_pos\n");
  CHECK(spec.mask.is_number(1));
  CHECK(expr::print_brief(spec.token_mask) == "kv_idx <= q_pos");
  CHECK(spec.mask_text == "kv_idx <= q_pos");
  CHECK(spec.hash != read_text(kSmall + "tokens: {indices: 64}\n").hash);
  CHECK_FALSE(spec.distinct_tokens);
  const Spec distinct =
      read_text(kSmall + "tokens: {indices: 64, distinct: true}\nmask: kv_idx <= q_pos\n");
  CHECK(distinct.distinct_tokens);
  CHECK(distinct.hash != spec.hash);
}

TEST_CASE("the recurrent pattern") {
  const Spec spec = read_text(
      "attngen: 1\nname: mamba2\ndtype: bf16\npattern: recurrent\n"
      "heads: {q: 1, k: 1, v: 64}\nhead_dim: {qk: 128, v: 64}\n"
      "passes: [forward, step]\n"
      "inputs:\n"
      "  dt: {dtype: f32, shape: [batch, seq, heads]}\n"
      "  a: {dtype: f32, shape: [heads]}\n"
      "  dskip: {dtype: f32, shape: [heads]}\n"
      "value: v * dt[b, t, h]\n"
      "log_decay: dt[b, t, h] * a[h]\n"
      "skip: dskip[h]\n"
      "state: {initial: true}\n");
  CHECK(spec.pattern == Pattern::Recurrent);
  CHECK(spec.heads.v == 64);
  REQUIRE(spec.recurrent);
  CHECK(expr::print(spec.recurrent->key) == "k");
  CHECK(expr::print(spec.recurrent->log_decay) == "dt[b, t, h] * a[h]");
  CHECK(expr::print(spec.recurrent->output) == "acc");
  CHECK_FALSE(spec.recurrent->delta);
  CHECK(spec.recurrent->skip);
  CHECK(spec.recurrent->initial_state);
  CHECK_FALSE(spec.recurrent->final_state);
  CHECK_FALSE(spec.score);
}

TEST_CASE("constants of 32 bits and wider ones") {
  const auto mask_of = [](const std::string& value) {
    const Spec spec = read_text(kSmall + "constants: {c: " + value + "}\nmask: kv_idx != c\n");
    return expr::print(spec.mask);
  };
  CHECK(mask_of("2147483647") == "kv_idx != 2147483647");
  CHECK(mask_of("2147483648") == "kv_idx != 2147483648.0");
  CHECK(mask_of("-2147483648") == "kv_idx != -2147483648");
  CHECK(mask_of("-2147483649") == "kv_idx != -2147483649.0");
}

TEST_CASE("JSON and YAML carry the same model") {
  const std::string yaml = kSmall +
                           "# a comment\n"
                           "constants: {window: 4096}\n"
                           "mask: q_pos - kv_idx\n"
                           "   <  window\n"
                           "targets:\n"
                           "- h100\n"
                           "- h200\n";
  const std::string json = R"({
    "attngen": 1, "targets": ["h100", "h\u0032\u00300"], "name": "small", "dtype": "bf16",
    "heads": {"kv": 2, "q": 8}, "head_dim": {"qk": 64, "v": 128},
    "constants": {"wide": 4096},
    "mask": "q_pos - kv_idx < wide", "doc": "\ud83d\ude00 \/ \t"})";
  // A tab is no part of a line of documentation.
  const size_t tab = json.find("\\t");
  const std::string right = json.substr(0, tab) + json.substr(tab + 2);
  CHECK(read_text(yaml).hash == read_text(right, "s.json").hash);
  CHECK(read_text(right, "<stdin>").doc == "\xF0\x9F\x98\x80 / ");
  CHECK(read_text("\xEF\xBB\xBF" + right, "s.json").hash == read_text(yaml).hash);
  CHECK(read_text("\xEF\xBB\xBF" + yaml).hash == read_text(yaml).hash);
  // Most JSON is YAML too.
  const std::string plain = R"({"attngen": 1, "name": "y", "dtype": "bf16",
    "heads": {"kv": 2, "q": 8}, "head_dim": {"qk": 64, "v": 128}})";
  CHECK(read_text(plain, "s.yaml").hash == read_text(plain, "s.json").hash);
}

TEST_CASE("the hash tells meanings apart") {
  const std::string hash = read_text(kSmall).hash;
  CHECK(hash.size() == 16);
  CHECK(read_text(kSmall + "doc: other words\n").hash == hash);
  CHECK(read_text(kSmall + "constants: {unused: 1}\n").hash == hash);
  for (const char* line :
       {"mask: kv_idx <= q_pos", "score: score * 2", "scale: 1", "varlen: true", "layout: bhsd",
        "maps: 2", "fixed: {batch: 1}", "kv_cache: {paged: 16}", "workload: {seq_q: 1}",
        "targets: [mi250]", "passes: [decode]", "blocks: {size: 64, from: bitmap}",
        "tokens: {indices: 64}", "inputs: {x: {dtype: f32, shape: []}}", "normalize: none"}) {
    CHECK_MESSAGE(read_text(kSmall + line + "\n").hash != hash, line);
  }
}

TEST_CASE("places of values, for later rooms") {
  const std::string content = kSmall +
                              "mask: kv_idx\n"
                              "  <= q_pos\n"
                              "passes: [forward, decode]\n";
  const Spec spec = read_text(content);
  const text::Source source{"s.yaml", content};
  const text::Diagnostic pass = spec.locations.at(source, "/passes/1", "no");
  CHECK(pass.position == text::Position{8, 19});
  CHECK(pass.length == 6);
  CHECK(pass.pointer == "/passes/1");
  CHECK(spec.locations.at(source, "/heads/q", "").position == text::Position{4, 12});
  // Not given: the nearest that encloses it.
  CHECK(spec.locations.at(source, "/heads/v", "").position == text::Position{4, 8});
  CHECK(spec.locations.at(source, "/score", "").position == text::Position{1, 1});
  const text::Diagnostic inside =
      spec.locations.inside(source, "/mask", spec.mask.operand(1).span(), "no", "help");
  CHECK(inside.position == text::Position{7, 6});
  CHECK(inside.length == 5);
  CHECK(inside.help == "help");
  CHECK(spec.locations.inside(source, "/score", {0, 5}, "").position == text::Position{1, 1});
}

}  // namespace
}  // namespace attngen::spec
