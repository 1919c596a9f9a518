// Any spec that is read gives sources for every target, of a length in proportion, or errors: no
// crash, no hang, no number that C does not know.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "attention/row_form.h"
#include "emit/emit.h"
#include "schedule/search.h"
#include "spec/read.h"
#include "target/target.h"

namespace {

using namespace attngen;

void require(bool condition) {
  if (!condition) std::abort();
}

using schedule::Schedule;

// One that has all forms of a template, and one that every spec has room for: a search would take a
// thousand times as long.
std::vector<Schedule> schedules_of(const schedule::Kernel& kernel, target::Family family) {
  Schedule usual;
  usual.ping_pong = false;
  if (family == target::Family::Cdna2) {
    usual.warpgroups = 1;
    usual.tile_kv = 32;
    usual.stages = 1;
    usual.grid = schedule::Grid::Plain;
    return {usual};
  }
  usual.warpgroups = kernel.maps;
  usual.tile_kv = 64;
  usual.stages = 4;
  usual.order = schedule::Order::LongestFirst;
  Schedule least = usual;
  least.tile_kv = schedule::kLeastTileKv;
  least.stages = 2;
  return {usual, least};
}

std::optional<emit::Choice> choice_for(const spec::Spec& spec, const attention::RowForm& rows,
                                       const target::Target& target) {
  const schedule::Kernel kernel = schedule::describe_kernel(spec, rows, target.family);
  for (const Schedule& schedule : schedules_of(kernel, target.family)) {
    schedule::Judged judged = schedule::judge(kernel, schedule, target);
    if (judged.candidate) return emit::Choice{&target, *std::move(judged.candidate), true};
  }
  return std::nullopt;
}

// Comments and the manifest quote the spec, whose `doc` may say anything.
bool has_code_with(const emit::File& file, std::string_view number) {
  if (file.name.ends_with(".json")) return false;
  std::istringstream lines(file.content);
  for (std::string line; std::getline(lines, line);) {
    if (line.substr(0, line.find("//")).find(number) != std::string::npos) return true;
  }
  return false;
}

void generate(const spec::Spec& spec, const attention::RowForm& rows,
              text::Diagnostics& diagnostics, size_t spec_size) {
  std::vector<emit::Choice> choices;
  for (const char* name : {"h100", "mi250"}) {
    const target::Target& target = *target::find(name);
    if (!emit::check_supported(spec, target, diagnostics)) continue;
    if (auto choice = choice_for(spec, rows, target)) choices.push_back(*std::move(choice));
  }
  for (const emit::File& file : emit::emit(spec, rows, choices)) {
    require(file.content.size() < 300'000 + 100 * spec_size);
    require(!has_code_with(file, "inf.0f"));
    require(!has_code_with(file, "nan.0f"));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  text::Diagnostics diagnostics(
      {"fuzz.yaml", std::string(reinterpret_cast<const char*>(data), size)});
  std::optional<spec::Spec> spec = spec::read(diagnostics);
  if (!spec || !emit::check_supported(*spec, *target::find("h100"), diagnostics)) return 0;
  spec->workload = {{1, 300, 200, 1}};  // a model of many tiles takes most of the time
  const auto rows = attention::derive_row_form(spec->normalize);
  if (const auto* form = std::get_if<attention::RowForm>(&rows)) {
    generate(*spec, *form, diagnostics, size);
  }
  require(!diagnostics.render(text::ErrorFormat::Gcc).empty() || !diagnostics.has_errors());
  return 0;
}
