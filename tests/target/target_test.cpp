#include "target/target.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

using attngen::target::Family;
using attngen::target::Target;
using Json = nlohmann::json;

namespace {

std::string error_of(const Json& json) {
  const auto result = attngen::target::read("x", json.dump());
  CHECK_FALSE(result.target.has_value());
  return result.error;
}

Json h100() { return Json::parse(attngen::target::file_text("h100")); }

}  // namespace

TEST_CASE("the built-in models are there in alphabetical order") {
  std::vector<std::string> names;
  for (const Target& target : attngen::target::all()) names.push_back(target.name);
  CHECK(names == std::vector<std::string>{"a100", "h100", "h200", "mi250"});
  CHECK(attngen::target::find("mi250")->family == Family::Cdna2);
  CHECK(attngen::target::find("b200") == nullptr);
  CHECK(attngen::target::file_text("b200").empty());
}

TEST_CASE("matrix peaks are the vendors' figures") {
  const auto tflops = [](const char* name, double clock_hz) {
    const Target& t = *attngen::target::find(name);
    return t.cores * t.matrix_flop * clock_hz * 1e-12;
  };
  CHECK(tflops("h100", 1.83e9) == doctest::Approx(989).epsilon(0.002));
  CHECK(tflops("a100", 1.41e9) == doctest::Approx(312).epsilon(0.002));
  CHECK(tflops("mi250", 1.7e9) == doctest::Approx(181).epsilon(0.002));
}

TEST_CASE("h200 differs from h100 in memory alone") {
  Target h200 = *attngen::target::find("h200");
  const Target& h100 = *attngen::target::find("h100");
  CHECK(h200.memory_bytes_per_s > 1.4 * h100.memory_bytes_per_s);
  CHECK(h200.l2_bytes > h100.l2_bytes);
  CHECK(h200.hash != h100.hash);
  CHECK(h200.matrix_flop == h100.matrix_flop);
  CHECK(h200.clock_hz == h100.clock_hz);
  CHECK(h200.softmax_clk == h100.softmax_clk);
  CHECK(h200.shared_bytes_per_block == h100.shared_bytes_per_block);
}

TEST_CASE("mi250 means one of two GCDs") {
  const Target& t = *attngen::target::find("mi250");
  CHECK(t.cores == 104);
  CHECK(t.memory_bytes_per_s == 1600e9);
  CHECK(t.warp == 64);
}

TEST_CASE("the hash is of the meaning, not of the spelling") {
  const auto spaced = attngen::target::read("h100", h100().dump(7));
  REQUIRE(spaced.target.has_value());
  CHECK(spaced.target->hash == attngen::target::find("h100")->hash);
  CHECK(spaced.target->hash.size() == 16);
  Json changed = h100();
  changed["rates"]["special"]["value"] = 32;
  CHECK(attngen::target::read("h100", changed.dump()).target->hash != spaced.target->hash);
}

TEST_CASE("reading is strict, and the error is one line") {
  Json json = h100();
  json["clocks"].erase("sustained");
  CHECK(error_of(json) == "x.json: /clocks/sustained: missing");

  json = h100();
  json["clocks"]["bost"] = json["clocks"]["boost"];
  CHECK(error_of(json) == "x.json: /clocks/bost: unknown key; did you mean 'boost'?");

  json = h100();
  json["zzzzzz"] = 1;
  CHECK(error_of(json) == "x.json: /zzzzzz: unknown key");

  json = h100();
  json["l2"] = 7;
  CHECK(error_of(json) == "x.json: /l2: expected an object");

  json = h100();
  json["l2"]["size"].erase("source");
  CHECK(error_of(json) == "x.json: /l2/size/source: missing");

  json = h100();
  json["l2"]["size"]["source"] = "";
  CHECK(error_of(json) == "x.json: /l2/size/source: empty");

  json = h100();
  json["l2"]["size"]["unit"] = "MiB";
  CHECK(error_of(json) == "x.json: /l2/size/unit: expected 'MB', found 'MiB'");

  json = h100();
  json["l2"]["size"]["value"] = "50";
  CHECK(error_of(json) == "x.json: /l2/size/value: expected a number");

  json = h100();
  json["l2"]["size"]["value"] = nullptr;
  CHECK(error_of(json) == "x.json: /l2/size/value: expected a number");

  json = h100();
  json["l2"]["size"]["value"] = -1;
  CHECK(error_of(json) == "x.json: /l2/size/value: expected a number above 0");

  json = h100();
  json["cores"]["count"]["value"] = 131.5;
  CHECK(error_of(json) == "x.json: /cores/count/value: expected a whole number");

  json = h100();
  json["cores"]["count"]["value"] = 1e12;
  CHECK(error_of(json) == "x.json: /cores/count/value: expected a whole number");

  json = h100();
  json["family"] = "hoper";
  CHECK(error_of(json) == "x.json: /family: unknown family 'hoper'; did you mean 'hopper'?");

  CHECK(error_of(Json::array()) == "x.json: /: expected an object");
}

TEST_CASE("an unmeasured latency is null and reads as 0") {
  Json json = h100();
  json["latencies"]["launch"]["value"] = nullptr;
  const auto result = attngen::target::read("x", json.dump());
  REQUIRE(result.target.has_value());
  CHECK(result.target->launch_s == 0);
}

TEST_CASE("text that is no JSON, and bytes that are no text") {
  CHECK(attngen::target::read("x", "").error == "x.json: not JSON, at byte 1");
  CHECK(attngen::target::read("x", "{\"a\": }").error == "x.json: not JSON, at byte 7");
  CHECK_FALSE(attngen::target::read("x", "\xff\xfe").target.has_value());
  CHECK_FALSE(attngen::target::read("x", std::string(100'000, '[')).target.has_value());
}
