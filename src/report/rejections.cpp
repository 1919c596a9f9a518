#include "report/rejections.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "text/characters.h"

namespace attngen::report {
namespace {

using schedule::Rejection;

std::string without_numbers(std::string_view reason) {
  std::string kind;
  for (const char c : reason) {
    if (!text::is_digit(c)) kind += c;
  }
  return kind;
}

// The first number of a reason: what the schedule needs.
long need_of(const std::string& reason) {
  const size_t at = reason.find_first_of("0123456789");
  return at == std::string::npos ? 0 : std::strtol(reason.c_str() + at, nullptr, 10);
}

}  // namespace

std::vector<RejectionGroup> grouped(const std::vector<Rejection>& rejected) {
  std::vector<RejectionGroup> groups;
  for (const Rejection& rejection : rejected) {
    const std::string kind = without_numbers(rejection.reason);
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const RejectionGroup& g) { return g.kind == kind; });
    if (group == groups.end()) group = groups.insert(groups.end(), {kind, {}, &rejection});
    group->members.push_back(&rejection);
    if (need_of(rejection.reason) < need_of(group->nearest->reason)) group->nearest = &rejection;
  }
  return groups;
}

std::string count_of(const RejectionGroup& group) {
  const size_t count = group.members.size();
  return fmt::format("{} schedule{}", count, count == 1 ? "" : "s");
}

}  // namespace attngen::report
