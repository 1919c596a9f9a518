#include "emit/wgmma.h"

#include <doctest/doctest.h>

#include <fstream>
#include <sstream>
#include <string>

namespace attngen::emit {
namespace {

TEST_CASE("the template's own instructions are those of its default widths") {
  std::ifstream file(ATTNGEN_SOURCE_DIR "/templates/hopper/parts/wgmma_n.cuh");
  std::stringstream text;
  text << file.rdbuf();
  std::string expected = text.str();
  const std::string once = "#pragma once\n";
  REQUIRE(expected.find(once) != std::string::npos);
  expected.erase(expected.find(once), once.size());
  CHECK(wgmma_functions({}) == expected);
}

TEST_CASE("widths, types and places") {
  const std::string text = wgmma_functions({spec::DType::Fp16, 80, 64, true});
  CHECK(text.find("m64n80k16.f32.f16.f16") != std::string::npos);
  CHECK(text.find("m64n64k16.f32.f16.f16") != std::string::npos);
  CHECK(text.find("float (&d)[10][2][2], uint64_t a,") != std::string::npos);
  CHECK(text.find("\"%32, %33, p, 1, 1, 0, 1;\\n\"") != std::string::npos);  // value transposed
  CHECK(text.find("\"%40, %41, p, 1, 1, 0, 0;\\n\"") != std::string::npos);
}

TEST_CASE("those of states") {
  const std::string text = wgmma_functions(
      {spec::DType::Bf16, 64, 128, false, /*state_columns=*/64, /*far_queries=*/true});
  CHECK(text.find("void wgmma_state(float (&d)[8][2][2], const uint32_t (&a)[4],") !=
        std::string::npos);
  CHECK(text.find("void wgmma_far(float (&d)[8][2][2], const uint32_t (&a)[4],") !=
        std::string::npos);
  const std::string wide = wgmma_functions({spec::DType::Bf16, 64, 256, false, 128});
  CHECK(wide.find("void wgmma_state(float (&d)[16][2][2],") != std::string::npos);
  CHECK(wide.find("wgmma_far") == std::string::npos);
  CHECK(wgmma_functions({}).find("wgmma_state") == std::string::npos);
}

TEST_CASE("lines fit") {
  std::istringstream lines(wgmma_functions({spec::DType::Bf16, 256, 256, false}));
  for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 100);
}

}  // namespace
}  // namespace attngen::emit
