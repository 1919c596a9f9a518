#include "expr/lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "expr/node_builder.h"
#include "text/characters.h"
#include "text/lookalikes.h"

namespace attngen::expr {

using text::is_digit;
using text::is_space;
using text::is_word;

namespace {

bool begins_name(char c) { return text::is_letter(c) || c == '_'; }

// Longer ones first.
constexpr std::array<std::string_view, 17> kSymbols = {
    "//", "<=", ">=", "==", "!=", "+", "-", "*", "/", "%", "<", ">", "(", ")", "[", "]", ",",
};

// What other languages write, and what is right here.
struct Foreign {
  std::string_view text;
  std::string_view help;
};
constexpr std::array kForeign = {
    Foreign{"**", "write pow(x, y)"},
    Foreign{"&&", "write 'and'"},
    Foreign{"||", "write 'or'"},
    Foreign{"<>", "write '!='"},
    Foreign{">>", "write i // 8 for i >> 3"},
    Foreign{"<<", "write i * 8 for i << 3"},
    Foreign{"=>", "write '>='"},
    Foreign{"=<", "write '<='"},
    Foreign{"=", "write '==' to compare; arguments have no names, and nothing is assigned"},
    Foreign{"!", "write 'not'"},
    Foreign{"^", "write pow(x, y); between conditions, '!='"},
    Foreign{"&", "write 'and'; of an integer, i % 8 for i & 7"},
    Foreign{"|", "write 'or'"},
    Foreign{"~", "write 'not'"},
    Foreign{"?", "write 'a if condition else b'"},
    Foreign{":", "write 'a if condition else b'"},
};

// Beyond ASCII: what a word processor makes of an operator.
constexpr std::array kTypographic = {
    Foreign{"\xE2\x89\xA4", "write '<='"}, Foreign{"\xE2\x89\xA5", "write '>='"},
    Foreign{"\xE2\x89\xA0", "write '!='"}, Foreign{"\xE2\x88\x92", "write '-'"},
    Foreign{"\xE2\x80\x93", "write '-'"},  Foreign{"\xC3\x97", "write '*'"},
    Foreign{"\xC2\xB7", "write '*'"},      Foreign{"\xE2\x88\x9E", "write 'inf'"},
};

// Of a character beyond ASCII that the text begins with.
std::string help_on_character(std::string_view text) {
  for (const Foreign& foreign : kTypographic) {
    if (text.starts_with(foreign.text)) return std::string(foreign.help);
  }
  const char* plain = text::plain_character(text);
  if (plain == nullptr) return "";
  const std::string_view word = plain;
  return word.empty() ? "delete it" : fmt::format("write a plain {}", word == " " ? "space" : word);
}

// Of torch.exp(x), whose dot stands before the text.
std::string help_on_dot(std::string_view text) {
  const auto* const end = std::ranges::find_if_not(text, is_word);
  const std::string_view name = text.substr(0, static_cast<size_t>(end - text.begin()));
  const bool known = arity_of(name) || name == "inf";
  return known ? fmt::format("names have no dots: write {}{}", name, name == "inf" ? "" : "(...)")
               : "names have no dots";
}

}  // namespace

void Lexer::fail(size_t length, std::string message, std::string help) const {
  const auto begin = static_cast<uint32_t>(at_);
  throw Failure{
      {{begin, begin + static_cast<uint32_t>(length)}, std::move(message), std::move(help)}};
}

Token Lexer::take(Token::Kind kind, size_t length) {
  const auto begin = static_cast<uint32_t>(at_);
  at_ += length;
  return {kind, text_.substr(begin, length), {begin, static_cast<uint32_t>(at_)}};
}

Token Lexer::next() {
  while (at_ < text_.size() && is_space(text_[at_])) {
    ++at_;
  }
  if (at_ == text_.size()) {
    return take(Token::Kind::End, 0);
  }
  const char c = text_[at_];
  const bool point_digit = c == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1]);
  if (is_digit(c) || point_digit) {
    return take_number();
  }
  if (begins_name(c)) {
    const auto end = std::find_if_not(text_.begin() + at_, text_.end(), is_word);
    return take(Token::Kind::Name, static_cast<size_t>(end - text_.begin()) - at_);
  }
  return take_symbol();
}

Token Lexer::take_number() {
  size_t end = at_;
  const auto skip_digits = [&] {
    const size_t begin = end;
    while (end < text_.size() && is_digit(text_[end])) {
      ++end;
    }
    return end > begin;
  };
  skip_digits();
  if (end < text_.size() && text_[end] == '.') {
    ++end;
    skip_digits();
  }
  bool well_formed = true;
  if (end < text_.size() && (text_[end] == 'e' || text_[end] == 'E')) {
    ++end;
    if (end < text_.size() && (text_[end] == '+' || text_[end] == '-')) {
      ++end;
    }
    well_formed = skip_digits();
  }
  while (end < text_.size() && (is_word(text_[end]) || text_[end] == '.')) {
    well_formed = false;
    ++end;
  }
  if (!well_formed) {
    fail(end - at_, "malformed number");
  }
  return take(Token::Kind::Number, end - at_);
}

Token Lexer::take_symbol() {
  const std::string_view rest = text_.substr(at_);
  const auto is_next = [&](std::string_view s) { return !s.empty() && rest.starts_with(s); };
  for (const Foreign& foreign : kForeign) {
    const bool longer_symbol = is_next("==") || is_next("!=");
    if (is_next(foreign.text) && !longer_symbol) {
      const bool is_slice = foreign.text == ":" && brackets_ > 0;
      fail(foreign.text.size(), fmt::format("unexpected '{}'", foreign.text),
           is_slice ? "an index is an expression, such as kv_idx: there are no slices"
                    : std::string(foreign.help));
    }
  }
  for (const std::string_view symbol : kSymbols) {
    if (is_next(symbol)) {
      brackets_ += symbol == "[" ? 1 : symbol == "]" ? -1 : 0;
      return take(Token::Kind::Symbol, symbol.size());
    }
  }
  if (rest.front() == '.' && at_ > 0 && is_word(text_[at_ - 1])) {
    fail(1, "unexpected '.'", help_on_dot(rest.substr(1)));
  }
  const auto byte = static_cast<unsigned char>(rest.front());
  const size_t length = text::character_length(rest);
  if (length > 1) {
    fail(length, "unexpected character " + text::character_name(rest), help_on_character(rest));
  }
  if (byte >= 0x80) {
    fail(1, fmt::format("unexpected byte 0x{:02x}", byte));
  }
  if (byte < 0x20 || byte == 0x7f) {
    fail(1, fmt::format("unexpected control character 0x{:02x}", byte));
  }
  fail(1, fmt::format("unexpected '{}'", rest.front()));
}

}  // namespace attngen::expr
