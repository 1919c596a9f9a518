#include "emit/banner.h"

#include <doctest/doctest.h>

namespace attngen::emit {
namespace {

TEST_CASE("three digits, never an exponent") {
  CHECK(three_digits(71.68) == "71.7");
  CHECK(three_digits(0.5) == "0.5");
  CHECK(three_digits(999.4) == "999");
  CHECK(three_digits(999.6) == "1000");
  CHECK(three_digits(1923) == "1920");
  CHECK(three_digits(1.0e6) == "1000000");
  CHECK(three_digits(1.234e-5) == "0.0000123");
  CHECK(three_digits(0) == "0");
}

TEST_CASE("a duration's unit is that of what is printed") {
  CHECK(duration(45.61e-6) == "45.6 us");
  CHECK(duration(999.4e-6) == "999 us");
  CHECK(duration(999.6e-6) == "1 ms");
  CHECK(duration(1.234e-3) == "1.23 ms");
  CHECK(duration(0.99951) == "1 s");
  CHECK(duration(4321) == "4320 s");
}

}  // namespace
}  // namespace attngen::emit
