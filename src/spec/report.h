// Where the steps of the reader report, and remember the places of values.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "expr/parse.h"
#include "spec/document.h"
#include "spec/spec.h"

namespace attngen::spec {

class Report {
 public:
  Report(text::Diagnostics& diagnostics, Locations& locations)
      : diagnostics_(diagnostics), locations_(locations) {}

  // An error at a value, or at the key of an entry.
  void at_value(const Node& node, std::string_view pointer, std::string message,
                std::string help = {});
  void at_key(const Node& node, std::string_view pointer, std::string message,
              std::string help = {});
  // A warning at the key of an entry.
  void warn(const Node& node, std::string_view pointer, std::string message, std::string help = {});
  // An error, or a warning, of an expression's text.
  void in_text(const Node& node, std::string_view pointer, const expr::Error& error,
               text::Severity severity = text::Severity::Error);

  void remember(const Node& node, std::string_view pointer);
  void remember_text(const Node& node, std::string_view pointer);
  // Whether help need be found for one more error.
  bool describes() const { return diagnostics_.keeps_errors(); }

 private:
  void add(size_t begin, size_t end, std::string_view pointer, std::string message,
           std::string help);

  text::Diagnostics& diagnostics_;
  Locations& locations_;
};

// "/heads/q" with a key appended; "heads.q", "workload[0].batch" as messages spell a pointer.
std::string child(std::string_view pointer, std::string_view key);
std::string dotted(std::string_view pointer);

}  // namespace attngen::spec
