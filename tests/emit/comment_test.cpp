#include "emit/comment.h"

#include <doctest/doctest.h>

#include <string>

namespace attngen::emit {
namespace {

TEST_CASE("a comment is broken at spaces, and indented behind its lead") {
  const std::string x(64, 'x'), y(30, 'y');
  CHECK(comment("", "x\ny") == "// x\n// y\n");
  CHECK(comment("mask", "x < y") == "// mask: x < y\n");
  CHECK(comment("mask", "") == "");
  CHECK(comment("mask", x + " " + y) == "// mask: " + x + "\n//   " + y + "\n");
  CHECK(comment("mask", x + " " + y, 2) == "//   mask: " + x + "\n//     " + y + "\n");
}

TEST_CASE("a text begins below a lead that leaves it no room") {
  const std::string name(64, 'n'), longest(31, 'x');  // word that fits behind that name
  CHECK(comment(name, longest) == "// " + name + ": " + longest + "\n");
  CHECK(comment(name, longest + "x + y") == "// " + name + ":\n//   " + longest + "x + y\n");
  CHECK(comment("sum_" + name + ": sum over the pairs of a row", name + "[h] + 1") ==
        "// sum_" + name + ": sum over the pairs of a\n//   row:\n//   " + name + "[h] + 1\n");
  CHECK(comment(name + name, "x") == "// " + name + name + ":\n//   x\n");
}

}  // namespace
}  // namespace attngen::emit
