#include "spec/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "spec/hints.h"
#include "spec/names.h"

namespace attngen::spec {
namespace {

using Kind = Type::Kind;

constexpr const char* kIdentifierWords = "a C identifier that begins with a letter";

// Whether UTF-8 text has a control character, a line end (U+0085, U+2028) or one that changes the
// direction of writing (U+202E), by which a comment could pass for code or code for a comment.
bool has_control(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = [&](size_t ahead) {
      return i + ahead < text.size() ? static_cast<unsigned char>(text[i + ahead]) : 0U;
    };
    const unsigned first = byte(0);
    const unsigned code = first == 0xE2 ? (byte(1) & 0x3FU) << 6U | (byte(2) & 0x3FU) : 0;
    const bool format = (code >= 0x0E && code <= 0x0F) || (code >= 0x28 && code <= 0x2E) ||
                        (code >= 0x66 && code <= 0x69);
    const bool c1 = first == 0xC2 && byte(1) < 0xA0;
    const bool arabic_mark = first == 0xD8 && byte(1) == 0x9C;
    if (first < 0x20 || first == 0x7F || format || c1 || arabic_mark) return true;
  }
  return false;
}

// Whether a number that is spelled so is 0, and not only too small to be told from it.
bool spells_zero(std::string_view text) {
  return text.substr(0, text.find_first_of("eE")).find_first_of("123456789") ==
         std::string_view::npos;
}

class Checker {
 public:
  Checker(const Node& root, Pattern pattern, Report& report)
      : root_(root), pattern_(pattern), report_(report) {}

  void check(Node& node, const Type& type, const std::string& pointer) {
    report_.remember(node, pointer);
    switch (type.kind) {
      case Kind::Whole:
      case Kind::Number:
        return check_number(node, type, pointer);
      case Kind::Bool:
        return check_that(bool_of(node).has_value(), node, type, pointer);
      case Kind::False:
        return check_that(bool_of(node) == false, node, type, pointer);
      case Kind::Word:
        return check_word(node, type, pointer);
      case Kind::Name:
        return check_name(node, type, pointer);
      case Kind::Line:
        return check_line(node, type, pointer);
      case Kind::Expression:
        check_that(node.kind == Node::Kind::Scalar, node, type, pointer);
        if (node.valid) report_.remember_text(node, pointer);
        return;
      case Kind::List:
        return check_list(node, type, pointer);
      case Kind::Object:
        return check_object(node, type, pointer);
      case Kind::Dictionary:
        return check_dictionary(node, type, pointer);
      case Kind::Either:
        return check_either(node, type, pointer);
    }
  }

 private:
  void refuse(Node& node, const std::string& pointer, std::string message, std::string help = {}) {
    node.valid = false;
    report_.at_value(node, pointer, std::move(message), std::move(help));
  }

  void refuse_kind(Node& node, const Type& type, const std::string& pointer) {
    std::string help = report_.describes() ? hint_on_value(node, pointer, type, root_) : "";
    if (help.empty() && node.kind == Node::Kind::Scalar) {
      help = did_you_mean(node.text, words_of(type));
    }
    refuse(node, pointer,
           fmt::format("{} must be {}, got {}", dotted(pointer), describe(type), got(node)),
           std::move(help));
  }

  void check_that(bool fits, Node& node, const Type& type, const std::string& pointer) {
    if (!fits) refuse_kind(node, type, pointer);
  }

