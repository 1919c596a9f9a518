// Templates are programs: under a C preprocessor each of them is, token by token, what attngen
// writes. So no branch of a template exists for attngen alone.
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>

#include "../variant_specs.h"
#include "emit/source.h"
#include "emit/template_files.h"
#include "emit/values.h"
#include "emit_test_support.h"
#include "schedule/search.h"
#include "target/target.h"
#include "text/characters.h"

namespace attngen::emit {
namespace {

namespace fs = std::filesystem;

// A folder that is gone at the end.
class Tree {
 public:
  Tree() : path_(fs::temp_directory_path() / ("attngen_template_" + std::to_string(::getpid()))) {
    fs::create_directories(path_);
  }
  ~Tree() { fs::remove_all(path_); }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;
  std::string put(const std::string& name, const std::string& text) const {
    const fs::path file = path_ / name;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
    return file.string();
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// What the preprocessor makes of a file; of the system's headers nothing.
std::string preprocessed(const Tree& tree, const std::string& file, const std::string& options) {
  const std::string system = (tree.path() / "system").string();
  return compile("c++ -E -P -nostdinc -I " + system + " " + options + " -x c++ " + file + " # {}",
                 "", "");
}

// A prefix of names in another's place.
std::string with_prefix(std::string text, const std::string& old, const std::string& prefix) {
  for (size_t at = 0; (at = text.find(old, at)) != std::string::npos;) {
    const auto before = static_cast<unsigned char>(at > 0 ? text[at - 1] : ' ');
    const bool inside_name = std::isalnum(before) != 0 || before == '_';
    const std::string& put = inside_name ? old : prefix;
    text.replace(at, old.size(), put);
    at += put.size();
  }
  return text;
}

std::string renamed(const std::string& text, const std::string& name) {
  std::string upper = name;
  std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return std::toupper(c); });
  return with_prefix(with_prefix(text, "attention_", name + "_"), "ATTENTION_", upper + "_");
}

std::string without_space(std::string text) {
  std::erase_if(text, [](unsigned char c) { return std::isspace(c) != 0; });
  return text;
}

// What comes behind the API's functions is in the same namespace as these.
std::string without_seam(std::string text) {
  const std::string seam = "}}namespace{";
  if (const size_t at = text.find(seam); at != std::string::npos)
    text.erase(at + 1, seam.size() - 1);
  return text;
}

// The template as it is, but for the parts that attngen writes; names are attngen's to give.
std::string by_preprocessor(const Tree& tree, const std::string& entry, const Substitution& given) {
  for (const auto& [path, text] : template_files) tree.put(std::string(path), std::string(text));
  for (const auto& [part, text] : given.replacements) {
    tree.put(entry.substr(0, entry.find('/') + 1) + part, "#pragma once\n" + text);
  }
  std::string values;
  for (const auto& [name, value] : given.values) {
    // Where attngen puts in a negative number it adds what a reader expects.
    const bool negative = value.starts_with('-');
    values += "#define " + name + (negative ? " (" + value + ")\n" : " " + value + "\n");
  }
  const std::string options = "-include " + tree.put("values.h", values);
  return renamed(preprocessed(tree, (tree.path() / entry).string(), options), given.name);
}

void hold(const spec::Spec& spec, const attention::RowForm& rows, const Choice& choice) {
  const Api api = api_of(spec);
  const auto written = source(spec, rows, api, choice);
  REQUIRE(std::holds_alternative<std::string>(written));
  const Tree tree;
  for (const char* header : {"atomic", "cuda.h", "cuda_runtime.h", "hip/hip_runtime.h", "stddef.h",
                             "stdint.h", "string.h"}) {
    tree.put(std::string("system/") + header, "");
  }
  const std::string expected = without_seam(without_space(by_preprocessor(
      tree, template_of(choice.target->family), substitution(spec, rows, api, choice))));
  const std::string found =
      without_space(preprocessed(tree, tree.put("written.cu", std::get<std::string>(written)), ""));
  REQUIRE(found.size() > 10000);
  const auto differ = std::ranges::mismatch(found, expected);
  const auto at = static_cast<size_t>(differ.in1 - found.begin());
  INFO("written: " << found.substr(at > 80 ? at - 80 : 0, 200));
  INFO("template: " << expected.substr(at > 80 ? at - 80 : 0, 200));
  const bool same = found == expected;
  CHECK(same);
}

// The best schedule and the worst: other ways through the template.
void hold_ends_of_ranking(const std::string& text, const target::Target& target) {
  const spec::Spec spec = spec_of_text(text);
  text::Diagnostics diagnostics({"spec.yaml", text});
  if (!check_supported(spec, target, diagnostics)) return;
  const attention::RowForm rows = form_of(spec);
  const schedule::Ranking ranking =
      schedule::search(schedule::describe_kernel(spec, rows, target.family), target);
  REQUIRE_FALSE(ranking.ranked.empty());
  hold(spec, rows, {&target, ranking.ranked.front(), false});
  hold(spec, rows, {&target, ranking.ranked.back(), false});
}

bool has_preprocessor() {
#ifdef ATTNGEN_SANITIZED
  MESSAGE("skipped: a build without the sanitizer compares the same text");
  return false;
#else
  return has_program("c++");
#endif
}

TEST_CASE("a template under a C preprocessor is what attngen writes") {
  if (!has_preprocessor()) return;
  for (const auto& file : testing::variant_files()) {
    const std::string& name = file.first;
    for (const std::string target : {"h100", "mi250"}) {
      CAPTURE(name);
      CAPTURE(target);
      hold_ends_of_ranking(file.second, *target::find(target));
    }
  }
}

// By that name, not by a longer one which begins with it.
bool is_read(const std::string& name) {
  return std::ranges::any_of(template_files, [&](const auto& file) {
    const std::string_view text = file.second;
    for (size_t at = 0; (at = text.find(name, at)) != std::string_view::npos;) {
      at += name.size();
      if (!text::is_word(text[at])) return true;
    }
    return false;
  });
}

TEST_CASE("every value that a template is given some template reads") {
  const spec::Spec spec = spec_of("");
  const attention::RowForm rows = form_of(spec);
  const target::Target& h100 = *target::find("h100");
  const auto kernel = schedule::describe_kernel(spec, rows, h100.family);
  const schedule::Candidate best = schedule::search(kernel, h100).ranked.front();
  for (const auto& value : template_values(spec, rows, best)) {
    CAPTURE(value.first);
    CHECK(is_read(value.first));
  }
}

}  // namespace
}  // namespace attngen::emit
