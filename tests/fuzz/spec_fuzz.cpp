// Any bytes, as YAML and as JSON, give a Spec or errors, and a Schedule or errors: no crash, hang
// or leak.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "schedule/read.h"
#include "spec/read.h"

namespace {

template <typename Read>
void read_as(const char* name, const std::string& content, const Read& read_text) {
  attngen::text::Diagnostics diagnostics({name, content});
  const bool read = read_text(diagnostics).has_value();
  if (read == diagnostics.has_errors()) std::abort();
  const std::string shown = diagnostics.render(attngen::text::ErrorFormat::Gcc) +
                            diagnostics.render(attngen::text::ErrorFormat::Json);
  if (!read && shown.empty()) std::abort();  // of what is read there may be warnings
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string content(reinterpret_cast<const char*>(data), size);
  read_as("fuzz.yaml", content, attngen::spec::read);
  read_as("fuzz.json", content, attngen::spec::read);
  read_as("schedule.json", content, attngen::schedule::read);
  return 0;
}
