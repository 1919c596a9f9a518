// Emitted functions, compiled for the host. The hardware's own are exact there: what is measured is
// the error of what stands around them.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "expr/print.h"
#include "temporary_directory.h"

using namespace attngen::expr;
using namespace attngen::expr::testing;

namespace {

struct Promise {
  std::string_view call;   // of a float x
  std::string_view exact;  // of a double x
  std::string_view unit;   // of the error
  double most;             // of x, to both sides
  double error;
};

std::vector<Promise> promises() {
  constexpr double kFit = 0x1p-13;
  constexpr std::string_view kGelu = "x / 2 * erfc(-x / sqrt(2.0))";
  return {
      {"error_function(x)", "erf(x)", "fabs(erf(x))", 10, kFit},
      {"error_function(x)", "erf(x)", "1", 1e9, kFit},
      {"gelu(x)", kGelu, kGelu, 12, kFit / 2},
      {"gelu(x)", kGelu, "fabs(x)", 1e9, kFit / 2},
      {"1 / gelu(INFINITY) + gelu(-INFINITY)", "0", "1", 1, 0},
      {"cosine(x)", "cos(x)", "1", 10, 0x1p-20},
      {"cosine(x)", "cos(x)", "1", 0x1p20, 0x1p-20},
      {"sine(x)", "sin(x)", "1", 10, 0x1p-20},
      {"sine(x)", "sin(x)", "1", 0x1p20, 0x1p-20},
      {"positive_power(fabsf(x), 0.3f)", "pow(fabs(x), 0.3f)", "pow(fabs(x), 0.3f)", 1000, 0x1p-18},
      {"positive_power(fabsf(x), -7.5f)", "pow(fabs(x), -7.5)", "pow(fabs(x), -7.5)", 3, 0x1p-14},
      {"real_power(x, 5.0f)", "pow(x, 5)", "fabs(pow(x, 5))", 3, 0x1p-14},
      {"real_power(x, -4.0f)", "pow(x, -4)", "pow(x, -4)", 3, 0x1p-14},
      {"real_power(x, 0.0f)", "1", "1", 1e9, 0},
      {"isnan(real_power(-fabsf(x) - 1, 0.5f))", "1", "1", 1e9, 0},
  };
}

// Prints each promise's greatest error in its unit.
std::string program(const std::vector<Promise>& all) {
  std::string text = R"(#include <cmath>
#include <cstdio>
using std::isnan;
#define __device__
#define __forceinline__ inline
#define __cosf cosf
#define __sinf sinf
#define __fsub_rn(x, y) ((x) - (y))
static float exp2_approx(float x) { return exp2f(x); }
static float log2_approx(float x) { return log2f(x); }
static float reciprocal(float x) { return 1 / x; }
static float tanh_approx(float x) { return tanhf(x); }
)";
  for (const char* name : {"within_turn", "cosine", "error_function", "gelu", "positive_power",
                           "real_power", "sine"}) {
    text += device_function(name, Vendor::Nvidia, Accuracy::Bf16);
  }
  text += "int main() {\n";
  for (const Promise& one : all) {
    text += fmt::format(
        "  {{\n    double worst = 0;\n    for (int i = -99999; i < 100000; i += 2) {{\n"
        "      const float of = i / 1e5 * {};\n      double error;\n"
        "      {{ const float x = of; error = {}; }}\n"
        "      {{ const double x = of; error = fabs((error - ({})) / ({})); }}\n"
        "      if (!(error <= worst)) worst = error;\n    }}\n"
        "    printf(\"%.17g\\n\", worst);\n  }}\n",
        one.most, one.call, one.exact, one.unit);
  }
  return text + "}\n";
}

}  // namespace

TEST_CASE("device functions err by no more than they say") {
  const std::vector<Promise> all = promises();
  const TemporaryDirectory directory;
  const std::string source = (directory.path() / "all.cpp").string();
  const std::string binary = (directory.path() / "all").string();
  std::ofstream(source) << program(all);
  const std::string compile =
      fmt::format("c++ -std=c++17 -O1 -ffp-contract=off -w -o '{}' '{}'", binary, source);
  REQUIRE(std::system(compile.c_str()) == 0);
  FILE* pipe = popen(binary.c_str(), "r");
  REQUIRE(pipe != nullptr);
  for (const Promise& one : all) {
    double worst = NAN;
    REQUIRE(std::fscanf(pipe, "%lf", &worst) == 1);
    CHECK_MESSAGE(worst <= one.error, fmt::format("{} errs by {}", one.call, worst));
  }
  CHECK(pclose(pipe) == 0);
}
