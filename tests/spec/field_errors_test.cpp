// Values of a wrong form or that contradict each other.
#include <doctest/doctest.h>

#include "errors_of.h"

namespace attngen::spec {
namespace {

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
  CHECK(errors_with("blocks: {size: 64, from: bitmap, most: 16}\n") ==
        "s.yaml:6:34: error: a bitmap has no lists that 'most' bounds\n"
        "    6 | blocks: {size: 64, from: bitmap, most: 16}\n"
        "      |                                  ^~~~\n");
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
        "      |                ^~~\n"
        "help: write 8\n");
  CHECK(errors_with("varlen: 'true'\n") ==
        "s.yaml:6:9: error: varlen must be true or false, got the text 'true'\n"
        "    6 | varlen: 'true'\n"
        "      |         ^~~~~~\n"
        "help: write true\n");
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
        "s.yaml:6:32: error: workload[1].seq_q must be from 1 to 2147418112, got 3000000000\n"
        "    6 | workload: [{seq_q: 1}, {seq_q: 3000000000}]\n"
        "      |                                ^~~~~~~~~~\n");
  CHECK(errors_with(
            "fixed: {seq_q: 2147418112}\nworkload: {seq_q: 2147418112, batch: 2147418112}\n") ==
        "");
  CHECK(errors_with("fixed: {seq_q: 2147483647}\n") ==
        "s.yaml:6:16: error: fixed.seq_q must be from 1 to 2147418112, got 2147483647\n"
        "    6 | fixed: {seq_q: 2147483647}\n"
        "      |                ^~~~~~~~~~\n");
  CHECK(errors_with("workload: {seq_q: 1, weight: 0}\n") ==
        "s.yaml:6:30: error: workload.weight must be from 1e-09 to 1000000000, got 0\n"
        "    6 | workload: {seq_q: 1, weight: 0}\n"
        "      |                              ^\n");
  CHECK(errors_with("scale: 1e-50\n") ==
        "s.yaml:6:8: error: scale must be 0 or at least 1.1754943508222875e-38 in size, got 1e-50\n"
        "    6 | scale: 1e-50\n"
        "      |        ^~~~~\n");
  CHECK(errors_with("scale: -0.0\n") ==
        "s.yaml:6:1: warning: scale 0 takes queries and keys out of the scores\n"
        "    6 | scale: -0.0\n"
        "      | ^~~~~\n"
        "help: the default is 1/sqrt(head_dim.qk)\n");
  CHECK(errors_with_recurrent("scale: 0\n") == "");
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
        "      |   ^\n"
        "help: write {slopes: {dtype: f32, shape: [heads]}}\n");
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

TEST_CASE("a normaliser with rows of its own has a weight of its own") {
  const auto error = [](const std::string& given) {
    const std::string shown =
        "s.yaml:6:1: error: normalize needs 'weight'\n"
        "    6 | normalize: " +
        given + "\n      | ^~~~~~~~~\n";
    const std::string errors = errors_with("normalize: " + given + "\n");
    return errors.starts_with(shown) ? errors.substr(shown.size()) : errors;
  };
  CHECK(error("{}") == "");
  CHECK(error("{rows: {l: rowsum(score)}}") == "help: add weight: score\n");
  CHECK(error("{rows: {n: rowsum(1), top: rowmax(score)}}") ==
        "help: add weight: exp(score - top)\n");
}

TEST_CASE("dimensions are those of the pattern") {
  CHECK(errors_with("inputs: {x: {dtype: f32, shape: [batch, seqkv]}}\n") ==
        "s.yaml:6:41: error: inputs.x.shape[1] must be 'batch', 'heads', 'heads_kv', 'seq_q', "
        "'seq_kv', 'dim' or a whole number, got 'seqkv'\n"
        "    6 | inputs: {x: {dtype: f32, shape: [batch, seqkv]}}\n"
        "      |                                         ^~~~~\n"
        "help: did you mean 'seq_kv'?\n");
  const auto help_on_dim = [](const std::string& dim) {
    const std::string error = errors_with("inputs: {x: {dtype: f32, shape: [" + dim + "]}}\n");
    return error.substr(error.find("help: "));
  };
  CHECK(help_on_dim("seq_len") == "help: write seq_q or seq_kv\n");
  CHECK(help_on_dim("num_kv_heads") == "help: write heads_kv\n");
  CHECK(help_on_dim("head_dim") == "help: write dim\n");
  CHECK(errors_with_recurrent("inputs: {x: {dtype: f32, shape: [head]}}\n") ==
        "s.yaml:7:34: error: inputs.x.shape[0] must be 'batch', 'heads', 'seq', 'dim' or a whole "
        "number, got 'head'\n"
        "    7 | inputs: {x: {dtype: f32, shape: [head]}}\n"
        "      |                                  ^~~~\n"
        "help: did you mean 'heads'?\n");
  CHECK(errors_with("constants: {n: 64}\ninputs: {x: {dtype: f32, shape: [n]}}\n") ==
        "s.yaml:7:34: error: inputs.x.shape[0] must be 'batch', 'heads', 'heads_kv', 'seq_q', "
        "'seq_kv', 'dim' or a whole number, got 'n'\n"
        "    7 | inputs: {x: {dtype: f32, shape: [n]}}\n"
        "      |                                  ^\n"
        "help: write 64\n");
}

