#include "emit/preprocess.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "emit/rewrite.h"
#include "text/characters.h"

namespace attngen::emit {
namespace {

std::string folder_of(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? "" : std::string(path.substr(0, slash + 1));
}

// The lines of a text, a directive's continuation lines ("\" at the end) joined to its first.
struct Line {
  int number = 0;
  std::string text;
};
std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> lines;
  int number = 0;
  bool continues = false;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text::trim_end(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (continues) {
      lines.back().text.append("\n").append(line);
    } else {
      lines.push_back({number, std::string(line)});
    }
    continues = line.ends_with('\\') && text::trim(lines.back().text).starts_with('#');
  }
  return lines;
}

// "#if ATTN_X" -> {"if", "ATTN_X"}
struct Directive {
  std::string name, rest;
};
Directive directive_of(std::string_view code) {
  code = text::trim(text::trim(code).substr(1));
  const size_t end = std::min(code.find_first_of(" \t(\"<!"), code.size());
  return {std::string(code.substr(0, end)), std::string(text::trim(code.substr(end)))};
}

// An #if that is open.
struct Conditional {
  int line = 0;
  bool foreign = false;        // left for the compiler, with all its branches
  bool parent_active = false;  // the text around it is wanted
  bool active = false;         // the current branch is wanted
  bool taken = false;          // a branch was or is wanted: no later one is
  bool had_else = false;
};

class Preprocessor {
 public:
  Preprocessor(const Template& input, const Substitution& substitution)
      : input_(input), substitution_(substitution) {}

  std::variant<std::string, TemplateError> run() {
    const auto text = input_.find(input_.entry);
    if (!text) return TemplateError{input_.entry + ": no such template"};
    included_.insert(input_.entry);
    file(input_.entry, *text);
    if (!error_.empty()) return TemplateError{error_};
    return joined();
  }

 private:
  void fail(std::string message) {
    if (error_.empty()) error_ = fmt::format("{}:{}: {}", path_, line_, message);
  }
  bool active() const { return conditionals_.empty() || conditionals_.back().active; }

  void file(const std::string& path, std::string_view text) {
    const std::string outer_path = std::exchange(path_, path);
    const int outer_line = std::exchange(line_, 0);
    const std::vector<Conditional> outer = std::exchange(conditionals_, {});
    Rewriter rewriter(substitution_.values, substitution_.name);
    for (const Line& line : lines_of(text)) {
      line_ = line.number;
      if (!rewriter.in_comment() && text::trim(line.text).starts_with('#')) {
        directive(line.text, rewriter);
      } else {
        text_line(line.text, rewriter);
      }
      if (!error_.empty()) return;
    }
    if (!conditionals_.empty()) {
      line_ = conditionals_.back().line;
      fail("#if without #endif");
    }
    conditionals_ = outer;
    path_ = outer_path;
    line_ = outer_line;
  }

  void text_line(std::string_view text, Rewriter& rewriter) {
    std::string rewritten = rewriter.line(text);
    if (!active()) return;
    if (!rewriter.unknown().empty()) fail(rewriter.unknown() + " has no value");
    out_.push_back(std::move(rewritten));
  }

  void directive(const std::string& text, Rewriter& rewriter) {
    const Directive directive = directive_of(rewriter.code(text));
    if (directive.name == "if") return open(text, directive.rest, rewriter);
    if (directive.name == "ifdef") return open(text, "defined " + directive.rest, rewriter);
    if (directive.name == "ifndef") return open(text, "!defined " + directive.rest, rewriter);
    if (directive.name == "elif" || directive.name == "else" || directive.name == "endif") {
      if (conditionals_.empty()) return fail("#" + directive.name + " without #if");
      if (directive.name == "endif") return close(text, rewriter);
      return other_branch(text, directive, rewriter);
    }
    if (!active()) return;
    if (directive.name == "pragma" && directive.rest == "once") return;
    if (directive.name == "include") return include(text, directive.rest, rewriter);
    if (directive.name == "define" && directive.rest.starts_with("ATTN_")) {
      return drop_default(directive.rest);
    }
    text_line(text, rewriter);
  }

  void drop_default(std::string_view definition) {
    const std::string_view name = definition.substr(0, definition.find_first_of(" \t("));
    if (!substitution_.values.contains(name)) fail(std::string(name) + " has no value");
  }

  void open(const std::string& text, std::string_view condition, Rewriter& rewriter) {
    Conditional conditional{.line = line_, .parent_active = active()};
    if (conditional.parent_active) {
      const auto value = evaluate_condition(condition, substitution_.values);
      if (const auto* error = std::get_if<ConditionError>(&value)) return fail(error->message);
      conditional.foreign = std::holds_alternative<Foreign>(value);
      conditional.active = conditional.foreign || std::get<int64_t>(value) != 0;
      conditional.taken = conditional.active;
    }
    if (conditional.foreign) text_line(text, rewriter);
    conditionals_.push_back(conditional);
  }

