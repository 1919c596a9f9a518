#include "spec/point_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "expr/expr.h"
#include "text/diagnostics.h"

namespace attngen::spec {
namespace {

std::vector<std::string> names_of(const std::vector<Input>& inputs) {
  std::vector<std::string> names;
  names.reserve(inputs.size());
  for (const Input& input : inputs) names.push_back(input.name);
  return names;
}

bool has_length(const Input& input) {
  return std::ranges::any_of(input.shape,
                             [](const Input::Dim& dim) { return is_length(dim.kind); });
}

// What an element holds of whole numbers; of floats the tree's check knows.
struct Range {
  double least, most;
};
bool is_whole_within(double value, const Range& range) {
  return std::floor(value) == value && value >= range.least && value <= range.most;
}

class ValueReader {
 public:
  ValueReader(const std::string& pointer, const Spec& spec, Report& report)
      : pointer_(pointer), spec_(spec), report_(report) {}

  Values read(const Node& values) {
    Values read;
    for (const Node& entry : values.children) {
      if (!entry.valid) continue;
      const auto input = std::ranges::find(spec_.inputs, entry.key, &Input::name);
      if (input == spec_.inputs.end()) {
        refuse_key(entry, fmt::format("no input is named '{}'", entry.key),
                   text::did_you_mean(entry.key, names_of(spec_.inputs)));
      } else if (has_length(*input)) {
        refuse_key(entry,
                   fmt::format("{} has an element for each query or key: one value tells nothing",
                               entry.key),
                   "values are for scalars, and inputs along batch, heads or a number");
      } else if (fits(*input, entry)) {
        read.emplace(entry.key, number_of(entry).value_or(0));
      }
    }
    return read;
  }

 private:
  void refuse_key(const Node& entry, std::string message, std::string help) {
    report_.at_key(entry, child(pointer_, entry.key), std::move(message), std::move(help));
  }

  bool fits(const Input& input, const Node& entry) {
    using Limits = std::numeric_limits<int32_t>;
    const bool is_byte = input.element == Input::Element::U8;
    if (!is_byte && input.element != Input::Element::I32) return true;
    const Range range = is_byte ? Range{0, 255} : Range{Limits::min(), Limits::max()};
    if (is_whole_within(number_of(entry).value_or(0), range)) return true;
    const std::string place = child(pointer_, entry.key);
    report_.at_value(
        entry, place,
        fmt::format("{} must be a whole number from {:.0f} to {:.0f}, as {} is, got {}",
                    dotted(place), range.least, range.most, name_of(input.element), entry.text));
    return false;
  }

  const std::string& pointer_;
  const Spec& spec_;
  Report& report_;
};

void warn_of_idle(const Node& point, const std::string& pointer,
                  const std::vector<std::string>& read, Report& report) {
  const Node* values = point.find("values");
  if (values == nullptr) return;
  for (const Node& entry : values->children) {
    if (std::ranges::binary_search(read, entry.key)) continue;
    report.warn(
        entry, child(child(pointer, "values"), entry.key),
        fmt::format("the mask does not read '{}': its value changes no prediction", entry.key));
  }
}

}  // namespace

Values read_point_values(const Node& values, const std::string& pointer, const Spec& spec,
                         Report& report) {
  return ValueReader(pointer, spec, report).read(values);
}

void warn_of_idle_values(const Node& root, const Spec& spec, Report& report) {
  const Node* workload = root.find("workload");
  if (workload == nullptr) return;
  const std::vector<std::string> read = expr::inputs_of(spec.mask);
  if (workload->kind == Node::Kind::Map) return warn_of_idle(*workload, "/workload", read, report);
  for (size_t i = 0; i < workload->children.size(); ++i) {
    warn_of_idle(workload->children[i], child("/workload", std::to_string(i)), read, report);
  }
}

}  // namespace attngen::spec
