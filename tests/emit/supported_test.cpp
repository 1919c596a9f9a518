#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>

#include "emit/emit.h"
#include "emit_test_support.h"
#include "target/target.h"

namespace attngen::emit {
namespace {

// What the check prints for a spec of these lines; "" if it is supported.
std::string refusal(const std::string& text, const char* target = "h100") {
  text::Diagnostics diagnostics({"spec.yaml", text});
  const std::optional<spec::Spec> spec = spec::read(diagnostics);
  INFO(diagnostics.render(text::ErrorFormat::Gcc));
  REQUIRE(spec);
  const bool supported = check_supported(*spec, *target::find(target), diagnostics);
  CHECK(supported == !diagnostics.has_errors());
  return diagnostics.render(text::ErrorFormat::Gcc);
}
std::string refusal_of(const std::string& lines) { return refusal(spec_text(lines)); }

TEST_CASE("what is supported passes") {
  CHECK(refusal_of("") == "");
  CHECK(refusal_of("blocks: {size: 192, from: indices}\n") == "");
  CHECK(refusal_of("varlen: true\nmask: kv_idx <= q_pos\n") == "");
  CHECK(refusal_of("varlen: true\nblocks: {size: 64, from: bitmap}\n") == "");
  CHECK(refusal_of("varlen: true\ninputs: {bias: {dtype: f32, shape: [heads, seq_kv]}}\n"
                   "score: score + bias[h, kv_idx]\n") == "");
  CHECK(refusal_of("layout: bhsd\nfixed: {seq_q: 4096}\nmask: kv_idx <= q_pos\n") == "");
}

TEST_CASE("passes that no template carries") {
  CHECK(refusal_of("passes: [forward, backward]\n") ==
        "spec.yaml:7:19: error: pass 'backward' is not emitted yet for h100\n"
        "    7 | passes: [forward, backward]\n"
        "      |                   ^~~~~~~~\n");
  CHECK(refusal_of("passes: [decode]\n") ==
        "spec.yaml:7:10: error: pass 'decode' is not emitted yet for h100\n"
        "    7 | passes: [decode]\n"
        "      |          ^~~~~~\n"
        "help: pass 'forward' splits the keys if the workload has seq_q: 1\n");
  CHECK(refusal(spec_text("passes: [decode]\n"), "mi250")
            .ends_with("help: pass 'forward' takes one query too\n"));
}

TEST_CASE("features that no template carries") {
  CHECK(refusal_of("varlen: true\nfixed: {seq_kv: 4096}\n") ==
        "spec.yaml:8:17: error: a fixed length of packed sequences is not emitted yet for h100\n"
        "    8 | fixed: {seq_kv: 4096}\n"
        "      |                 ^~~~\n");
  CHECK(refusal_of("blocks: {size: 48, from: bitmap}\n") ==
        "spec.yaml:7:16: error: blocks.size 48 is not emitted yet for h100\n"
        "    7 | blocks: {size: 48, from: bitmap}\n"
        "      |                ^~\n"
        "help: multiples of 64\n");
  CHECK(refusal_of("blocks: {size: 64, queries: 1, from: indices, most: 16}\n") == "");
  CHECK(refusal_of("blocks: {size: 64, queries: 24, from: bitmap}\n") ==
        "spec.yaml:7:29: error: blocks.queries 24 is not emitted yet for h100\n"
        "    7 | blocks: {size: 64, queries: 24, from: bitmap}\n"
        "      |                             ^~\n"
        "help: multiples of 64, and what divides 64\n");
}

TEST_CASE("block sparsity on MI250: a tile's rows are of one row of blocks, of one sequence") {
  const auto refusal_of_blocks = [](const std::string& lines) {
    return refusal(spec_text(lines), "mi250");
  };
  CHECK(refusal_of_blocks("blocks: {size: 64, from: bitmap}\n") == "");
  CHECK(refusal_of_blocks("blocks: {size: 64, queries: 256, from: indices, most: 4}\n") == "");
  CHECK(refusal_of_blocks("blocks: {size: 64, queries: 32, from: bitmap}\n") ==
        "spec.yaml:7:29: error: blocks.queries 32 is not emitted yet for mi250\n"
        "    7 | blocks: {size: 64, queries: 32, from: bitmap}\n"
        "      |                             ^~\n"
        "help: multiples of 64\n");
  CHECK(refusal_of_blocks("blocks: {size: 64, from: bitmap}\nvarlen: true\n") ==
        "spec.yaml:7:9: error: block sparsity of packed sequences is not emitted yet for mi250\n"
        "    7 | blocks: {size: 64, from: bitmap}\n"
        "      |         ^~~~~~~~~~~~~~~~~~~~~~~~\n");
}

TEST_CASE("lists of tokens") {
  const std::string tokens = "tokens: {indices: 2048}\n";
  CHECK(refusal_of(tokens + "mask: kv_idx <= q_pos and h_kv < 3\n") == "");
  CHECK(refusal(spec_text(tokens), "mi250") ==
        "spec.yaml:7:9: error: token sparsity is not emitted yet for mi250\n"
        "    7 | tokens: {indices: 2048}\n"
        "      |         ^~~~~~~~~~~~~~~\n");
  CHECK(refusal_of(tokens + "varlen: true\n") == "");
  CHECK(refusal_of(tokens + "score: score - abs(q_pos - kv_idx)\n") == "");
  CHECK(refusal_of(tokens + "normalize: {weight: score * kv_idx}\n") == "");
  CHECK(refusal("attngen: 1\nname: grouped\ndtype: bf16\nheads: {q: 8, kv: 2}\n"
                "head_dim: {qk: 128, v: 512}\nmask: kv_idx <= q_pos + h\n" +
                tokens) ==
        "spec.yaml:5:24: error: head_dim.v 512 beside tokens is not emitted yet for h100\n"
        "    5 | head_dim: {qk: 128, v: 512}\n"
        "      |                        ^~~\n"
        "help: at most 256\n"
        "spec.yaml:6:7: error: a mask that reads h beside tokens is not emitted yet for h100\n"
        "    6 | mask: kv_idx <= q_pos + h\n"
        "      |       ^~~~~~~~~~~~~~~~~~~\n"
        "help: the heads of a key head share lists: h_kv tells those apart\n");
}

TEST_CASE("packed sequences") {
  for (const char* target : {"h100", "mi250"}) {
    CHECK(refusal(spec_text("varlen: true\n"), target) == "");
    CHECK(
        refusal(spec_text("varlen: true\nfixed: {seq_q: 64}\n"), target) ==
        fmt::format("spec.yaml:8:16: error: a fixed length of packed sequences is not emitted yet "
                    "for {}\n"
                    "    8 | fixed: {{seq_q: 64}}\n"
                    "      |                ^~\n",
                    target));
  }
}

TEST_CASE("caches in pages") {
  CHECK(refusal_of("kv_cache: {paged: 16}\nvarlen: true\nmask: kv_idx <= q_pos\n") == "");
  CHECK(refusal_of("kv_cache: {paged: 65536}\nshare_kv: {v_prefix: 128}\n") == "");
  CHECK(refusal_of("kv_cache: {paged: 20}\n") == "");
  CHECK(refusal_of("kv_cache: {paged: 64}\nblocks: {size: 64, from: bitmap}\n") == "");
  CHECK(refusal_of("kv_cache: {paged: 1}\ntokens: {indices: 2048}\n") == "");
  for (const char* more : {"varlen: true\n", "blocks: {size: 64, from: bitmap}\n"}) {
    CHECK(refusal(spec_text(std::string("kv_cache: {paged: 20}\n") + more), "mi250") == "");
  }
}

TEST_CASE("values that are columns of the keys") {
  const std::string shared = "share_kv: {v_prefix: 128}\n";
  CHECK(refusal_of(shared + "mask: kv_idx <= q_pos\nvarlen: true\n") == "");
  CHECK(refusal(spec_text(shared), "mi250") ==
        "spec.yaml:7:11: error: share_kv is not emitted yet for mi250\n"
        "    7 | share_kv: {v_prefix: 128}\n"
        "      |           ^~~~~~~~~~~~~~~\n");
  CHECK(refusal_of(shared + "maps: 2\n") ==
        "spec.yaml:8:7: error: two maps of shared keys and values are not emitted yet for h100\n"
        "    8 | maps: 2\n"
        "      |       ^\n");
  CHECK(refusal_of(shared + "blocks: {size: 64, from: bitmap}\n") == "");
  const std::string latent = "attngen: 1\nname: latent\ndtype: bf16\nheads: {q: 128, kv: 1}\n";
  CHECK(refusal(latent + "head_dim: {qk: 576, v: 512}\nshare_kv: {v_prefix: 512}\n"
                         "tokens: {indices: 2048}\n") == "");
  CHECK(refusal(latent + "head_dim: {qk: 584, v: 320}\nshare_kv: {v_prefix: 320}\n") ==
        "spec.yaml:5:16: error: head_dim.qk 584 is not emitted yet for h100\n"
        "    5 | head_dim: {qk: 584, v: 320}\n"
        "      |                ^~~\n"
        "help: at most 576\n"
        "spec.yaml:5:24: error: head_dim.v 320 of shared keys and values is not emitted yet for "
        "h100\n"
        "    5 | head_dim: {qk: 584, v: 320}\n"
        "      |                        ^~~\n"
        "help: at most 256, 384 or 512\n");
}

TEST_CASE("two maps") {
  CHECK(refusal_of("maps: 2\nscore: score - map\nmask: kv_idx <= q_pos\n") == "");
  CHECK(refusal_of("maps: 2\nscore: score - map\nvarlen: true\n") == "");
  CHECK(refusal_of("maps: 2\nscore: score - map\nblocks: {size: 64, from: bitmap}\n") == "");
  CHECK(refusal("attngen: 1\nname: wide\ndtype: bf16\nheads: {q: 8, kv: 8}\n"
                "head_dim: {qk: 128, v: 264}\nmaps: 2\n") ==
        "spec.yaml:5:24: error: head_dim.v 264 of two maps is not emitted yet for h100\n"
        "    5 | head_dim: {qk: 128, v: 264}\n"
        "      |                        ^~~\n"
        "help: at most 256\n");
  CHECK(refusal(spec_text("maps: 2\n"), "mi250") ==
        "spec.yaml:7:7: error: two maps of scores are not emitted yet for mi250\n"
        "    7 | maps: 2\n"
        "      |       ^\n");
}

TEST_CASE("head dims above two accumulators") {
  CHECK(refusal("attngen: 1\nname: big\ndtype: bf16\nheads: {q: 8, kv: 8}\n"
                "head_dim: {qk: 576, v: 520}\n") ==
        "spec.yaml:5:16: error: head_dim.qk 576 is not emitted yet for h100\n"
        "    5 | head_dim: {qk: 576, v: 520}\n"
        "      |                ^~~\n"
        "help: at most 512\n"
        "spec.yaml:5:24: error: head_dim.v 520 is not emitted yet for h100\n"
        "    5 | head_dim: {qk: 576, v: 520}\n"
        "      |                        ^~~\n"
        "help: at most 512\n");
}

TEST_CASE("keys as wide as latent attention's") {
  const std::string wide = "attngen: 1\nname: big\ndtype: bf16\nheads: {q: 8, kv: 8}\n";
  CHECK(refusal(wide + "head_dim: {qk: 576, v: 512}\n") ==
        "spec.yaml:5:16: error: head_dim.qk 576 is not emitted yet for h100\n"
        "    5 | head_dim: {qk: 576, v: 512}\n"
        "      |                ^~~\n"
        "help: at most 512; 576 with share_kv: {v_prefix: 512} (latent attention)\n");
  CHECK(refusal(wide + "head_dim: {qk: 576, v: 512}\nshare_kv: {v_prefix: 512}\n") == "");
  for (const std::string dims : {"{qk: 576, v: 320}\n", "{qk: 584, v: 512}\n"}) {
    CHECK(refusal(fmt::format("{}head_dim: {}", wide, dims)).ends_with("help: at most 512\n"));
  }
  CHECK(refusal(wide + "head_dim: {qk: 576, v: 256}\n", "mi250").ends_with("help: at most 256\n"));
  CHECK(refusal(wide + "head_dim: {qk: 576, v: 256}\nmaps: 2\nscore: score - map\n")
            .ends_with("help: at most 512\n"));
}

TEST_CASE("the recurrent pattern") {
  CHECK(refusal("attngen: 1\nname: mamba\npattern: recurrent\ndtype: bf16\n"
                "heads: {q: 8, k: 8, v: 8}\nhead_dim: {qk: 128, v: 64}\nlog_decay: 0 - 1\n") ==
        "spec.yaml:3:10: error: pattern 'recurrent' is not emitted yet for h100\n"
        "    3 | pattern: recurrent\n"
        "      |          ^~~~~~~~~\n"
        "help: pattern parallel has decays, and gates of each token: see linear attention in "
        "docs/spec.md\n");
}

TEST_CASE("targets without kernels") {
  CHECK(refusal(spec_text("targets: [h100, a100]\n"), "a100") ==
        "spec.yaml:7:17: error: no kernels are emitted yet for a100\n"
        "    7 | targets: [h100, a100]\n"
        "      |                 ^~~~\n"
        "help: targets that have kernels: h100, h200, mi250\n");
}

}  // namespace
}  // namespace attngen::emit
