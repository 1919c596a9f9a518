// Values of a wrong form or that contradict each other.
#include <doctest/doctest.h>

#include "errors_of.h"

namespace attngen::spec {
namespace {

std::string name_error(const std::string& name) {
  return errors_of("attngen: 1\nname: " + name +
                   "\ndtype: bf16\nheads: {q: 1, kv: 1}\nhead_dim: {qk: 8, v: 8}\n");
}

TEST_CASE("keys") {
  CHECK(errors_of("name: example\nattngen: 1\nheads: {q: 8, kv: 2}\n") ==
        "s.yaml:1:1: error: a spec needs 'dtype' and 'head_dim'\n"
        "    1 | name: example\n"
        "      | ^\n");
  CHECK(errors_with("blocks: {size: 64}\n") ==
        "s.yaml:6:1: error: blocks needs 'from'\n"
        "    6 | blocks: {size: 64}\n"
        "      | ^~~~~~\n"
        "help: add from: bitmap\n");
  CHECK(errors_with("blocks: {size: 64, from: bitmap, per: head_kv}\n") ==
        "s.yaml:6:39: error: blocks.per must be 'heads' or 'heads_kv', got 'head_kv'\n"
        "    6 | blocks: {size: 64, from: bitmap, per: head_kv}\n"
        "      |                                       ^~~~~~~\n"
        "help: did you mean 'heads_kv'?\n");
  CHECK(errors_with("masc: true\n") ==
        "s.yaml:6:1: error: unknown key 'masc'\n"
        "    6 | masc: true\n"
        "      | ^~~~\n"
        "help: did you mean 'mask'?\n");
  CHECK(errors_with("fixed: {seq: 1}\n") ==
        "s.yaml:6:9: error: unknown key 'seq' in fixed\n"
        "    6 | fixed: {seq: 1}\n"
        "      |         ^~~\n"
        "help: write seq_q and seq_kv\n");
  CHECK(errors_with("layout bshd\n") ==
        "s.yaml:6:1: error: unknown key 'layout bshd'\n"
        "    6 | layout bshd\n"
        "      | ^~~~~~~~~~~\n"
        "help: write layout: bshd\n");
  CHECK(errors_with("delta: 1\n") ==
        "s.yaml:6:1: error: 'delta' belongs to pattern recurrent\n"
        "    6 | delta: 1\n"
        "      | ^~~~~\n");
  CHECK(errors_with_recurrent("mask: true\n") ==
        "s.yaml:7:1: error: 'mask' belongs to pattern parallel\n"
        "    7 | mask: true\n"
        "      | ^~~~\n");
}

TEST_CASE("a key that is there is not the one that was meant") {
  CHECK(errors_of("attngen: 1\nname: y\ndtype: bf16\nheads: {q: 32, k: 8}\n"
                  "head_dim: {qk: 8, v: 8}\n") ==
        "s.yaml:4:1: error: heads needs 'kv'\n"
        "    4 | heads: {q: 32, k: 8}\n"
        "      | ^~~~~\n"
        "s.yaml:4:16: error: unknown key 'k' in heads\n"
        "    4 | heads: {q: 32, k: 8}\n"
        "      |                ^\n"
        "help: did you mean 'kv'?\n");
}

TEST_CASE("types and ranges") {
  CHECK(errors_with("fixed: {batch: eight}\n") ==
        "s.yaml:6:16: error: fixed.batch must be a whole number, got 'eight'\n"
        "    6 | fixed: {batch: eight}\n"
        "      |                ^~~~~\n");
  CHECK(errors_with("fixed: {batch: '8'}\n") ==
        "s.yaml:6:16: error: fixed.batch must be a whole number, got the text '8'\n"
        "    6 | fixed: {batch: '8'}\n"
        "      |                ^~~\n");
  CHECK(errors_with("fixed: {batch: 1.5, seq_q: 010, seq_kv: }\n") ==
        "s.yaml:6:16: error: fixed.batch must be a whole number, got 1.5\n"
        "    6 | fixed: {batch: 1.5, seq_q: 010, seq_kv: }\n"
        "      |                ^~~\n"
        "s.yaml:6:28: error: fixed.seq_q must be a whole number, got '010'\n"
        "    6 | fixed: {batch: 1.5, seq_q: 010, seq_kv: }\n"
        "      |                            ^~~\n"
        "s.yaml:6:33: error: fixed.seq_kv must be a whole number, got nothing\n"
        "    6 | fixed: {batch: 1.5, seq_q: 010, seq_kv: }\n"
        "      |                                 ^~~~~~\n");
  CHECK(errors_with("workload: [{seq_q: 1}, {seq_q: 3000000000}]\n") ==
        "s.yaml:6:32: error: workload[1].seq_q must be from 1 to 2147483647, got 3000000000\n"
        "    6 | workload: [{seq_q: 1}, {seq_q: 3000000000}]\n"
        "      |                                ^~~~~~~~~~\n");
  CHECK(errors_with("workload: {seq_q: 1, weight: 0}\n") ==
        "s.yaml:6:30: error: workload.weight must be from 1e-09 to 1000000000, got 0\n"
        "    6 | workload: {seq_q: 1, weight: 0}\n"
        "      |                              ^\n");
  CHECK(errors_with("scale: 1e-50\n") ==
        "s.yaml:6:8: error: scale must be 0 or at least 1.1754943508222875e-38 in size, got 1e-50\n"
        "    6 | scale: 1e-50\n"
        "      |        ^~~~~\n");
  CHECK(errors_with("constants: {x: 0.0e-50, y: -1.2e-38}\nscore: score * x + y\n") == "");
  // Where a number leaves a double's range is seen from all of it.
  const std::string zeros(400, '0');
  for (const std::string& large : {std::string("1e999"), "1" + zeros, "1" + zeros + "e-5",
                                   "-1" + zeros + ".5", std::string("0.1e99999999999999999999")}) {
    CHECK(errors_with("constants: {x: " + large + "}\n")
              .starts_with("s.yaml:6:16: error: constants.x must be from -3.4"));
  }
  for (const std::string& small :
       {std::string("-1e-39"), std::string("1e-999"), std::string("0.0001e-400"),
        "0." + zeros + "1", "-0." + zeros + "1e5", std::string("123.4e-99999999999999999999")}) {
    CHECK(errors_with("constants: {x: " + small + "}\n")
              .starts_with("s.yaml:6:16: error: constants.x must be 0 or at least "));
  }
  CHECK(errors_with("maps: 3\nscore: score + map\n") ==  // no second error for `map`
        "s.yaml:6:7: error: maps must be from 1 to 2, got 3\n"
        "    6 | maps: 3\n"
        "      |       ^\n");
  CHECK(errors_with_recurrent("maps: 2\n") ==
        "s.yaml:7:1: error: 'maps' belongs to pattern parallel\n"
        "    7 | maps: 2\n"
        "      | ^~~~\n");
  CHECK(errors_with("varlen: yes\n") ==
        "s.yaml:6:9: error: varlen must be true or false, got 'yes'\n"
        "    6 | varlen: yes\n"
        "      |         ^~~\n"
        "help: write true\n");
  CHECK(errors_with("layout: bsdh\nshare_kv: true\n") ==
        "s.yaml:6:9: error: layout must be 'bshd' or 'bhsd', got 'bsdh'\n"
        "    6 | layout: bsdh\n"
        "      |         ^~~~\n"
        "help: did you mean 'bshd'?\n"
        "s.yaml:7:11: error: share_kv must be false or a map, got true\n"
        "    7 | share_kv: true\n"
        "      |           ^~~~\n"
        "help: write share_kv: {v_prefix: 512}, which is head_dim.v\n");
  CHECK(errors_with("normalize: softmix\n") ==
        "s.yaml:6:12: error: normalize must be 'softmax', 'none' or a map, got 'softmix'\n"
        "    6 | normalize: softmix\n"
        "      |            ^~~~~~~\n"
        "help: did you mean 'softmax'?\n");
  CHECK(errors_with("passes: []\n") ==
        "s.yaml:6:9: error: passes must not be empty\n"
        "    6 | passes: []\n"
        "      |         ^~\n");
  CHECK(errors_with("targets: [h100, mi250, h100]\n") ==
        "s.yaml:6:24: error: 'h100' is in targets twice\n"
        "    6 | targets: [h100, mi250, h100]\n"
        "      |                        ^~~~\n");
  CHECK(errors_with("inputs:\n  - slopes\n") ==
        "s.yaml:7:3: error: inputs must be a map, got a list\n"
        "    7 |   - slopes\n"
        "      |   ^\n");
  CHECK(errors_of("attngen: 2\nname: y\ndtype: bf16\nheads: {q: 1, kv: 1}\n"
                  "head_dim: {qk: 60, v: 4096}\n") ==
        "s.yaml:1:10: error: attngen must be 1, got 2\n"
        "    1 | attngen: 2\n"
        "      |          ^\n"
        "s.yaml:5:16: error: head_dim.qk must be a multiple of 8, got 60\n"
        "    5 | head_dim: {qk: 60, v: 4096}\n"
        "      |                ^~\n"
        "help: 64 is the next one\n"
        "s.yaml:5:23: error: head_dim.v must be from 8 to 1024, got 4096\n"
        "    5 | head_dim: {qk: 60, v: 4096}\n"
        "      |                       ^~~~\n");
}

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
  CHECK(help(errors_with("head_size: 64\n")) == "write head_dim: {qk: 128, v: 128}");
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
        "help: it belongs in normalize: {rows: {l: rowsum(abs(score))}, weight: score, output: acc "
        "/ l}\n");
  CHECK(errors_with(
            "normalize: {rows: {l: rowsum(abs(score))}, weight: score, output: acc / l}\n") == "");
  for (const std::string key : {"weight", "save"}) {
    CHECK(errors_with(key + ": 1\n").find("help: it belongs in normalize: ") != std::string::npos);
  }
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
  CHECK(errors_with("blocks: {size: [64, 128], from: bitmap}\n") ==
        "s.yaml:6:16: error: blocks.size must be a whole number, got a list\n"
        "    6 | blocks: {size: [64, 128], from: bitmap}\n"
        "      |                ^~~~~~~~~\n"
        "help: write one number: blocks are squares\n");
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
  CHECK(errors_with("constants: {c: 2 * sqrt(16)}\n").ends_with("help: write 8\n"));
  CHECK(errors_with("fixed: {batch: 16/2}\n").ends_with("help: write 8\n"));
  for (const std::string text : {"16/3", "0/0", "1 <= 2", "010"}) {
    CHECK(errors_with("fixed: {batch: " + text + "}\n").find("help:") == std::string::npos);
  }
}

