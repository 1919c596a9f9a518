// What is said of keys and values that other tools have, or that stand elsewhere.
#include <doctest/doctest.h>

#include "errors_of.h"

namespace attngen::spec {
namespace {

TEST_CASE("keys and values that other tools have") {
  CHECK(errors_with("causal: true\n") ==
        "s.yaml:6:1: error: unknown key 'causal'\n"
        "    6 | causal: true\n"
        "      | ^~~~~~\n"
        "help: write mask: kv_idx <= q_pos\n");
  const auto help = [](const std::string& error) {
    const size_t at = error.find("help: ");
    return at == std::string::npos ? "" : error.substr(at + 6, error.find('\n', at) - at - 6);
  };
  CHECK(help(errors_with("is_causal: true\n")) == "write mask: kv_idx <= q_pos");
  for (const std::string window : {"window", "sliding_window"}) {
    CHECK(help(errors_with(window + ": 1024\n")) ==
          "write mask: kv_idx <= q_pos and q_pos - kv_idx < 1024");
  }
  CHECK(help(errors_with("softcap: 30\n")) == "write score: 30 * tanh(score / 30)");
  CHECK(help(errors_with("alibi: true\n")) ==
        "write score: score + slopes[h] * (kv_idx - q_pos), slopes being one of the inputs");
  CHECK(help(errors_with("score_mod: score\n")) ==
        "write score: and the expression, such as 30 * tanh(score / 30)");
  CHECK(help(errors_with("mask_mod: true\n")) ==
        "write mask: and the condition, such as kv_idx <= q_pos");
  for (const std::string length : {"seq", "seq_len", "seqlen"}) {
    CHECK(help(errors_with("workload: [{" + length + ": 4096}]\n")) == "write seq_q and seq_kv");
  }
  CHECK(help(errors_with("softmax_scale: 0.1\n")) ==
        "write scale: and the number; the default is 1/sqrt(head_dim.qk)");
  CHECK(help(errors_with("sm_scale: 0.1\n")).starts_with("write scale: "));
  CHECK(help(errors_with("num_heads: 8\n")) == "write heads: {q: 32, kv: 8}");
  for (const std::string size : {"seq_len", "batch"}) {
    CHECK(help(errors_with(size + ": 8\n")) ==
          "a call says it; what is to be fast is written as workload: {batch: 1, seq_q: 4096}");
  }
  CHECK(help(errors_with("gpu: h100\n")) == "write targets: [h100]");
  CHECK(help(errors_with("dropout: 0.1\n")) == "kernels have no dropout: leave it out");
  CHECK(help(errors_with("attn_mask: x\n")).starts_with("write mask: "));
  CHECK(help(errors_with("attn_bias: x\n")).starts_with("write score: score + bias["));
  CHECK(help(errors_with("maks: true\n")) == "did you mean 'mask'?");
  CHECK(help(errors_with_recurrent("causal: true\n")) == "");
  CHECK(help(errors_with("normalize: sigmoid\n")) == "write normalize: {weight: sigmoid(score)}");
  const auto with_dtype = [](const std::string& dtype) {
    return errors_of("attngen: 1\nname: y\ndtype: " + dtype +
                     "\nheads: {q: 1, kv: 1}\nhead_dim: {qk: 8, v: 8}\n");
  };
  CHECK(with_dtype("bfloat16") ==
        "s.yaml:3:8: error: dtype must be 'bf16' or 'fp16', got 'bfloat16'\n"
        "    3 | dtype: bfloat16\n"
        "      |        ^~~~~~~~\n"
        "help: write bf16\n");
  CHECK(help(with_dtype("float16")) == "write fp16");
  CHECK(help(with_dtype("half")) == "write fp16");
  CHECK(help(with_dtype("fp32")) ==
        "q, k, v and o are stored in 16 bits; sums are fp32 in any case");
  CHECK(help(errors_with("inputs: {x: {dtype: float32, shape: []}}\n")) == "write f32");
  for (const std::string dtype : {"int32", "int64", "i64"}) {
    CHECK(help(errors_with("inputs: {x: {dtype: " + dtype + ", shape: []}}\n")) == "write i32");
  }
}

TEST_CASE("names that other tools have for heads, widths, pages, dimensions and types") {
  CHECK(errors_of("attngen: 1\nname: y\ndtype: torch.bfloat16\nheads: {query: 8, key: 8}\n"
                  "head_dim: {q: 64, k: 64, v: 64}\nkv_cache: {page_size: 16}\n") ==
        "s.yaml:3:8: error: dtype must be 'bf16' or 'fp16', got 'torch.bfloat16'\n"
        "    3 | dtype: torch.bfloat16\n"
        "      |        ^~~~~~~~~~~~~~\n"
        "help: write bf16\n"
        "s.yaml:4:1: error: heads needs 'q' and 'kv'\n"
        "    4 | heads: {query: 8, key: 8}\n"
        "      | ^~~~~\n"
        "s.yaml:4:9: error: unknown key 'query' in heads\n"
        "    4 | heads: {query: 8, key: 8}\n"
        "      |         ^~~~~\n"
        "help: write q\n"
        "s.yaml:4:19: error: unknown key 'key' in heads\n"
        "    4 | heads: {query: 8, key: 8}\n"
        "      |                   ^~~\n"
        "help: write kv\n"
        "s.yaml:5:1: error: head_dim needs 'qk'\n"
        "    5 | head_dim: {q: 64, k: 64, v: 64}\n"
        "      | ^~~~~~~~\n"
        "s.yaml:5:12: error: unknown key 'q' in head_dim\n"
        "    5 | head_dim: {q: 64, k: 64, v: 64}\n"
        "      |            ^\n"
        "help: one number for both: qk: 64\n"
        "s.yaml:5:19: error: unknown key 'k' in head_dim\n"
        "    5 | head_dim: {q: 64, k: 64, v: 64}\n"
        "      |                   ^\n"
        "help: one number for both: qk: 64\n"
        "s.yaml:6:1: error: kv_cache needs 'paged'\n"
        "    6 | kv_cache: {page_size: 16}\n"
        "      | ^~~~~~~~\n"
        "s.yaml:6:12: error: unknown key 'page_size' in kv_cache\n"
        "    6 | kv_cache: {page_size: 16}\n"
        "      |            ^~~~~~~~~\n"
        "help: write paged: 16\n");
  CHECK(errors_with_recurrent("").find("write") == std::string::npos);
  CHECK(errors_of("attngen: 1\nname: y\ndtype: bf16\npattern: recurrent\n"
                  "heads: {q: 8, key: 8, v: 8}\nhead_dim: {qk: 64, v: 64}\n")
            .find("write kv") == std::string::npos);
  const auto dtype = [](const std::string& word) {
    return errors_of("attngen: 1\nname: y\ndtype: " + word +
                     "\nheads: {q: 1, kv: 1}\nhead_dim: {qk: 8, v: 8}\n");
  };
  CHECK(dtype("torch.float16").ends_with("help: write fp16\n"));
  CHECK(dtype("torch.half").ends_with("help: write fp16\n"));
  CHECK(dtype("jnp.float32")
            .ends_with("help: q, k, v and o are stored in 16 bits; sums are fp32 in any case\n"));
  CHECK(errors_with("inputs: {x: {dtype: torch.int32, shape: []}}\n").ends_with("write i32\n"));
  const auto dim = [](const std::string& name) {
    return errors_with("inputs: {x: {dtype: f32, shape: [" + name + "]}}\n");
  };
  CHECK(dim("B") ==
        "s.yaml:6:34: error: inputs.x.shape[0] must be 'batch', 'heads', 'heads_kv', 'seq_q', "
        "'seq_kv', 'dim' or a whole number, got 'B'\n"
        "    6 | inputs: {x: {dtype: f32, shape: [B]}}\n"
        "      |                                  ^\n"
        "help: write batch\n");
  CHECK(dim("S").ends_with("help: write seq_q or seq_kv\n"));
  CHECK(dim("H").ends_with("help: write heads\n"));
  CHECK(dim("D").ends_with("help: write dim\n"));
}

TEST_CASE("what is done before the call, or not at all") {
  const auto help = [](const std::string& lines) {
    const std::string errors = errors_with(lines + "\n");
    const size_t at = errors.find("help: ");
    return at == std::string::npos ? "" : errors.substr(at + 6, errors.size() - at - 7);
  };
  CHECK(help("rope: true") == "rotate q and k before the call: kernels take them as they are");
  CHECK(errors_with("query: q * 2\n") ==
        "s.yaml:6:1: error: 'query' belongs to pattern recurrent\n"
        "    6 | query: q * 2\n"
        "      | ^~~~~\n"
        "help: do it to q, k and v before the call\n");
  const char* const no_fp8 = "kernels are bf16 or fp16, keys and values too: there is no fp8";
  CHECK(help("kv_dtype: fp8") == no_fp8);
  for (const std::string dtype : {"fp8", "e4m3", "float8_e4m3fn", "FP8"}) {
    CHECK(errors_of("attngen: 1\nname: y\ndtype: " + dtype +
                    "\nheads: {q: 1, kv: 1}\nhead_dim: {qk: 8, v: 8}\n")
              .ends_with(std::string("help: ") + no_fp8 + "\n"));
  }
  for (const std::string names : {"define", "variables", "where"}) {
    CHECK(help(names + ": {x: score * 2}") ==
          "names for parts of expressions belong in let: {x: score / 30}");
  }
  for (const std::string none : {"null", "~", "None"}) {
    CHECK(help("scale: " + none) == "leave it out: the default is 1/sqrt(head_dim.qk)");
    CHECK(help("inputs: {x: {dtype: f32, shape: [" + none + ", heads]}}") ==
          "write its length, or leave the dimension out");
  }
  CHECK(help("normalize: linear") == "write normalize: none");
}

TEST_CASE("inputs of another form") {
  CHECK(errors_with("inputs: {slopes: f32}\n") ==
        "s.yaml:6:18: error: inputs.slopes must be a map, got 'f32'\n"
        "    6 | inputs: {slopes: f32}\n"
        "      |                  ^~~\n"
        "help: write {dtype: f32, shape: [heads]}\n");
  CHECK(errors_with("inputs: {doc: int64}\n")
            .ends_with("help: write {dtype: i32, shape: [heads]}\n"));
  CHECK(errors_with("inputs: {x: [heads]}\n")
            .ends_with("help: write {dtype: f32, shape: [heads]}\n"));
  CHECK(errors_with("inputs: {cap: 30}\n").ends_with("help: a number is a constant: {cap: 30}\n"));
  CHECK(errors_with("inputs: [sink]\n") ==
        "s.yaml:6:9: error: inputs must be a map, got a list\n"
        "    6 | inputs: [sink]\n"
        "      |         ^~~~~~\n"
        "help: write {sink: {dtype: f32, shape: [heads]}}\n");
  CHECK(errors_with("inputs: [{name: sink}]\n")
            .ends_with("help: write {slopes: {dtype: f32, shape: [heads]}}\n"));
  CHECK(errors_with("inputs: {x: {dtype: f32}}\n") ==
        "s.yaml:6:10: error: inputs.x needs 'shape'\n"
        "    6 | inputs: {x: {dtype: f32}}\n"
        "      |          ^\n"
        "help: add shape: [], which is one number; [heads] is one for each head\n");
}

TEST_CASE("hints have the number that is given") {
  CHECK(errors_with("softcap: 50.0\nwindow: 128\n") ==
        "s.yaml:6:1: error: unknown key 'softcap'\n"
        "    6 | softcap: 50.0\n"
        "      | ^~~~~~~\n"
        "help: write score: 50.0 * tanh(score / 50.0)\n"
        "s.yaml:7:1: error: unknown key 'window'\n"
        "    7 | window: 128\n"
        "      | ^~~~~~\n"
        "help: write mask: kv_idx <= q_pos and q_pos - kv_idx < 128\n");
  CHECK(errors_with("sliding_window: 512\n").ends_with("q_pos - kv_idx < 512\n"));
  CHECK(errors_with("attn_logit_softcapping: 50\n")
            .ends_with("help: write score: 50 * tanh(score / 50)\n"));
  CHECK(errors_with("head_size: 64\n").ends_with("help: write head_dim: {qk: 64, v: 64}\n"));
  CHECK(errors_with("page_size: 16\n").ends_with("help: write kv_cache: {paged: 16}\n"));
  CHECK(errors_with("block_size: 128\n")
            .ends_with("help: write blocks: {size: 128, from: bitmap}\n"));
  for (const std::string none :
       {"none", "'128'", "[128, 0]", "", "0", "-1", "0.0e5", "3000000000", "1e999"}) {
    CHECK(errors_with("window: " + none + "\n")
              .ends_with("help: write mask: kv_idx <= q_pos and q_pos - kv_idx < 1024\n"));
    CHECK(errors_with("softcap: " + none + "\n")
              .ends_with("help: write score: 30 * tanh(score / 30)\n"));
  }
}

TEST_CASE("keys and values of another case") {
  CHECK(errors_of("attngen: 1\nname: y\ndtype: BF16\nheads: {Q: 8, KV: 8}\n"
                  "head_dim: {qk: 8, v: 8}\nlayout: BSHD\nvarlen: TRUE\n") ==
        "s.yaml:3:8: error: dtype must be 'bf16' or 'fp16', got 'BF16'\n"
        "    3 | dtype: BF16\n"
        "      |        ^~~~\n"
        "help: did you mean 'bf16'?\n"
        "s.yaml:4:1: error: heads needs 'q' and 'kv'\n"
        "    4 | heads: {Q: 8, KV: 8}\n"
        "      | ^~~~~\n"
        "s.yaml:4:9: error: unknown key 'Q' in heads\n"
        "    4 | heads: {Q: 8, KV: 8}\n"
        "      |         ^\n"
        "help: did you mean 'q'?\n"
        "s.yaml:4:15: error: unknown key 'KV' in heads\n"
        "    4 | heads: {Q: 8, KV: 8}\n"
        "      |               ^~\n"
        "help: did you mean 'kv'?\n"
        "s.yaml:6:9: error: layout must be 'bshd' or 'bhsd', got 'BSHD'\n"
        "    6 | layout: BSHD\n"
        "      |         ^~~~\n"
        "help: did you mean 'bshd'?\n"
        "s.yaml:7:9: error: varlen must be true or false, got 'TRUE'\n"
        "    7 | varlen: TRUE\n"
        "      |         ^~~~\n"
        "help: write true\n");
  CHECK(errors_with("Causal: true\n").ends_with("help: write mask: kv_idx <= q_pos\n"));
}

TEST_CASE("keys of another place, and entries that are missing") {
  CHECK(errors_with("rows: {m: rowmax(score)}\noutput: acc\n") ==
        "s.yaml:6:1: error: unknown key 'rows'\n"
        "    6 | rows: {m: rowmax(score)}\n"
        "      | ^~~~\n"
        "help: it belongs in normalize: {rows: {l: rowsum(abs(score))}, weight: score, output: acc "
        "/ l}\n"
        "s.yaml:7:1: error: 'output' belongs to pattern recurrent\n"
        "    7 | output: acc\n"
        "      | ^~~~~~\n"
        "help: it belongs in normalize, here softmax's: {output: acc / l}\n");
  CHECK(errors_with(
            "normalize: {rows: {l: rowsum(abs(score))}, weight: score, output: acc / l}\n") == "");
  CHECK(errors_with("weight: 1\n").find("help: it belongs in normalize: ") != std::string::npos);
  CHECK(errors_with("save: {lse: m}\n") ==
        "s.yaml:6:1: error: unknown key 'save'\n"
        "    6 | save: {lse: m}\n"
        "      | ^~~~\n"
        "help: it belongs in normalize, here softmax's: {save: {lse: m + log(l)}}\n");
  CHECK(errors_with("normalize: {save: {lse: m + log(l)}}\n") == "");
  CHECK(
      errors_with("sinks: true\n") ==
      "s.yaml:6:1: error: unknown key 'sinks'\n"
      "    6 | sinks: true\n"
      "      | ^~~~~\n"
      "help: write them in normalize, as m: max(rowmax(score), sink[h]) and l: rowsum(exp(score - "
      "m)) + exp(sink[h] - m), sink being one of the inputs\n");
  CHECK(
      errors_with("block_mask: 64\n").ends_with("help: write blocks: {size: 64, from: bitmap}\n"));
  CHECK(errors_with("version: 1\n").ends_with("help: write attngen: 1\n"));
  for (const std::string name : {"entmax15", "sparsemax"}) {
    CHECK(
        errors_with("normalize: " + name + "\n")
            .ends_with("help: it needs the scores of a row in order; kernels have their rowmax and "
                       "rowsum alone\n"));
  }
  CHECK(errors_with("normalize: softmax1\n")
            .ends_with("help: write normalize: {rows: {m: \"max(rowmax(score), 0)\", l: "
                       "rowsum(exp(score - m)) + exp(-m)}, weight: exp(score - m), output: acc / "
                       "l}\n"));
  CHECK(errors_with("normalize: l1\n")
            .ends_with("help: write normalize: {rows: {l: rowsum(abs(score))}, weight: score, "
                       "output: acc / l}\n"));
  CHECK(errors_of("name: y\ndtype: bf16\nheads: {q: 16}\nhead_dim: {qk: 128}\n") ==
        "s.yaml:1:1: error: a spec needs 'attngen'\n"
        "    1 | name: y\n"
        "      | ^\n"
        "help: add attngen: 1\n"
        "s.yaml:3:1: error: heads needs 'kv'\n"
        "    3 | heads: {q: 16}\n"
        "      | ^~~~~\n"
        "help: add kv: 16\n"
        "s.yaml:4:1: error: head_dim needs 'v'\n"
        "    4 | head_dim: {qk: 128}\n"
        "      | ^~~~~~~~\n"
        "help: add v: 128\n");
  CHECK(errors_with("workload: {batch: 8}\n") ==
        "s.yaml:6:1: error: workload needs 'seq_q'\n"
        "    6 | workload: {batch: 8}\n"
        "      | ^~~~~~~~\n");
}

TEST_CASE("values that lack their brackets or a digit, or are to be computed") {
  CHECK(errors_of("attngen: 1\nname: y\ndtype: bf16\nheads: 32\nhead_dim: 128\n") ==
        "s.yaml:4:8: error: heads must be a map, got 32\n"
        "    4 | heads: 32\n"
        "      |        ^~\n"
        "help: write {q: 32, kv: 32}\n"
        "s.yaml:5:11: error: head_dim must be a map, got 128\n"
        "    5 | head_dim: 128\n"
        "      |           ^~~\n"
        "help: write {qk: 128, v: 128}\n");
  CHECK(errors_with("targets: h100\n") ==
        "s.yaml:6:10: error: targets must be a list, got 'h100'\n"
        "    6 | targets: h100\n"
        "      |          ^~~~\n"
        "help: write [h100]\n");
  CHECK(errors_with("kv_cache: paged\nblocks: 64\n") ==
        "s.yaml:6:11: error: kv_cache must be 'contiguous' or a map, got 'paged'\n"
        "    6 | kv_cache: paged\n"
        "      |           ^~~~~\n"
        "help: write kv_cache: {paged: 64}\n"
        "s.yaml:7:9: error: blocks must be a map, got 64\n"
        "    7 | blocks: 64\n"
        "      |         ^~\n"
        "help: write {size: 64, from: bitmap}\n");
  CHECK(errors_with("blocks: bitmap\n") ==
        "s.yaml:6:9: error: blocks must be a map, got 'bitmap'\n"
        "    6 | blocks: bitmap\n"
        "      |         ^~~~~~\n"
        "help: write {size: 64, from: bitmap}\n");
  CHECK(errors_with("blocks: indices\n").ends_with("help: write {size: 64, from: indices}\n"));
  CHECK(errors_with("blocks: {size: 64, from: list}\n").ends_with("help: write indices\n"));
  for (const std::string none : {"scalar", "''"}) {
    CHECK(errors_with("inputs: {x: {dtype: f32, shape: " + none + "}}\n")
              .ends_with("help: write []\n"));
  }
  CHECK(errors_with("blocks: {size: [64, 128], from: bitmap}\n") ==
        "s.yaml:6:16: error: blocks.size must be a whole number, got a list\n"
        "    6 | blocks: {size: [64, 128], from: bitmap}\n"
        "      |                ^~~~~~~~~\n"
        "help: write one number of keys; queries: 1 where a block has fewer queries\n");
  CHECK(errors_with("scale: .5\n") ==
        "s.yaml:6:8: error: scale must be 'default' or a number, got '.5'\n"
        "    6 | scale: .5\n"
        "      |        ^~\n"
        "help: write 0.5\n");
  CHECK(errors_with("scale: 1/8\n") ==
        "s.yaml:6:8: error: scale must be 'default' or a number, got '1/8'\n"
        "    6 | scale: 1/8\n"
        "      |        ^~~\n"
        "help: write 0.125\n");
  for (const std::string text : {"5.", "+5", "'5'"}) {
    CHECK(errors_with("scale: " + text + "\n").ends_with("help: write 5\n"));
  }
  CHECK(errors_with("constants: {c: 2 * sqrt(16)}\n").ends_with("help: write 8\n"));
  CHECK(errors_with("fixed: {batch: 16/2}\n").ends_with("help: write 8\n"));
  for (const std::string text : {"16/3", "0/0", "1 <= 2", "010"}) {
    CHECK(errors_with("fixed: {batch: " + text + "}\n").find("help:") == std::string::npos);
  }
}

}  // namespace
}  // namespace attngen::spec
