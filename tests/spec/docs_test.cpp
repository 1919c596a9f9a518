// Every snippet of docs/spec.md: a part of the spec that it names, or a spec that reads as it
// stands. Specs and errors that README.md and docs/command-line.md show.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "../variant_specs.h"
#include "errors_of.h"
#include "expr/ops.h"
#include "spec/read.h"

namespace attngen::spec {
namespace {

constexpr const char* kHeader =
    "attngen: 1\nname: s\ndtype: bf16\nheads: {q: 8, kv: 8}\nhead_dim: {qk: 64, v: 64}\n";

struct Snippet {
  std::string language, name, text;  // of "```yaml alibi"
};

std::ifstream page(const std::string& name) { return std::ifstream(ATTNGEN_SOURCE_DIR "/" + name); }

std::vector<Snippet> snippets(const std::string& name) {
  std::ifstream file = page(name);
  std::vector<Snippet> found;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("```")) {
      if (inside) found.back().text += line + "\n";
      continue;
    }
    inside = !inside;
    if (!inside) continue;
    std::istringstream words(line.substr(3));
    Snippet& next = found.emplace_back();
    words >> next.language >> next.name;
  }
  CHECK_FALSE(inside);
  REQUIRE_FALSE(found.empty());
  return found;
}

bool has_line(const std::string& text, const std::string& begin) {
  return text.starts_with(begin) || text.find("\n" + begin) != std::string::npos;
}

// With the keys that a snippet leaves out.
std::string completed(const std::string& text) {
  std::istringstream header(kHeader);
  std::string result;
  for (std::string line; std::getline(header, line);) {
    if (!has_line(text, line.substr(0, line.find(':') + 1))) result += line + "\n";
  }
  return result + text;
}

TEST_CASE("the snippets of docs/spec.md are specs") {
  const auto files = attngen::testing::variant_files();
  std::set<std::string> named;
  for (const Snippet& snippet : snippets("docs/spec.md")) {
    CAPTURE(snippet.text);
    if (!snippet.name.empty()) {
      REQUIRE(files.contains(snippet.name));
      CHECK(files.at(snippet.name).find("\n" + snippet.text) != std::string::npos);
      CHECK(named.insert(snippet.name).second);
    } else if (snippet.language == "yaml") {
      CHECK(errors_of(completed(snippet.text)) == "");
    } else if (snippet.text.starts_with("spec.yaml:")) {
      CHECK(errors_of(std::string(kHeader) + "inputs: {doc: {dtype: i32, shape: [batch, seq_kv]}}\n"
                                             "fixed: {seq_kv: 512}\nmask: doc[b, 512] < 3\n",
                      "spec.yaml") == snippet.text);
    }
  }
  // The cookbook leaves nothing out.
  for (const auto& file : files) CHECK_MESSAGE(named.contains(file.first), file.first);
}

TEST_CASE("the spec of README.md is one") {
  int specs = 0;
  for (const Snippet& snippet : snippets("README.md")) {
    if (snippet.language != "yaml") continue;
    ++specs;
    CHECK(errors_of(snippet.text) == "");
  }
  CHECK(specs == 1);
}

TEST_CASE("the errors of docs/command-line.md are those of a spec") {
  text::Diagnostics diagnostics({"bad.yaml", kHeader + std::string("mask: kv_idx <= q_ps\n")});
  CHECK_FALSE(read(diagnostics).has_value());
  std::string shown;
  for (const Snippet& snippet : snippets("docs/command-line.md")) {
    if (snippet.text.find("bad.yaml") != std::string::npos) shown += snippet.text;
  }
  CHECK(shown ==
        diagnostics.render(text::ErrorFormat::Gcc) + diagnostics.render(text::ErrorFormat::Json));
}

TEST_CASE("docs/spec.md has every function") {
  std::ostringstream text;
  text << page("docs/spec.md").rdbuf();
  for (const expr::Function& function : expr::functions()) {
    const std::string call = "`" + std::string(function.name) + "(x";
    CHECK_MESSAGE(text.str().find(call) != std::string::npos, call);
  }
}

}  // namespace
}  // namespace attngen::spec