TEST_CASE("dimensions are those of the pattern") {
  CHECK(errors_with("inputs: {x: {dtype: f32, shape: [batch, seqkv]}}\n") ==
        "s.yaml:6:41: error: inputs.x.shape[1] must be 'batch', 'heads', 'heads_kv', 'seq_q', "
        "'seq_kv' or a whole number, got 'seqkv'\n"
        "    6 | inputs: {x: {dtype: f32, shape: [batch, seqkv]}}\n"
        "      |                                         ^~~~~\n"
        "help: did you mean 'seq_kv'?\n");
  const auto help_on_dim = [](const std::string& dim) {
    const std::string error = errors_with("inputs: {x: {dtype: f32, shape: [" + dim + "]}}\n");
    return error.substr(error.find("help: "));
  };
  CHECK(help_on_dim("seq_len") == "help: write seq_q or seq_kv\n");
  CHECK(help_on_dim("num_kv_heads") == "help: write heads_kv\n");
  CHECK(errors_with_recurrent("inputs: {x: {dtype: f32, shape: [head]}}\n") ==
        "s.yaml:7:34: error: inputs.x.shape[0] must be 'batch', 'heads', 'seq', 'dim' or a whole "
        "number, got 'head'\n"
        "    7 | inputs: {x: {dtype: f32, shape: [head]}}\n"
        "      |                                  ^~~~\n"
        "help: did you mean 'heads'?\n");
  CHECK(errors_with("constants: {n: 64}\ninputs: {x: {dtype: f32, shape: [n]}}\n") ==
        "s.yaml:7:34: error: inputs.x.shape[0] must be 'batch', 'heads', 'heads_kv', 'seq_q', "
        "'seq_kv' or a whole number, got 'n'\n"
        "    7 | inputs: {x: {dtype: f32, shape: [n]}}\n"
        "      |                                  ^\n"
        "help: write 64\n");
}

