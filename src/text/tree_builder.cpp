#include "text/tree_builder.h"

#include <fmt/format.h>

#include <utility>

namespace attngen::text {

bool TreeBuilder::open(Node::Kind kind, size_t begin) {
  if (open_.size() >= kMaxDepth) {
    diagnostics_.add(diagnostic_at(diagnostics_.source(), begin, begin + 1,
                                   fmt::format("nested more than {} deep", kMaxDepth)));
    return false;
  }
  Open open;
  open.node.kind = kind;
  open.node.begin = begin;
  open_.push_back(std::move(open));
  last_end_ = begin + 1;
  return true;
}

void TreeBuilder::close(size_t end) {
  Node node = std::move(open_.back().node);
  open_.pop_back();
  node.end = end;
  value(std::move(node));
}

void TreeBuilder::key(std::string name, size_t begin, size_t end) {
  Open& map = open_.back();
  const auto [first, is_new] = map.seen.emplace(name, begin);
  if (!is_new) report_duplicate(name, begin, end, first->second);
  map.has_key = true;
  map.next = Node{};
  map.next.valid = is_new;
  map.next.key = std::move(name);
  map.next.key_begin = begin;
  map.next.key_end = end;
  last_end_ = end;
}

void TreeBuilder::report_duplicate(std::string_view name, size_t begin, size_t end, size_t first) {
  Diagnostic diagnostic;
  if (diagnostics_.keeps_errors()) {
    const Source& source = diagnostics_.source();
    diagnostic =
        diagnostic_at(source, begin, end, fmt::format("duplicate key '{}'", shortened(name, 64)),
                      fmt::format("first given on line {}", source.position(first).line));
  }
  diagnostics_.add(std::move(diagnostic));
}

void TreeBuilder::value(Node node) {
  last_end_ = node.end;
  if (open_.empty()) {
    root_ = std::move(node);
    return;
  }
  Open& parent = open_.back();
  if (parent.node.kind == Node::Kind::Map) {
    parent.has_key = false;
    if (!parent.next.valid) return;  // a duplicate
    node.key = std::move(parent.next.key);
    node.key_begin = parent.next.key_begin;
    node.key_end = parent.next.key_end;
  }
  parent.node.children.push_back(std::move(node));
}

bool TreeBuilder::wants_key() const {
  return !open_.empty() && open_.back().node.kind == Node::Kind::Map && !open_.back().has_key;
}

}  // namespace attngen::text
