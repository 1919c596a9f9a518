#include "text/diagnostics.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

using namespace attngen::text;

namespace {

Diagnostic at(int line, int column, int length, std::string message, std::string help = "") {
  Diagnostic diagnostic;
  diagnostic.position = {line, column};
  diagnostic.length = length;
  diagnostic.message = std::move(message);
  diagnostic.help = std::move(help);
  return diagnostic;
}

std::string rendered(std::string content, const Diagnostic& diagnostic) {
  Diagnostics diagnostics({"spec.yaml", std::move(content)});
  diagnostics.add(diagnostic);
  return diagnostics.render(ErrorFormat::Gcc);
}

}  // namespace

TEST_CASE("positions are 1-based lines and byte columns") {
  const Source source{"a.yaml", "ab\ncd\r\n\nx"};
  CHECK(source.position(0) == Position{1, 1});
  CHECK(source.position(2) == Position{1, 3});
  CHECK(source.position(3) == Position{2, 1});
  CHECK(source.position(8) == Position{4, 1});
  CHECK(source.position(9) == Position{4, 2});
  CHECK(source.position(100) == Position{4, 2});
  CHECK(source.line(1) == "ab");
  CHECK(source.line(2) == "cd");
  CHECK(source.line(3).empty());
  CHECK(source.line(4) == "x");
  CHECK(source.line(9).empty());
  CHECK(source.line(0).empty());
}

TEST_CASE("an error shows its line and a caret") {
  CHECK(rendered("name: a\nheds: {q: 8, kv: 8}\n",
                 at(2, 1, 4, "unknown key 'heds'", "did you mean 'heads'?")) ==
        "spec.yaml:2:1: error: unknown key 'heds'\n"
        "    2 | heds: {q: 8, kv: 8}\n"
        "      | ^~~~\n"
        "help: did you mean 'heads'?\n");
}

TEST_CASE("the caret keeps to its line and to the screen's columns") {
  CHECK(rendered("ab", at(1, 2, 50, "m")) == "spec.yaml:1:2: error: m\n    1 | ab\n      |  ^\n");
  CHECK(rendered("ab", at(1, 3, 1, "m")) == "spec.yaml:1:3: error: m\n    1 | ab\n      |   ^\n");
  CHECK(rendered("\tx", at(1, 2, 1, "m")) == "spec.yaml:1:2: error: m\n    1 | \tx\n      | \t^\n");
  CHECK(rendered("\xC3\xA9 x", at(1, 4, 1, "m")) ==
        "spec.yaml:1:4: error: m\n    1 | \xC3\xA9 x\n      |   ^\n");
  CHECK(rendered("\xC3\xA9 x", at(1, 1, 2, "m")) ==
        "spec.yaml:1:1: error: m\n    1 | \xC3\xA9 x\n      | ^\n");
  CHECK(rendered("", at(7, 9, 3, "m")) == "spec.yaml:7:9: error: m\n    7 | \n      | ^\n");
}

TEST_CASE("of a long line a part is shown") {
  const std::string before(80, 'b'), behind(157, 'a');
  const std::string caret = "\n      | " + std::string(80, ' ') + "^~~\n";
  CHECK(rendered(before + "xyz" + behind, at(1, 81, 3, "m")) ==
        "spec.yaml:1:81: error: m\n    1 | " + before + "xyz" + behind + caret);
  CHECK(rendered(before + "xyz" + behind + "a", at(1, 81, 3, "m")) ==
        "spec.yaml:1:81: error: m\n    1 | " + before + "xyz" + behind + "..." + caret);
  const std::string caret3 = "\n      |    " + std::string(80, ' ') + "^~~\n";
  CHECK(rendered("b" + before + "xyz" + behind, at(1, 82, 3, "m")) ==
        "spec.yaml:1:82: error: m\n    1 | ..." + before + "xyz" + behind + caret3);
  // Between characters.
  std::string e;
  for (int i = 0; i < 500; ++i) e += "\xC3\xA9";
  const std::string text = rendered(e + "xyz" + e, at(1, 1001, 3, "m"));
  CHECK(text == "spec.yaml:1:1001: error: m\n    1 | ..." + e.substr(0, 80) + "xyz" +
                    e.substr(0, 156) + "...\n      |    " + std::string(40, ' ') + "^~~\n");
  // What is marked may be cut itself.
  CHECK(rendered(std::string(1'000'000, 'x'), at(1, 1, 1'000'000, "m")) ==
        "spec.yaml:1:1: error: m\n    1 | " + std::string(160, 'x') + "...\n      | ^" +
            std::string(162, '~') + "\n");
}