TEST_CASE("inputs along packed sequences have neither batch nor pairs") {
  CHECK(errors_with("varlen: true\ninputs: {doc: {dtype: i32, shape: [batch, seq_kv]}}\n"
                    "mask: doc[b, kv_idx] > 0\n") ==
        "s.yaml:7:36: error: an input along packed sequences has no dimension batch\n"
        "    7 | inputs: {doc: {dtype: i32, shape: [batch, seq_kv]}}\n"
        "      |                                    ^~~~~\n"
        "help: leave batch out: the sequences' elements lie one behind the other\n");
  CHECK(errors_with("varlen: true\ninputs: {x: {dtype: f32, shape: [heads, seq_q, seq_kv]}}\n"
                    "score: score + x[h, q_idx, kv_idx]\n") ==
        "s.yaml:7:48: error: an input of packed sequences lies along seq_q or seq_kv, not both\n"
        "    7 | inputs: {x: {dtype: f32, shape: [heads, seq_q, seq_kv]}}\n"
        "      |                                                ^~~~~~\n"
        "help: what a pair shares may be computed, or read of a table by the distance\n");
}

TEST_CASE("names that are no symbols or files") {
  CHECK(name_error("../../etc/x") ==
        "s.yaml:2:7: error: name must be a C identifier, got '../../etc/x'\n"
        "    2 | name: ../../etc/x\n"
        "      |       ^~~~~~~~~~~\n"
        "help: it must begin with a letter of ASCII\n");
  CHECK(name_error("a-b").ends_with("help: use ASCII letters, digits and underscores\n"));
  CHECK(name_error("while") ==
        "s.yaml:2:7: error: a spec cannot be named 'while'\n"
        "    2 | name: while\n"
        "      |       ^~~~~\n"
        "help: it is a word of C, C++ or CUDA\n");
  CHECK(name_error("''").find("help: it is empty") != std::string::npos);
  CHECK(name_error(std::string(65, 'a')).find("help: it is longer than 64 bytes") !=
        std::string::npos);
  CHECK(name_error("\"a\\nb\"").find("must be a C identifier") != std::string::npos);
  CHECK(name_error(std::string(64, 'a')).empty());
  CHECK(errors_with("targets: [../h100]\n") ==
        "s.yaml:6:11: error: targets[0] must be a C identifier, got '../h100'\n"
        "    6 | targets: [../h100]\n"
        "      |           ^~~~~~~\n"
        "help: it must begin with a letter of ASCII\n");
  CHECK(errors_with("inputs: {\xC3\xA9: {dtype: f32, shape: []}}\n") ==
        "s.yaml:6:10: error: '\xC3\xA9' must be a C identifier\n"
        "    6 | inputs: {\xC3\xA9: {dtype: f32, shape: []}}\n"
        "      |          ^\n"
        "help: it must begin with a letter of ASCII\n");
}

