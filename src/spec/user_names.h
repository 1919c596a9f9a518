// The names that a spec gives: each names one thing.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "spec/report.h"

namespace attngen::spec {

class UserNames {
 public:
  UserNames(Pattern pattern, Report& report) : pattern_(pattern), report_(report) {}

  // A name that is taken, "m" by "a value of softmax".
  void reserve(std::string name, std::string what);
  // The key of an entry names "an input"; else reports why it cannot.
  bool add(const Node& entry, const std::string& pointer, std::string_view what);
  // The same of what emitted code calls by the user's name; constants are numbers by then.
  bool add_symbol(const Node& entry, const std::string& pointer, std::string_view what);

 private:
  bool refuse(const Node& entry, const std::string& pointer, std::string_view what,
              std::string reason);

  Pattern pattern_;
  Report& report_;
  std::map<std::string, std::string, std::less<>> names_;  // and what has them
};

}  // namespace attngen::spec
