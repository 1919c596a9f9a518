#include "emit/preprocess.h"

#include <doctest/doctest.h>

#include <string>

namespace attngen::emit {
namespace {

using Files = std::map<std::string, std::string, std::less<>>;

std::string run(const Files& files, Substitution substitution) {
  if (substitution.name.empty()) substitution.name = "llama";
  const Template input{"hopper/main.cu",
                       [&](std::string_view path) -> std::optional<std::string_view> {
                         const auto found = files.find(path);
                         if (found == files.end()) return std::nullopt;
                         return found->second;
                       }};
  const auto result = preprocess(input, substitution);
  if (const auto* error = std::get_if<TemplateError>(&result)) return "error: " + error->message;
  return std::get<std::string>(result);
}
std::string run(std::string text, Values values = {}) {
  return run(Files{{"hopper/main.cu", std::move(text)}},
             {.values = std::move(values), .replacements = {}, .name = ""});
}

TEST_CASE("conditions on known names are resolved") {
  CHECK(run("#if ATTN_X\na\n#else\nb\n#endif\n", {{"ATTN_X", "1"}}) == "a\n");
  CHECK(run("#if ATTN_X\na\n#else\nb\n#endif\n", {{"ATTN_X", "0"}}) == "b\n");
  const std::string chain =
      "#if ATTN_X == 1\na\n#elif ATTN_X == 2\nb\n#elif ATTN_X == 3\nc\n#else\nd\n#endif\n";
  CHECK(run(chain, {{"ATTN_X", "1"}}) == "a\n");
  CHECK(run(chain, {{"ATTN_X", "2"}}) == "b\n");
  CHECK(run(chain, {{"ATTN_X", "3"}}) == "c\n");
  CHECK(run(chain, {{"ATTN_X", "4"}}) == "d\n");
}

TEST_CASE("conditions are integer expressions") {
  const auto holds = [](const std::string& condition) {
    return run("#if " + condition + "  // why\nyes\n#endif\nend\n",
               {{"ATTN_A", "3"}, {"ATTN_B", "0"}}) == "yes\nend\n";
  };
  CHECK(holds("ATTN_A && !ATTN_B"));
  CHECK_FALSE(holds("ATTN_A && ATTN_B"));
  CHECK(holds("ATTN_B || ATTN_A == 3 && 1"));
  CHECK(holds("(ATTN_A + 1) * 2 % 5 == 3"));
  CHECK(holds("7 / ATTN_A == 2 && -ATTN_A < -2"));
  CHECK(holds("ATTN_A >= 3 && ATTN_A <= 3 && ATTN_A != 4 && ATTN_A > 2"));
  CHECK(holds("10 - 3 - 4 == ATTN_A"));
  CHECK(holds("defined(ATTN_A) && !defined ATTN_C"));
}

TEST_CASE("an inactive branch is not looked into") {
  CHECK(run("#if 0\n#if ATTN_UNKNOWN\nATTN_UNKNOWN\n#else\n#include "
            "\"none.cuh\"\n#endif\n#else\na\n#endif\n") == "a\n");
}

TEST_CASE("other directives stay, with values put in") {
  CHECK(run("#ifdef __CUDACC__\na\n#elif defined(X)\nb\n#else\nc\n#endif\n") ==
        "#ifdef __CUDACC__\na\n#elif defined(X)\nb\n#else\nc\n#endif\n");
  CHECK(run("#if X > ATTN_A\n#if ATTN_A\na\n#endif\n#endif\n", {{"ATTN_A", "1"}}) ==
        "#if X > 1\na\n#endif\n");
  CHECK(run("#define TWICE(x) \\\n  (ATTN_A * (x))\n#pragma unroll\n", {{"ATTN_A", "2"}}) ==
        "#define TWICE(x) \\\n  (2 * (x))\n#pragma unroll\n");
}

TEST_CASE("defaults are dropped") {
  CHECK(run("#ifndef ATTN_A\n#define ATTN_A 1\n#endif\nint a = ATTN_A;\n", {{"ATTN_A", "5"}}) ==
        "int a = 5;\n");
  CHECK(run("#ifndef ATTN_A\n#define ATTN_A 1\n#endif\n") ==
        "error: hopper/main.cu:2: ATTN_A has no value");
}

TEST_CASE("values are put into code alone") {
  const Values values{{"ATTN_A", "5"}, {"ATTN_SCALE", "-0.5f"}};
  CHECK(run("x = ATTN_A;  // ATTN_A\n", values) == "x = 5;  // ATTN_A\n");
  CHECK(run("/* ATTN_A\n ATTN_A */ ATTN_A\n", values) == "/* ATTN_A\n ATTN_A */ 5\n");
  CHECK(run("f(\"ATTN_A \\\" ATTN_A\", 'A', ATTN_A)\n", values) ==
        "f(\"ATTN_A \\\" ATTN_A\", 'A', 5)\n");
  CHECK(run("n = 1'000 + ATTN_A;\n", values) == "n = 1'000 + 5;\n");
  CHECK(run("y = x - ATTN_SCALE;\n", values) == "y = x - (-0.5f);\n");
  CHECK(run("MY_ATTN_A ATTN_AB\n", values) == "error: hopper/main.cu:1: ATTN_AB has no value");
}

TEST_CASE("names are renamed everywhere, by whole prefixes") {
  CHECK(run("attention_forward(ATTENTION_OK); // attention_status\n") ==
        "llama_forward(LLAMA_OK); // llama_status\n");
  CHECK(run("my_attention_x attention \"attention_x\"\n") ==
        "my_attention_x attention \"llama_x\"\n");
}

TEST_CASE("parts are put in once, system includes at the top") {
  const Files files{
      {"hopper/main.cu",
       "// Main.\n#include <cuda.h>\n\n#include \"parts/a.cuh\"\n#include \"parts/b.cuh\"\nend\n"},
      {"hopper/parts/a.cuh", "// A.\n#pragma once\n#include <cuda.h>\n#include <stdint.h>\n\na\n"},
      {"hopper/parts/b.cuh", "// B.\n#pragma once\n#include \"a.cuh\"\nb\n"}};
  CHECK(run(files, {}) ==
        "// Main.\n#include <cuda.h>\n#include <stdint.h>\n\n// A.\n\na\n\n// B.\nb\n\nend\n");
}

TEST_CASE("replacements are inserted as they are") {
  const Files files{{"hopper/main.cu", "#include \"parts/user.cuh\"\nend\n"},
                    {"hopper/parts/user.cuh", "default\n"}};
  Substitution substitution;
  substitution.replacements = {
      {"parts/user.cuh", "#include <stdint.h>\nint attention_bias = ATTN_X;\n#if FOO\n"}};
  CHECK(run(files, substitution) ==
        "#include <stdint.h>\n\nint attention_bias = ATTN_X;\n#if FOO\n\nend\n");
}

TEST_CASE("blank lines") {
  CHECK(run("\n\na\n#if 0\nx\n#endif\n\n\nb   \n\n\n") == "a\n\nb\n");
  CHECK(run("a") == "a\n");
  CHECK(run("a\r\nb\r\n") == "a\nb\n");
  CHECK(run("") == "");
}

TEST_CASE("errors name file and line") {
  CHECK(run("a\n#if 1\n") == "error: hopper/main.cu:2: #if without #endif");
  CHECK(run("#endif\n") == "error: hopper/main.cu:1: #endif without #if");
  CHECK(run("#else\n") == "error: hopper/main.cu:1: #else without #if");
  CHECK(run("#if 1\n#else\n#else\n#endif\n") == "error: hopper/main.cu:3: #else after #else");
  CHECK(run("#if 0\n#elif X\n#endif\n") ==
        "error: hopper/main.cu:2: #elif mixes ATTN_ names with others");
  CHECK(run("#if ATTN_A\n#endif\n") == "error: hopper/main.cu:1: ATTN_A has no value");
  CHECK(run("#if ATTN_A\n#endif\n", {{"ATTN_A", "1.5f"}}) ==
        "error: hopper/main.cu:1: ATTN_A is '1.5f', not an integer");
  CHECK(run("#if (1\n#endif\n") == "error: hopper/main.cu:1: missing ')'");
  CHECK(run("#if 1 +\n#endif\n") == "error: hopper/main.cu:1: missing operand");
  CHECK(run("#if 1 1\n#endif\n") == "error: hopper/main.cu:1: cannot read '1'");
  CHECK(run("#if 1 / 0\n#endif\n") == "error: hopper/main.cu:1: division by zero");
  CHECK(run("#include \"parts/none.cuh\"\n") ==
        "error: hopper/main.cu:1: no template file 'parts/none.cuh'");
  CHECK(run(Files{}, {}) == "error: hopper/main.cu: no such template");
  const Files files{{"hopper/main.cu", "\n#include \"a.cuh\"\n"}, {"hopper/a.cuh", "\n\nATTN_A\n"}};
  CHECK(run(files, {}) == "error: hopper/a.cuh:3: ATTN_A has no value");
}

}  // namespace
}  // namespace attngen::emit
