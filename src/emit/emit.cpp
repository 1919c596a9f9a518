#include "emit/emit.h"

#include <stdexcept>
#include <utility>

#include "emit/api.h"
#include "emit/banner.h"
#include "emit/manifest.h"
#include "emit/source.h"

namespace attngen::emit {

std::vector<std::string> output_names(const spec::Spec& spec,
                                      const std::vector<std::string>& targets) {
  std::vector<std::string> names;
  for (const std::string& name : targets) {
    const target::Target* target = target::find(name);
    names.push_back(
        source_name(spec, name, target != nullptr ? target->family : target::Family::Hopper));
  }
  names.push_back(spec.name + ".h");
  names.push_back(spec.name + ".json");
  return names;
}

std::vector<File> emit(const spec::Spec& spec, const attention::RowForm& rows,
                       const std::vector<Choice>& choices) {
  const Api api = api_of(spec);
  std::vector<File> files;
  for (const Choice& choice : choices) {
    auto text = source(spec, rows, api, choice);
    if (const auto* error = std::get_if<TemplateError>(&text)) {
      throw std::logic_error(error->message);
    }
    files.push_back({source_name(spec, *choice.target), std::get<std::string>(std::move(text))});
  }
  files.push_back({spec.name + ".h", header(api, header_banner(spec))});
  files.push_back({spec.name + ".json", manifest(spec, rows, api, choices)});
  return files;
}

}  // namespace attngen::emit
