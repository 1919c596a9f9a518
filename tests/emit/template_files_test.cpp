#include "emit/template_files.h"

#include <doctest/doctest.h>

#include <fstream>
#include <sstream>

namespace attngen::emit {
namespace {

TEST_CASE("of a part's functions those that a text calls, in the part's order") {
  const std::string text =
      called_functions("cdna2/parts/helpers.h", "x = pair_sum(from_bf16(in.count)); // pair_max\n");
  CHECK(text ==
        "__device__ __forceinline__ float from_bf16(uint16_t x) {\n"
        "  return __uint_as_float(static_cast<uint32_t>(x) << 16);\n"
        "}\n"
        "\n"
        "// Over the two lanes that share a row.\n"
        "__device__ __forceinline__ float pair_sum(float x) { return x + other_half(x); }\n"
        "\n");
  CHECK(called_functions("cdna2/parts/helpers.h", "count_within<true>(in.x, 0, 1, 2)")
            .starts_with("// One such number"));
  CHECK(called_functions("hopper/parts/helpers.cuh", "pair_sum(x)").empty());
}

TEST_CASE("a part is what follows its heading") {
  CHECK(part_text("hopper/parts/ids.cuh").starts_with("struct Ids {\n"));
}

size_t count_functions(std::string_view text) {
  const std::string_view mark = "__forceinline__";
  size_t count = 0;
  for (size_t at = text.find(mark); at != std::string_view::npos; at = text.find(mark, at + 1)) {
    ++count;
  }
  return count;
}

void hold_calls_all(const char* path, const char* program) {
  std::ifstream file(std::string(ATTNGEN_SOURCE_DIR "/tests/") + program);
  std::stringstream text;
  text << file.rdbuf();
  CHECK(count_functions(part_text(path)) > 0);
  CHECK(count_functions(called_functions(path, text.str())) == count_functions(part_text(path)));
}

TEST_CASE("what compiles the helpers by themselves calls all of them") {
  hold_calls_all("hopper/parts/helpers.cuh", "nvcc/helpers.cu");
  hold_calls_all("cdna2/parts/helpers.h", "mi250/helpers.hip");
}

}  // namespace
}  // namespace attngen::emit
