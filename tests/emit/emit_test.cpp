#include "emit/emit.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <clocale>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "emit/source.h"
#include "emit_test_support.h"
#include "schedule/search.h"
#include "target/target.h"

namespace attngen::emit {
namespace {

namespace fs = std::filesystem;

struct Emitted {
  spec::Spec spec;
  std::vector<File> files;
};

Emitted emitted_of(spec::Spec spec, const std::vector<std::string>& targets = {"h100"}) {
  Emitted result{std::move(spec), {}};
  const attention::RowForm form = form_of(result.spec);
  std::vector<Choice> choices;
  for (const std::string& name : targets) {
    const target::Target* target = target::find(name);
    const schedule::Ranking ranking =
        schedule::search(schedule::describe_kernel(result.spec, form, target->family), *target);
    REQUIRE_FALSE(ranking.ranked.empty());
    choices.push_back({target, ranking.ranked.front(), false});
  }
  result.files = emit(result.spec, form, choices);
  return result;
}

Emitted emitted(const std::string& lines, const std::vector<std::string>& targets = {"h100"}) {
  return emitted_of(spec_of(lines), targets);
}

const char* const kLines[] = {
    "doc: Plain attention\n",
    "mask: kv_idx <= q_pos\ntargets: [h100, h200]\n",
    "inputs: {slopes: {dtype: f32, shape: [heads]}, cap: {dtype: f32, shape: []}}\n"
    "score: cap * tanh(score / cap) + slopes[h] * kv_idx\nmask: (kv_idx + q_idx) % 3 != 0\n",
    "normalize:\n  weight: sigmoid(score)\n  output: acc\nlayout: bhsd\n",
    "normalize:\n  rows:\n    m: rowmax(abs(score))\n    l: rowsum(exp(score - m))\n"
    "  weight: exp(score - m)\n  output: acc / l\n",
    "blocks: {size: 128, from: bitmap}\n",
    "mask: kv_idx <= q_pos\nblocks: {size: 64, from: indices}\n",
    "mask: kv_idx <= q_pos\nvarlen: true\n",
    "varlen: true\nblocks: {size: 64, queries: 1, from: bitmap, per: heads_kv}\n",
    "varlen: true\nmask: kv_idx <= q_pos\nblocks: {size: 64, from: indices, per: heads_kv}\n",
    "inputs: {doc: {dtype: i32, shape: [batch, seq_kv]}}\n"
    "mask: doc[b, q_pos] == doc[b, kv_idx] and kv_idx <= q_pos\n",
};

TEST_CASE("names") {
  const Emitted e = emitted(kLines[1], {"h100", "h200"});
  const std::vector<std::string> names{"test_h100.cu", "test_h200.cu", "test.h", "test.json"};
  REQUIRE(e.files.size() == names.size());
  for (size_t i = 0; i < names.size(); ++i) CHECK(e.files[i].name == names[i]);
  const std::vector<const target::Target*> nvidia{target::find("h100"), target::find("h200")};
  const std::vector<const target::Target*> amd{target::find("mi250")};
  CHECK(output_names(e.spec, nvidia) == names);
  CHECK(output_names(e.spec, amd).front() == "test_mi250.hip");
}

TEST_CASE("the same bytes each time, and nothing of the template's language is left") {
  for (const char* lines : kLines) {
    const Emitted a = emitted(lines), b = emitted(lines);
    REQUIRE(a.files.size() == 3);
    for (size_t i = 0; i < a.files.size(); ++i) {
      CHECK(a.files[i].content == b.files[i].content);
      CHECK(a.files[i].content.find("ATTN_") == std::string::npos);
      CHECK(a.files[i].content.find("attention_") == std::string::npos);
      CHECK(a.files[i].content.find("ATTENTION_") == std::string::npos);
      CHECK(a.files[i].content.find("#include \"") == std::string::npos);
      CHECK(a.files[i].content.find("\n\n\n") == std::string::npos);
      CHECK(a.files[i].content.ends_with("\n"));
    }
  }
}

TEST_CASE("every candidate's source comes from a template without an error") {
  const spec::Spec spec = spec_of(kLines[1]);
  const attention::RowForm form = form_of(spec);
  const target::Target& target = *target::find("h100");
  const schedule::Ranking ranking = schedule::search(schedule::describe_kernel(spec, form), target);
  // Every twentieth: all values of every decision occur.
  for (size_t i = 0; i < ranking.ranked.size(); i += 20) {
    const auto text = source(spec, form, api_of(spec), {&target, ranking.ranked[i], false});
    INFO(schedule::describe(ranking.ranked[i].schedule));
    CHECK(std::holds_alternative<std::string>(text));
  }
}

// nvcc warns of one that nothing calls.
TEST_CASE("the reader of matrices is there where a kernel calls it") {
  const auto readers = [](const std::string& lines) {
    const std::string content = emitted(lines).files.front().content;
    int found = 0;
    for (size_t at = 0; (at = content.find("load_matrices(", at)) != content.npos; ++at) ++found;
    return found;
  };
  const std::string sigmoid = "normalize: {weight: sigmoid(score), output: acc}\n";
  const std::string bias =
      "inputs: {x: {dtype: bf16, shape: [heads, seq_q, SIZE]}}\nscore: score + x[h, q_idx, ";
  const auto biased = [&](const std::string& size, const std::string& index) {
    std::string lines = bias + index + "]\n";
    return lines.replace(lines.find("SIZE"), 4, size);
  };
  CHECK(readers(biased("4096", "kv_idx - q_idx + 2048") + sigmoid) == 0);
  CHECK(readers(biased("seq_kv", "kv_idx") + sigmoid) == 2);
  CHECK(readers(biased("4096", "kv_idx - q_idx + 2048")) > 2);  // scores once more
}

TEST_CASE("two maps of scores") {
  const spec::Spec one = spec_of("mask: kv_idx <= q_pos\n");
  const spec::Spec two = spec_of("mask: kv_idx <= q_pos\nmaps: 2\n");
  const target::Target& target = *target::find("h100");
  const auto source_of = [&](const spec::Spec& spec, int warpgroups) {
    const attention::RowForm form = form_of(spec);
    schedule::Schedule schedule;
    schedule.warpgroups = warpgroups;
    schedule.tile_kv = 32;
    schedule.overlap = schedule::Overlap::None;
    schedule.order = schedule::Order::LongestFirst;
    const auto judged = schedule::judge(schedule::describe_kernel(spec, form), schedule, target);
    REQUIRE_MESSAGE(judged.candidate, judged.reason);
    return emit(spec, form, {{&target, *judged.candidate, true}}).front().content;
  };
  const auto has = [](const std::string& text, const char* words) {
    return text.find(words) != std::string::npos;
  };
  CHECK_FALSE(has(source_of(one, 2), "kMaps"));
  const std::string pair = source_of(two, 2), pairs = source_of(two, 4);
  CHECK(has(pair, "// Schedule (given): 64x32,"));
  CHECK(has(pairs, "// Schedule (given): 128x32,"));
  CHECK(has(pairs, "constexpr int kRowBlocks = kWarpgroups / kMaps;"));
  // The rows of a pair are the tile's: no block is loaded for other warpgroups alone.
  CHECK_FALSE(has(pair, "pass_over"));
  CHECK(has(pairs, "pass_over"));
  CHECK_FALSE(has(pairs, "ATTN_"));
  if (!has_nvcc()) return;
  for (const std::string& text : {pair, pairs}) {
    CHECK(compile("nvcc -std=c++17 -gencode arch=compute_90a,code=sm_90a -Werror all-warnings "
                  "-Xcompiler -Wall,-Wextra,-Wno-unused-parameter -c {} -o /dev/null",
                  ".cu", text) == "");
  }
}

TEST_CASE("query heads packed into the tile") {
  const spec::Spec spec = spec_of(
      "mask: kv_idx <= q_pos\ninputs: {slopes: {dtype: f32, shape: [heads]}}\n"
      "score: score + slopes[h] * kv_idx\n");
  const attention::RowForm form = form_of(spec);
  const target::Target& target = *target::find("h100");
  const auto source_of = [&](bool pack_heads) {
    schedule::Schedule schedule;
    schedule.tile_kv = 64;
    schedule.order = schedule::Order::LongestFirst;
    schedule.pack_heads = pack_heads;
    const auto judged = schedule::judge(schedule::describe_kernel(spec, form), schedule, target);
    REQUIRE(judged.candidate);
    return emit(spec, form, {{&target, *judged.candidate, true}}).front().content;
  };
  const std::string apart = source_of(false), packed = source_of(true);
  CHECK(apart.find("64 / kGroup") == std::string::npos);
  CHECK(packed.find("64 / kGroup") != std::string::npos);
  CHECK(packed.find(", heads packed\n") != std::string::npos);
  CHECK(packed.find("ATTN_") == std::string::npos);
  // Every other query head is one of the group's.
  CHECK(packed.find("% kHeadsQ") == std::string::npos);
  if (!has_nvcc()) return;
  CHECK(compile("nvcc -w -std=c++17 -gencode arch=compute_90a,code=sm_90a -c {} -o /dev/null",
                ".cu", packed) == "");
}

TEST_CASE("the manifest repeats the header") {
  const Emitted e = emitted(kLines[2]);
  const std::string& header = e.files[1].content;
  const auto manifest = nlohmann::json::parse(e.files[2].content);
  CHECK(manifest["name"] == "test");
  CHECK(manifest["spec"] == e.spec.hash);
  CHECK(manifest["header"] == "test.h");
  CHECK(manifest["targets"][0]["file"] == "test_h100.cu");
  CHECK(manifest["targets"][0]["predicted"].size() == 1);
  CHECK(manifest["targets"][0]["predicted"][0]["seconds"] > 0);
  CHECK(manifest["targets"][0]["resources"]["threads"] > 0);
  size_t at = 0;
  for (const auto& status : manifest["statuses"]) {
    at = header.find(status["name"].get<std::string>() + " = " + status["value"].dump(), at);
    CHECK(at != std::string::npos);
  }
  const auto& pass = manifest["passes"][0];
  CHECK(pass["pass"] == "forward");
  CHECK(pass["args"]["name"] == "test_forward_args");
  for (const auto& field : pass["args"]["fields"]) {
    at = header.find(
        "  " + field["c_type"].get<std::string>() + " " + field["name"].get<std::string>() + ";",
        at);
    CHECK(at != std::string::npos);
  }
  CHECK(pass["args"]["fields"].back()["name"] == "cap");
  for (const auto& function : pass["functions"]) {
    CHECK(header.find(function["result"].get<std::string>() + " " +
                      function["name"].get<std::string>() + "(") != std::string::npos);
  }
}

TEST_CASE("block sparsity is given by fields of the argument struct") {
  const Emitted bitmap = emitted("blocks: {size: 64, from: bitmap}\n");
  CHECK(bitmap.files[1].content.find("  const uint8_t* block_mask;") != std::string::npos);
  CHECK(bitmap.files[1].content.find(
            "[batch, 32, ceil(seq_q / 64), ceil(seq_kv / 64)] contiguous") != std::string::npos);
  const Emitted indices = emitted("blocks: {size: 256, from: indices}\n");
  CHECK(indices.files[1].content.find("  const int32_t* block_counts;") != std::string::npos);
  CHECK(indices.files[1].content.find("  const int32_t* block_indices;") != std::string::npos);
  const Emitted groups = emitted("blocks: {size: 256, from: indices, per: heads_kv}\n");
  CHECK(groups.files[1].content.find("[batch, 8, ceil(seq_q / 256)] contiguous") !=
        std::string::npos);
  const Emitted chosen = emitted("blocks: {size: 64, queries: 1, from: indices, most: 16}\n");
  CHECK(chosen.files[1].content.find("[batch, 32, seq_q] contiguous") != std::string::npos);
  CHECK(chosen.files[1].content.find("[batch, 32, seq_q, 16] contiguous") != std::string::npos);
  CHECK(chosen.files[1].content.find("blocks: {size: 64, queries: 1, from: indices, most: 16}") !=
        std::string::npos);
  // A kernel without it has none of this.
  const std::string dense = emitted("").files[0].content;
  for (const char* word : {"Walk", "Visit", "kCell", "block_mask"}) {
    CHECK(dense.find(word) == std::string::npos);
    CHECK(bitmap.files[0].content.find(word) != std::string::npos);
  }
}

TEST_CASE("values wider than an accumulator have parts") {
  const std::vector<File> files =
      emitted_of(spec_of_text("attngen: 1\nname: wide\ndtype: bf16\nheads: {q: 8, kv: 8}\n"
                              "head_dim: {qk: 256, v: 512}\n"))
          .files;
  CHECK(files[0].content.find("constexpr int kHeadDimV = 256;") != std::string::npos);
  CHECK(files[0].content.find("constexpr int kOutputDim = 512;") != std::string::npos);
  CHECK(files[0].content.find("constexpr int kValueParts = 2;") != std::string::npos);
  CHECK(files[1].content.find("values, bf16 [batch, seq_kv, 8, 512]") != std::string::npos);
  CHECK(emitted("").files[0].content.find("kValueParts") == std::string::npos);
}

TEST_CASE("values that are columns of the keys have sides, and nothing of their own") {
  const std::vector<File> files =
      emitted_of(spec_of_text("attngen: 1\nname: latent\ndtype: bf16\nheads: {q: 128, kv: 1}\n"
                              "head_dim: {qk: 576, v: 512}\nshare_kv: {v_prefix: 512}\n"
                              "tokens: {indices: 2048}\n"))
          .files;
  CHECK(files[0].content.find("constexpr int kSides = 2;") != std::string::npos);
  CHECK(files[1].content.find("share_kv: {v_prefix: 512}") != std::string::npos);
  CHECK(files[1].content.find("tokens: {indices: 2048}") != std::string::npos);
  for (const char* word : {"args.v", "value_full", "maps.v"}) {
    CHECK(files[0].content.find(word) == std::string::npos);
    CHECK(emitted("").files[0].content.find(word) != std::string::npos);
  }
  CHECK(emitted("").files[0].content.find("kSides") == std::string::npos);
}

TEST_CASE("packed sequences are given by where they begin") {
  const Emitted packed = emitted("varlen: true\n");
  const std::string& header = packed.files[1].content;
  for (const char* text :
       {"  int64_t total_q;", "  int64_t total_kv;", "  const int32_t* cu_seqlens_q;",
        "  const int32_t* cu_seqlens_kv;", "queries, bf16 [total_q, 32, 128]",
        "result, [32, total_q] contiguous"}) {
    CHECK(header.find(text) != std::string::npos);
  }
  CHECK(header.find("stride_batch") == std::string::npos);
  CHECK(header.find("int64_t seq_q;") == std::string::npos);
}

// Numbers with a decimal comma while it lives. Made here: few machines have such a locale.
class GermanNumbers {
 public:
  GermanNumbers() {
    const std::string command =
        "localedef -i de_DE -f UTF-8 " + (folder_ / "de_DE.UTF-8").string() + " 2>&1";
    fs::create_directory(folder_);
    ::setenv("LOCPATH", folder_.c_str(), 1);
    hold_ = std::system(command.c_str()) == 0 && std::setlocale(LC_NUMERIC, "de_DE.UTF-8");
  }
  ~GermanNumbers() {
    std::setlocale(LC_NUMERIC, "C");
    ::unsetenv("LOCPATH");
    fs::remove_all(folder_);
  }
  GermanNumbers(const GermanNumbers&) = delete;
  GermanNumbers& operator=(const GermanNumbers&) = delete;
  bool hold() const { return hold_; }

