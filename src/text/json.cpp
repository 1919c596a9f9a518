#include "text/json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "text/tree_builder.h"

namespace attngen::text {
namespace {

// Of nlohmann's event interface. Its events carry no positions, but they come in the order of the
// text, so a cursor that walks along finds each token.
class JsonEvents final : public nlohmann::json_sax<nlohmann::json> {
 public:
  JsonEvents(Diagnostics& diagnostics, size_t start)
      : diagnostics_(diagnostics),
        text_(diagnostics.source().content),
        start_(start),
        cursor_(start),
        tree_(diagnostics) {}

  std::optional<Node> take_root() { return tree_.take_root(); }

  bool null() override {
    Node node = token();
    node.kind = Node::Kind::Null;
    tree_.value(std::move(node));
    return true;
  }
  bool boolean(bool) override { return plain(); }
  bool number_integer(number_integer_t) override { return plain(); }
  bool number_unsigned(number_unsigned_t) override { return plain(); }
  bool number_float(number_float_t, const string_t&) override { return plain(); }

  bool string(string_t& value) override {
    Node node = token();
    node.text = value;
    node.quoted = true;
    tree_.value(std::move(node));
    return true;
  }

  bool key(string_t& name) override {
    const Node node = token();
    tree_.key(name, node.begin, node.end);
    return true;
  }

  bool start_object(size_t) override { return tree_.open(Node::Kind::Map, bracket()); }
  bool start_array(size_t) override { return tree_.open(Node::Kind::List, bracket()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool binary(binary_t&) override { return false; }  // no such thing in a text

  bool parse_error(size_t position, const std::string&,
                   const nlohmann::detail::exception& error) override {
    std::string_view message = error.what();
    // "[json.exception.parse_error.101] parse error at line 1, column 5: syntax error ..."
    for (const char* end_of_prefix : {"] ", ": "}) {
      const size_t at = message.find(end_of_prefix);
      const bool found = at != std::string_view::npos &&
                         (message.front() == '[' || message.starts_with("parse error at"));
      if (found) message.remove_prefix(at + 2);
    }
    constexpr int kOutOfRange = 406;  // a number, behind which it stands
    if (error.id == kOutOfRange) {
      const Node number = token();
      diagnostics_.add(diagnostic_at(diagnostics_.source(), number.begin, number.end,
                                     shortened(message, 200), ""));
      return false;
    }
    const size_t at = start_ + (position > 0 ? position - 1 : 0);
    diagnostics_.add(diagnostic_at(diagnostics_.source(), at, at + 1, shortened(message, 200),
                                   follows_last_comma(at) ? "remove the comma before it" : ""));
    return false;
  }

 private:
  // Whether a bracket closes here, and a comma stands before it.
  bool follows_last_comma(size_t at) const {
    const std::string_view closing = text_.substr(std::min(at, text_.size()), 1);
    const size_t before = text_.substr(0, at).find_last_not_of(" \t\r\n");
    return (closing == "}" || closing == "]") && before != std::string_view::npos &&
           text_[before] == ',';
  }

  void skip_to_token() {
    cursor_ = std::min(text_.find_first_not_of(" \t\r\n,:", cursor_), text_.size());
  }

  size_t bracket() {
    skip_to_token();
    return cursor_++;
  }

  bool close() {
    tree_.close(bracket() + 1);
    return true;
  }

  // The string, number or word at the cursor, which moves behind it.
  Node token() {
    skip_to_token();
    Node node;
    node.kind = Node::Kind::Scalar;
    node.begin = cursor_;
    if (text_.substr(cursor_, 1) == "\"") {
      for (++cursor_; cursor_ < text_.size() && text_[cursor_] != '"'; ++cursor_) {
        if (text_[cursor_] == '\\') ++cursor_;
      }
      cursor_ = std::min(cursor_ + 1, text_.size());
    } else {
      cursor_ = std::min(text_.find_first_of(" \t\r\n,]}", cursor_), text_.size());
    }
    node.end = cursor_;
    return node;
  }

  bool plain() {
    Node node = token();
    node.text = text_.substr(node.begin, node.end - node.begin);
    tree_.value(std::move(node));
    return true;
  }

  Diagnostics& diagnostics_;
  std::string_view text_;
  size_t start_;
  size_t cursor_;
  TreeBuilder tree_;
};

}  // namespace

std::optional<Node> read_json(Diagnostics& diagnostics, size_t start) {
  JsonEvents events(diagnostics, start);
  const std::string_view text = std::string_view(diagnostics.source().content).substr(start);
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &events)) return std::nullopt;
  return events.take_root();
}

}  // namespace attngen::text