  void check_number(Node& node, const Type& type, const std::string& pointer) {
    const std::optional<double> value = number_of(node);
    const bool is_whole = type.kind == Kind::Whole;
    if (!value || (is_whole && std::isfinite(*value) && std::floor(*value) != *value)) {
      return refuse_kind(node, type, pointer);
    }
    if (*value < type.minimum || *value > type.maximum) {
      const bool single = type.minimum == type.maximum;
      const std::string range = !is_whole && type.maximum == Type{}.maximum ? "finite"
                                : single ? fmt::format("{}", type.minimum)
                                         : fmt::format("from {} to {}", type.minimum, type.maximum);
      return refuse(node, pointer,
                    fmt::format("{} must be {}, got {}", dotted(pointer), range, got(node)));
    }
    if (std::fabs(*value) < type.least && !spells_zero(node.text)) {
      return refuse(node, pointer,
                    fmt::format("{} must be 0 or at least {} in size, got {}", dotted(pointer),
                                type.least, got(node)));
    }
    if (is_whole && std::fmod(*value, type.multiple) != 0) {
      const double below = std::floor(*value / type.multiple) * type.multiple;
      return refuse(node, pointer,
                    fmt::format("{} must be a multiple of {}, got {}", dotted(pointer),
                                type.multiple, got(node)),
                    fmt::format("{} is the next one", below + type.multiple));
    }
  }

  void check_word(Node& node, const Type& type, const std::string& pointer) {
    const bool text = node.kind == Node::Kind::Scalar && !number_of(node) && !bool_of(node);
    for (const std::string& word : type.words) {
      if (text && node.text == word) return;
    }
    refuse_kind(node, type, pointer);
  }

  void check_name(Node& node, const Type& type, const std::string& pointer) {
    if (node.kind != Node::Kind::Scalar || number_of(node)) {
      return refuse_kind(node, type, pointer);
    }
    if (auto reason = why_no_identifier(node.text)) {
      refuse(node, pointer,
             fmt::format("{} must be {}, got {}", dotted(pointer), kIdentifierWords, got(node)),
             *reason);
    }
  }

  void check_line(Node& node, const Type& type, const std::string& pointer) {
    if (node.kind != Node::Kind::Scalar || number_of(node) || bool_of(node)) {
      return refuse_kind(node, type, pointer);
    }
    if (has_control(node.text)) {
      refuse(node, pointer,
             fmt::format("{} must be one line without control characters", dotted(pointer)));
    }
  }

  void check_size(Node& node, const Type& type, const std::string& pointer) {
    const auto size = static_cast<double>(node.children.size());
    if (size < type.minimum) {
      refuse(node, pointer, fmt::format("{} must not be empty", dotted(pointer)));
    } else if (size > type.maximum) {
      refuse(node, pointer,
             fmt::format("{} has {} entries; at most {} are possible", dotted(pointer), size,
                         type.maximum));
    }
  }

  void check_list(Node& node, const Type& type, const std::string& pointer) {
    check_that(node.kind == Node::Kind::List, node, type, pointer);
    if (node.valid) check_size(node, type, pointer);
    if (!node.valid) return;
    std::set<std::string> seen;
    for (size_t i = 0; i < node.children.size(); ++i) {
      Node& element = node.children[i];
      const std::string place = child(pointer, std::to_string(i));
      check(element, type.parts[0], place);
      if (!element.valid) {
        node.valid = false;  // a list is read as a whole
      } else if (type.unique && !seen.insert(element.text).second) {
        refuse(element, place, fmt::format("'{}' is in {} twice", element.text, dotted(pointer)));
      }
    }
  }

  void check_dictionary(Node& node, const Type& type, const std::string& pointer) {
    check_that(node.kind == Node::Kind::Map, node, type, pointer);
    if (node.valid) check_size(node, type, pointer);
    if (!node.valid) return;
    for (Node& entry : node.children) {
      if (auto reason = why_no_identifier(entry.key)) {
        entry.valid = false;
        report_.at_key(
            entry, place_of(entry, pointer),
            fmt::format("'{}' must be {}", text::shortened(entry.key, kMaxName), kIdentifierWords),
            *reason);
        continue;
      }
      check(entry, type.parts[0], child(pointer, entry.key));
    }
  }

