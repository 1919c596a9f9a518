// Texts that are no YAML or JSON, or more than a spec needs of them.
#include <doctest/doctest.h>

#include "errors_of.h"

namespace attngen::spec {
namespace {

TEST_CASE("YAML syntax") {
  CHECK(errors_with("mask: a: b\n") ==
        "s.yaml:6:8: error: unexpected ':'\n"
        "    6 | mask: a: b\n"
        "      |        ^\n"
        "help: put quotes around a text that contains ': '\n");
  CHECK(errors_with("mask:\n  kv_idx < 3\n  layout: bshd\n") ==
        "s.yaml:8:9: error: unexpected ':'\n"
        "    8 |   layout: bshd\n"
        "      |         ^\n"
        "help: put quotes around a text that contains ': '\n");
  CHECK(errors_with("score: kv_idx <= q_pos ? score : -inf\n") ==
        "s.yaml:6:24: error: unexpected '?'\n"
        "    6 | score: kv_idx <= q_pos ? score : -inf\n"
        "      |                        ^\n"
        "help: write 'a if condition else b'\n");
  CHECK(errors_with("? a: b: c\n").find("'a if") == std::string::npos);
  CHECK(errors_with("constants:\n\tx: 1\n") ==
        "s.yaml:7:1: error: a tab cannot indent\n"
        "    7 | \tx: 1\n"
        "      | ^\n"
        "help: use spaces\n");
  CHECK(errors_with("score: \"score\n") ==
        "s.yaml:6:8: error: this quote is not closed\n"
        "    6 | score: \"score\n"
        "      |        ^\n");
  CHECK(errors_with("inputs: {a: {\n") ==
        "s.yaml:7:1: error: expected ',' or '}'\n"
        "    7 | \n"
        "      | ^\n"
        "help: is a bracket above not closed?\n");
  CHECK(errors_with("? [a]\n: b\n") ==
        "s.yaml:6:3: error: a key must be a name\n"
        "    6 | ? [a]\n"
        "      |   ^\n"
        "help: is this bracket closed?\n");
  CHECK(errors_with("---\na: 1\n") ==
        "s.yaml:6:1: error: a spec is one document\n"
        "    6 | ---\n"
        "      | ^\n");
  CHECK(errors_of("# nothing\n") == "s.yaml: error: the spec is empty\n");
  CHECK(errors_of("") == "s.yaml: error: the spec is empty\n");
}

TEST_CASE("a key without its colon") {
  CHECK(errors_of("attngen: 1\nname: y\ndtype bf16\n\nheads: {q: 1, kv: 1}\n") ==
        "s.yaml:3:1: error: no ': ' between a key and its value\n"
        "    3 | dtype bf16\n"
        "      | ^~~~~~~~~~\n"
        "help: write dtype: bf16\n");
  CHECK(errors_with("heads {q: 8, kv: 2}\n") ==
        "s.yaml:6:1: error: no ': ' between a key and its value\n"
        "    6 | heads {q: 8, kv: 2}\n"
        "      | ^~~~~~~~~~~~~~~~~~~\n"
        "help: write heads: {q: 8, kv: 2}\n");
  CHECK(errors_with("normalize:\n  weight  score\n  output: acc\n")
            .ends_with("help: write weight: score\n"));
  CHECK(errors_with("mask:kv_idx <= q_pos\nlayout: bshd\n")
            .ends_with("help: write mask: kv_idx <= q_pos\n"));
}

TEST_CASE("a value that is left out is none of the next line") {
  CHECK(errors_with("fixed:\nnullable: 3\n") ==
        "s.yaml:6:1: error: fixed must be a map, got nothing\n"
        "    6 | fixed:\n"
        "      | ^~~~~\n"
        "s.yaml:7:1: error: unknown key 'nullable'\n"
        "    7 | nullable: 3\n"
        "      | ^~~~~~~~\n");
  CHECK(errors_with("fixed: null\n") ==
        "s.yaml:6:8: error: fixed must be a map, got nothing\n"
        "    6 | fixed: null\n"
        "      |        ^~~~\n");
  CHECK(errors_with("fixed: NULL").ends_with("      |        ^~~~\n"));
}

TEST_CASE("characters that look like others, or like nothing") {
  CHECK(errors_with("mask:\xC2\xA0true\n") ==
        "s.yaml:6:1: error: unknown key 'mask:<U+00A0>true'\n"
        "    6 | mask:\xC2\xA0true\n"
        "      | ^~~~~~~~~~\n"
        "help: write mask: true, without U+00A0 (no-break space)\n");
  CHECK(errors_with("mask:\xC2\xA0kv_idx <= q_pos\nlayout: bshd\n") ==
        "s.yaml:6:1: error: no ': ' between a key and its value\n"
        "    6 | mask:\xC2\xA0kv_idx <= q_pos\n"
        "      | ^~~~~~~~~~~~~~~~~~~~~\n"
        "help: write mask: kv_idx <= q_pos, without U+00A0 (no-break space)\n");
  CHECK(errors_with("ma\xE2\x80\x8Bsk: true\n") ==
        "s.yaml:6:1: error: unknown key 'ma<U+200B>sk'\n"
        "    6 | ma\xE2\x80\x8Bsk: true\n"
        "      | ^~~~~\n"
        "help: did you mean 'mask'?\n");
  CHECK(errors_with("mask: kv_idx\xC2\xA0<= q_pos\n") ==
        "s.yaml:6:13: error: unexpected character U+00A0 (no-break space)\n"
        "    6 | mask: kv_idx\xC2\xA0<= q_pos\n"
        "      |             ^\n"
        "help: write a plain space\n");
  CHECK(errors_with("layout: \xE2\x80\x9C"
                    "bshd\xE2\x80\x9D\n") ==
        "s.yaml:6:9: error: layout must be 'bshd' or 'bhsd', got '<U+201C>bshd<U+201D>'\n"
        "    6 | layout: \xE2\x80\x9C"
        "bshd\xE2\x80\x9D\n"
        "      |         ^~~~~~\n"
        "help: did you mean 'bshd'?\n");
}

TEST_CASE("an expression in braces without quotes") {
  CHECK(errors_with("normalize:\n  rows: {m: max(rowmax(score), 0), n: 1}\n  weight: score\n") ==
        "s.yaml:7:13: error: in { } and [ ] a text without quotes ends at ','\n"
        "    7 |   rows: {m: max(rowmax(score), 0), n: 1}\n"
        "      |             ^~~~~~~~~~~~~~~~~~\n"
        "help: put quotes around the expression\n");
  CHECK(errors_with("normalize: {weight: score + bias[h, q_idx, kv_idx]}\n") ==
        "s.yaml:6:21: error: in { } and [ ] a text without quotes ends at '['\n"
        "    6 | normalize: {weight: score + bias[h, q_idx, kv_idx]}\n"
        "      |                     ^~~~~~~~~~~~~\n"
        "help: put quotes around the expression\n");
  CHECK(errors_with("targets: [min(h100, h200)]\n")
            .ends_with("      |           ^~~~~~~~~\nhelp: put quotes around the expression\n"));
  // A bracket that is not closed is another matter.
  CHECK(errors_with("normalize: {weight: exp(score}\n") ==
        "s.yaml:6:24: error: '(' is not closed\n"
        "    6 | normalize: {weight: exp(score}\n"
        "      |                        ^\n"
        "help: add ')'\n");
}

TEST_CASE("nothing in a spec expands") {
  CHECK(errors_with("constants: &a {x: 1}\n") ==
        "s.yaml:6:12: error: anchors are not supported in a spec\n"
        "    6 | constants: &a {x: 1}\n"
        "      |            ^\n"
        "help: write the value again\n");
  CHECK(errors_with("constants: *a\n") ==
        "s.yaml:6:12: error: aliases are not supported in a spec\n"
        "    6 | constants: *a\n"
        "      |            ^\n"
        "help: write the value again\n");
  CHECK(errors_with("score: !!str score\n") ==
        "s.yaml:6:8: error: tags are not supported in a spec\n"
        "    6 | score: !!str score\n"
        "      |        ^\n");
  // A tag that was meant to negate; behind it, '>' begins a block.
  for (const std::string mask : {"!(kv_idx > q_pos)", "!(kv_idx == q_pos)"}) {
    CHECK(errors_with("mask: " + mask + "\n") ==
          "s.yaml:6:7: error: tags are not supported in a spec\n"
          "    6 | mask: " +
              mask +
              "\n"
              "      |       ^\n"
              "help: to negate, write 'not'\n");
  }
}

TEST_CASE("duplicate keys are errors at the second") {
  CHECK(errors_with("name: other\n") ==
        "s.yaml:6:1: error: duplicate key 'name'\n"
        "    6 | name: other\n"
        "      | ^~~~\n"
        "help: first given on line 2\n");
  CHECK(errors_of("{\"a\": 1,\n\"a\": 2", "s.json")
            .starts_with("s.json:2:1: error: duplicate key 'a'\n"
                         "    2 | \"a\": 2\n"
                         "      | ^~~\n"
                         "help: first given on line 1\n"));
}

TEST_CASE("JSON is strict") {
  CHECK(errors_of(" \n", "s.json") == "s.json: error: the spec is empty\n");
  CHECK(errors_of("{\"a\": 1,}", "s.json") ==
        "s.json:1:9: error: syntax error while parsing object key - unexpected '}'; "
        "expected string literal\n"
        "    1 | {\"a\": 1,}\n"
        "      |         ^\n"
        "help: remove the comma before it\n");
  CHECK(errors_of("{\"a\": [1,\n]}", "s.json").ends_with("help: remove the comma before it\n"));
  CHECK(errors_of("{a: 1}", "<stdin>") ==
        "<stdin>:1:2: error: syntax error while parsing object key - invalid literal; "
        "last read: '{a'; expected string literal\n"
        "    1 | {a: 1}\n"
        "      |  ^\n");
  CHECK(errors_of("{\"a\": 1e999}", "s.json") ==
        "s.json:1:7: error: number overflow parsing '1e999'\n"
        "    1 | {\"a\": 1e999}\n"
        "      |       ^~~~~\n");
}

TEST_CASE("bytes that no text has") {
  CHECK(errors_of("name: a\xC0\xAF\n") ==
        "s.yaml:1:8: error: invalid UTF-8: byte 0xc0\n"
        "    1 | name: a?\n"
        "      |        ^\n");
  CHECK(errors_of("doc: \xED\xA0\x80").starts_with("s.yaml:1:6: error: invalid UTF-8"));
  CHECK(errors_of("doc: \xF4\x90\x80\x80").starts_with("s.yaml:1:6: error: invalid UTF-8"));
  CHECK(errors_of("doc: \xE2\x82").starts_with("s.yaml:1:6: error: invalid UTF-8"));
  CHECK(errors_of("doc: a\x1b[31m\n") ==
        "s.yaml:1:7: error: control character 0x1b in the text\n"
        "    1 | doc: a?[31m\n"
        "      |       ^\n");
  CHECK(errors_of(std::string("a\0b", 3)).starts_with("s.yaml:1:2: error: control character 0x00"));
  CHECK(errors_of("a: 1\rb: 2").starts_with("s.yaml:1:5: error: control character 0x0d"));
}

TEST_CASE("byte order marks") {
  CHECK(errors_of("\xEF\xBB\xBFnaem: a\nname: 1\n")
            .find("s.yaml:1:1: error: unknown key 'naem'\n"
                  "    1 | naem: a\n"
                  "      | ^~~~\n") != std::string::npos);
  CHECK(errors_of("\xEF\xBB\xBFname y\nattngen: 1\n") ==
        "s.yaml:1:1: error: no ': ' between a key and its value\n"
        "    1 | name y\n"
        "      | ^~~~~~\n"
        "help: write name: y\n");
  CHECK(errors_of("\xEF\xBB\xBF{\"a\": 1,}", "s.json")
            .find("\n    1 | {\"a\": 1,}\n      |         ^\n") != std::string::npos);
  CHECK(errors_of(std::string("\xFF\xFE"
                              "a\0",
                              4)) ==
        "s.yaml:1:1: error: invalid UTF-8: byte 0xff\n"
        "    1 | ??a?\n"
        "      | ^\n"
        "help: save the file as UTF-8\n");
  CHECK(errors_of(std::string("\xFE\xFF\0a", 4)).ends_with("help: save the file as UTF-8\n"));
  CHECK(errors_of("a\xFF\xFE").find("help:") == std::string::npos);
}

TEST_CASE("limits") {
  CHECK(errors_of(std::string((1 << 20) + 1, ' ')) ==
        "s.yaml: error: the text has more than 1048576 bytes, the most that a spec has\n");
  const std::string deep = std::string(64, '[') + "1" + std::string(64, ']');
  CHECK(errors_of(deep) == "s.yaml:1:1: error: a spec must be a map, got a list\n    1 | " + deep +
                               "\n      | ^" + std::string(128, '~') + "\n");
  CHECK(errors_of("[" + deep + "]").starts_with("s.yaml:1:65: error: nested more than 64 deep\n"));
  CHECK(errors_of("[" + deep + "]", "s.json")
            .starts_with("s.json:1:65: error: nested more than 64 deep\n"));
  std::string rows;
  for (int i = 0; i < 33; ++i) rows += "r" + std::to_string(i) + ": 1,";
  CHECK(errors_with("normalize:\n  rows: {" + rows + "}\n  weight: score\n  output: acc / r32\n") ==
        "s.yaml:7:9: error: normalize.rows has 33 entries; at most 32 are possible\n"
        "    7 |   rows: {" +
            rows + "}\n      |         ^" + std::string(rows.size() + 1, '~') + "\n");
  std::string many;
  for (int i = 0; i < 30; ++i) many += "k" + std::to_string(i) + ": 1\n";
  CHECK(errors_with(many).ends_with("s.yaml: error: 10 more errors not shown\n"));
}

}  // namespace
}  // namespace attngen::spec