TEST_CASE("names that no spec can have") {
  CHECK(name_error("stdint") ==
        "s.yaml:2:7: error: a spec cannot be named 'stdint'\n"
        "    2 | name: stdint\n"
        "      |       ^~~~~~\n"
        "help: stdint.h is a header of C, POSIX or CUDA already\n");
  CHECK(name_error("R") ==
        "s.yaml:2:7: error: a spec cannot be named 'R'\n"
        "    2 | name: R\n"
        "      |       ^\n"
        "help: R_OK is a macro of <unistd.h>\n");
  for (const std::string name : {"assert", "Math", "wordexp", "alloca", "cuda", "vector_types",
                                 "sm_20_intrinsics", "f", "mm", "X"}) {
    CHECK(name_error(name).find("error: a spec cannot be named '" + name + "'\n") !=
          std::string::npos);
  }
  // It only begins names.
  for (const std::string name : {"unix", "I", "EDOM", "cuda_attention", "sm_all", "q", "std"}) {
    CHECK(name_error(name) == "");
  }
  // Inputs name no headers.
  CHECK(errors_with("inputs: {x: {dtype: f32, shape: []}}\nconstants: {math: 1}\n"
                    "score: x + math\n") == "");
}

TEST_CASE("names that macros have") {
  CHECK(errors_with("inputs: {I: {dtype: f32, shape: [heads]}}\n") ==
        "s.yaml:6:10: error: 'I' cannot name an input\n"
        "    6 | inputs: {I: {dtype: f32, shape: [heads]}}\n"
        "      |          ^\n"
        "help: a macro of C's headers or of a compiler has that name already\n");
  CHECK(errors_with("normalize: {rows: {errno: 1}, weight: score, save: {unix: 1}}\n") ==
        "s.yaml:6:20: error: 'errno' cannot name a row value\n"
        "    6 | normalize: {rows: {errno: 1}, weight: score, save: {unix: 1}}\n"
        "      |                    ^~~~~\n"
        "help: a macro of C's headers or of a compiler has that name already\n"
        "s.yaml:6:53: error: 'unix' cannot name a saved value\n"
        "    6 | normalize: {rows: {errno: 1}, weight: score, save: {unix: 1}}\n"
        "      |                                                     ^~~~\n"
        "help: a macro of C's headers or of a compiler has that name already\n");
  CHECK(errors_with("inputs: {M_PIf: {dtype: f32, shape: []}}\n") ==
        "s.yaml:6:10: error: 'M_PIf' cannot name an input\n"
        "    6 | inputs: {M_PIf: {dtype: f32, shape: []}}\n"
        "      |          ^~~~~\n"
        "help: macros of <math.h> have such names\n");
  CHECK(errors_with("inputs: {EDOM: {dtype: f32, shape: []}}\n") ==
        "s.yaml:6:10: error: 'EDOM' cannot name an input\n"
        "    6 | inputs: {EDOM: {dtype: f32, shape: []}}\n"
        "      |          ^~~~\n"
        "help: names in capitals are left to macros, such as those of C's headers\n");
  const auto help_on = [](const std::string& name) {
    const std::string errors = errors_with("inputs: {" + name + ": {dtype: f32, shape: []}}\n");
    const size_t help = errors.find("help: ");
    return help == std::string::npos ? "" : errors.substr(help);
  };
  for (const std::string name :
       {"EOF", "CHAR_BIT", "BUFSIZ", "DBL_MAX", "INT64_MAX", "SIGINT", "NDEBUG", "R_OK", "MASK1"}) {
    CHECK(help_on(name).starts_with("help: names in capitals are left to macros"));
  }
  for (const std::string name : {"complex", "stdout", "L_tmpnam", "h_addr", "sa_handler"}) {
    CHECK(help_on(name).starts_with("help: a macro of C's headers"));
  }
  CHECK(help_on("PRId64") == "help: macros of <inttypes.h> have such names\n");
  CHECK(help_on("si_value") == "help: macros of <signal.h> have such names\n");
  CHECK(help_on("cudaStreamDefault") == "help: macros of CUDA have such names\n");
  CHECK(help_on("hipBlockDim_x") == "help: macros of HIP have such names\n");
  for (const std::string name : {"W", "K2", "Bias", "cuda_scale", "cu", "hip_", "side", "m_pi"}) {
    CHECK(help_on(name) == "");
  }
  // In a struct they would hide the type of the fields behind them.
  CHECK(help_on("uint8_t") == "help: the argument struct or emitted code uses that name already\n");
  // A constant is a number in the code.
  CHECK(errors_with("constants: {M_PI: 3.14, EPS: 1e-6}\nscore: score * M_PI + EPS\n") == "");
}