 private:
  fs::path folder_ = fs::temp_directory_path() / ("attngen_locale_" + std::to_string(::getpid()));
  bool hold_ = false;
};

TEST_CASE("each fixed length is held to its own argument") {
  for (const std::string target : {"h100", "mi250"}) {
    CAPTURE(target);
    const Emitted e = emitted("fixed: {batch: 3, seq_q: 70, seq_kv: 130}\n", {target});
    for (const std::string test : {"args.batch != 3", "args.seq_q != 70", "args.seq_kv != 130"}) {
      const std::string line = "  if (" + test + ") return TEST_BAD_LENGTH;\n";
      CHECK_MESSAGE(e.files[0].content.find(line) != std::string::npos, line);
    }
  }
}

TEST_CASE("a status speaks of fixed lengths where some are") {
  for (const std::string target : {"h100", "mi250"}) {
    CAPTURE(target);
    for (const char* fixed :
         {"", "fixed: {batch: 3}\n", "fixed: {seq_q: 70}\n", "fixed: {seq_kv: 70}\n"}) {
      const Emitted e = emitted(fixed, {target});
      for (const File& file : e.files) {
        CHECK((file.content.find("is negative, differs from the fixed one, or is too large") ==
               std::string::npos) == (fixed[0] == '\0'));
        CHECK((file.content.find("a batch or sequence length is negative or too large") ==
               std::string::npos) == (fixed[0] != '\0'));
      }
    }
  }
}

TEST_CASE("the manifest's numbers are those of any locale") {
  if (!has_program("localedef") || !fs::exists("/usr/share/i18n/locales/de_DE")) {
    MESSAGE("skipped: no package `locales`");
    return;
  }
  const std::string plain = emitted("").files[2].content;
  const GermanNumbers german;
  REQUIRE(german.hold());
  REQUIRE(std::string(std::localeconv()->decimal_point) == ",");
  CHECK(emitted("").files[2].content == plain);
}

TEST_CASE("the banner says what, from what and why") {
  const Emitted e = emitted(kLines[0]);
  CHECK(e.files[0].content.starts_with("// test: Plain attention\n//\n// Generated by attngen "));
  CHECK(e.files[0].content.find("// Spec " + e.spec.hash + ", hardware model h100 ") !=
        std::string::npos);
  CHECK(e.files[0].content.find("// Schedule: ") != std::string::npos);
  CHECK(e.files[0].content.find("// Predicted: ") != std::string::npos);
  CHECK(e.files[0].content.find("\n// Compile: nvcc -std=c++17 -O3 -gencode "
                                "arch=compute_90a,code=sm_90a -c test_h100.cu\n") !=
        std::string::npos);
  CHECK(e.files[1].content.starts_with("// test: Plain attention\n"));
  // Of many points the first.
  std::string points;
  for (int i = 1; i <= 11; ++i)
    points += (i > 1 ? ", " : "") + fmt::format("{{seq_q: {}}}", 64 * i);
  const std::string many = emitted("workload: [" + points + "]\n").files[0].content;
  CHECK(many.find("seq_q 512, seq_kv 512\n// And 3 more points of the workload: the manifest has "
                  "them.\n// Compile: ") != std::string::npos);
  CHECK(many.find("seq_q 576") == std::string::npos);
  CHECK(emitted("", {"mi250"})
            .files[0]
            .content.find("\n// Compile: hipcc --offload-arch=gfx90a -std=c++17 -O3 "
                          "-fgpu-flush-denormals-to-zero -c test_mi250.hip\n\n") !=
        std::string::npos);
}

TEST_CASE("of MI250's helpers a kernel has what it calls") {
  const auto kernel = [](const std::string& lines) {
    return emitted(lines, {"mi250"}).files[0].content;
  };
  const auto names = [](const std::string& text, const char* name) {
    return text.find(name) != std::string::npos;
  };
  const std::string softmax = kernel("");
  CHECK(names(softmax, "kScale"));
  CHECK(names(softmax, "other_half"));
  const std::string sigmoid = kernel("normalize: {weight: sigmoid(score)}\n");
  CHECK_FALSE(names(sigmoid, "kScale"));
  CHECK_FALSE(names(sigmoid, "other_half"));
}

TEST_CASE("the header and the manifest say what is computed") {
  const Emitted e = emitted(
      "doc: Capped\nconstants: {cap: 50.0, bias: 0.5, one: 1}\nscore: cap * tanh(score / cap) + "
      "bias\n"
      "mask: kv_idx <= q_pos\nblocks: {size: 64, from: indices, per: heads_kv}\nnormalize:\n"
      "  rows: {l: rowsum(abs(score))}\n  weight: score\n  output: acc / (1 + l)\n");
  CHECK(e.files[1].content.starts_with(
      "// test: Capped\n//\n"
      "// Computes, in the terms of attngen's docs/spec.md, where score begins as scale * q . k:\n"
      "//   scale: 0.088388346\n"
      "//   constants: cap = 50.0, bias = 0.5, one = 1\n"
      "//   score: cap * tanh(score / cap) + bias\n"
      "//   mask: kv_idx <= q_pos\n"
      "//   normalize: l = rowsum(abs(score))\n"
      "//     weight = score\n"
      "//     output = acc / (1 + l)\n"
      "//   blocks: {size: 64, from: indices, per: heads_kv}\n"
      "//\n// Generated by attngen "));
  const auto manifest = nlohmann::json::parse(e.files[2].content);
  CHECK(manifest["computes"]["constants"] == "cap = 50.0, bias = 0.5, one = 1");
  CHECK(manifest["computes"]["normalize"] ==
        "l = rowsum(abs(score))\nweight = score\noutput = acc / (1 + l)");
  CHECK(manifest["passes"][0]["args"]["meaning"].get<std::string>().starts_with("Pointers are"));
  CHECK(manifest["targets"][0]["compile"].get<std::string>().ends_with(" -c test_h100.cu"));
}

TEST_CASE("a long text of the spec's is cut in the header alone") {
  std::string sum = "score";
  for (int i = 0; i < 150; ++i) sum += " + " + std::to_string(1000000 + i);
  const Emitted e = emitted("score: " + sum + "\n");
  std::istringstream lines(e.files[1].content);
  for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 100);
  CHECK(e.files[1].content.find(" + 1000149") == std::string::npos);
  CHECK(e.files[1].content.find(" ...\n//   mask: true\n") != std::string::npos);
  CHECK(nlohmann::json::parse(e.files[2].content)["computes"]["score"] == sum);
}

}  // namespace
}  // namespace attngen::emit