  void check_object(Node& node, const Type& type, const std::string& pointer) {
    check_that(node.kind == Node::Kind::Map, node, type, pointer);
    if (!node.valid) return;
    std::vector<std::string> absent;   // what an unknown key may mean
    std::vector<std::string> missing;  // the required ones of them
    for (const Key& key : type.keys) {
      if ((key.only && key.only != pattern_) || has_key(node, key.name)) continue;
      absent.push_back(key.name);
      if (key.required) missing.push_back(fmt::format("'{}'", key.name));
    }
    for (Node& entry : node.children) check_entry(entry, type, absent, pointer);
    if (!missing.empty()) {
      report_.at_key(node, pointer,
                     fmt::format("{} needs {}", dotted(pointer), text::listed(missing, "and")),
                     report_.describes() ? hint_on_missing(node, type) : "");
    }
  }

  // A key may be of any length.
  static std::string place_of(const Node& entry, const std::string& pointer) {
    return entry.key.size() > kMaxName ? pointer : child(pointer, entry.key);
  }

  static bool has_key(const Node& node, const std::string& name) {
    return std::any_of(node.children.begin(), node.children.end(),
                       [&](const Node& entry) { return entry.key == name; });
  }

  void check_entry(Node& entry, const Type& type, const std::vector<std::string>& absent,
                   const std::string& pointer) {
    const Key* foreign = nullptr;
    for (const Key& key : type.keys) {
      const bool ours = !key.only || key.only == pattern_;
      if (key.name != entry.key) continue;
      if (ours) return check(entry, key.type, child(pointer, key.name));
      foreign = &key;
    }
    entry.valid = false;
    const bool of_both = !pointer.empty() && pointer != "/heads";
    const bool of_pattern = of_both || pattern_ == Pattern::Parallel;
    const std::string place = place_of(entry, pointer);
    std::string help = of_pattern ? hint_on_key(entry, pointer) : "";
    if (foreign != nullptr) {
      report_.at_key(entry, place,
                     fmt::format("'{}' belongs to pattern {}", entry.key, name_of(*foreign->only)),
                     std::move(help));
      return;
    }
    std::string shown = text::shortened(entry.key, kMaxName);
    if (help.empty() && entry.kind == Node::Kind::Null) help = hint_on_colon(entry.key);
    if (help.empty()) help = did_you_mean(entry.key, absent);
    report_.at_key(entry, place,
                   pointer.empty() ? fmt::format("unknown key '{}'", shown)
                                   : fmt::format("unknown key '{}' in {}", shown, dotted(pointer)),
                   std::move(help));
  }

  static std::vector<std::string> words_of(const Type& type) {
    std::vector<std::string> words = type.words;
    for (const Type& part : type.parts) {
      if (type.kind == Kind::Either) {
        words.insert(words.end(), part.words.begin(), part.words.end());
      }
    }
    return words;
  }

  std::string did_you_mean(const std::string& word, const std::vector<std::string>& words) const {
    return word.size() > kMaxName || !report_.describes() ? "" : text::did_you_mean(word, words);
  }

  // Whether this part of an Either is meant.
  static bool is_meant(const Node& node, const Type& part) {
    switch (part.kind) {
      case Kind::Object:
        return node.kind == Node::Kind::Map;
      case Kind::List:
        return node.kind == Node::Kind::List;
      case Kind::Whole:
      case Kind::Number:
        return number_of(node).has_value();
      case Kind::False:
        return bool_of(node) == false;
      case Kind::Word:
        return std::find(part.words.begin(), part.words.end(), node.text) != part.words.end();
      default:
        return false;
    }
  }

  void check_either(Node& node, const Type& type, const std::string& pointer) {
    for (const Type& part : type.parts) {
      if (is_meant(node, part)) return check(node, part, pointer);
    }
    Type ours = type;
    std::erase_if(ours.parts, [&](const Type& part) { return part.only && part.only != pattern_; });
    refuse_kind(node, ours, pointer);
  }

  const Node& root_;
  Pattern pattern_;
  Report& report_;
};

}  // namespace

void check(Node& node, const Type& type, const std::string& pointer, Pattern pattern,
           Report& report) {
  Checker(node, pattern, report).check(node, type, pointer);
}

}  // namespace attngen::spec
