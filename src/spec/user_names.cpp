#include "spec/user_names.h"

#include <fmt/format.h>

#include <utility>

#include "spec/macros.h"
#include "spec/names.h"

namespace attngen::spec {

void UserNames::reserve(std::string name, std::string what) {
  names_.emplace(std::move(name), std::move(what));
}

bool UserNames::add(const Node& entry, const std::string& pointer, std::string_view what) {
  if (auto reason = why_reserved(entry.key, pattern_)) {
    return refuse(entry, pointer, what, *reason);
  }
  const auto [known, is_new] = names_.emplace(entry.key, what);
  if (!is_new) {
    return refuse(entry, pointer, what, fmt::format("{} has that name already", known->second));
  }
  return true;
}

bool UserNames::add_symbol(const Node& entry, const std::string& pointer, std::string_view what) {
  if (const auto word = why_keyword(entry.key)) return refuse(entry, pointer, what, *word);
  if (!add(entry, pointer, what)) return false;
  const auto reason = why_macro(entry.key);
  return !reason || refuse(entry, pointer, what, *reason);
}

bool UserNames::refuse(const Node& entry, const std::string& pointer, std::string_view what,
                       std::string reason) {
  report_.at_key(entry, child(pointer, entry.key),
                 fmt::format("'{}' cannot name {}", entry.key, what), std::move(reason));
  return false;
}

}  // namespace attngen::spec
