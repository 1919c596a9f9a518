#include "emit/emit.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "emit/api.h"
#include "emit/banner.h"
#include "emit/manifest.h"
#include "emit/prediction.h"
#include "emit/source.h"

namespace attngen::emit {

namespace {

// The header serves all targets of a call: what it says of the device depends on them.
std::string bad_device_text(const std::vector<Choice>& choices) {
  const auto all = [&](target::Family family) {
    return std::ranges::all_of(
        choices, [&](const Choice& choice) { return choice.target->family == family; });
  };
  if (all(target::Family::Hopper)) {
    return "not a device of compute capability 9.0, or too old a driver";
  }
  if (all(target::Family::Cdna2)) return "the current device is not a gfx90a";
  return "the current device is not the one that the kernel was generated for";
}

}  // namespace

std::vector<std::string> output_names(const spec::Spec& spec,
                                      std::span<const target::Target* const> targets) {
  std::vector<std::string> names;
  for (const target::Target* target : targets) names.push_back(source_name(spec, *target));
  names.push_back(spec.name + ".h");
  names.push_back(spec.name + ".json");
  return names;
}

std::vector<File> emit(const spec::Spec& spec, const attention::RowForm& rows,
                       const std::vector<Choice>& choices) {
  const Api api = api_of(spec, bad_device_text(choices));
  std::vector<File> files;
  std::vector<PredictedChoice> with_predictions;
  for (const Choice& choice : choices) {
    with_predictions.push_back(predicted(spec, rows, choice));
    auto text = source(spec, rows, api, choice);
    if (const auto* error = std::get_if<TemplateError>(&text)) {
      throw std::logic_error(error->message);
    }
    files.push_back(
        {source_name(spec, *choice.target),
         source_banner(spec, with_predictions.back()) + std::get<std::string>(std::move(text))});
  }
  files.push_back({spec.name + ".h", header(api, header_banner(spec))});
  files.push_back({spec.name + ".json", manifest(spec, api, with_predictions)});
  return files;
}

}  // namespace attngen::emit
