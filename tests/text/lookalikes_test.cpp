#include "text/lookalikes.h"

#include <doctest/doctest.h>

using namespace attngen::text;

TEST_CASE("characters have codes, and those that look like others a name") {
  CHECK(character_name("\xC2\xA0x") == "U+00A0 (no-break space)");
  CHECK(character_name("\xE2\x80\x8B") == "U+200B (zero-width space)");
  CHECK(character_name("\xE2\x80\x99") == "U+2019 (curly quote)");
  CHECK(character_name("\xEF\xBB\xBF") == "U+FEFF (byte order mark)");
  CHECK(character_name("\xC3\xA9") == "U+00E9");
  CHECK(character_name("\xF0\x9F\x98\x80") == "U+1F600");
}

TEST_CASE("what looks like others is replaced, and nothing else") {
  const std::string text = "caf\xC3\xA9:\xC2\xA0\xE2\x80\x9Cx\xE2\x80\x9D\xE2\x80\x8B";
  CHECK(with_plain_characters(text) == "caf\xC3\xA9: \"x\"");
  CHECK(with_codes(text) == "caf\xC3\xA9:<U+00A0><U+201C>x<U+201D><U+200B>");
  const std::string broken = "\xA0 \xC2 \xE2\x80 \xFF \xEF\xBB";
  CHECK(with_codes(broken) == broken);
  CHECK(with_plain_characters("").empty());
}