  void other_branch(const std::string& text, const Directive& directive, Rewriter& rewriter) {
    Conditional& conditional = conditionals_.back();
    if (conditional.had_else) return fail("#" + directive.name + " after #else");
    conditional.had_else = directive.name == "else";
    if (!conditional.parent_active) return;
    if (conditional.foreign) return text_line(text, rewriter);
    bool condition = true;
    if (!conditional.had_else && !conditional.taken) {
      const auto value = evaluate_condition(directive.rest, substitution_.values);
      if (const auto* error = std::get_if<ConditionError>(&value)) return fail(error->message);
      if (std::holds_alternative<Foreign>(value)) {
        return fail("#elif mixes ATTN_ names with others");
      }
      condition = std::get<int64_t>(value) != 0;
    }
    conditional.active = condition && !conditional.taken;
    conditional.taken = conditional.taken || condition;
  }

  void close(const std::string& text, Rewriter& rewriter) {
    const Conditional conditional = conditionals_.back();
    conditionals_.pop_back();
    if (conditional.foreign) text_line(text, rewriter);
  }

  void include(const std::string& text, const std::string& what, Rewriter& rewriter) {
    if (what.size() < 3) return fail("cannot read #include " + what);
    if (path_ == input_.entry && !includes_at_) includes_at_ = out_.size();
    if (what.front() == '<') return system_include(text, what, rewriter);
    const std::string name = what.substr(1, what.size() - 2);
    if (const auto found = substitution_.replacements.find(name);
        found != substitution_.replacements.end()) {
      if (included_.insert(name).second) replacement(found->second, rewriter);
      return;
    }
    for (const std::string& folder : {folder_of(path_), folder_of(input_.entry)}) {
      const std::string path = folder + name;
      const auto part = input_.find(path);
      if (!part) continue;
      if (!included_.insert(path).second) return;
      out_.emplace_back();
      file(path, *part);
      out_.emplace_back();
      return;
    }
    fail("no template file '" + name + "'");
  }

  void replacement(std::string_view text, Rewriter& rewriter) {
    out_.emplace_back();
    for (const Line& line : lines_of(text)) {
      if (line.text.starts_with("#include <")) {
        system_include(line.text, line.text.substr(9), rewriter);
      } else {
        out_.push_back(line.text);
      }
    }
    out_.emplace_back();
  }

  // Under a condition that stays, an include stays where it is.
  void system_include(const std::string& text, const std::string& what, Rewriter& rewriter) {
    const bool conditional = std::any_of(conditionals_.begin(), conditionals_.end(),
                                         [](const Conditional& c) { return c.foreign; });
    if (conditional) return text_line(text, rewriter);
    const std::string line = "#include " + what;
    if (std::find(includes_.begin(), includes_.end(), line) == includes_.end()) {
      includes_.push_back(line);
    }
  }

  // The headers of C and of the device before those of C++, each group in alphabetical order.
  void group_includes() {
    const auto end_of_c = std::partition(includes_.begin(), includes_.end(),
                                         [](const auto& line) { return line.ends_with(".h>"); });
    std::sort(includes_.begin(), end_of_c);
    std::sort(end_of_c, includes_.end());
    includes_.insert(end_of_c, "");
    includes_.emplace_back();
  }

  // No two blank lines in a row, none at either end, one newline at the end.
  std::string joined() {
    if (!includes_.empty()) {
      group_includes();
      out_.insert(out_.begin() + static_cast<std::ptrdiff_t>(includes_at_.value_or(0)),
                  includes_.begin(), includes_.end());
    }
    std::string result;
    bool blank = true;
    for (const std::string& line : out_) {
      if (line.empty() && blank) continue;
      blank = line.empty();
      result += line;
      result += '\n';
    }
    while (result.ends_with("\n\n")) result.pop_back();
    return result;
  }

  const Template& input_;
  const Substitution& substitution_;
  std::string path_;
  int line_ = 0;
  std::vector<Conditional> conditionals_;  // of the current file
  std::vector<std::string> out_;
  std::set<std::string, std::less<>> included_;
  std::vector<std::string> includes_;  // `#include <...>`
  std::optional<size_t> includes_at_;  // the line of `out_` where they go
  std::string error_;
};

}  // namespace

std::variant<std::string, TemplateError> preprocess(const Template& input,
                                                    const Substitution& substitution) {
  return Preprocessor(input, substitution).run();
}

}  // namespace attngen::emit
