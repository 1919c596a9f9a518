// Errors inside expressions: what each may read, what type it has, and where the caret stands.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "errors_of.h"

namespace attngen::spec {
namespace {

TEST_CASE("unknown names") {
  CHECK(errors_with("mask: kv_idx <= q_pso\n") ==
        "s.yaml:6:17: error: unknown name 'q_pso'\n"
        "    6 | mask: kv_idx <= q_pso\n"
        "      |                 ^~~~~\n"
        "help: did you mean 'q_pos'?\n");
  CHECK(errors_with("constants: {window: 4096}\nmask: q_pos - kv_idx < windw\n") ==
        "s.yaml:7:24: error: unknown name 'windw'\n"
        "    7 | mask: q_pos - kv_idx < windw\n"
        "      |                        ^~~~~\n"
        "help: did you mean 'window'?\n");
}

TEST_CASE("all unknown names and functions of an expression") {
  CHECK(errors_with("score: alpha * score + slope[h, beta] + alpha\n") ==
        "s.yaml:6:8: error: unknown name 'alpha'\n"
        "    6 | score: alpha * score + slope[h, beta] + alpha\n"
        "      |        ^~~~~\n"
        "help: declare it in constants or inputs\n"
        "s.yaml:6:24: error: unknown name 'slope'\n"
        "    6 | score: alpha * score + slope[h, beta] + alpha\n"
        "      |                        ^~~~~\n"
        "help: declare it: inputs: {slope: {dtype: f32, shape: [...]}}\n"
        "s.yaml:6:33: error: unknown name 'beta'\n"
        "    6 | score: alpha * score + slope[h, beta] + alpha\n"
        "      |                                 ^~~~\n"
        "help: declare it in constants or inputs\n");
  CHECK(errors_with("score: sqr(tahn(score)) * x + sqr\n") ==
        "s.yaml:6:8: error: unknown function 'sqr'\n"
        "    6 | score: sqr(tahn(score)) * x + sqr\n"
        "      |        ^~~\n"
        "help: write square(x)\n"
        "s.yaml:6:12: error: unknown function 'tahn'\n"
        "    6 | score: sqr(tahn(score)) * x + sqr\n"
        "      |            ^~~~\n"
        "help: did you mean 'tanh'?\n"
        "s.yaml:6:27: error: unknown name 'x'\n"
        "    6 | score: sqr(tahn(score)) * x + sqr\n"
        "      |                           ^\n"
        "help: declare it in constants or inputs\n"
        "s.yaml:6:31: error: unknown name 'sqr'\n"
        "    6 | score: sqr(tahn(score)) * x + sqr\n"
        "      |                               ^~~\n"
        "help: declare it in constants or inputs\n");
  // What follows may be wrong for the guess of what a name is alone, or be no expression.
  for (const std::string text : {"causal and true and documents", "alpha in beta"}) {
    const std::string errors = errors_with("mask: " + text + "\n");
    CHECK(errors.find("error") == errors.rfind("error"));
  }
  std::string many = "0";
  for (int i = 0; i < 30; ++i) many += " + a" + std::to_string(i);
  CHECK(errors_with("score: " + many + "\n").ends_with("10 more errors not shown\n"));
  CHECK(errors_with("inputs: 3\nscore: score + * 2\n").find("inputs must be") != std::string::npos);
  // Names that have an error of their own hide none.
  CHECK(errors_with("inputs: {x: {dtype: f3, shape: [heads]}}\nscore: score * x[h] + y\n")
            .find("unknown name 'y'") != std::string::npos);
  CHECK(errors_with("normalize: {rows: {m: [1], l: rowsum(exp(score - m) * w)}, weight: 1}\n")
            .find("unknown name 'w'") != std::string::npos);
}

TEST_CASE("names that nothing declares") {
  CHECK(errors_with("normalize: {weight: exp(score - m), output: acc / l}\n") ==
        "s.yaml:6:33: error: unknown name 'm'\n"
        "    6 | normalize: {weight: exp(score - m), output: acc / l}\n"
        "      |                                 ^\n"
        "help: declare it in normalize, which alone reads it: rows: {m: rowmax(score)}\n"
        "s.yaml:6:51: error: unknown name 'l'\n"
        "    6 | normalize: {weight: exp(score - m), output: acc / l}\n"
        "      |                                                   ^\n"
        "help: declare it in normalize, which alone reads it: rows: {l: rowsum(exp(score - m))}\n");
  CHECK(errors_with("score: score + bias[h, q_idx, kv_idx]\n") ==
        "s.yaml:6:16: error: unknown name 'bias'\n"
        "    6 | score: score + bias[h, q_idx, kv_idx]\n"
        "      |                ^~~~\n"
        "help: declare it: inputs: {bias: {dtype: f32, shape: [heads, seq_q, seq_kv]}}\n");
  // What a mask reads is mostly ids and lengths.
  CHECK(errors_with("mask: doc[b, q_pos] == 1\n")
            .ends_with("help: declare it: inputs: {doc: {dtype: i32, shape: [batch, seq_kv]}}\n"));
  // The hint of a name without indices is of no use.
  CHECK(errors_with("mask: kv_idx < kv_len[b]\n") ==
        "s.yaml:6:16: error: unknown name 'kv_len'\n"
        "    6 | mask: kv_idx < kv_len[b]\n"
        "      |                ^~~~~~\n"
        "help: declare it: inputs: {kv_len: {dtype: i32, shape: [batch]}}\n");
  CHECK(errors_with("mask: kv_idx < kv_len\n").ends_with("help: write seq_kv\n"));
  for (const std::string indices : {"[h, q_idx - kv_idx]", "[x[h]]", "[]", "[h"}) {
    const std::string errors = errors_with("score: score + table" + indices + "\n");
    CHECK(errors.find("help: declare it: inputs: {table: {dtype: f32, shape: [...]}}\n") !=
          std::string::npos);
  }
  CHECK(errors_with("score: score * alpha\n") ==
        "s.yaml:6:16: error: unknown name 'alpha'\n"
        "    6 | score: score * alpha\n"
        "      |                ^~~~~\n"
        "help: declare it in constants or inputs\n");
  // Of what is indexed, inputs alone are near.
  CHECK(errors_with("constants: {bia: 1}\nscore: score + bias[h] + bia\n")
            .ends_with("help: declare it: inputs: {bias: {dtype: f32, shape: [heads]}}\n"));
  CHECK(errors_with("score: score + EOF\n") ==
        "s.yaml:6:16: error: unknown name 'EOF'\n"
        "    6 | score: score + EOF\n"
        "      |                ^~~\n"
        "help: declare it in constants\n");
  CHECK(errors_with("score: score + EOF[h]\n") ==
        "s.yaml:6:16: error: unknown name 'EOF'\n"
        "    6 | score: score + EOF[h]\n"
        "      |                ^~~\n");
}

TEST_CASE("the width of a head, by whose root scores are divided") {
  CHECK(errors_with("score: score / sqrt(head_dim)\n") ==
        "s.yaml:6:21: error: unknown name 'head_dim'\n"
        "    6 | score: score / sqrt(head_dim)\n"
        "      |                     ^~~~~~~~\n"
        "help: score is scaled already by 1/sqrt(head_dim.qk): see scale\n");
  CHECK(errors_with("score: score / sqrt(d)\n") ==
        "s.yaml:6:21: error: 'd' is not allowed here: it counts the elements of O; only 'output' "
        "of normalize reads it\n"
        "    6 | score: score / sqrt(d)\n"
        "      |                     ^\n"
        "help: score is scaled already by 1/sqrt(head_dim.qk): see scale\n");
  CHECK(errors_with("score: score / head_dim\n")
            .ends_with("help: write the number: of all lengths only seq_q and seq_kv are names\n"));
  CHECK(errors_with("scale: 1\nscore: score / sqrt(head_dim)\n")
            .ends_with("help: write the number: of all lengths only seq_q and seq_kv are names\n"));
}

TEST_CASE("scores of other pairs") {
  CHECK(errors_with("score: score + score[b, 1, q_idx, kv_idx]\n") ==
        "s.yaml:6:21: error: 'score' has no indices\n"
        "    6 | score: score + score[b, 1, q_idx, kv_idx]\n"
        "      |                     ^\n"
        "help: it is the score of this pair: other pairs' and other heads' scores are not known "
        "here\n");
  CHECK(errors_with("score: score + kv_idx[0]\n").ends_with("      |                      ^\n"));
}

TEST_CASE("names that other tools have") {
  CHECK(errors_with("mask: causal\n") ==
        "s.yaml:6:7: error: unknown name 'causal'\n"
        "    6 | mask: causal\n"
        "      |       ^~~~~~\n"
        "help: write kv_idx <= q_pos\n");
  CHECK(errors_with("score: score / heads\n") ==
        "s.yaml:6:16: error: unknown name 'heads'\n"
        "    6 | score: score / heads\n"
        "      |                ^~~~~\n"
        "help: write the number: of all lengths only seq_q and seq_kv are names\n");
  CHECK(errors_with("score: score / seq\n").ends_with("help: write seq_q or seq_kv\n"));
  CHECK(errors_with("score: score / batch\n")
            .ends_with("help: b is its index; how many there are has no name\n"));
  CHECK(errors_with("mask: kv_pos <= q_pos\n") ==
        "s.yaml:6:7: error: unknown name 'kv_pos'\n"
        "    6 | mask: kv_pos <= q_pos\n"
        "      |       ^~~~~~\n"
        "help: write kv_idx, which counts keys from 0\n");
  CHECK(errors_with("score: ceil(score)\n") ==
        "s.yaml:6:8: error: unknown function 'ceil'\n"
        "    6 | score: ceil(score)\n"
        "      |        ^~~~\n"
        "help: write -floor(-x)\n");
  CHECK(errors_with("score: gelu_tanh(score)\n")
            .ends_with("help: write 0.5 * x * (1 + tanh(0.79788456 * (x + 0.044715 * x * x * x))); "
                       "gelu(x) is by erf\n"));
  CHECK(errors_with("score: score + rand()\n")
            .ends_with("help: kernels have no random numbers, and no dropout\n"));
  CHECK(errors_with("score: torch.exp(score)\n") ==
        "s.yaml:6:13: error: unexpected '.'\n"
        "    6 | score: torch.exp(score)\n"
        "      |             ^\n"
        "help: names have no dots: write exp(...)\n");
  CHECK(
      errors_with("score: score - math.inf\n").ends_with("help: names have no dots: write inf\n"));
  CHECK(errors_with("score: round(score)\n").ends_with("help: write floor(x + 0.5)\n"));
  CHECK(errors_with("score: log10(score)\n").ends_with("help: write log(x) / log(10)\n"));
  CHECK(errors_with("score: tan(score)\n").ends_with("help: write sin(x) / cos(x)\n"));
  CHECK(errors_with("score: softcap(score, 30)\n") ==
        "s.yaml:6:8: error: unknown function 'softcap'\n"
        "    6 | score: softcap(score, 30)\n"
        "      |        ^~~~~~~\n"
        "help: write cap * tanh(score / cap), cap being the number\n");
  CHECK(errors_with("score: alibi(score)\n")
            .ends_with("help: write score + slopes[h] * (kv_idx - q_pos), slopes being one of the "
                       "inputs\n"));
  CHECK(errors_with("score: dropout(score, 0.1)\n")
            .ends_with("help: kernels have no dropout: leave it out\n"));
  CHECK(errors_with("mask: kv <= q_idx\n")
            .ends_with("help: write kv_idx, which counts keys from 0\n"));
  CHECK(errors_with("mask: sliding_window(128)\n")
            .ends_with("help: write kv_idx <= q_pos and q_pos - kv_idx < n, n being the number\n"));
  CHECK(errors_with("score: score if kv_idx > 3 else -infinity\n") ==
        "s.yaml:6:34: error: unknown name 'infinity'\n"
        "    6 | score: score if kv_idx > 3 else -infinity\n"
        "      |                                  ^~~~~~~~\n"
        "help: write inf\n");
  CHECK(errors_with("score: nan\n")
            .ends_with("help: there is none; pairs that do not count are left out by mask\n"));
  CHECK(errors_with("mask: None\n") ==
        "s.yaml:6:7: error: unknown name 'None'\n"
        "    6 | mask: None\n"
        "      |       ^~~~\n"
        "help: leave the key out: it has a default\n");
  CHECK(errors_with("score: score - float('inf')\n")
            .ends_with("help: an i32 becomes an f32 where it must; of infinity, write inf\n"));
  CHECK(errors_with("score: score - INF\n") ==
        "s.yaml:6:16: error: unknown name 'INF'\n"
        "    6 | score: score - INF\n"
        "      |                ^~~\n"
        "help: did you mean 'inf'?\n");
  for (const std::string offset : {"cu_seqlens_q[b]", "cu_seqlens_kv [b + 1]", "cu_seqlens_kv"}) {
    CHECK(errors_with("varlen: true\nmask: kv_idx < " + offset + "\n")
              .ends_with("help: q_idx, kv_idx, seq_q and seq_kv are of the pair's own sequence; b "
                         "is its index\n"));
  }
  // A function is near to no value, nor has a value the hint of a function.
  for (const std::string name : {"pos", "clip"}) {
    CHECK(errors_with("score: score + " + name + "\n")
              .ends_with("help: declare it in constants or inputs\n"));
  }
  CHECK(errors_with("normalize: {rows: {m: rowcumsum(score)}, weight: score - m}\n") ==
        "s.yaml:6:23: error: unknown function 'rowcumsum'\n"
        "    6 | normalize: {rows: {m: rowcumsum(score)}, weight: score - m}\n"
        "      |                       ^~~~~~~~~\n"
        "help: no reduction depends on the order of keys: see rowmax and rowsum\n");
  CHECK(
      errors_with("normalize: {rows: {m: colsum(score)}, weight: score - m}\n")
          .ends_with("help: it needs a key's scores with all queries; kernels reduce over the keys "
                     "of a query alone\n"));
  CHECK(errors_with("normalize: {rows: {m: rowmean(score)}, weight: score - m}\n")
            .ends_with("help: write rowsum(x) / rowsum(1), in rows\n"));
  CHECK(errors_with("normalize: {rows: {m: rowmin(score)}, weight: score - m}\n")
            .ends_with("help: write -rowmax(-x)\n"));
  CHECK(errors_with("normalize:\n"
                    "  rows: {m: rowsum(score) / rowsum(1), n: -rowmax(-score)}\n"
                    "  weight: score\n"
                    "  output: acc * m * n\n") == "");
}

TEST_CASE("mask") {
  CHECK(errors_with("mask: score > 0\n") ==
        "s.yaml:6:7: error: 'score' is not allowed here: a mask cannot read it\n"
        "    6 | mask: score > 0\n"
        "      |       ^~~~~\n"
        "help: write it in score: score if score > 0 else -inf\n");
  CHECK(errors_with("score: score if score > 0 else -inf\n") == "");
  CHECK(errors_with("mask: score > 0\nnormalize: none\n")
            .ends_with("help: write it in score: score if score > 0 else 0\n"));
  CHECK(errors_with("mask: score > 0\nnormalize: {output: acc / l}\n")
            .ends_with("help: write it in score: score if score > 0 else -inf\n"));
  CHECK(
      errors_with("mask: score > 0\nnormalize: {weight: relu(score)}\n")
          .ends_with("help: write it in weight and rows, such as exp(score - m) if score > 0 else "
                     "0\n"));
  CHECK(errors_with("mask: kv_idx - q_idx\n") ==
        "s.yaml:6:7: error: mask must be a condition, got a number\n"
        "    6 | mask: kv_idx - q_idx\n"
        "      |       ^~~~~~~~~~~~~~\n"
        "help: compare it with something\n");
  CHECK(errors_with("inputs: {valid: {dtype: u8, shape: [batch, seq_kv]}}\n"
                    "mask: valid[b, kv_idx]\n") ==
        "s.yaml:7:7: error: mask must be a condition, got a number\n"
        "    7 | mask: valid[b, kv_idx]\n"
        "      |       ^~~~~~~~~~~~~~~~\n"
        "help: write valid[b, kv_idx] != 0\n");
}

TEST_CASE("a constant of the lowest i32") {
  for (const std::string c : {"-2147483647", "-2147483648"}) {
    CHECK(errors_with("constants: {c: " + c + "}\nmask: kv_idx > 2 and c\n") ==
          "s.yaml:7:22: error: 'and' needs bool operands, got i32\n"
          "    7 | mask: kv_idx > 2 and c\n"
          "      |                      ^\n"
          "help: compare it with something\n");
    CHECK(errors_with("constants: {c: " + c + "}\nmask: kv_idx < c\n") ==
          "s.yaml:7:7: error: the mask holds for no pair\n"
          "    7 | mask: kv_idx < c\n"
          "      |       ^~~~~~~~~~\n");
  }
}

TEST_CASE("the map") {
  CHECK(errors_with("maps: 2\nscore: score + map\n") == "");
  CHECK(errors_with("maps: 2\nmask: kv_idx <= q_pos + map\n") ==
        "s.yaml:7:25: error: 'map' is not allowed here: both maps have the pairs of one mask\n"
        "    7 | mask: kv_idx <= q_pos + map\n"
        "      |                         ^~~\n");
  CHECK(errors_with("score: score + map\n") ==
        "s.yaml:6:16: error: 'map' is not allowed here: the spec has one map; 'maps: 2' gives it "
        "two\n"
        "    6 | score: score + map\n"
        "      |                ^~~\n");
  CHECK(errors_with("maps: 1\nmask: map == 0\n") ==
        "s.yaml:7:7: error: 'map' is not allowed here: the spec has one map; 'maps: 2' gives it "
        "two\n"
        "    7 | mask: map == 0\n"
        "      |       ^~~\n");
  CHECK(errors_with("maps: 2\ninputs: {x: {dtype: f32, shape: [2]}}\nscore: score + x[map]\n") ==
        "");
  CHECK(errors_with("maps: 2\ninputs: {x: {dtype: f32, shape: [2]}}\n"
                    "score: score + x[map + 2]\n") ==
        "s.yaml:8:18: error: an index of 'x' is always out of its dimension 2: it is at least 2\n"
        "    8 | score: score + x[map + 2]\n"
        "      |                  ^~~~~~~\n"
        "help: indices count from 0\n");
  CHECK(errors_with("maps: 2\nmask: kv_idx <= q_pos\n") ==
        "s.yaml:6:1: warning: nothing reads 'map': both maps are treated alike, and O is their "
        "sum\n"
        "    6 | maps: 2\n"
        "      | ^~~~\n"
        "help: to take the second off, write output: acc / l * (1 if map == 0 else -1)\n");
  for (const std::string value : {"rows: {l: rowsum(score) + map}, weight: score, output: acc / l",
                                  "weight: score * map", "weight: score, output: acc * map"}) {
    CHECK(errors_with("maps: 2\nnormalize: {" + value + "}\n") == "");
  }
  CHECK(errors_with("inputs: {map: {dtype: f32, shape: []}}\n") ==
        "s.yaml:6:10: error: 'map' cannot name an input\n"
        "    6 | inputs: {map: {dtype: f32, shape: []}}\n"
        "      |          ^~~\n"
        "help: expressions use that name already\n");
}

TEST_CASE("score") {
  CHECK(errors_with("score: acc\n") ==
        "s.yaml:6:8: error: 'acc' is not allowed here: only 'output' of normalize reads it\n"
        "    6 | score: acc\n"
        "      |        ^~~\n");
  CHECK(errors_with("score: kv_idx < 3\n") ==
        "s.yaml:6:8: error: score must be a number, got a condition\n"
        "    6 | score: kv_idx < 3\n"
        "      |        ^~~~~~~~~~\n"
        "help: use where(condition, a, b)\n");
  CHECK(errors_with("score: m\n") ==
        "s.yaml:6:8: error: unknown name 'm'\n"
        "    6 | score: m\n"
        "      |        ^\n"
        "help: declare it in normalize, which alone reads it: rows: {m: rowmax(score)}\n");
  CHECK(errors_with("score: score + k\n") ==
        "s.yaml:6:16: error: 'k' is not allowed here: elements of q, k and v have no names\n"
        "    6 | score: score + k\n"
        "      |                ^\n"
        "help: pass it under another name too: inputs: {k_in: {dtype: bf16, shape: [batch, seq_kv, "
        "heads_kv, 128]}}\n");
}

TEST_CASE("elements of q, k and v are inputs") {
  CHECK(errors_with("normalize: {output: acc / l - v}\n")
            .ends_with("help: pass it under another name too: inputs: {v_in: {dtype: bf16, shape: "
                       "[batch, seq_kv, heads_kv, dim]}}\n"));
  CHECK(errors_with("inputs: {v_in: {dtype: bf16, shape: [batch, seq_kv, heads_kv, dim]}}\n"
                    "normalize: {output: 'acc / l - v_in[b, q_pos, h_kv, d]'}\n") == "");
  CHECK(errors_with("layout: bhsd\nvarlen: true\nscore: q[0]\n")
            .ends_with("help: pass it under another name too: inputs: {q_in: {dtype: bf16, shape: "
                       "[heads, seq_q, 128]}}\n"));
  CHECK(
      errors_with("layout: bhsd\nvarlen: true\ninputs: {q_in: {dtype: bf16, shape: [heads, seq_q, "
                  "128]}}\nscore: score + q_in[h, q_idx, 0]\n") == "");
  CHECK(errors_with("maps: 2\nscore: q * map\n").find("help: ") == std::string::npos);
}

TEST_CASE("no sum over columns") {
  CHECK(errors_with("normalize: {output: acc * rsqrt(sum(square(acc)))}\n") ==
        "s.yaml:6:33: error: unknown function 'sum'\n"
        "    6 | normalize: {output: acc * rsqrt(sum(square(acc)))}\n"
        "      |                                 ^~~\n"
        "help: there is no sum over columns (of dim); rowsum(x), over keys, belongs in rows\n");
  CHECK(errors_with("normalize: {weight: score / sum(score)}\n")
            .ends_with("help: write rowsum(x), in rows\n"));
}

TEST_CASE("rows") {
  CHECK(errors_with("normalize:\n"
                    "  rows: {m: rowmax(score) + score, s: s, u: w, w: acc}\n"
                    "  weight: 1\n") ==
        "s.yaml:7:29: error: a row value reads 'score' only inside rowmax or rowsum\n"
        "    7 |   rows: {m: rowmax(score) + score, s: s, u: w, w: acc}\n"
        "      |                             ^~~~~\n"
        "s.yaml:7:39: error: 's' is not allowed here: a row value cannot read itself\n"
        "    7 |   rows: {m: rowmax(score) + score, s: s, u: w, w: acc}\n"
        "      |                                       ^\n"
        "s.yaml:7:45: error: 'w' is not allowed here: it is computed later; rows are read in "
        "order\n"
        "    7 |   rows: {m: rowmax(score) + score, s: s, u: w, w: acc}\n"
        "      |                                             ^\n"
        "s.yaml:7:51: error: 'acc' is not allowed here: only 'output' of normalize reads it\n"
        "    7 |   rows: {m: rowmax(score) + score, s: s, u: w, w: acc}\n"
        "      |                                                   ^~~\n");
}

TEST_CASE("rows that are wrong are not unknown where they are read") {
  CHECK(errors_with("normalize:\n  rows: {m: [rowmax(score)]}\n  weight: exp(score - m)\n") ==
        "s.yaml:7:13: error: normalize.rows.m must be an expression, got a list\n"
        "    7 |   rows: {m: [rowmax(score)]}\n"
        "      |             ^~~~~~~~~~~~~~~\n");
  CHECK(errors_with("normalize:\n  rows: [m]\n  weight: exp(score - m)\n") ==
        "s.yaml:7:9: error: normalize.rows must be a map, got a list\n"
        "    7 |   rows: [m]\n"
        "      |         ^~~\n");
}

TEST_CASE("weight, output and saved values") {
  CHECK(errors_with("normalize:\n"
                    "  weight: rowmax(score)\n"
                    "  output: acc * kv_idx\n"
                    "  save: {x: score, y: acc, z: true}\n") ==
        "s.yaml:7:11: error: 'rowmax' is not allowed here\n"
        "    7 |   weight: rowmax(score)\n"
        "      |           ^~~~~~\n"
        "help: only the rows of 'normalize' reduce over pairs\n"
        "s.yaml:8:17: error: 'kv_idx' is not allowed here: it has a value for each pair; 'weight' "
        "reads it, and rowmax and rowsum in 'rows'\n"
        "    8 |   output: acc * kv_idx\n"
        "      |                 ^~~~~~\n"
        "s.yaml:9:13: error: 'score' is not allowed here: it has a value for each pair; 'weight' "
        "reads it, and rowmax and rowsum in 'rows'\n"
        "    9 |   save: {x: score, y: acc, z: true}\n"
        "      |             ^~~~~\n"
        "s.yaml:9:23: error: 'acc' is not allowed here: only 'output' of normalize reads it\n"
        "    9 |   save: {x: score, y: acc, z: true}\n"
        "      |                       ^~~\n"
        "s.yaml:9:31: error: normalize.save.z must be a number, got a condition\n"
        "    9 |   save: {x: score, y: acc, z: true}\n"
        "      |                               ^~~~\n"
        "help: use where(condition, a, b)\n");
  CHECK(errors_with("normalize: {weight: score, output: 1}\n") ==
        "s.yaml:6:36: error: output does not read 'acc', the aggregated value\n"
        "    6 | normalize: {weight: score, output: 1}\n"
        "      |                                    ^\n");
}

TEST_CASE("only the output has columns") {
  const auto read = [](const char* score, const char* weight) {
    return errors_with("score: " + std::string(score) +
                       "\nnormalize: {rows: {l: rowsum(score)}, weight: " + std::string(weight) +
                       ", output: acc / l * (1 if d < 32 else 0.5)}\n");
  };
  CHECK(read("score", "score") == "");
  CHECK(read("score * d", "score") ==
        "s.yaml:6:16: error: 'd' is not allowed here: it counts the elements of O; only 'output' "
        "of normalize reads it\n"
        "    6 | score: score * d\n"
        "      |                ^\n");
  CHECK(
      read("score", "score - d") ==
      "s.yaml:7:55: error: 'd' is not allowed here: it counts the elements of O; only 'output' "
      "of normalize reads it\n"
      "    7 | normalize: {rows: {l: rowsum(score)}, weight: score - d, output: acc / l * (1 if d "
      "< 32 else 0.5)}\n"
      "      |                                                       ^\n");
}

TEST_CASE("an element of O reads what stands in its column") {
  const auto gated = [](const char* shape, const char* load) {
    return errors_with(
        fmt::format("inputs: {{gate: {{dtype: bf16, shape: [{}]}}}}\n"
                    "normalize:\n  weight: score\n  output: acc * gate[{}]\n",
                    shape, load));
  };
  CHECK(gated("batch, seq_q, heads, dim", "b, q_idx, h, d") == "");
  CHECK(gated("batch, seq_q, heads, 4096", "b, q_idx, h, d") == "");
  CHECK(gated("heads, dim", "d, h") ==
        "s.yaml:9:22: error: 'd' counts columns, but dimension 0 of 'gate' is heads\n"
        "    9 |   output: acc * gate[d, h]\n"
        "      |                      ^\n"
        "help: write gate[h, d]\n");
}

TEST_CASE("recurrent") {
  CHECK(errors_with_recurrent("query: k\nkey: score\nlog_decay: true\ndelta: d\n") ==
        "s.yaml:7:8: error: 'k' is not allowed here: only 'key' reads it\n"
        "    7 | query: k\n"
        "      |        ^\n"
        "s.yaml:8:6: error: 'score' is not allowed here: it belongs to pattern parallel\n"
        "    8 | key: score\n"
        "      |      ^~~~~\n"
        "s.yaml:9:12: error: log_decay must be a number, got a condition\n"
        "    9 | log_decay: true\n"
        "      |            ^~~~\n"
        "help: use where(condition, a, b)\n"
        "s.yaml:10:8: error: 'd' is not allowed here: delta is one value per token and head\n"
        "   10 | delta: d\n"
        "      |        ^\n");
}

TEST_CASE("the caret finds its way through quotes, escapes and folded lines") {
  const std::string help = "help: declare it in constants or inputs\n";
  CHECK(errors_with("mask: 'q_idx < zz'\n") ==
        "s.yaml:6:16: error: unknown name 'zz'\n"
        "    6 | mask: 'q_idx < zz'\n"
        "      |                ^~\n" +
            help);
  CHECK(errors_with("mask: \"q_idx \\x3c\\u007a\\u007a\"\n") ==
        "s.yaml:6:18: error: unknown name 'zz'\n"
        "    6 | mask: \"q_idx \\x3c\\u007a\\u007a\"\n"
        "      |                  ^~~~~~~~~~~~\n" +
            help);
  CHECK(errors_with("mask: q_idx < 1\n  and\n\n  q_idx < zz # why\n") ==
        "s.yaml:9:11: error: unknown name 'zz'\n"
        "    9 |   q_idx < zz # why\n"
        "      |           ^~\n" +
            help);
  CHECK(errors_with("mask: |\n    q_idx < 1\n      and q_idx < zz\n") ==
        "s.yaml:8:19: error: unknown name 'zz'\n"
        "    8 |       and q_idx < zz\n"
        "      |                   ^~\n" +
            help);
  CHECK(errors_with("mask: >-\n  q_idx < 1\n  and q_idx < zz\n") ==
        "s.yaml:8:15: error: unknown name 'zz'\n"
        "    8 |   and q_idx < zz\n"
        "      |               ^~\n" +
            help);
  CHECK(errors_with("mask: \"q_idx\n  < 1 \\\n  and q_idx < zz\"\n") ==
        "s.yaml:8:15: error: unknown name 'zz'\n"
        "    8 |   and q_idx < zz\"\n"
        "      |               ^~\n" +
            help);
  CHECK(errors_of("{\"attngen\": 1, \"name\": \"y\", \"dtype\": \"bf16\",\n"
                  " \"heads\": {\"q\": 1, \"kv\": 1}, \"head_dim\": {\"qk\": 8, \"v\": 8},\n"
                  " \"mask\": \"q_idx\\t\\u003C zz\"}\n",
                  "s.json") ==
        "s.json:3:25: error: unknown name 'zz'\n"
        "    3 |  \"mask\": \"q_idx\\t\\u003C zz\"}\n"
        "      |                         ^~\n" +
            help);
  CHECK(errors_with("mask: q_idx <\r\n  zz\r\n").starts_with("s.yaml:7:3: error: unknown name"));
}

TEST_CASE("names of let") {
  CHECK(errors_with(
            "let: {gap: q_pos - kv_idx, near: gap < 9}\nscore: score - gap\nmask: near\n") == "");
  CHECK(errors_with("let: {s: score / 30}\nscore: 30 * tanh(s)\n"
                    "normalize: {rows: {m: rowmax(s), l: rowsum(exp(s - m))}, weight: exp(s - m), "
                    "output: acc / l}\n") == "");
  CHECK(errors_with("let: {far: 2 * score}\nmask: far < 3\n") ==
        "s.yaml:7:7: error: in 'far': 'score' is not allowed here: a mask cannot read it\n"
        "    7 | mask: far < 3\n"
        "      |       ^~~\n"
        "help: write it in score: score if score > 0 else -inf\n");
  CHECK(errors_with("let: {far: gap * 2, gap: 3}\nscore: score + far\n") ==
        "s.yaml:6:12: error: 'gap' is not allowed here: it comes later; names of let are read in "
        "order\n"
        "    6 | let: {far: gap * 2, gap: 3}\n"
        "      |            ^~~\n");
  CHECK(errors_with("let: {far: far + 1}\nscore: score + far\n") ==
        "s.yaml:6:12: error: 'far' is not allowed here: a name of let cannot read itself\n"
        "    6 | let: {far: far + 1}\n"
        "      |            ^~~\n");
  CHECK(errors_with("let: {far: m + 1}\nnormalize: {rows: {m: rowmax(score)}, weight: score}\n")
            .starts_with("s.yaml:6:12: error: 'm' is not allowed here: it is computed later, in "
                         "normalize\n"));
  CHECK(errors_with("let: {gap: kv_idx -}\nscore: score + gap\n") ==
        "s.yaml:6:20: error: expected an expression, got the end of the expression\n"
        "    6 | let: {gap: kv_idx -}\n"
        "      |                    ^\n");
  CHECK(errors_with("let: {q_pos: 3}\n") ==
        "s.yaml:6:7: error: 'q_pos' cannot name a name of let\n"
        "    6 | let: {q_pos: 3}\n"
        "      |       ^~~~~\n"
        "help: expressions use that name already\n");
  CHECK(errors_with("let: {gap: 3}\n") ==
        "s.yaml:6:7: warning: name 'gap' is never read\n"
        "    6 | let: {gap: 3}\n"
        "      |       ^~~\n");
  CHECK(errors_with_recurrent("let: {decay: 0.1 * h}\nlog_decay: -decay\n") == "");
}

// What is doubtful in a text is said there, once, with help that quotes it.
TEST_CASE("doubts about names of let") {
  CHECK(errors_with("let: {low: \"clamp(score, 3, 1)\"}\nscore: low + low\n") ==
        "s.yaml:6:13: warning: clamp from 3 to 1 gives 1 for every value\n"
        "    6 | let: {low: \"clamp(score, 3, 1)\"}\n"
        "      |             ^~~~~~~~~~~~~~~~~~\n"
        "help: write clamp(score, 1, 3)\n");
  CHECK(errors_with("inputs: {gamma: {dtype: f32, shape: [heads]}}\n"
                    "let: {decay: \"pow(gamma[h], q_pos - kv_idx)\"}\nscore: score * decay\n") ==
        "s.yaml:8:16: warning: 'pow' takes each pair a logarithm too\n"
        "    8 | score: score * decay\n"
        "      |                ^~~~~\n");
}

}  // namespace
}  // namespace attngen::spec
