// Reads a hardware model: the table below is the format.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "target/target.h"
#include "text/diagnostics.h"
#include "text/hash.h"

namespace attngen::target {
namespace {

using Json = nlohmann::json;

enum class Kind : uint8_t { Real, Whole, MayBeUnknown };

struct Figure {
  const char* group;
  const char* key;
  const char* unit;
  double scale;  // from the unit to Target's
  Kind kind;
  void (*set)(Target&, double);
};

// clang-format off
constexpr Figure kFigures[] = {
    {"clocks", "boost", "GHz", 1e9, Kind::Real, [](Target& t, double v) { t.boost_clock_hz = v; }},
    {"clocks", "sustained", "GHz", 1e9, Kind::Real, [](Target& t, double v) { t.clock_hz = v; }},
    {"cores", "count", "cores", 1, Kind::Whole, [](Target& t, double v) { t.cores = static_cast<int>(v); }},
    {"cores", "warp", "threads", 1, Kind::Whole, [](Target& t, double v) { t.warp = static_cast<int>(v); }},
    {"cores", "threads", "threads/core", 1, Kind::Whole, [](Target& t, double v) { t.threads_per_core = static_cast<int>(v); }},
    {"cores", "registers", "registers/core", 1, Kind::Whole, [](Target& t, double v) { t.registers_per_core = static_cast<int>(v); }},
    {"cores", "registers_per_thread", "registers/thread", 1, Kind::Whole, [](Target& t, double v) { t.registers_per_thread = static_cast<int>(v); }},
    {"rates", "matrix", "FLOP/clk/core", 1, Kind::Real, [](Target& t, double v) { t.matrix_flop = v; }},
    {"rates", "matrix_sustained", "TFLOP/s", 1e12, Kind::Real, [](Target& t, double v) { t.matrix_flop_sustained = v; }},
    {"rates", "special", "results/clk/core", 1, Kind::Real, [](Target& t, double v) { t.special = v; }},
    {"rates", "multiply", "FMA/clk/core", 1, Kind::Real, [](Target& t, double v) { t.multiply = v; }},
    {"rates", "logic", "results/clk/core", 1, Kind::Real, [](Target& t, double v) { t.logic = v; }},
    {"rates", "shuffle", "lanes/clk/core", 1, Kind::Real, [](Target& t, double v) { t.shuffle = v; }},
    {"rates", "issue", "warp instructions/clk/core", 1, Kind::Real, [](Target& t, double v) { t.issue = v; }},
    {"rates", "softmax_1", "clk", 1, Kind::MayBeUnknown, [](Target& t, double v) { t.softmax_clk[0] = v; }},
    {"rates", "softmax_2", "clk", 1, Kind::MayBeUnknown, [](Target& t, double v) { t.softmax_clk[1] = v; }},
    {"rates", "softmax_3", "clk", 1, Kind::MayBeUnknown, [](Target& t, double v) { t.softmax_clk[2] = v; }},
    {"shared", "per_block", "bytes", 1, Kind::Whole, [](Target& t, double v) { t.shared_bytes_per_block = static_cast<int>(v); }},
    {"shared", "per_core", "bytes", 1, Kind::Whole, [](Target& t, double v) { t.shared_bytes_per_core = static_cast<int>(v); }},
    {"shared", "rate", "B/clk/core", 1, Kind::Real, [](Target& t, double v) { t.shared_bytes_per_clk = v; }},
    {"l2", "size", "MB", 1e6, Kind::Real, [](Target& t, double v) { t.l2_bytes = v; }},
    {"l2", "rate", "GB/s", 1e9, Kind::Real, [](Target& t, double v) { t.l2_bytes_per_s = v; }},
    {"l2", "latency", "clk", 1, Kind::MayBeUnknown, [](Target& t, double v) { t.l2_latency_clk = v; }},
    {"memory", "rate", "GB/s", 1e9, Kind::Real, [](Target& t, double v) { t.memory_bytes_per_s = v; }},
    {"memory", "latency", "clk", 1, Kind::MayBeUnknown, [](Target& t, double v) { t.memory_latency_clk = v; }},
    {"latencies", "barrier", "clk", 1, Kind::MayBeUnknown, [](Target& t, double v) { t.barrier_clk = v; }},
    {"latencies", "mbarrier", "clk", 1, Kind::MayBeUnknown, [](Target& t, double v) { t.mbarrier_clk = v; }},
    {"latencies", "matrix", "clk", 1, Kind::MayBeUnknown, [](Target& t, double v) { t.matrix_latency_clk = v; }},
    {"latencies", "launch", "us", 1e-6, Kind::MayBeUnknown, [](Target& t, double v) { t.launch_s = v; }},
    {"latencies", "wave", "us", 1e-6, Kind::MayBeUnknown, [](Target& t, double v) { t.wave_s = v; }},
};
// clang-format on

constexpr std::pair<const char*, Family> kFamilies[] = {
    {"hopper", Family::Hopper}, {"cdna2", Family::Cdna2}, {"ampere", Family::Ampere}};

// The first error found, without the file's name.
struct Bad {
  std::string message;
};

// `at` is an object whose keys are exactly `keys`.
void check_keys(const Json& at, const std::string& pointer, const std::vector<std::string>& keys) {
  if (!at.is_object()) {
    throw Bad{fmt::format("{}: expected an object", pointer.empty() ? "/" : pointer)};
  }
  for (const auto& [key, value] : at.items()) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
      throw Bad{
          fmt::format("{}/{}: unknown key{}", pointer, key, text::did_you_mean(key, keys, "; "))};
    }
  }
  for (const std::string& key : keys) {
    if (!at.contains(key)) throw Bad{fmt::format("{}/{}: missing", pointer, key)};
  }
}

