#include "text/diagnostics.h"

#include <doctest/doctest.h>

using namespace attngen::text;

TEST_CASE("positions are 1-based lines and byte columns") {
  const Source source{"a.yaml", "ab\ncd\r\n\nx"};
  CHECK(source.position(0) == Position{1, 1});
  CHECK(source.position(2) == Position{1, 3});
  CHECK(source.position(3) == Position{2, 1});
  CHECK(source.position(8) == Position{4, 1});
  CHECK(source.position(100) == Position{4, 2});
  CHECK(source.line(2) == "cd");
  CHECK(source.line(3).empty());
  CHECK(source.line(9).empty());
  CHECK(source.line(0).empty());
}