TEST_CASE("line 0 is the whole file") {
  CHECK(rendered("ab", at(0, 0, 1, "the file is empty")) ==
        "spec.yaml: error: the file is empty\n");
}

TEST_CASE("a byte order mark takes no column") {
  const Source source{"a.yaml",
                      "\xEF\xBB\xBF"
                      "ab\ncd"};
  CHECK(source.position(0) == Position{1, 1});
  CHECK(source.position(3) == Position{1, 1});
  CHECK(source.position(4) == Position{1, 2});
  CHECK(source.position(7) == Position{2, 2});
  CHECK(source.line(1) == "ab");
  CHECK(source.line(2) == "cd");
}

TEST_CASE("an error about no text in particular") {
  const std::string message = "cannot read '\x1b[31m \xC2\x9B \xC2\xA0'";
  CHECK(render_error(ErrorFormat::Gcc, "attngen", message, "a \x7F") ==
        "attngen: error: cannot read '?[31m ? <U+00A0>'\nhelp: a ?\n");
  CHECK(render_error(ErrorFormat::Gcc, "attngen", "m", "") == "attngen: error: m\n");
  CHECK(
      render_error(ErrorFormat::Json, "attngen", message, "") ==
      "{\"severity\":\"error\",\"message\":\"cannot read '\\u001b[31m \\u009b <U+00A0>'\",\"help\":"
      "\"\"}\n");
}

TEST_CASE("control bytes never reach the terminal") {
  CHECK(rendered("\x1b[2Jx", at(1, 1, 1, "bad \x1b")) ==
        "spec.yaml:1:1: error: bad ?\n    1 | ?[2Jx\n      | ^\n");
  // Of eight bits: by itself, and as U+009B.
  CHECK(rendered("\x9b"
                 "31mx",
                 at(1, 5, 1, "bad \x9b")) ==
        "spec.yaml:1:5: error: bad ?\n    1 | ?31mx\n      |     ^\n");
  CHECK(rendered("\xC2\x9b"
                 "31mx",
                 at(1, 6, 1, "bad \xC2\x80 \xC2\x9F \xC2\xA3")) ==
        "spec.yaml:1:6: error: bad ? ? \xC2\xA3\n    1 | ?31mx\n      |     ^\n");
  // Broken characters: too short, and bytes that begin none.
  CHECK(rendered("\xE2\x89 \xF0\x9F\x98\x80\xFF x", at(1, 10, 1, "m")) ==
        "spec.yaml:1:10: error: m\n    1 | ? \xF0\x9F\x98\x80? x\n      |      ^\n");
  CHECK(rendered("\xC0\x9B \xE0\x82\x9B", at(1, 1, 1, "m")) ==
        "spec.yaml:1:1: error: m\n    1 | ? ?\n      | ^\n");
}

TEST_CASE("errors come in the order of their places") {
  Diagnostics diagnostics({"f", "a\nb\n"});
  diagnostics.add(at(2, 1, 1, "second"));
  diagnostics.add(at(1, 1, 1, "first"));
  CHECK(diagnostics.has_errors());
  CHECK(diagnostics.render(ErrorFormat::Gcc) ==
        "f:1:1: error: first\n    1 | a\n      | ^\n"
        "f:2:1: error: second\n    2 | b\n      | ^\n");
}