TEST_CASE("names that are taken") {
  CHECK(errors_with("constants: {exp: 1}\n") ==
        "s.yaml:6:13: error: 'exp' cannot name a constant\n"
        "    6 | constants: {exp: 1}\n"
        "      |             ^~~\n"
        "help: expressions use that name already\n");
  CHECK(errors_with("constants: {half: 0.5}\n") ==
        "s.yaml:6:13: error: 'half' cannot name a constant\n"
        "    6 | constants: {half: 0.5}\n"
        "      |             ^~~~\n"
        "help: it is a word of C, C++ or CUDA\n");
  CHECK(errors_with("inputs: {stream: {dtype: f32, shape: []}}\n") ==
        "s.yaml:6:10: error: 'stream' cannot name an input\n"
        "    6 | inputs: {stream: {dtype: f32, shape: []}}\n"
        "      |          ^~~~~~\n"
        "help: the argument struct or emitted code uses that name already\n");
  CHECK(errors_with("inputs: {lse: {dtype: f32, shape: []}}\n") ==
        "s.yaml:6:10: error: 'lse' cannot name an input\n"
        "    6 | inputs: {lse: {dtype: f32, shape: []}}\n"
        "      |          ^~~\n"
        "help: a value of softmax has that name already\n");
  CHECK(errors_with("inputs: {lse: {dtype: f32, shape: []}}\nnormalize: none\nscore: lse\n") == "");
  CHECK(errors_with("inputs: {x: {dtype: f32, shape: []}}\nconstants: {x: 1}\n") ==
        "s.yaml:7:13: error: 'x' cannot name a constant\n"
        "    7 | constants: {x: 1}\n"
        "      |             ^\n"
        "help: an input has that name already\n");
  CHECK(errors_with("normalize: {rows: {old_m: 1, max_1: 2}, weight: score, save: {q: 1}}\n") ==
        "s.yaml:6:20: error: 'old_m' cannot name a row value\n"
        "    6 | normalize: {rows: {old_m: 1, max_1: 2}, weight: score, save: {q: 1}}\n"
        "      |                    ^~~~~\n"
        "help: emitted code uses such names\n"
        "s.yaml:6:30: error: 'max_1' cannot name a row value\n"
        "    6 | normalize: {rows: {old_m: 1, max_1: 2}, weight: score, save: {q: 1}}\n"
        "      |                              ^~~~~\n"
        "help: emitted code uses such names\n"
        "s.yaml:6:63: error: 'q' cannot name a saved value\n"
        "    6 | normalize: {rows: {old_m: 1, max_1: 2}, weight: score, save: {q: 1}}\n"
        "      |                                                               ^\n"
        "help: q, k, v and o are the tensors of a call\n");
  CHECK(errors_with("constants: {k: 7}\n") ==
        "s.yaml:6:13: error: 'k' cannot name a constant\n"
        "    6 | constants: {k: 7}\n"
        "      |             ^\n"
        "help: q, k, v and o are the tensors of a call\n");
}

