#include "schedule/read.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "text/bytes.h"
#include "text/characters.h"
#include "text/json.h"

namespace attngen::schedule {
namespace {

using text::Node;

constexpr int kMaxWarpgroups = 4;
constexpr int kMaxTileKv = 256;  // the widest matrix instruction
constexpr int kMaxStages = 8;

// All but these must be there: schedules that were written before they existed are good still.
constexpr const char* kPackHeads = "pack_heads";
constexpr const char* kSplitKeys = "split_keys";
constexpr const char* kListsAsMask = "lists_as_mask";
constexpr const char* kScan = "scan";
bool is_optional(std::string_view key) {
  return key == kPackHeads || key == kSplitKeys || key == kListsAsMask || key == kScan;
}

const std::vector<std::string>& keys() {
  static const std::vector<std::string> names{"warpgroups", "tile_kv",   "stages",     "weights",
                                              "overlap",    "ping_pong", "grid",       "order",
                                              kPackHeads,   kSplitKeys,  kListsAsMask, kScan};
  return names;
}

class Reader {
 public:
  Reader(const Node& root, text::Diagnostics& diagnostics)
      : root_(root), diagnostics_(diagnostics) {}

  Schedule read() {
    Schedule schedule;
    if (root_.kind != Node::Kind::Map) {
      refuse(root_, fmt::format("a schedule must be a map, got {}", got(root_)));
      return schedule;
    }
    if (const Node* targets = root_.find("targets")) {
      add(targets->key_begin, targets->key_end, "", "this is a manifest, not a schedule",
          "write the 'schedule' of one of its targets into a file of its own");
      return schedule;
    }
    check_keys();
    read_whole("warpgroups", 1, kMaxWarpgroups, 1, schedule.warpgroups);
    read_whole("tile_kv", kLeastTileKv, kMaxTileKv, kLeastTileKv, schedule.tile_kv);
    read_whole("stages", 1, kMaxStages, 1, schedule.stages);
    read_word("weights", {Place::Registers, Place::Shared}, schedule.weights);
    read_word("overlap", {Overlap::None, Overlap::IntraWarpgroup}, schedule.overlap);
    read_bool("ping_pong", schedule.ping_pong);
    read_word("grid", {Grid::Plain, Grid::Persistent}, schedule.grid);
    read_word("order", {Order::Linear, Order::LongestFirst}, schedule.order);
    read_bool(kPackHeads, schedule.pack_heads);
    read_bool(kSplitKeys, schedule.split_keys);
    read_bool(kListsAsMask, schedule.lists_as_mask);
    read_bool(kScan, schedule.scan);
    return schedule;
  }

 private:
  void add(size_t begin, size_t end, const std::string& pointer, std::string message,
           std::string help) {
    text::Diagnostic diagnostic =
        text::diagnostic_at(diagnostics_.source(), begin, end, std::move(message), std::move(help));
    diagnostic.pointer = pointer;
    diagnostics_.add(std::move(diagnostic));
  }

  void refuse(const Node& node, std::string message, std::string help = {}) {
    add(node.begin, node.end, node.key.empty() ? "" : "/" + node.key, std::move(message),
        std::move(help));
  }

  void check_keys() {
    std::vector<std::string> absent;   // what an unknown key may mean
    std::vector<std::string> missing;  // those of them that must be there
    for (const std::string& key : keys()) {
      if (root_.find(key) != nullptr) continue;
      absent.push_back(key);
      if (!is_optional(key)) missing.push_back(fmt::format("'{}'", key));
    }
    for (const Node& entry : root_.children) {
      if (std::find(keys().begin(), keys().end(), entry.key) == keys().end()) {
        refuse_key(entry, absent);
      }
    }
    if (!missing.empty()) {
      refuse(root_, fmt::format("a schedule needs {}", text::listed(missing, "and")));
    }
  }

  void refuse_key(const Node& entry, const std::vector<std::string>& absent) {
    if (!diagnostics_.keeps_errors()) return diagnostics_.add({});
    add(entry.key_begin, entry.key_end, "",
        fmt::format("unknown key '{}'", text::shortened(entry.key, 64)),
        text::did_you_mean(entry.key, absent));
  }

  void read_whole(const char* key, int minimum, int maximum, int multiple, int& out) {
    const Node* node = root_.find(key);
    if (node == nullptr) return;
    const double value = number_of(*node).value_or(NAN);
    const auto must_be = [&](const std::string& what) {
      return fmt::format("{} must be {}, got {}", key, what, got(*node));
    };
    if (std::floor(value) != value) return refuse(*node, must_be("a whole number"));
    if (value < minimum || value > maximum) {
      return refuse(*node, must_be(fmt::format("from {} to {}", minimum, maximum)));
    }
    const int whole = static_cast<int>(value);
    if (whole % multiple != 0) {
      return refuse(*node, must_be(fmt::format("a multiple of {}", multiple)),
                    fmt::format("{} is the next one", (whole / multiple + 1) * multiple));
    }
    out = whole;
  }

  template <typename Enum>
  void read_word(const char* key, std::initializer_list<Enum> values, Enum& out) {
    const Node* node = root_.find(key);
    if (node == nullptr) return;
    std::vector<std::string> words, quoted;
    for (const Enum value : values) {
      words.emplace_back(name_of(value));
      quoted.push_back(fmt::format("'{}'", words.back()));
      if (node->quoted && node->text == words.back()) {
        out = value;
        return;
      }
    }
    refuse(*node, fmt::format("{} must be {}, got {}", key, text::listed(quoted), got(*node)),
           text::did_you_mean(node->text, words));
  }

  void read_bool(const char* key, bool& out) {
    const Node* node = root_.find(key);
    if (node == nullptr) return;
    const std::optional<bool> value = bool_of(*node);
    if (!value)
      return refuse(*node, fmt::format("{} must be true or false, got {}", key, got(*node)));
    out = *value;
  }

  const Node& root_;
  text::Diagnostics& diagnostics_;
};

bool begins_yaml(char c) { return text::is_letter(c) || c == '#' || c == '-' || c == '%'; }

}  // namespace

std::optional<Schedule> read(text::Diagnostics& diagnostics) {
  const std::optional<size_t> start = text::check_bytes(diagnostics, "a schedule");
  if (!start) return std::nullopt;
  const std::string_view content = diagnostics.source().content;
  const size_t first = content.find_first_not_of(" \t\r\n", *start);
  if (first != std::string_view::npos && begins_yaml(content[first])) {
    diagnostics.add(text::diagnostic_at(diagnostics.source(), first, first + 1,
                                        "a schedule is JSON, which begins with '{'",
                                        "a manifest has one for each target: its 'schedule'"));
    return std::nullopt;
  }
  const std::optional<Node> root = text::read_json(diagnostics, *start);
  if (!root) return std::nullopt;
  const Schedule schedule = Reader(*root, diagnostics).read();
  if (diagnostics.has_errors()) return std::nullopt;
  return schedule;
}

}  // namespace attngen::schedule
