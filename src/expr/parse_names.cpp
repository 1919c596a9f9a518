// What a name stands for: a value, an input's element, a function.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "expr/parser.h"
#include "text/characters.h"
#include "text/diagnostics.h"

namespace attngen::expr {
namespace {

std::string plural(size_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) {
    out += (out.empty() ? "" : ", ") + word;
  }
  return out;
}

}  // namespace

// The names that a function, a load or a value may be meant to have.
std::vector<std::string> Parser::names_near(bool call) const {
  std::vector<std::string> names;
  const auto add = [&](const auto& known) {
    for (const auto& entry : known) {
      names.push_back(entry.first);
    }
  };
  if (call) {
    names = {"clamp", "where", "not"};
    for (const Function& function : functions()) {
      names.emplace_back(function.name);
    }
    return names;
  }
  add(scope_.inputs);
  if (!at("[")) {
    names.insert(names.end(), {"true", "false", "not"});
    add(scope_.variables);
    add(scope_.constants);
    for (const Scope::Let& let : lets_) names.push_back(let.name);
  }
  return names;
}

void Parser::fail_unknown(const Token& name, bool call) const {
  const char* const bracket = call ? "(" : at("[") ? "[" : "";
  const auto hint = scope_.hints.find(text::lower(name.text) + bracket);
  throw Failure{
      {name.span,
       fmt::format("unknown {} '{}'", call ? "function" : "name", text::shortened(name.text, 64)),
       hint != scope_.hints.end() ? hint->second : text::did_you_mean(name.text, names_near(call)),
       call ? Error::Of::UnknownFunction : Error::Of::UnknownName}};
}

Expr Parser::parse_named() {
  const Token name = token_;
  for (const std::string_view keyword : {"and", "or", "not", "if", "else"}) {
    if (name.text == keyword) {
      fail_unexpected("an expression");
    }
  }
  advance();
  if (at("(")) {
    return parse_call(name);
  }
  if (const auto input = scope_.inputs.find(name.text); input != scope_.inputs.end()) {
    return parse_load(name, input->second);
  }
  if (scope_.unknown.contains(name.text)) {
    return parse_unknown(name);
  }
  Expr value = value_of(name);
  if (at("[")) {
    const auto hint = scope_.hints.find(text::lower(name.text) + "[");
    fail(token_.span, fmt::format("'{}' has no indices", name.text),
         hint != scope_.hints.end() ? hint->second : "");
  }
  return nodes_.counted(std::move(value));
}

// Of a name that is no input's and that is not called.
Expr Parser::value_of(const Token& name) {
  if (name.text == "true" || name.text == "false") {
    return boolean(name.text == "true", name.span);
  }
  if (const auto known = scope_.variables.find(name.text); known != scope_.variables.end()) {
    return variable(known->first, known->second, name.span);
  }
  if (const auto value = scope_.constants.find(name.text); value != scope_.constants.end()) {
    return constant(value->second.type(), value->second.number(), name.span);
  }
  if (const auto let = std::ranges::find(lets_, name.text, &Scope::Let::name); let != lets_.end()) {
    return parse_let(name, *let);
  }
  if (const auto reason = scope_.forbidden.find(name.text); reason != scope_.forbidden.end()) {
    fail(name.span, fmt::format("'{}' is not allowed here: {}", name.text, reason->second.reason),
         reason->second.help);
  }
  if (const auto arity = arity_of(name.text)) {
    fail(name.span, fmt::format("'{}' is a function", name.text),
         fmt::format("call it with {}",
                     plural(static_cast<size_t>(*arity), "argument", "arguments in parentheses")));
  }
  fail_unknown(name, false);
}

// Its text is known to parse where everything has its name; here something may not.
Expr Parser::parse_let(const Token& name, const Scope::Let& let) {
  try {
    Parser inner(*this, name, let);
    Expr value = inner.parse_all();
    nodes_ = inner.nodes_;
    return value;
  } catch (Failure& failure) {
    failure.error.message = fmt::format("in '{}': {}", let.name, failure.error.message);
    throw;
  }
}