TEST_CASE("a warning is no error, and not shown beside one") {
  Diagnostics diagnostics({"f", "a\n"});
  diagnostics.add({Severity::Warning, {1, 1}, 1, "m", "", "/a"});
  CHECK_FALSE(diagnostics.has_errors());
  CHECK(diagnostics.render(ErrorFormat::Gcc) == "f:1:1: warning: m\n    1 | a\n      | ^\n");
  CHECK(diagnostics.render(ErrorFormat::Json) ==
        "{\"file\":\"f\",\"line\":1,\"column\":1,\"severity\":\"warning\",\"message\":\"m\","
        "\"help\":\"\",\"pointer\":\"/a\"}\n");
  diagnostics.add(at(1, 1, 1, "n"));
  CHECK(diagnostics.render(ErrorFormat::Gcc) == "f:1:1: error: n\n    1 | a\n      | ^\n");
}

TEST_CASE("errors beyond the limit are counted") {
  Diagnostics diagnostics({"f", "a\n"}, 1);
  for (int i = 0; i < 3; ++i) {
    CHECK(diagnostics.keeps_errors() == (i == 0));
    diagnostics.add(at(1, 1, 1, "m"));
  }
  CHECK(diagnostics.all().size() == 1);
  CHECK(diagnostics.render(ErrorFormat::Gcc) ==
        "f:1:1: error: m\n    1 | a\n      | ^\nf: error: 2 more errors not shown\n");
}

TEST_CASE("JSON has one object a line, whatever the bytes") {
  Diagnostics diagnostics({"f", "a\n"});
  Diagnostic bad = at(1, 1, 1, "bytes \xFF and \"quotes\"", "help");
  bad.pointer = "/heads/q";
  diagnostics.add(bad);
  const std::string text = diagnostics.render(ErrorFormat::Json);
  CHECK(std::count(text.begin(), text.end(), '\n') == 1);
  const auto object = nlohmann::json::parse(text);
  CHECK(object["file"] == "f");
  CHECK(object["line"] == 1);
  CHECK(object["column"] == 1);
  CHECK(object["severity"] == "error");
  CHECK(object["message"] == "bytes \xEF\xBF\xBD and \"quotes\"");
  CHECK(object["help"] == "help");
  CHECK(object["pointer"] == "/heads/q");
}

TEST_CASE("commands to a terminal are escaped in JSON") {
  Diagnostics diagnostics({"f", ""});
  diagnostics.add(at(0, 0, 1, "\x1b \x7F \xC2\x9B \xC2\xA3"));
  const std::string text = diagnostics.render(ErrorFormat::Json);
  CHECK(text.find(R"("message":"\u001b \u007f \u009b )"
                  "\xC2\xA3\"") != std::string::npos);
}

TEST_CASE("the nearest word is one that could have been meant") {
  const std::vector<std::string> words = {"heads", "head_dim", "q_pos", "tanh"};
  CHECK(did_you_mean("heds", words) == "did you mean 'heads'?");
  CHECK(did_you_mean("q_pso", words) == "did you mean 'q_pos'?");
  CHECK(did_you_mean("tahn", words, "; ") == "; did you mean 'tanh'?");
  CHECK(did_you_mean("m", {"b", "h"}) == "");
  CHECK(did_you_mean("k", {"kv"}) == "did you mean 'kv'?");
  CHECK(did_you_mean("headdim", words) == "did you mean 'head_dim'?");
  CHECK(did_you_mean("maks", {"maps", "mask"}) == "did you mean 'mask'?");
  CHECK(did_you_mean("maks", {"mask", "maps"}) == "did you mean 'mask'?");
  CHECK(did_you_mean("hea", {"headings"}) == "did you mean 'headings'?");
  CHECK(did_you_mean("hea", {"headings", "headlines"}).empty());
  CHECK(did_you_mean("TANH", words) == "did you mean 'tanh'?");
  CHECK(did_you_mean("bhs", {"BHSD"}) == "did you mean 'BHSD'?");
  CHECK(did_you_mean("Q", {"q", "kv"}) == "did you mean 'q'?");
  CHECK(did_you_mean("zebra", words, "; ").empty());
  CHECK(did_you_mean("", words).empty());
  CHECK(did_you_mean(std::string(1'000'000, 'x'), words).empty());
}
