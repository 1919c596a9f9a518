// attngen_schedules SPEC TARGET: every schedule of the search that fits, one JSON object a line,
// fastest first as predicted. For scripts/sweep_gpu.py.
#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <string>

#include "attention/row_form.h"
#include "schedule/search.h"
#include "spec/read.h"

int main(int argc, char** argv) {
  using namespace attngen;
  const target::Target* target = argc == 3 ? target::find(argv[2]) : nullptr;
  if (target == nullptr) {
    fmt::print(stderr, "usage: attngen_schedules SPEC TARGET\n");
    return 2;
  }
  std::ifstream file(argv[1]);
  const std::string source(std::istreambuf_iterator<char>(file), {});
  text::Diagnostics diagnostics(text::Source{argv[1], source});
  const std::optional<spec::Spec> spec = spec::read(diagnostics);
  if (!spec) {
    fmt::print(stderr, "{}", diagnostics.render(text::ErrorFormat::Gcc));
    return 1;
  }
  const auto derived = attention::derive_row_form(spec->normalize);
  const auto* rows = std::get_if<attention::RowForm>(&derived);
  if (rows == nullptr) {
    fmt::print(stderr, "{}: no online form\n", argv[1]);
    return 1;
  }
  const schedule::Kernel kernel = schedule::describe_kernel(*spec, *rows);
  const schedule::Ranking ranking = schedule::search(kernel, *target);
  for (const schedule::Candidate& c : ranking.ranked) {
    fmt::print("{{\"schedule\": {}, \"seconds\": {:.9f}}}\n", to_json(c.schedule), c.cost.seconds);
  }
}
