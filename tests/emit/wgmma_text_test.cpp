#include "emit/wgmma_text.h"

#include <doctest/doctest.h>

#include <fstream>
#include <sstream>

namespace attngen::emit {

TEST_CASE("the template's own matrix instructions are the generator's text at 128 x 128") {
  std::ifstream file(ATTNGEN_SOURCE_DIR "/templates/hopper/parts/wgmma_n.cuh");
  std::stringstream text;
  text << file.rdbuf();
  std::string part = text.str();
  const std::string once = "#pragma once\n";
  const size_t at = part.find(once);
  REQUIRE(at != std::string::npos);
  part.erase(at, once.size());
  CHECK(part == wgmma_text({}));
}

TEST_CASE("operands follow the accumulators") {
  const std::string registers =
      wgmma_text({.tile_kv = 64, .head_dim_v = 72, .dtype = spec::DType::Fp16});
  CHECK(registers.find("m64n64k16.f32.f16.f16") != std::string::npos);
  CHECK(registers.find("\"{%36, %37, %38, %39}, %40, p, 1, 1, 1;\\n\"") != std::string::npos);
  const std::string shared = wgmma_text({.head_dim_v = 64, .weights_shared = true});
  CHECK(shared.find("\"%32, %33, p, 1, 1, 0, 1;\\n\"") != std::string::npos);
}

}  // namespace attngen::emit
