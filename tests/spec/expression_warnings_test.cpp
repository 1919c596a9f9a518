// What has a meaning, but hardly the one that was meant: the spec is read, with a warning.
#include <doctest/doctest.h>

#include "errors_of.h"

namespace attngen::spec {
namespace {

TEST_CASE("an index that runs to seq_kv on a dimension of seq_q is a warning") {
  const auto warning = [](const std::string& load, const std::string& lines = "") {
    return errors_with("inputs: {x: {dtype: f32, shape: [batch, seq_q]}}\nscore: score + x[b, " +
                       load + "]\n" + lines);
  };
  CHECK(warning("q_pos") ==
        "s.yaml:7:21: warning: 'q_pos' counts positions, but dimension 1 of 'x' is seq_q\n"
        "    7 | score: score + x[b, q_pos]\n"
        "      |                     ^~~~~\n"
        "help: write q_idx; beyond its end, if seq_kv is greater than seq_q, its last element is "
        "read\n");
  CHECK(warning("kv_idx") ==
        "s.yaml:7:21: warning: 'kv_idx' counts keys, but dimension 1 of 'x' is seq_q\n"
        "    7 | score: score + x[b, kv_idx]\n"
        "      |                     ^~~~~~\n"
        "help: make it seq_kv; beyond its end, if seq_kv is greater than seq_q, its last element "
        "is read\n");
  CHECK(warning("q_idx") == "");
  CHECK(warning("q_pos % 64") == "");
  CHECK(warning("kv_idx", "fixed: {seq_q: 64, seq_kv: 64}\n") == "");
  CHECK(warning("kv_idx", "fixed: {seq_q: 64, seq_kv: 65}\n").find("warning") != std::string::npos);
  CHECK(warning("kv_idx", "fixed: {seq_q: 64}\n").find("warning") != std::string::npos);
}

TEST_CASE("an index that runs past a dimension that is a number is a warning") {
  const auto warning = [](const std::string& shape, const std::string& load,
                          const std::string& lines = "") {
    return errors_with("inputs: {t: {dtype: f32, shape: [" + shape + "]}}\nscore: score + t[" +
                       load + "]\n" + lines);
  };
  CHECK(warning("4", "h") ==
        "s.yaml:7:18: warning: 'h' runs to 7, but dimension 0 of 't' is 4\n"
        "    7 | score: score + t[h]\n"
        "      |                  ^\n"
        "help: make it heads; beyond its end the last element is read, as min(h, 3) would say\n");
  CHECK(warning("batch, 64", "b, kv_idx", "fixed: {seq_kv: 128}\n") ==
        "s.yaml:7:21: warning: 'kv_idx' runs to 127, but dimension 1 of 't' is 64\n"
        "    7 | score: score + t[b, kv_idx]\n"
        "      |                     ^~~~~~\n"
        "help: make it seq_kv; beyond its end the last element is read, as min(kv_idx, 63) would "
        "say\n");
  CHECK(warning("1", "h_kv").find("'h_kv' runs to 1, but dimension 0 of 't' is 1\n") !=
        std::string::npos);
  CHECK(warning("64", "q_pos", "fixed: {seq_kv: 65}\n").find("'q_pos' runs to 64, but") !=
        std::string::npos);
  CHECK(warning("64", "q_idx", "fixed: {seq_q: 65, seq_kv: 65}\n").find("'q_idx' runs to 64") !=
        std::string::npos);
  CHECK(warning("2", "b", "fixed: {batch: 3}\n").find("'b' runs to 2") != std::string::npos);
  CHECK(warning("1", "map", "maps: 2\n") ==
        "s.yaml:7:18: warning: 'map' runs to 1, but dimension 0 of 't' is 1\n"
        "    7 | score: score + t[map]\n"
        "      |                  ^~~\n"
        "help: make it 2; beyond its end the last element is read, as min(map, 0) would say\n");
  // All that is read, ranges that the call decides, and what says itself what is read.
  CHECK(warning("8, 128", "h, kv_idx", "fixed: {seq_kv: 128}\n") == "");
  CHECK(warning("2, 64", "h_kv, kv_idx") == "");
  CHECK(warning("4, 2", "min(h, 3), h // 2") == "");
}

TEST_CASE("a clamp of exchanged ends is a warning") {
  CHECK(errors_with("score: clamp(score, 10, 5)\n") ==
        "s.yaml:6:8: warning: clamp from 10 to 5 gives 5 for every value\n"
        "    6 | score: clamp(score, 10, 5)\n"
        "      |        ^~~~~~~~~~~~~~~~~~~\n"
        "help: write clamp(score, 5, 10)\n");
  CHECK(errors_with(
            "constants: {cap: 2}\nmask: clamp(q_pos -\n  kv_idx, 2 * cap, -cap) > 3 or h > 1\n")
            .ends_with("warning: clamp from 4 to -2 gives -2 for every value\n"
                       "    7 | mask: clamp(q_pos -\n"
                       "      |       ^~~~~~~~~~~~~\n"
                       "help: write clamp(q_pos - kv_idx, -cap, 2 * cap)\n"));
  CHECK(errors_with("normalize: {weight: 'clamp(score, inf, 0.5)'}\n")
            .find("clamp from inf to 0.5 gives 0.5 for every value\n") != std::string::npos);
  CHECK(errors_with("score: clamp(score, 5, 5) + clamp(score, h, -1)\n") == "");
  CHECK(errors_with("score: min(max(score, 10), 5)\n") == "");
}

TEST_CASE("a score without the product is a warning") {
  CHECK(errors_with("score: 3\n") ==
        "s.yaml:6:8: warning: the score does not read 'score': queries and keys have no effect\n"
        "    6 | score: 3\n"
        "      |        ^\n"
        "help: leave the key out, and the score is the product of the two\n");
  CHECK(errors_with("score: -inf\n").find("the score does not read 'score'") != std::string::npos);
  CHECK(errors_with("inputs: {slopes: {dtype: f32, shape: [heads]}}\n"
                    "score: slopes[h] * (kv_idx - q_pos)\n") ==
        "s.yaml:7:8: warning: the score does not read 'score': queries and keys have no effect\n"
        "    7 | score: slopes[h] * (kv_idx - q_pos)\n"
        "      |        ^~~~~~~~~~~~~~~~~~~~~~~~~~~~\n"
        "help: write score + slopes[h] * (kv_idx - q_pos)\n");
  CHECK(errors_with("score: 1 if h > 3 else h\n")
            .ends_with("help: write score + (1 if h > 3 else h)\n"));
}

TEST_CASE("what no expression reads is a warning") {
  CHECK(errors_with(
            "inputs: {bias: {dtype: f32, shape: [heads]}, doc: {dtype: i32, shape: [seq_kv]}}\n"
            "constants: {window: 64, cap: 2}\n"
            "mask: doc[kv_idx] < window\n"
            "normalize:\n"
            "  rows: {m: rowmax(score), l: rowsum(exp(score - m)), n: rowmax(-score)}\n"
            "  weight: score\n"
            "  save: {lse: l}\n") ==
        "s.yaml:6:10: warning: input 'bias' is never read\n"
        "    6 | inputs: {bias: {dtype: f32, shape: [heads]}, doc: {dtype: i32, shape: [seq_kv]}}\n"
        "      |          ^~~~\n"
        "s.yaml:7:25: warning: constant 'cap' is never read\n"
        "    7 | constants: {window: 64, cap: 2}\n"
        "      |                         ^~~\n"
        "s.yaml:10:55: warning: row value 'n' is never read, and left out\n"
        "   10 |   rows: {m: rowmax(score), l: rowsum(exp(score - m)), n: rowmax(-score)}\n"
        "      |                                                       ^\n");
  CHECK(errors_with(
            "inputs: {cap: {dtype: f32, shape: []}, n: {dtype: i32, shape: []}}\n"
            "score: score / cap\nmask: kv_idx < n\n"
            "workload: [{seq_q: 1, values: {n: 3}}, {seq_q: 2, values: {n: 4, cap: 30}}]\n") ==
        "s.yaml:9:66: warning: the mask does not read 'cap': its value changes no prediction\n"
        "    9 | workload: [{seq_q: 1, values: {n: 3}}, {seq_q: 2, values: {n: 4, cap: 30}}]\n"
        "      |                                                                  ^~~\n");
  // An error may be why.
  CHECK(errors_with("inputs: {bias: {dtype: f32, shape: [heads]}}\nscore: score + bais[h]\n") ==
        "s.yaml:7:16: error: unknown name 'bais'\n"
        "    7 | score: score + bais[h]\n"
        "      |                ^~~~\n"
        "help: did you mean 'bias'?\n");
  CHECK(errors_with_recurrent("inputs: {dt: {dtype: f32, shape: [heads]}}\n")
            .starts_with("s.yaml:7:10: warning: input 'dt' is never read\n"));
}

TEST_CASE("rows that nothing reads are left out") {
  const std::string lines =
      "normalize:\n"
      "  rows: {m: rowmax(score), l: rowsum(exp(score - m)), n: rowsum(score * l), p: n + m}\n"
      "  weight: score\n"
      "  save: {m: m}\n";
  CHECK(
      errors_with(lines) ==
      "s.yaml:7:28: warning: row value 'l' is read by rows alone that are left out, and left out "
      "too\n"
      "    7 |   rows: {m: rowmax(score), l: rowsum(exp(score - m)), n: rowsum(score * l), p: n + "
      "m}\n"
      "      |                            ^\n"
      "s.yaml:7:55: warning: row value 'n' is read by rows alone that are left out, and left out "
      "too\n"
      "    7 |   rows: {m: rowmax(score), l: rowsum(exp(score - m)), n: rowsum(score * l), p: n + "
      "m}\n"
      "      |                                                       ^\n"
      "s.yaml:7:77: warning: row value 'p' is never read, and left out\n"
      "    7 |   rows: {m: rowmax(score), l: rowsum(exp(score - m)), n: rowsum(score * l), p: n + "
      "m}\n"
      "      |                                                                             ^\n");
  text::Diagnostics diagnostics(
      {"s.yaml",
       "attngen: 1\nname: y\ndtype: bf16\nheads: {q: 1, kv: 1}\nhead_dim: {qk: 8, v: 8}\n" +
           lines});
  const auto spec = read(diagnostics);
  REQUIRE(spec.has_value());
  REQUIRE(spec->normalize.rows.size() == 1);
  CHECK(spec->normalize.rows[0].name == "m");
  CHECK(spec->normalize_text == "m = rowmax(score)\nweight = score\noutput = acc\nsave m = m");
  // Errors of theirs are errors all the same.
  CHECK(errors_with("normalize: {rows: {l: rowsum(scor)}, weight: score}\n")
            .find("unknown name 'scor'") != std::string::npos);
}

TEST_CASE("softmax without its maximum is a warning") {
  const auto errors_of_weight = [](const std::string& weight, const std::string& lines = "") {
    return errors_with(lines + "normalize: {rows: {l: rowsum(exp(score))}, weight: " + weight +
                       ", output: acc / l}\n");
  };
  CHECK(errors_of_weight("exp(score)") ==
        "s.yaml:6:52: warning: exp(score) is infinite for scores above 88\n"
        "    6 | normalize: {rows: {l: rowsum(exp(score))}, weight: exp(score), output: acc / l}\n"
        "      |                                                    ^~~~~~~~~~\n"
        "help: take the row's maximum off, as softmax does: rows: {m: rowmax(score)}, and "
        "exp(score - m)\n");
  // A cap bounds the first, the second's exponent is never large.
  CHECK(errors_of_weight("exp(score)", "score: 30 * tanh(score / 30)\n").empty());
  CHECK(errors_of_weight("exp(-abs(score))").empty());
  CHECK(errors_of_weight("exp(score)", "score: 100 * tanh(score / 100)\n").find("above 88") !=
        std::string::npos);
}

TEST_CASE("a mask that is written as a score is a warning") {
  CHECK(errors_with("score: score if kv_idx <= q_pos else -inf\n") ==
        "s.yaml:6:8: warning: pairs with a score of -inf are computed like all others\n"
        "    6 | score: score if kv_idx <= q_pos else -inf\n"
        "      |        ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~\n"
        "help: write it in mask, which lets blocks of keys be skipped: kv_idx <= q_pos\n");
  CHECK(errors_with("score: score + where(kv_idx > q_pos, -inf, 0)\n") ==
        "s.yaml:6:16: warning: pairs with a score of -inf are computed like all others\n"
        "    6 | score: score + where(kv_idx > q_pos, -inf, 0)\n"
        "      |                ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~\n"
        "help: write it in mask, which lets blocks of keys be skipped: not (kv_idx > q_pos)\n");
  CHECK(errors_with("score: score + where(kv_idx <= q_pos, 0, -1e9)\n") ==
        "s.yaml:6:16: warning: pairs with a score of -1e+09 are computed like all others\n"
        "    6 | score: score + where(kv_idx <= q_pos, 0, -1e9)\n"
        "      |                ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~\n"
        "help: write it in mask, which lets blocks of keys be skipped: kv_idx <= q_pos\n");
  CHECK(errors_with("score: score - inf * (1 if kv_idx > q_pos else 0)\n") ==
        "s.yaml:6:23: warning: pairs with a score of -inf are computed like all others\n"
        "    6 | score: score - inf * (1 if kv_idx > q_pos else 0)\n"
        "      |                       ^~~~~~~~~~~~~~~~~~~~~~~~~~\n"
        "help: write it in mask, which lets blocks of keys be skipped: not (kv_idx > q_pos)\n");
  CHECK(errors_with("score: score if kv_idx <= q_pos else -10000\n").find("score of -10000 ") !=
        std::string::npos);
  CHECK(errors_with("score: score + where(kv_idx <= q_pos, 0, -9999)\n") == "");
  CHECK(errors_with("score: score + where(kv_idx <= q_pos, -1e5, -1e9)\n") == "");
  CHECK(errors_with("score: score + 1e9 * where(kv_idx <= q_pos, 0, 1)\n") == "");
  // What no mask can say.
  CHECK(errors_with("score: score if score > 0 else -inf\n") == "");
  CHECK(errors_with("maps: 2\nscore: score if map == 0 or kv_idx > 0 else -inf\n") == "");
  CHECK(errors_with("score: max(score, 1 if kv_idx <= q_pos else -inf)\n") == "");
  CHECK(errors_with("score: score if kv_idx <= q_pos else inf\n") == "");
  CHECK(errors_with("score: score - where(kv_idx <= q_pos, 0, -inf)\n") == "");
  CHECK(errors_with("score: score if h == 0 else score if kv_idx <= q_pos else -inf\n") == "");
}

TEST_CASE("a score that is scaled twice is a warning") {
  CHECK(errors_with("score: score / sqrt(128)\n") ==
        "s.yaml:6:8: warning: 'score / sqrt(128)' scales twice: score is scaled already by "
        "1/sqrt(head_dim.qk)\n"
        "    6 | score: score / sqrt(128)\n"
        "      |        ^~~~~~~~~~~~~~~~~\n"
        "help: leave it out; if it is meant, write scale: 0.0078125\n");
  for (const std::string score :
       {"score / 11.3137", "score * 0.0883883", "(score + h) / sqrt(128)", "h - score / sqrt(128)",
        "score / sqrt(128) if h > 1 else score", "rsqrt(128) * score"}) {
    CHECK(errors_with("score: " + score + "\n").find("scales twice") != std::string::npos);
  }
  CHECK(errors_with("constants: {d: 128}\nscore: score / sqrt(d)\n").find("cannot name") !=
        std::string::npos);
  CHECK(errors_with("constants: {width: 128}\nscore: score / sqrt(width)\n").find("scales twice") !=
        std::string::npos);
  // Other numbers, caps, what reads no score, and where the scale says otherwise.
  for (const std::string lines :
       {"score: score / 11.4", "score: 11.3137 * tanh(score / 11.3137)",
        "score: score + h / sqrt(128)", "scale: 1\nscore: score / sqrt(128)"}) {
    CHECK(errors_with(lines + "\n") == "");
  }
  CHECK(errors_with("scale: default\nscore: score / sqrt(128)\n").find("scales twice") !=
        std::string::npos);
}

TEST_CASE("a power by a distance is a warning") {
  const auto warning = [](const std::string& rest) {
    return errors_with("inputs: {gamma: {dtype: f32, shape: [heads]}}\n" + rest + "\n");
  };
  CHECK(warning("score: score * pow(gamma[h], q_pos - kv_idx)") ==
        "s.yaml:7:16: warning: 'pow' takes each pair a logarithm too\n"
        "    7 | score: score * pow(gamma[h], q_pos - kv_idx)\n"
        "      |                ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~\n"
        "help: if gamma[h] is positive write exp(log(gamma[h]) * (q_pos - kv_idx)), which costs "
        "less\n");
  CHECK(warning("normalize: {weight: \"score * pow(gamma[h] + 1, q_pos - kv_idx)\", output: acc}")
            .find("if gamma[h] + 1 is positive write exp(log(gamma[h] + 1) * (q_pos - kv_idx))") !=
        std::string::npos);
  CHECK(warning("score: score * pow(0.9, q_pos - kv_idx)").find("logarithm") == std::string::npos);
  CHECK(warning("score: score * pow(1 - exp2(-5 - h), q_pos - kv_idx)").find("logarithm") ==
        std::string::npos);
  CHECK(warning("score: score + pow(gamma[h], 3)") == "");
  CHECK(warning("score: score + pow(abs(q_pos - kv_idx), gamma[h])") == "");
  CHECK(warning("score: score * exp(log(gamma[h]) * (q_pos - kv_idx))") == "");
}

TEST_CASE("a whole number that long calls take beyond 32 bits is a warning") {
  CHECK(errors_with("score: score - 0.001 * square(q_pos - kv_idx)\n") ==
        "s.yaml:6:24: warning: 'square(q_pos - kv_idx)' leaves 32 bits in calls of 46342 tokens or "
        "more\n"
        "    6 | score: score - 0.001 * square(q_pos - kv_idx)\n"
        "      |                        ^~~~~~~~~~~~~~~~~~~~~~\n"
        "help: a float has the room: square(1.0 * (q_pos - kv_idx))\n");
  CHECK(errors_with("mask: 1 < (q_pos - kv_idx) * (1 + kv_idx)\n")
            .find("help: a float has the room: 1.0 * (q_pos - kv_idx) * (1 + kv_idx)\n") !=
        std::string::npos);
  CHECK(errors_with("score: score + square(abs(q_pos - kv_idx))\n")
            .find("room: square(1.0 * abs(q_pos - kv_idx))\n") != std::string::npos);
  CHECK(errors_with("mask: 2000000000 + kv_idx * 8192 < 3 + q_pos\n")
            .find("'2000000000 + kv_idx * 8192' leaves 32 bits in calls of 18005 tokens") !=
        std::string::npos);
  // Of sums too the help is an f32, whatever comes first.
  CHECK(errors_with("score: score + (q_pos * 40000 - kv_idx)\n")
            .find("help: a float has the room: 1.0 * q_pos * 40000\n") != std::string::npos);
  CHECK(errors_with("score: score - (2000000000 + kv_idx * 8192 - h)\n")
            .find("help: a float has the room: 1.0 * 2000000000 + kv_idx * 8192\n") !=
        std::string::npos);
  // The helps, what stays within, and what no call decides.
  for (const char* const fits :
       {"score: score - (1.0 * 2000000000 + kv_idx * 8192 - h)\n",
        "mask: 2000000000 + min(kv_idx * 8192, seq_kv) < 3 + q_pos\n",
        "score: score - 0.001 * square(1.0 * (q_pos - kv_idx))\n",
        "mask: 1 < 1.0 * (q_pos - kv_idx) * (1 + kv_idx)\n",
        "score: score - 0.001 * square(min(abs(q_pos - kv_idx), 128))\n",
        "mask: q_pos * 16383 < kv_idx\n", "mask: 2000000000 < kv_idx * (h + 1)\n",
        "fixed: {seq_q: 46341, seq_kv: 46341}\nscore: score - 0.001 * square(q_pos - kv_idx)\n"}) {
    CHECK(errors_with(fits) == "");
  }
}

TEST_CASE("a whole number that is beyond 32 bits in calls of any length") {
  const auto warning = [](const std::string& rest) {
    return errors_with("inputs: {f: {dtype: f32, shape: [batch]}}\n" + rest + "\n");
  };
  CHECK(warning("mask: kv_idx < int(f[b]) + 1") ==
        "s.yaml:7:16: warning: 'int(f[b]) + 1' may leave 32 bits\n"
        "    7 | mask: kv_idx < int(f[b]) + 1\n"
        "      |                ^~~~~~~~~~~~~\n"
        "help: bound it first: min(int(f[b]), seq_kv) + 1\n");
  CHECK(warning("mask: kv_idx < int(f[b]) - 1")
            .ends_with("help: bound it first: clamp(int(f[b]), 0, seq_kv) - 1\n"));
  CHECK(warning("mask: kv_idx < int(f[b]) + int(f[0])")
            .ends_with("help: bound it first: clamp(int(f[b]), 0, seq_kv) + "
                       "clamp(int(f[0]), 0, seq_kv)\n"));
  CHECK(warning("score: score + (int(f[b]) + 1)") ==
        "s.yaml:7:17: warning: 'int(f[b]) + 1' may leave 32 bits\n"
        "    7 | score: score + (int(f[b]) + 1)\n"
        "      |                 ^~~~~~~~~~~~~\n"
        "help: a float has the room: 1.0 * int(f[b]) + 1\n");
  CHECK(warning("score: score + abs(int(f[b]))")
            .ends_with("help: a float has the room: abs(1.0 * int(f[b]))\n"));
  CHECK(warning("score: score - (-int(f[b]))")
            .ends_with("help: a float has the room: -1.0 * int(f[b])\n"));
  for (const char* const fits :
       {"mask: kv_idx < min(int(f[b]), seq_kv) + 1",
        "mask: kv_idx < clamp(int(f[b]), 0, seq_kv) - 1",
        "mask: kv_idx < clamp(int(f[b]), 0, seq_kv) + clamp(int(f[0]), 0, seq_kv)",
        "score: score + (1.0 * int(f[b]) + 1)", "score: score + abs(1.0 * int(f[b]))",
        "score: score - (-1.0 * int(f[b]))"}) {
    CHECK(warning(fits) == "");
  }
}

TEST_CASE("keys that a float bounds are a warning") {
  const auto warning = [](const std::string& dtype, const std::string& mask) {
    return errors_with("inputs: {n: {dtype: " + dtype + ", shape: [batch]}}\nmask: " + mask + "\n");
  };
  CHECK(warning("f32", "kv_idx < n[b]") ==
        "s.yaml:7:16: warning: 'n' is a float, which bounds no range of keys\n"
        "    7 | mask: kv_idx < n[b]\n"
        "      |                ^~~~\n"
        "help: make it i32, or write int(n[b]); blocks of keys beyond it then take no time\n");
  CHECK(warning("bf16", "kv_idx <= q_pos and n[b] >= q_pos - kv_idx").find("'n' is a float") !=
        std::string::npos);
  CHECK(warning("i32", "kv_idx < n[b]") == "");
  CHECK(warning("u8", "kv_idx < n[b]") == "");
  CHECK(warning("f32", "kv_idx < int(n[b])") == "");
  // What an i32 would not bound either, or bounds no keys.
  CHECK(warning("f32", "kv_idx % 64 < n[b]") == "");
  CHECK(warning("f32", "kv_idx * 0.5 < n[b]") == "");
  CHECK(warning("f32", "kv_idx < n[b] * 2") == "");
  CHECK(warning("f32", "q_pos < n[b]") == "");
  CHECK(warning("f32", "kv_idx < n[kv_idx // 64]") == "");
}

}  // namespace
}  // namespace attngen::spec
