#include "spec/read.h"

#include <doctest/doctest.h>

#include <fstream>
#include <sstream>

namespace {

using attngen::spec::Spec;

std::string file(const std::string& path) {
  std::ifstream in(std::string(ATTNGEN_SOURCE_DIR "/") + path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

TEST_CASE("llama3_8b") {
  const std::string path = "specs/models/llama3_8b.yaml";
  attngen::text::Diagnostics diagnostics({path, file(path)});
  const auto spec = attngen::spec::read(diagnostics);
  CHECK(diagnostics.render(attngen::text::ErrorFormat::Gcc) == "");
  REQUIRE(spec);
  CHECK(spec->name == "llama3_8b");
  CHECK(spec->heads.q == 32);
  CHECK(spec->heads.kv() == 8);
}

}  // namespace
