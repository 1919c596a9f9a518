// What is wrong with a schedule's text, to the letter.
#include "schedule/read.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <string>
#include <string_view>

namespace attngen::schedule {
namespace {

constexpr std::string_view kLines =
    "{\"warpgroups\": 2,\n"
    " \"tile_kv\": 128,\n"
    " \"stages\": 2,\n"
    " \"weights\": \"registers\",\n"
    " \"overlap\": \"intra_warpgroup\",\n"
    " \"ping_pong\": true,\n"
    " \"grid\": \"persistent\",\n"
    " \"order\": \"linear\"}\n";

std::string errors_of(const std::string& content) {
  text::Diagnostics diagnostics({"s.json", content});
  const bool is_read = read(diagnostics).has_value();
  const std::string shown = diagnostics.render(text::ErrorFormat::Gcc);
  return is_read != diagnostics.has_errors() ? shown
                                             : "a schedule and errors, or neither: " + shown;
}

// Errors of a schedule that is right but for what is written in the place of a part of it.
std::string errors_with(std::string_view from, std::string_view to) {
  std::string lines(kLines);
  const size_t at = lines.find(from);
  REQUIRE(at != std::string::npos);
  return errors_of(lines.replace(at, from.size(), to));
}

TEST_CASE("JSON gives the schedule back") {
  Schedule packed;
  packed.pack_heads = packed.split_keys = packed.lists_as_mask = packed.scan = true;
  const Schedule tall{4, 64, 3, Place::Shared, Overlap::None, false, Grid::Plain, Order::Linear};
  for (const Schedule& schedule : {Schedule{}, tall, packed}) {
    text::Diagnostics diagnostics({"s.json", to_json(schedule)});
    CHECK(read(diagnostics) == schedule);
    CHECK(diagnostics.all().empty());
  }
  CHECK(errors_of(std::string(kLines)).empty());
  CHECK(errors_with("\"linear\"", "\"linear\", \"pack_heads\": false").empty());
  CHECK(errors_with("\"linear\"", "\"linear\", \"split_keys\": false").empty());
  CHECK(errors_with("{", "\xEF\xBB\xBF{").empty());  // a byte order mark
}

TEST_CASE("a value is of its type") {
  CHECK(errors_with("128", "\"128\"") ==
        "s.json:2:13: error: tile_kv must be a whole number, got the text '128'\n"
        "    2 |  \"tile_kv\": \"128\",\n"
        "      |             ^~~~~\n");
  CHECK(errors_with("128", "64.5") ==
        "s.json:2:13: error: tile_kv must be a whole number, got 64.5\n"
        "    2 |  \"tile_kv\": 64.5,\n"
        "      |             ^~~~\n");
  CHECK(errors_with("128", "null") ==
        "s.json:2:13: error: tile_kv must be a whole number, got nothing\n"
        "    2 |  \"tile_kv\": null,\n"
        "      |             ^~~~\n");
  CHECK(errors_with("true", "1") ==
        "s.json:6:15: error: ping_pong must be true or false, got 1\n"
        "    6 |  \"ping_pong\": 1,\n"
        "      |               ^\n");
  CHECK(errors_with("\"persistent\"", "[]") ==
        "s.json:7:10: error: grid must be 'plain' or 'persistent', got a list\n"
        "    7 |  \"grid\": [],\n"
        "      |          ^~\n");
}

TEST_CASE("a number is in its range") {
  CHECK(errors_with("\"stages\": 2", "\"stages\": 9") ==
        "s.json:3:12: error: stages must be from 1 to 8, got 9\n"
        "    3 |  \"stages\": 9,\n"
        "      |            ^\n");
  CHECK(errors_with("128", "99999999999999999999") ==
        "s.json:2:13: error: tile_kv must be from 16 to 256, got 99999999999999999999\n"
        "    2 |  \"tile_kv\": 99999999999999999999,\n"
        "      |             ^~~~~~~~~~~~~~~~~~~~\n");
  CHECK(errors_with("128", "120") ==
        "s.json:2:13: error: tile_kv must be a multiple of 16, got 120\n"
        "    2 |  \"tile_kv\": 120,\n"
        "      |             ^~~\n"
        "help: 128 is the next one\n");
}

TEST_CASE("a word that is near is named") {
  CHECK(errors_with("registers", "register") ==
        "s.json:4:13: error: weights must be 'registers' or 'shared', got 'register'\n"
        "    4 |  \"weights\": \"register\",\n"
        "      |             ^~~~~~~~~~\n"
        "help: did you mean 'registers'?\n");
}

TEST_CASE("keys are known, and all there") {
  CHECK(errors_with("\"linear\"", "\"linear\",\n \"pack_head\": true") ==
        "s.json:9:2: error: unknown key 'pack_head'\n"
        "    9 |  \"pack_head\": true}\n"
        "      |  ^~~~~~~~~~~\n"
        "help: did you mean 'pack_heads'?\n");
  CHECK(errors_with(" \"stages\": 2,\n", "") ==
        "s.json:1:1: error: a schedule needs 'stages'\n"
        "    1 | {\"warpgroups\": 2,\n"
        "      | ^~~~~~~~~~~~~~~~~\n");
  CHECK(errors_of("{}") ==
        "s.json:1:1: error: a schedule needs 'warpgroups', 'tile_kv', 'stages', 'weights', "
        "'overlap', 'ping_pong', 'grid' and 'order'\n"
        "    1 | {}\n"
        "      | ^~\n");
  CHECK(errors_with("\"stages\": 2", "\"stages\": 2, \"stages\": 3") ==
        "s.json:3:15: error: duplicate key 'stages'\n"
        "    3 |  \"stages\": 2, \"stages\": 3,\n"
        "      |               ^~~~~~~~\n"
        "help: first given on line 3\n");
}

TEST_CASE("a manifest is not taken for a schedule") {
  CHECK(errors_of("{\"name\": \"x\",\n \"targets\": [{\"schedule\": {}}]}") ==
        "s.json:2:2: error: this is a manifest, not a schedule\n"
        "    2 |  \"targets\": [{\"schedule\": {}}]}\n"
        "      |  ^~~~~~~~~\n"
        "help: write the 'schedule' of one of its targets into a file of its own\n");
}

TEST_CASE("all errors of a schedule are reported at once") {
  CHECK(
      errors_with("\"stages\": 2,\n \"weights\": \"registers\"", "\"stagse\": 2, \"weights\": 4") ==
      "s.json:1:1: error: a schedule needs 'stages'\n"
      "    1 | {\"warpgroups\": 2,\n"
      "      | ^~~~~~~~~~~~~~~~~\n"
      "s.json:3:2: error: unknown key 'stagse'\n"
      "    3 |  \"stagse\": 2, \"weights\": 4,\n"
      "      |  ^~~~~~~~\n"
      "help: did you mean 'stages'?\n"
      "s.json:3:26: error: weights must be 'registers' or 'shared', got 4\n"
      "    3 |  \"stagse\": 2, \"weights\": 4,\n"
      "      |                          ^\n");
}

TEST_CASE("an error has the pointer of its value") {
  text::Diagnostics diagnostics({"s.json", "{\"stages\": 9}"});
  CHECK_FALSE(read(diagnostics).has_value());
  CHECK(diagnostics.render(text::ErrorFormat::Json)
            .ends_with("{\"file\":\"s.json\",\"line\":1,\"column\":12,\"severity\":\"error\","
                       "\"message\":\"stages must be from 1 to 8, got 9\",\"help\":\"\","
                       "\"pointer\":\"/stages\"}\n"));
}

TEST_CASE("a schedule is a map in JSON") {
  CHECK(errors_of("[]") ==
        "s.json:1:1: error: a schedule must be a map, got a list\n"
        "    1 | []\n"
        "      | ^~\n");
  CHECK(errors_of("# a spec\nattngen: 1\n") ==
        "s.json:1:1: error: a schedule is JSON, which begins with '{'\n"
        "    1 | # a spec\n"
        "      | ^\n"
        "help: a manifest has one for each target: its 'schedule'\n");
  CHECK(errors_of("\nattngen: 1\n").starts_with("s.json:2:1: error: a schedule is JSON, which"));
  CHECK(errors_of("") ==
        "s.json:1:1: error: syntax error while parsing value - unexpected end of input; expected "
        "'[', '{', or a literal\n"
        "    1 | \n"
        "      | ^\n");
  CHECK(errors_with("\"linear\"", "\"linear\",") ==
        "s.json:8:20: error: syntax error while parsing object key - unexpected '}'; expected "
        "string literal\n"
        "    8 |  \"order\": \"linear\",}\n"
        "      |                    ^\n"
        "help: remove the comma before it\n");
  CHECK(errors_with("\"linear\"", "linear") ==
        "s.json:8:11: error: syntax error while parsing value - invalid literal; last read: "
        "'\"order\": l'\n"
        "    8 |  \"order\": linear}\n"
        "      |           ^\n");
  CHECK(errors_with("linear", "line\xFF") ==
        "s.json:8:16: error: invalid UTF-8: byte 0xff\n"
        "    8 |  \"order\": \"line?\"}\n"
        "      |                ^\n");
}

TEST_CASE("a text of any size is read in no time") {
  CHECK(errors_of(std::string((1 << 20) + 1, ' ')) ==
        "s.json: error: the text has more than 1048576 bytes, the most that a schedule has\n");
  CHECK(
      errors_of(std::string(500'000, '[')).starts_with("s.json:1:65: error: nested more than 64 "));
  std::string keys = "{";
  for (int i = 0; i < 80'000; ++i) keys += "\"k" + std::to_string(i) + "\":1,";
  keys.back() = '}';
  CHECK(errors_of(keys).ends_with("s.json: error: 79981 more errors not shown\n"));
}

TEST_CASE("any bytes are a schedule or have errors") {
  std::mt19937 random(1);
  const std::string_view written = "{}[],:\"\\0123456789.e-+nulltrue \n\xC3\xA9\xFF\x01";
  for (int round = 0; round < 3000; ++round) {
    std::string text(kLines);
    for (uint32_t changes = 1 + random() % 4; changes > 0; --changes) {
      const size_t at = random() % text.size();
      const char byte = written[random() % written.size()];
      if (random() % 2 == 0) {
        text[at] = byte;
      } else {
        text.erase(at, random() % 40);
        text.insert(at, 1, byte);
      }
    }
    CAPTURE(text);
    CHECK_FALSE(errors_of(text).starts_with("a schedule and errors"));
  }
}

}  // namespace
}  // namespace attngen::schedule