TEST_CASE("a shape of numbers that no memory holds") {
  const auto error = [](const std::string& shape) {
    return errors_with("inputs: {x: {dtype: u8, shape: [" + shape +
                       "]}}\nscore: score + x[0, 0, b]\n");
  };
  CHECK(error("2147483647, 2147483647, 2147483647") ==  // and none where it is read
        "s.yaml:6:32: error: inputs.x.shape has more than 1099511627776 elements\n"
        "    6 | inputs: {x: {dtype: u8, shape: [2147483647, 2147483647, 2147483647]}}\n"
        "      |                                ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~\n"
        "help: no GPU has memory for so many\n");
  CHECK(error("1048577, 1048576, batch").find("more than 1099511627776") != std::string::npos);
  CHECK(error("1048576, 1048576, batch") == "");
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

TEST_CASE("values of a point of the workload") {
  CHECK(errors_with("inputs: {frame: {dtype: i32, shape: []}}\n"
                    "workload: {seq_q: 1, values: {farme: 8, frame: 0.5}}\n"
                    "mask: kv_idx < frame\n") ==
        "s.yaml:7:31: error: no input is named 'farme'\n"
        "    7 | workload: {seq_q: 1, values: {farme: 8, frame: 0.5}}\n"
        "      |                               ^~~~~\n"
        "help: did you mean 'frame'?\n"
        "s.yaml:7:48: error: workload.values.frame must be a whole number from -2147483648 to "
        "2147483647, as i32 is, got 0.5\n"
        "    7 | workload: {seq_q: 1, values: {farme: 8, frame: 0.5}}\n"
        "      |                                                ^~~\n");
  CHECK(errors_with("inputs: {keep: {dtype: u8, shape: [seq_kv]}, on: {dtype: u8, shape: []}}\n"
                    "workload: [{seq_q: 1, values: {keep: 1, on: 256}}]\n"
                    "mask: keep[kv_idx] != 0 and on != 0\n") ==
        "s.yaml:7:32: error: keep has an element for each query or key: one value tells nothing\n"
        "    7 | workload: [{seq_q: 1, values: {keep: 1, on: 256}}]\n"
        "      |                                ^~~~\n"
        "help: values are for scalars, inputs along batch, heads or a number, and ids of i32 along "
        "seq_q or seq_kv\n"
        "s.yaml:7:45: error: workload[0].values.on must be a whole number from 0 to 255, as u8 is, "
        "got 256\n"
        "    7 | workload: [{seq_q: 1, values: {keep: 1, on: 256}}]\n"
        "      |                                             ^~~\n");
}

TEST_CASE("how long ids stay the same") {
  const auto errors = [](const std::string& value) {
    return errors_with(
        "inputs: {doc: {dtype: i32, shape: [batch, seq_kv], sorted: true}}\n"
        "workload: {seq_q: 1, values: {doc: " +
        value + "}}\nmask: doc[b, q_pos] == doc[b, kv_idx]\n");
  };
  CHECK(errors("1024") == "");
  CHECK(errors("0") ==
        "s.yaml:7:36: error: workload.values.doc must be a whole number from 1 to 2147418112, as a "
        "stretch of ids is, got 0\n"
        "    7 | workload: {seq_q: 1, values: {doc: 0}}\n"
        "      |                                    ^\n");
  CHECK(errors("0.5").find("must be a whole number from 1") != std::string::npos);
  CHECK(errors_with("inputs: {pair: {dtype: i32, shape: [seq_q, seq_kv]}}\n"
                    "workload: {seq_q: 1, values: {pair: 4}}\nmask: pair[q_idx, kv_idx] > 0\n")
            .find("one value tells nothing") != std::string::npos);
}

TEST_CASE("heads, lengths, memory") {
  CHECK(errors_of("attngen: 1\nname: y\ndtype: bf16\nheads: {q: 30, kv: 8}\n"
                  "head_dim: {qk: 8, v: 8}\n") ==
        "s.yaml:4:12: error: heads.q must be a multiple of heads.kv, got 30 and 8\n"
        "    4 | heads: {q: 30, kv: 8}\n"
        "      |            ^~\n"
        "help: 24 and 32 are the nearest\n");
  const auto with_heads = [](const std::string& heads) {
    return errors_of("attngen: 1\nname: y\ndtype: bf16\nheads: {" + heads +
                     "}\nhead_dim: {qk: 8, v: 8}\n");
  };
  CHECK(with_heads("q: 3, kv: 8").ends_with("help: 8 is the next one\n"));
  CHECK(with_heads("q: 65535, kv: 2").ends_with("help: 65534 is the nearest\n"));
  CHECK(with_heads("q: 2, kv: 8").ends_with("help: exchange them, {q: 8, kv: 2}, or write q: 8\n"));
  CHECK(errors_with("fixed: {seq_q: 64}\nworkload: {seq_q: 128}\n") ==
        "s.yaml:7:19: error: workload.seq_q is 128, but fixed.seq_q is 64\n"
        "    7 | workload: {seq_q: 128}\n"
        "      |                   ^~~\n");
  // Of lengths that are not written none differs.
  CHECK(errors_with("fixed: {seq_kv: 64}\nworkload: [{seq_q: 1}, {batch: 2}]\n") ==
        "s.yaml:7:24: error: workload[1] needs 'seq_q'\n"
        "    7 | workload: [{seq_q: 1}, {batch: 2}]\n"
        "      |                        ^~~~~~~~~~\n");
  CHECK(errors_with("fixed: {seq_kv: 128}\nworkload: {seq_kv: 128}\n") ==
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
  CHECK(errors_with("inputs: {x: {dtype: i32, shape: [seq_kv, heads], sorted: true}}\n"
                    "mask: x[kv_idx, h] > 0\n") ==
        "s.yaml:6:50: warning: sorted does nothing: the last dimension of 'x' is heads, which "
        "counts neither queries nor keys\n"
        "    6 | inputs: {x: {dtype: i32, shape: [seq_kv, heads], sorted: true}}\n"
        "      |                                                  ^~~~~~\n");
  for (const std::string dim : {"seq_q", "seq_kv", "64"}) {
    CHECK(errors_with("inputs: {x: {dtype: i32, shape: [" + dim +
                      "], sorted: true}}\nmask: x[kv_idx // 64] > 0\n") == "");
  }
  CHECK(errors_with("inputs: {x: {dtype: i32, shape: [batch], sorted: false}}\nmask: x[b] > 0\n") ==
        "");
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

TEST_CASE("a key that cannot be has a pointer of its own") {
  const auto json = [](const std::string& lines) {
    text::Diagnostics diagnostics(
        {"s.yaml",
         "attngen: 1\nname: y\ndtype: bf16\nheads: {q: 1, kv: 1}\nhead_dim: {qk: 8, v: 8}\n" +
             lines});
    CHECK_FALSE(read(diagnostics).has_value());
    return diagnostics.render(text::ErrorFormat::Json);
  };
  CHECK(json("maks: true\n") ==
        "{\"file\":\"s.yaml\",\"line\":6,\"column\":1,\"severity\":\"error\",\"message\":"
        "\"unknown key 'maks'\",\"help\":\"did you mean 'mask'?\",\"pointer\":\"/maks\"}\n");
  CHECK(json("a/b: 1\n").ends_with("\"pointer\":\"/a~1b\"}\n"));
  CHECK(json("query: q\n").ends_with("\"pointer\":\"/query\"}\n"));
  CHECK(json("fixed: {seq: 8}\n").ends_with("\"pointer\":\"/fixed/seq\"}\n"));
  CHECK(json("constants: {exp: 8}\n").ends_with("\"pointer\":\"/constants/exp\"}\n"));
  CHECK(json("constants: {1: 8}\n").ends_with("\"pointer\":\"/constants/1\"}\n"));
  CHECK(json(std::string(65, 'a') + ": 1\n").ends_with("\"pointer\":\"\"}\n"));
}

}  // namespace
}  // namespace attngen::spec
