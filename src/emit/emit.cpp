#include "emit/emit.h"

#include <stdexcept>
#include <utility>

#include "attention/listed.h"
#include "emit/api.h"
#include "emit/banner.h"
#include "emit/manifest.h"
#include "emit/prediction.h"
#include "emit/source.h"

namespace attngen::emit {

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
  const Api api = api_of(spec);
  std::vector<File> files;
  std::vector<PredictedChoice> with_predictions;
  for (const Choice& choice : choices) {
    const bool as_mask = choice.candidate.schedule.lists_as_mask;
    const spec::Spec emitted = as_mask ? attention::lists_as_mask(spec) : spec;
    with_predictions.push_back(predicted(emitted, rows, choice));
    auto text = source(emitted, rows, api, choice);
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