TEST_CASE("names that are taken in one pattern") {
  CHECK(errors_with(
            "inputs: {t: {dtype: f32, shape: [heads]}, heads: {dtype: f32, shape: []}}\n"
            "constants: {d: 2}\n"
            "score: (score + heads) * t[h] / d\n"
            "normalize: {rows: {seq: rowmax(score)}, weight: score - seq, save: {dim: seq}}\n") ==
        "");
  CHECK(errors_with_recurrent("constants: {t: 1}\n") ==
        "s.yaml:7:13: error: 't' cannot name a constant\n"
        "    7 | constants: {t: 1}\n"
        "      |             ^\n"
        "help: pattern recurrent uses that name already\n");
  CHECK(errors_with_recurrent("constants: {q_idx: 1}\n") ==
        "s.yaml:7:13: error: 'q_idx' cannot name a constant\n"
        "    7 | constants: {q_idx: 1}\n"
        "      |             ^~~~~\n"
        "help: it is reserved for pattern parallel\n");
}

TEST_CASE("doc cannot leave its comment") {
  CHECK(errors_with("doc: a */ int x;\n") ==
        "s.yaml:6:6: error: doc must not contain '*/'\n"
        "    6 | doc: a */ int x;\n"
        "      |      ^~~~~~~~~~~\n"
        "help: it ends a comment in C\n");
  CHECK(errors_with("doc: a \\\n").find("doc must not end in a backslash") != std::string::npos);
  CHECK(errors_with("doc: \"a\\nb\"\n") ==
        "s.yaml:6:6: error: doc must be one line without control characters\n"
        "    6 | doc: \"a\\nb\"\n"
        "      |      ^~~~~~\n");
  CHECK(errors_with("doc: |\n  a\n") ==
        "s.yaml:6:6: error: doc must be one line without control characters\n"
        "    6 | doc: |\n"
        "      |      ^\n");
  CHECK(errors_with("doc: \"a\\u2028b\"\n").find("control characters") != std::string::npos);
}

