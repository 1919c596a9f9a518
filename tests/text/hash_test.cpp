#include "text/hash.h"

#include <doctest/doctest.h>

using attngen::text::hash;

TEST_CASE("the hash is FNV-1a's, by its authors' examples") {
  CHECK(hash("") == "cbf29ce484222325");
  CHECK(hash("a") == "af63dc4c8601ec8c");
  CHECK(hash("foobar") == "85944171f73967e8");
}
