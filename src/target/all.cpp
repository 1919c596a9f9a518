// The models that are built in.
#include <span>
#include <stdexcept>
#include <utility>

#include "target/target.h"

namespace attngen::target {

// The files of specs/hardware, from cmake/EmbedText.cmake: sorted by name.
extern const std::span<const std::pair<std::string_view, std::string_view>> model_files;

namespace {

std::string_view stem(std::string_view file) { return file.substr(0, file.rfind('.')); }

std::vector<Target> read_all() {
  std::vector<Target> targets;
  for (const auto& [file, text] : model_files) {
    Read result = read(stem(file), text);
    // The tests read every embedded file, so a build that passes them never throws here.
    if (!result.target) throw std::logic_error(result.error);
    targets.push_back(std::move(*result.target));
  }
  return targets;
}

}  // namespace

const std::vector<Target>& all() {
  static const std::vector<Target> targets = read_all();
  return targets;
}

std::vector<std::string> names_with_kernels() {
  std::vector<std::string> names;
  for (const Target& target : all()) {
    if (has_kernels(target.family)) names.push_back(target.name);
  }
  return names;
}

const Target* find(std::string_view name) {
  for (const Target& target : all()) {
    if (target.name == name) return &target;
  }
  return nullptr;
}

std::string_view file_text(std::string_view name) {
  for (const auto& [file, text] : model_files) {
    if (stem(file) == name) return text;
  }
  return {};
}

}  // namespace attngen::target
