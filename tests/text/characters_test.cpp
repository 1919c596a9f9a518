#include "text/characters.h"

#include <doctest/doctest.h>

using namespace attngen::text;

TEST_CASE("blanks and line ends go from the ends alone") {
  CHECK(trim(" \t a b\r\n") == "a b");
  CHECK(trim_end(" a b \n") == " a b");
  CHECK(trim("").empty());
  CHECK(trim(" \n ").empty());
  CHECK(trim_end(" \n ").empty());
}

TEST_CASE("capitals are ASCII's, whatever the locale") {
  CHECK(upper("Gemma_2b\xC3\xA9") == "GEMMA_2B\xC3\xA9");
  CHECK(lower("Gemma_2B\xC3\x89") == "gemma_2b\xC3\x89");
}
