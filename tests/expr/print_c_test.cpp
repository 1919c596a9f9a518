// Printed C, compiled by the system's compiler and run, against the evaluator.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "expr/evaluate.h"
#include "expr/print.h"
#include "expr/simplify.h"
#include "random_expr.h"

using namespace attngen::expr;
using namespace attngen::expr::testing;

namespace {

// A directory of its own, removed at the end.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "expr_test.XXXXXX").string();
    REQUIRE(mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

struct Sample {
  Expr expression;
  std::vector<double> values;
};

// Beyond i32 an Int has no meaning.
bool integers_fit(const Expr& e, const std::vector<double>& values) {
  if (e.type() == Type::Int && std::fabs(Program(e, all_names())(values)) > 2147483647) {
    return false;
  }
  return std::all_of(e.operands().begin(), e.operands().end(),
                     [&](const Expr& operand) { return integers_fit(operand, values); });
}

std::vector<Sample> samples() {
  std::vector<Sample> result;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    RandomExpr random(seed);
    const Expr e = seed % 4 == 0 ? random.make_int(4) : random.make_float(5);
    const std::vector<double> values = random.values();
    if (integers_fit(e, values)) {
      result.push_back({seed % 2 == 0 ? e : simplify(e), values});
    }
  }
  return result;
}

std::string c_program(const std::vector<Sample>& all) {
  std::string functions = host_functions() + "#include <stdio.h>\n";
  std::string calls;
  for (size_t k = 0; k < all.size(); ++k) {
    std::string parameters, arguments;
    const std::vector<std::string> names = all_names();
    for (size_t n = 0; n < names.size(); ++n) {
      const bool is_float = n < float_names().size();
      const char* separator = n == 0 ? "" : ", ";
      parameters += fmt::format("{}{} {}", separator, is_float ? "double" : "long long", names[n]);
      arguments += is_float ? fmt::format("{}{}", separator, all[k].values[n])
                            : fmt::format("{}{:.0f}", separator, all[k].values[n]);
    }
    const Statements statements = print_c_statements(all[k].expression, Dialect::HostC, {}, 2);
    functions += fmt::format("static double f{}({}) {{\n{}  return {};\n}}\n", k, parameters,
                             statements.text, statements.value);
    functions += fmt::format("static double g{}({}) {{ return {}; }}\n", k, parameters,
                             print_c(all[k].expression, Dialect::HostC));
    calls += fmt::format("  printf(\"%.17g %.17g\\n\", f{0}({1}), g{0}({1}));\n", k, arguments);
  }
  return functions + "int main(void) {\n" + calls + "  return 0;\n}\n";
}

bool alike(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b)) ||
         std::fabs(a - b) <= 1e-12 * std::max(std::fabs(a), std::fabs(b));
}

}  // namespace

TEST_CASE("printed C compiled and run equals the evaluator") {
  const std::vector<Sample> all = samples();
  REQUIRE(all.size() > 300);
  const TemporaryDirectory directory;
  const std::string source = (directory.path() / "all.c").string();
  const std::string program = (directory.path() / "all").string();
  std::ofstream(source) << c_program(all);
  const std::string compile =
      fmt::format("cc -std=c99 -O0 -ffp-contract=off -w -o '{}' '{}' -lm", program, source);
  REQUIRE(std::system(compile.c_str()) == 0);
  FILE* pipe = popen(program.c_str(), "r");
  REQUIRE(pipe != nullptr);
  const std::vector<std::string> names = all_names();
  size_t read = 0;
  for (; read < all.size(); ++read) {
    double by_statements = 0;
    double by_expression = 0;
    if (std::fscanf(pipe, "%lf %lf", &by_statements, &by_expression) != 2) {
      break;
    }
    const double expected = Program(all[read].expression, names)(all[read].values);
    CHECK_MESSAGE(alike(by_statements, expected),
                  fmt::format("seed {}: {} is {}, in C {}", read, print(all[read].expression),
                              expected, by_statements));
    CHECK_MESSAGE(alike(by_expression, expected), fmt::format("seed {}", read));
  }
  CHECK(pclose(pipe) == 0);
  CHECK(read == all.size());
}
