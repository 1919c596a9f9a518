#include "emit/condition.h"

#include <array>
#include <charconv>
#include <utility>

#include "text/characters.h"

namespace attngen::emit {
namespace {

// Binary operators, loosest first; within a level they associate to the left.
constexpr std::array<std::array<std::string_view, 4>, 6> kLevels{{
    {"||"},
    {"&&"},
    {"==", "!="},
    {"<=", ">=", "<", ">"},
    {"+", "-"},
    {"*", "/", "%"},
}};

// Precedence climbing over kLevels. The first problem is kept in `problem_`; parsing goes on with
// 0.
class Evaluator {
 public:
  Evaluator(std::string_view text, const Values& values) : text_(text), values_(values) {}

  std::variant<int64_t, Foreign, ConditionError> run() {
    const int64_t value = binary(0);
    skip_spaces();
    if (at_ < text_.size()) fail("cannot read '" + std::string(text_.substr(at_)) + "'");
    // A foreign name wins: what stands beside it may be beyond this evaluator as well.
    if (foreign_) return Foreign{};
    if (!problem_.empty()) return ConditionError{problem_};
    return value;
  }

 private:
  void fail(std::string message) {
    if (problem_.empty()) problem_ = std::move(message);
    at_ = text_.size();
  }
  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  bool accept(std::string_view token) {
    skip_spaces();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  std::string_view word() {
    skip_spaces();
    const size_t begin = at_;
    while (at_ < text_.size() && text::is_word(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  int64_t binary(size_t level) {
    if (level == kLevels.size()) return unary();
    int64_t left = binary(level + 1);
    for (;;) {
      std::string_view op;
      for (const std::string_view candidate : kLevels[level]) {
        if (!candidate.empty() && op.empty() && accept(candidate)) op = candidate;
      }
      if (op.empty()) return left;
      left = apply(op, left, binary(level + 1));
    }
  }

  int64_t apply(std::string_view op, int64_t a, int64_t b) {
    if (op == "||") return a != 0 || b != 0;
    if (op == "&&") return a != 0 && b != 0;
    if (op == "==") return a == b;
    if (op == "!=") return a != b;
    if (op == "<=") return a <= b;
    if (op == ">=") return a >= b;
    if (op == "<") return a < b;
    if (op == ">") return a > b;
    if (op == "+") return a + b;
    if (op == "-") return a - b;
    if (op == "*") return a * b;
    if (b == 0) {
      if (!foreign_) fail("division by zero");
      return 0;
    }
    return op == "/" ? a / b : a % b;
  }

  int64_t unary() {
    if (accept("!")) return unary() == 0;
    if (accept("-")) return -unary();
    if (accept("+")) return unary();
    if (accept("(")) {
      const int64_t value = binary(0);
      if (!accept(")")) fail("missing ')'");
      return value;
    }
    return primary();
  }

  int64_t primary() {
    const std::string_view name = word();
    if (name.empty()) {
      fail(at_ == text_.size() ? "missing operand"
                               : "cannot read '" + std::string(text_.substr(at_)) + "'");
      return 0;
    }
    if (text::is_digit(name.front())) return integer(name, "number");
    if (name == "defined") return defined();
    if (!name.starts_with("ATTN_")) {
      foreign_ = true;
      return 0;
    }
    const auto found = values_.find(name);
    if (found == values_.end()) {
      fail(std::string(name) + " has no value");
      return 0;
    }
    return integer(found->second, std::string(name) + " is");
  }

  int64_t defined() {
    const bool parenthesised = accept("(");
    const std::string_view name = word();
    if (parenthesised && !accept(")")) fail("missing ')'");
    if (!name.starts_with("ATTN_")) foreign_ = true;
    return values_.contains(name);
  }

  int64_t integer(std::string_view digits, const std::string& what) {
    int64_t value = 0;
    const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (code != std::errc() || end != digits.data() + digits.size()) {
      fail(what + " '" + std::string(digits) + "', not an integer");
    }
    return value;
  }

  std::string_view text_;
  const Values& values_;
  size_t at_ = 0;
  bool foreign_ = false;
  std::string problem_;
};

}  // namespace

std::variant<int64_t, Foreign, ConditionError> evaluate_condition(std::string_view text,
                                                                  const Values& values) {
  return Evaluator(text, values).run();
}

}  // namespace attngen::emit