TEST_CASE("heads, lengths, memory") {
  CHECK(errors_of("attngen: 1\nname: y\ndtype: bf16\nheads: {q: 30, kv: 8}\n"
                  "head_dim: {qk: 8, v: 8}\n") ==
        "s.yaml:4:12: error: heads.q must be a multiple of heads.kv, got 30 and 8\n"
        "    4 | heads: {q: 30, kv: 8}\n"
        "      |            ^~\n");
  CHECK(errors_with("fixed: {seq_q: 64}\nworkload: {seq_q: 128}\n") ==
        "s.yaml:7:19: error: workload.seq_q is 128, but fixed.seq_q is 64\n"
        "    7 | workload: {seq_q: 128}\n"
        "      |                   ^~~\n");
  // Of lengths that are not written none differs.
  CHECK(errors_with("fixed: {seq_q: 64}\nworkload: {seq_kv: 128}\n") ==
        "s.yaml:7:1: error: workload needs 'seq_q'\n"
        "    7 | workload: {seq_kv: 128}\n"
        "      | ^~~~~~~~\n");
  CHECK(errors_with("share_kv: {v_prefix: 256}\n") ==
        "s.yaml:6:22: error: share_kv.v_prefix is 256, but K has 128 columns\n"
        "    6 | share_kv: {v_prefix: 256}\n"
        "      |                      ^~~\n");
  CHECK(errors_with("share_kv: {v_prefix: 128}\n") ==
        "s.yaml:6:22: error: share_kv.v_prefix must be head_dim.v, got 128 and 64\n"
        "    6 | share_kv: {v_prefix: 128}\n"
        "      |                      ^~~\n");
  CHECK(errors_with("tokens: {indices: 2048}\nblocks: {size: 64, from: bitmap}\n") ==
        "s.yaml:6:1: error: a spec has 'blocks' or 'tokens', not both\n"
        "    6 | tokens: {indices: 2048}\n"
        "      | ^~~~~~\n");
  CHECK(errors_with("passes: [step]\n") ==
        "s.yaml:6:10: error: pass 'step' belongs to pattern recurrent\n"
        "    6 | passes: [step]\n"
        "      |          ^~~~\n");
}

TEST_CASE("inputs") {
  CHECK(errors_with("inputs: {x: {dtype: f32, shape: [seq_kv], sorted: true}}\n") ==
        "s.yaml:6:51: error: only an i32 input can be sorted; 'x' is f32\n"
        "    6 | inputs: {x: {dtype: f32, shape: [seq_kv], sorted: true}}\n"
        "      |                                                   ^~~~\n");
  CHECK(errors_with("inputs: {x: {dtype: i32, shape: [], sorted: true}}\n") ==
        "s.yaml:6:45: error: a scalar input cannot be sorted\n"
        "    6 | inputs: {x: {dtype: i32, shape: [], sorted: true}}\n"
        "      |                                             ^~~~\n");
  // One error, not a second one where the input is used.
  CHECK(errors_with("inputs: {x: {dtype: i32, shape: [seq]}}\nmask: x[kv_idx] > 0\n") ==
        "s.yaml:6:34: error: dimension 'seq' belongs to pattern recurrent\n"
        "    6 | inputs: {x: {dtype: i32, shape: [seq]}}\n"
        "      |                                  ^~~\n"
        "help: write seq_q or seq_kv\n");
  CHECK(errors_with("inputs: {x: {dtype: f23, shape: [heads]}}\nscore: score + x[h]\n") ==
        "s.yaml:6:21: error: inputs.x.dtype must be 'f32', 'i32', 'bf16', 'fp16' or 'u8', "
        "got 'f23'\n"
        "    6 | inputs: {x: {dtype: f23, shape: [heads]}}\n"
        "      |                     ^~~\n"
        "help: did you mean 'f32'?\n");
}

}  // namespace
}  // namespace attngen::spec