std::string read_text(const Json& at, const std::string& pointer) {
  if (!at.is_string()) throw Bad{fmt::format("{}: expected a string", pointer)};
  auto text = at.get<std::string>();
  if (text.empty()) throw Bad{fmt::format("{}: empty", pointer)};
  return text;
}

double read_value(const Json& at, const std::string& pointer, Kind kind) {
  if (kind == Kind::MayBeUnknown && at.is_null()) return 0;
  if (!at.is_number()) throw Bad{fmt::format("{}: expected a number", pointer)};
  const double value = at.get<double>();
  if (!std::isfinite(value) || value <= 0) {
    throw Bad{fmt::format("{}: expected a number above 0", pointer)};
  }
  if (kind == Kind::Whole &&
      (std::floor(value) != value || value > std::numeric_limits<int>::max())) {
    throw Bad{fmt::format("{}: expected a whole number", pointer)};
  }
  return value;
}

double read_figure(const Json& at, const std::string& pointer, const Figure& figure) {
  check_keys(at, pointer, {"value", "unit", "source"});
  const double value = read_value(at["value"], pointer + "/value", figure.kind);
  const std::string unit = read_text(at["unit"], pointer + "/unit");
  if (unit != figure.unit) {
    throw Bad{fmt::format("{}/unit: expected '{}', found '{}'", pointer, figure.unit, unit)};
  }
  read_text(at["source"], pointer + "/source");
  return value * figure.scale;
}

Family read_family(const Json& at) {
  const std::string word = read_text(at, "/family");
  std::vector<std::string> valid;
  for (const auto& [name, family] : kFamilies) {
    if (word == name) return family;
    valid.emplace_back(name);
  }
  throw Bad{
      fmt::format("/family: unknown family '{}'{}", word, text::did_you_mean(word, valid, "; "))};
}

std::vector<std::string> keys_of_group(std::string_view group) {
  std::vector<std::string> keys;
  for (const Figure& figure : kFigures) {
    if (figure.group == group) keys.emplace_back(figure.key);
  }
  return keys;
}

Target read_model(const Json& json) {
  std::vector<std::string> top{"family", "title"};
  for (const Figure& figure : kFigures) {
    if (top.back() != figure.group) top.emplace_back(figure.group);
  }
  check_keys(json, "", top);
  Target target;
  target.family = read_family(json["family"]);
  target.title = read_text(json["title"], "/title");
  for (size_t i = 2; i < top.size(); ++i)
    check_keys(json[top[i]], "/" + top[i], keys_of_group(top[i]));
  for (const Figure& figure : kFigures) {
    const std::string pointer = fmt::format("/{}/{}", figure.group, figure.key);
    figure.set(target, read_figure(json[figure.group][figure.key], pointer, figure));
  }
  target.hash = text::hash(json.dump());  // of a canonical form: keys sorted, no spacing
  return target;
}

}  // namespace

const char* name_of(Family family) {
  for (const auto& [name, value] : kFamilies) {
    if (value == family) return name;
  }
  return "";
}

Read read(std::string_view name, std::string_view json) {
  const auto error = [&](std::string_view message) {
    return Read{std::nullopt, fmt::format("{}.json: {}", name, message)};
  };
  try {
    Target target = read_model(Json::parse(json));
    target.name = name;
    return Read{std::move(target), ""};
  } catch (const Bad& bad) {
    return error(bad.message);
  } catch (const Json::parse_error& bad) {
    return error(fmt::format("not JSON, at byte {}", bad.byte));
  } catch (const Json::exception&) {
    return error("not valid UTF-8");
  }
}

}  // namespace attngen::target
