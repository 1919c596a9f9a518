#include "emit/wrap.h"

#include <doctest/doctest.h>

#include <string>

#include "emit/device_text.h"

namespace attngen::emit {
namespace {

const std::string a(40, 'a'), b(36, 'b'), c(50, 'c');

TEST_CASE("a value that fits below its target stands there") {
  CHECK(wrapped("  t = f(" + a + ", " + b + ");") == "  t = f(" + a + ", " + b + ");\n");
  CHECK(wrapped("  const uint64_t t = f(" + a + ", " + b + ");") ==
        "  const uint64_t t =\n      f(" + a + ", " + b + ");\n");
  CHECK(wrapped("  red." + a + " += " + b + " * " + a + ";") ==
        "  red." + a + " +=\n      " + b + " * " + a + ";\n");
}

TEST_CASE("expressions are broken behind their loosest operators") {
  CHECK(wrapped("  return " + a + " * " + b + " + " + c + " * x;") ==
        "  return " + a + " * " + b + " +\n         " + c + " * x;\n");
  CHECK(wrapped("  return " + a + " < x && " + b + " < y && " + c + " < z;") ==
        "  return " + a + " < x && " + b + " < y &&\n         " + c + " < z;\n");
  CHECK(wrapped("  return !(" + a + " || " + b + " || " + c + ");") ==
        "  return !(" + a + " || " + b + " ||\n           " + c + ");\n");
}

TEST_CASE("arguments stand below the first, and none behind one of several lines") {
  CHECK(wrapped("  return f(" + a + ", g(" + b + ", " + c + "), 0);") ==
        "  return f(" + a + ",\n           g(" + b + ",\n             " + c +
            "),\n           0);\n");
}

TEST_CASE("a condition has a line of its own") {
  CHECK(wrapped("  if (t == 0) return f(" + a + " + " + b + ");") ==
        "  if (t == 0)\n    return f(" + a + " + " + b + ");\n");
}

TEST_CASE("other statements are not broken so") {
  CHECK(!broken_statement("  f(" + a + ", " + b + ", " + c + ");"));
  CHECK(!broken_statement("  return x ? " + a + b + " : " + c + ";"));
  CHECK(!broken_statement("  return f(" + a + b + ") & g[" + c + a + b + "];"));
  CHECK(!broken_statement("  return f" + a + b + c + ";"));
}

}  // namespace
}  // namespace attngen::emit
