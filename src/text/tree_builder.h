// Builds a Node tree from the events of either syntax.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "text/diagnostics.h"
#include "text/tree.h"

namespace attngen::text {

class TreeBuilder {
 public:
  explicit TreeBuilder(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  // A List or Map begins; false, with an error, if it is nested too deep.
  [[nodiscard]] bool open(Node::Kind kind, size_t begin);
  void close(size_t end);
  void key(std::string name, size_t begin, size_t end);
  void value(Node node);

  // Whether the innermost open collection is a Map that waits for a key.
  bool wants_key() const;
  // The end of the latest key or value.
  size_t last_end() const { return last_end_; }
  size_t open_begin() const { return open_.back().node.begin; }
  std::optional<Node> take_root() { return std::move(root_); }

 private:
  struct Open {
    Node node;
    bool has_key = false;  // the value that comes next has the key of `next`
    Node next;
    std::map<std::string, size_t, std::less<>> seen;  // key, its byte
  };
  void report_duplicate(std::string_view name, size_t begin, size_t end, size_t first);

  Diagnostics& diagnostics_;
  std::vector<Open> open_;
  std::optional<Node> root_;
  size_t last_end_ = 0;
};

}  // namespace attngen::text
