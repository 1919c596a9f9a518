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

int lengths_of(const Input& input) {
  return static_cast<int>(std::ranges::count_if(
      input.shape, [](const Input::Dim& dim) { return is_length(dim.kind); }));
}
bool may_hold_ids(const Input& input) {
  return input.element == Input::Element::I32 && lengths_of(input) == 1 &&
         is_length(input.shape.back().kind);
}

// What an element holds of whole numbers; of floats the tree's check knows.
struct Range {
  double least, most;
};
constexpr Range kStretch{1, 0x1p31 - 0x1p16};  // as lengths are
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
      } else if (may_hold_ids(*input)) {
        const auto of = input->sorted ? GivenValue::Of::SortedIds : GivenValue::Of::Ids;
        if (fits(kStretch, "a stretch of ids", entry)) {
          read.emplace(entry.key, GivenValue{number_of(entry).value_or(0), of});
        }
      } else if (lengths_of(*input) > 0) {
        refuse_key(entry,
                   fmt::format("{} has an element for each query or key: one value tells nothing",
                               entry.key),
                   "values are for scalars, inputs along batch, heads or a number, and ids of i32 "
                   "along seq_q or seq_kv");
      } else if (fits(*input, entry)) {
        read.emplace(entry.key, GivenValue{number_of(entry).value_or(0)});
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
    return fits(range, name_of(input.element), entry);
  }
  bool fits(const Range& range, std::string_view what, const Node& entry) {
    if (is_whole_within(number_of(entry).value_or(0), range)) return true;
    const std::string place = child(pointer_, entry.key);
    report_.at_value(
        entry, place,
        fmt::format("{} must be a whole number from {:.0f} to {:.0f}, as {} is, got {}",
                    dotted(place), range.least, range.most, what, entry.text));
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
