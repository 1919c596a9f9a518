#include "spec/document.h"

#include <string>
#include <string_view>
#include <utility>

#include "text/bytes.h"
#include "text/json.h"

namespace attngen::spec {
namespace {

bool is_json(const text::Source& source, size_t start) {
  const std::string_view name = source.name;
  if (name.ends_with(".json")) return true;
  if (name.ends_with(".yaml") || name.ends_with(".yml")) return false;
  const size_t first = source.content.find_first_not_of(" \t\r\n", start);
  return first != std::string::npos && source.content[first] == '{';
}

}  // namespace

void report_empty(text::Diagnostics& diagnostics) {
  text::Diagnostic diagnostic;
  diagnostic.message = "the spec is empty";
  diagnostics.add(std::move(diagnostic));
}

std::optional<Node> read_document(text::Diagnostics& diagnostics) {
  const std::optional<size_t> start = text::check_bytes(diagnostics, "a spec");
  if (!start) return std::nullopt;
  if (diagnostics.source().content.find_first_not_of(" \t\r\n", *start) == std::string::npos) {
    report_empty(diagnostics);
    return std::nullopt;
  }
  return is_json(diagnostics.source(), *start) ? text::read_json(diagnostics, *start)
                                               : read_yaml(diagnostics, *start);
}

}  // namespace attngen::spec