Expr Parser::parse_load(const Token& name, const Scope::Input& input) {
  std::vector<Expr> indices;
  const uint32_t begin = token_.span.begin;
  int brackets = 0;
  for (; at("["); ++brackets) {
    const Span opener = token_.span;
    advance();
    const std::vector<Expr> more = parse_list("]", opener);
    indices.insert(indices.end(), more.begin(), more.end());
  }
  if (brackets > 1 || indices.size() != input.dims.size()) {
    fail_indices(name, input, indices, indices.empty() ? name.span : since(begin));
  }
  NodeBuilder::check(Op::Load, indices);
  return nodes_.counted(
      load(std::string(name.text), input.element, std::move(indices), since(name.span.begin)));
}

Expr Parser::parse_unknown(const Token& name) {
  const Span opener = token_.span;
  if (accept("(")) {
    parse_list(")", opener);
  } else if (accept("[")) {
    parse_list("]", opener);
  }
  return nodes_.counted(variable(std::string(name.text), Type::Int, name.span));
}

// Too few or too many, or right but in brackets of their own, as in C: t[h][kv_idx].
void Parser::fail_indices(const Token& name, const Scope::Input& input,
                          const std::vector<Expr>& indices, Span span) const {
  const size_t rank = input.dims.size();
  const std::string needed =
      rank == 0
          ? "is a scalar"
          : fmt::format("needs {} [{}]", plural(rank, "index", "indices"), joined(input.dims));
  if (indices.size() != rank || rank == 0) {
    fail(span, fmt::format("input '{}' {}, got {}", name.text, needed,
                           indices.empty() ? "none" : plural(indices.size(), "index", "indices")));
  }
  std::vector<std::string> words;
  for (const Expr& index : indices) {
    const auto [begin, end] = index.span();
    words.push_back(text::one_line(text_.substr(begin, end - begin)));
  }
  fail(span, fmt::format("input '{}' {} in one pair of brackets", name.text, needed),
       text::shortened(fmt::format("write {}[{}]", name.text, joined(words)), 200));
}

// Of an input that is written with parentheses; the token is the first of them.
std::string Parser::help_on_called(const Token& name) const {
  const auto input = scope_.inputs.find(name.text);
  if (input == scope_.inputs.end()) return "";
  if (input->second.dims.empty()) return fmt::format("write {}", name.text);
  const std::string_view rest = text_.substr(token_.span.end);
  int open = 1;
  const auto* const end = std::ranges::find_if(rest, [&](char c) {
    open += c == '(' ? 1 : c == ')' ? -1 : 0;
    return open == 0;
  });
  const std::string_view indices = rest.substr(0, static_cast<size_t>(end - rest.begin()));
  return text::shortened(fmt::format("write {}[{}]", name.text, text::one_line(indices)), 200);
}

Expr Parser::parse_call(const Token& name) {
  const std::optional<int> arity = arity_of(name.text);
  if (!arity) {
    if (scope_.variables.contains(name.text) || scope_.constants.contains(name.text) ||
        scope_.inputs.contains(name.text) ||
        std::ranges::find(lets_, name.text, &Scope::Let::name) != lets_.end()) {
      fail(name.span, fmt::format("'{}' is not a function", name.text), help_on_called(name));
    }
    if (scope_.unknown.contains(std::string(name.text) + "(")) return parse_unknown(name);
    fail_unknown(name, true);
  }
  const bool reduces = name.text == "rowmax" || name.text == "rowsum";
  if (reduces && !scope_.reductions) {
    fail(name.span, fmt::format("'{}' is not allowed here", name.text),
         "only the rows of 'normalize' reduce over pairs");
  }
  if (reduces && !reduction_.empty()) {
    fail(name.span, fmt::format("'{}' inside '{}'", name.text, reduction_),
         "name the inner one as a row of its own, above");
  }
  if (reduces) {
    reduction_ = name.text;
  }
  const Span opener = token_.span;
  advance();
  std::vector<Expr> arguments = parse_list(")", opener);
  if (reduces) {
    reduction_.clear();
  }
  const bool any_number = name.text == "min" || name.text == "max";
  const auto wanted = static_cast<size_t>(*arity);
  if (any_number ? arguments.size() < wanted : arguments.size() != wanted) {
    fail(since(name.span.begin),
         fmt::format("{} takes {}{}, got {}", name.text, any_number ? "at least " : "",
                     plural(wanted, "argument", "arguments"), arguments.size()),
         name.text == "max" && scope_.reductions ? "rowmax is over the pairs of a row" : "");
  }
  return nodes_.call(name.text, std::move(arguments), since(name.span.begin));
}

}  // namespace attngen::expr
