// Printed C, compiled by the system's compiler and run, against the evaluator.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "expr/decimal.h"
#include "expr/evaluate.h"
#include "expr/print.h"
#include "expr/simplify.h"
#include "random_expr.h"
#include "scope.h"
#include "temporary_directory.h"
#include "traced.h"

using namespace attngen::expr;
using namespace attngen::expr::testing;

namespace {

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
  for (const double i : {2147483647.0, -2147483648.0, 5.0}) {
    const Expr sum =
        make(Op::Saturate,
             {make(Op::Subtract,
                   {make(Op::Multiply, {variable("i", Type::Int), integer(64)}), integer(7)})});
    const std::vector<std::string> names = all_names();
    std::vector<double> values(names.size(), 3);
    REQUIRE(std::ranges::find(names, "i") != names.end());
    values.at(std::ranges::find(names, "i") - names.begin()) = i;
    result.push_back({sum, values});
  }
  return result;
}

// CUDA's functions for the host, so that the device dialect runs here too, in float.
std::string device_prelude() {
  std::string text = R"(#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <algorithm>
#define __device__
#define __forceinline__ inline
using std::max; using std::min; using std::abs; using std::isnan;
static float exp2_approx(float x) { return exp2f(x); }
#define __expf expf
#define __logf logf
#define __float2int_rd(x) (std::isnan(x) ? 0 : (int)floorf(x))
#define __log2f log2f
#define __cosf cosf
#define __sinf sinf
static float log2_approx(float x) { return log2f(x); }
static float reciprocal(float x) { return 1 / x; }
#define __fadd_rn(x, y) ((x) + (y))
#define __fsub_rn(x, y) ((x) - (y))
#define __fdiv_rn(x, y) ((x) / (y))
#define __fdividef(x, y) ((x) / (y))
static float rsqrtf(float x) { return 1 / sqrtf(x); }
)";
  for (const char* name :
       {"within_turn", "cosine", "error_function", "float_modulo", "floor_divide", "floor_modulo",
        "gelu", "positive_power", "power", "real_power", "saturate", "sigmoid", "sign", "silu",
        "sine", "square", "tanh_approx"}) {
    REQUIRE(!device_function(name).empty());
    text += device_function(name);
  }
  return text;
}

// Prints, a line for each sample, its value by statements and by one expression.
std::string c_program(const std::vector<Sample>& all, Dialect dialect) {
  const bool device = dialect == Dialect::Device;
  const char* real = device ? "float" : "double";
  std::string functions = device ? device_prelude() : host_functions() + "#include <stdio.h>\n";
  std::string calls;
  for (size_t k = 0; k < all.size(); ++k) {
    std::string parameters, arguments;
    const std::vector<std::string> names = all_names();
    for (size_t n = 0; n < names.size(); ++n) {
      const bool is_float = n < float_names().size();
      const char* separator = n == 0 ? "" : ", ";
      const char* integral = device ? "int" : "long long";
      parameters += fmt::format("{}{} {}", separator, is_float ? real : integral, names[n]);
      arguments += is_float ? fmt::format("{}({}){}", separator, real, all[k].values[n])
                            : fmt::format("{}{:.0f}", separator, all[k].values[n]);
    }
    const Expr& e = all[k].expression;
    const Statements statements = print_c_statements(e, dialect, {}, 2);
    functions += fmt::format("static double f{}({}) {{\n{}  return {};\n}}\n", k, parameters,
                             statements.text, statements.value);
    functions +=
        fmt::format("static double g{}({}) {{ return {}; }}\n", k, parameters, print_c(e, dialect));
    calls += fmt::format("  printf(\"%.17g %.17g\\n\", f{0}({1}), g{0}({1}));\n", k, arguments);
  }
  return functions + "int main(void) {\n" + calls + "  return 0;\n}\n";
}

bool alike(double a, double b, double tolerance) {
  return a == b || (std::isnan(a) && std::isnan(b)) ||
         std::fabs(a - b) <= tolerance * std::max(std::fabs(a), std::fabs(b));
}

// `tolerance`: relative, and absolute for values below `unit`.
void check_compiled(const std::vector<Sample>& all, Dialect dialect, const char* compiler,
                    double tolerance, double unit) {
  const TemporaryDirectory directory;
  const std::string source = (directory.path() / "all.c").string();
  const std::string program = (directory.path() / "all").string();
  std::ofstream(source) << c_program(all, dialect);
  const std::string compile =
      fmt::format("{} -O0 -ffp-contract=off -w -o '{}' '{}' -lm", compiler, program, source);
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
    const Expr& e = all[read].expression;
    const double expected = Program(e, names)(all[read].values);
    for (const double actual : {by_statements, by_expression}) {
      const bool right =
          alike(actual, expected, tolerance) || std::fabs(actual - expected) <= tolerance * unit;
      CHECK_MESSAGE(right, fmt::format("sample {}: {} is {}, in C {}: {}", read, print(e), expected,
                                       actual, print_c(e, dialect)));
    }
  }
  CHECK(pclose(pipe) == 0);
  CHECK(read == all.size());
}

}  // namespace

TEST_CASE("printed C compiled and run equals the evaluator") {
  const std::vector<Sample> all = samples();
  REQUIRE(all.size() > 300);
  check_compiled(all, Dialect::HostC, "cc -std=c99", 1e-12, 0);
}

TEST_CASE("printed device code compiled for the host equals the evaluator in float") {
  std::vector<Sample> all;
  for (const Sample& sample : samples()) {
    const Traced path = traced(sample.expression, sample.values, 1e-3);
    if (path.tame && path.finite) {
      all.push_back(sample);
    }
  }
  REQUIRE(all.size() > 150);
  check_compiled(all, Dialect::Device, "c++ -x c++ -std=c++17", 2e-3, 1);
}

TEST_CASE("a step is made of an exact quotient") {
  const auto device = [](std::string_view text, bool exact = false) {
    Names names;
    names.exact = exact;
    names.inexact = [](std::string_view variable) { return variable == "score"; };
    return print_c(simplify(parsed(text)), Dialect::Device, names);
  };
  CHECK(device("x / 121") == "x * (1.0f / 121.0f)");
  CHECK(device("int(x / 121)") == "__float2int_rd(__fdiv_rn(x, 121.0f))");
  CHECK(device("floor(x / y)") == "floorf(__fdiv_rn(x, y))");
  CHECK(device("int(x / 64)") == "__float2int_rd(x * 0.015625f)");
  CHECK(device("int(x / -64)") == "__float2int_rd(x * -0.015625f)");
  CHECK(device("x / 3 // y") == "floorf(__fdiv_rn(__fdiv_rn(x, 3.0f), y))");
  CHECK(device("x / 3 % 2") == "float_modulo(__fdiv_rn(x, 3.0f), 2.0f)");
  CHECK(device("x / 3 + floor(x / 3)") == "__fdiv_rn(x, 3.0f) + floorf(__fdiv_rn(x, 3.0f))");
  CHECK(device("x / 3 > y") == "__fdiv_rn(x, 3.0f) > y");
  CHECK(device("score / 3 > y") == "score * (1.0f / 3.0f) > y");
  CHECK(device("score // 3") == "floorf(__fdiv_rn(score, 3.0f))");
  // As pairs, keys and blocks compute what a mask asks.
  CHECK(device("x / 121", true) == "__fdiv_rn(x, 121.0f)");
  CHECK(device("x * y + m", true) == "__fadd_rn(x * y, m)");
  CHECK(device("m - exp(x) * y", true) == "__fsub_rn(m, exp2_approx(x * 1.442695f) * y)");
  CHECK(device("x - m + y", true) == "x - m + y");
  CHECK(device("square(x) + m", true) == "__fadd_rn(x * x, m)");
  CHECK(device("exp(x) + m", true) == "__fadd_rn(exp2_approx(x * 1.442695f), m)");
  CHECK(device("q_idx * 3 + h < x") == "float(q_idx * 3 + h) < x");
  Names exact;
  exact.exact = true;
  CHECK(print_c(parsed("m + -(x * y)"), Dialect::Device, exact) == "__fadd_rn(m, -(x * y))");
}

TEST_CASE("logarithms and roots are quick where that is enough") {
  Names names;
  names.quick = [](const Expr& e) { return mentions(e, "score"); };
  const auto device = [&](std::string_view text) {
    return print_c(parsed(text), Dialect::Device, names);
  };
  CHECK(device("log(score)") == "__logf(score)");
  CHECK(device("log2(x) + score") == "log2f(x) + score");
  CHECK(print_c(parsed("log(score)"), Dialect::Device) == "logf(score)");
  CHECK(device("sqrt(score) + sqrt(x)") == "square_root(score) + sqrtf(x)");
  CHECK(print_c(parsed("sqrt(score)"), Dialect::Device) == "sqrtf(score)");
  // Of a perfect square a last bit decides about the floor.
  names.quick = [](const Expr&) { return true; };
  CHECK(device("floor(sqrt(q_idx))") == "floorf(sqrtf(float(q_idx)))");
}

TEST_CASE("device code reads as if written by hand") {
  const auto device = [](std::string_view text) {
    return print_c(simplify(parsed(text)), Dialect::Device);
  };
  CHECK(device("exp(score - m)") == "exp2_approx((score - m) * 1.442695f)");
  CHECK(device("exp(2 * x)") == "exp2_approx(x * 2.88539f)");
  CHECK(device("exp(3e38 * x)") == "exp2_approx(3e+38f * x * 1.442695f)");
  CHECK(device("30 * tanh(score / 30)") == "30.0f * tanh_approx(score * (1.0f / 30.0f))");
  CHECK(device("x / 2") == "x * 0.5f");
  CHECK(device("x / y") == "__fdividef(x, y)");
  CHECK(device("x / 3e38") == "__fdividef(x, 3e+38f)");  // the reciprocal would be 0
  CHECK(device("1 / (1 + exp2(x))") == "reciprocal(1.0f + exp2_approx(x))");
  CHECK(device("3 / (exp2(x) + 2)") == "3.0f * reciprocal(exp2_approx(x) + 2.0f)");
  CHECK(device("kv_idx <= q_pos and q_pos - kv_idx < window") ==
        "kv_idx <= q_pos && q_pos - kv_idx < 4096");
  CHECK(device("x < y and y < m or h == b") == "(x < y && y < m) || h == b");
  CHECK(device("score + x * (kv_idx - q_pos)") == "score + x * float(kv_idx - q_pos)");
  CHECK(device("q_idx // 64") == "(q_idx >> 6)");
  CHECK(device("(q_idx + 1) % 64") == "((q_idx + 1) & 63)");
  CHECK(device("q_idx // 3") == "floor_divide(q_idx, 3)");
  CHECK(device("score if q_idx < kv_idx else -inf") == "q_idx < kv_idx ? score : -INFINITY");
  CHECK(device("pow(x, 3)") == "power<3>(x)");
  CHECK(device("pow(x, -3)") == "__fdividef(1.0f, power<3>(x))");
  CHECK(device("pow(x, 2.5)") == "real_power(x, 2.5f)");
  CHECK(device("pow(abs(x) + 0.5, y)") == "positive_power(fabsf(x) + 0.5f, y)");
  CHECK(device("slopes[int(x)]") == "slopes[__float2int_rd(x)]");
  CHECK(device("pow(x, 2)") == "x * x");
  CHECK(device("not (x < y)") == "!(x < y)");
  CHECK(device("-(-3 * x)") == "3.0f * x");
  CHECK(device("x - (y - m)") == "x - (y - m)");
  CHECK(device("slopes[h] * cap") == "slopes[h] * cap");
  CHECK(device("max(q_idx, 0) + relu(x)") == "float(max(q_idx, 0)) + fmaxf(x, 0.0f)");
}

TEST_CASE("without branches, each operand of a condition is in parentheses") {
  Names names;
  names.eager = true;
  CHECK(print_c(parsed("x < y and (y < m or h == b)"), Dialect::Device, names) ==
        "(x < y) & ((y < m) | (h == b))");
}

TEST_CASE("a sum that may leave 32 bits is taken in 64, and no int is its name") {
  const Expr sum = parsed("q_idx * 64 + kv_idx");
  const auto saturated = [](const Expr& e) { return make(Op::Saturate, {e}); };
  CHECK(print_c(saturated(sum), Dialect::Device) ==
        "saturate(int64_t{q_idx} * 64 + int64_t{kv_idx})");
  CHECK(print_c(saturated(parsed("q_idx // 3 - 1")), Dialect::Device) ==
        "saturate(int64_t{floor_divide(q_idx, 3)} - 1)");
  CHECK(print_c(saturated(sum), Dialect::HostC) == "saturate(q_idx * 64 + kv_idx)");
  CHECK(print(saturated(sum)) == "saturate(q_idx * 64 + kv_idx)");
  const Expr twice = make(Op::Max, {saturated(make(Op::Add, {sum, integer(1)})),
                                    make(Op::Min, {saturated(sum), parsed("h")})});
  CHECK(print_c_statements(twice, Dialect::Device, {}, 2).text.empty());
  CHECK(same(simplify(saturated(parsed("q_idx + 1 - 1"))), parsed("q_idx")));
  CHECK(same(simplify(saturated(sum)), saturated(sum)));
  const Expr opposite = saturated(parsed("-q_idx"));
  CHECK(print_c(simplify(opposite), Dialect::Device) == "saturate(-int64_t{q_idx})");
}

TEST_CASE("the least i32 is an int in C, and has no opposite") {
  const Expr least = integer(std::numeric_limits<int32_t>::min());
  CHECK(print_c(least, Dialect::Device) == "(-2147483647 - 1)");
  const auto simple = [&](const Expr& e) { return print_c(simplify(e), Dialect::Device); };
  CHECK(simple(make(Op::Subtract, {parsed("q_idx"), least})) == "q_idx - (-2147483647 - 1)");
  CHECK(simple(make(Op::Negate, {make(Op::Multiply, {parsed("q_idx"), least})})) ==
        "-(q_idx * (-2147483647 - 1))");
}

TEST_CASE("shortest float literals") {
  CHECK(float_literal(0.08838834764831845) == "0.088388346f");
  CHECK(float_literal(1) == "1.0f");
  CHECK(float_literal(-2) == "-2.0f");
  CHECK(float_literal(1e-20) == "1e-20f");
  CHECK(float_literal(1e39) == "3.4028235e+38f");
  CHECK(float_literal(-1e300) == "-3.4028235e+38f");
  CHECK(float_literal(kInfinity) == "INFINITY");
  CHECK(float_literal(-kInfinity) == "-INFINITY");
}

TEST_CASE("shared subtrees become statements, but no load out of its condition") {
  const auto statements = [](std::string_view text) {
    const Statements printed = print_c_statements(simplify(parsed(text)), Dialect::Device, {}, 2);
    return printed.text + printed.value;
  };
  CHECK(statements("tanh(x) * tanh(x)") == "  const float t0 = tanh_approx(x);\nt0 * t0");
  CHECK(statements("slopes[h] + square(slopes[h])") ==
        "  const float t0 = slopes[h];\nt0 + square(t0)");
  CHECK(statements("slopes[h] * slopes[h] if h > 0 else x") == "h > 0 ? slopes[h] * slopes[h] : x");
  CHECK(statements("tanh(cap) * tanh(cap) if h > 0 else x") ==
        "h > 0 ? tanh_approx(cap) * tanh_approx(cap) : x");
  CHECK(statements("h > 0 and slopes[h] * slopes[h] < x") == "h > 0 && slopes[h] * slopes[h] < x");
  CHECK(statements("h > 0 or slopes[h] * slopes[h] < x") == "h > 0 || slopes[h] * slopes[h] < x");
  // It is made in any case; its index is written once.
  CHECK(statements("(slopes[h + b] if h > 0 else x) + slopes[h + b]") ==
        "  const float t0 = slopes[h + b];\n(h > 0 ? t0 : x) + t0");
}

TEST_CASE("a statement's name is nobody else's") {
  const auto statements = [](const Expr& x, const Names& names = {}) {
    const Expr shared = make(Op::Tanh, {x});
    return print_c_statements(make(Op::Multiply, {shared, shared}), Dialect::Device, names, 0).text;
  };
  CHECK(statements(variable("t0", Type::Float)) == "const float t1 = tanh_approx(t0);\n");
  CHECK(statements(load("t0", Type::Float, {})) == "const float t1 = tanh_approx(t0);\n");
  Names names;
  names.variable = [](std::string_view) { return "t0"; };
  CHECK(statements(parsed("x"), names) == "const float t1 = tanh_approx(t0);\n");
}

TEST_CASE("a shared subtree's long text is not repeated, whatever it holds") {
  Expr x = parsed("slopes[h]");
  for (int i = 0; i < 60; ++i) {
    const Expr minus = make(Op::Negate, {x});
    x = make(Op::Max, {minus, make(Op::Add, {minus, number(1)})});
  }
  const Expr e = make(Op::Select, {parsed("h > 0"), x, number(0)});
  const Statements printed = print_c_statements(e, Dialect::Device, {}, 2);
  CHECK(printed.text.size() + printed.value.size() < 10'000);
  CHECK(print_brief(e).size() < 2'000);
  CHECK(print_brief(e).find("...") != std::string::npos);
  CHECK(print_brief(parsed("x * slopes[h] if h > 0 else int(y)")) ==
        "x * slopes[h] if h > 0 else int(y)");
}

TEST_CASE("device functions are listed and defined, for both vendors") {
  const std::vector<std::string_view> names = device_function_names();
  for (const char* name : {"exp2_approx", "floor_divide", "power", "square", "tanh_approx"}) {
    CHECK(std::ranges::find(names, name) != names.end());
  }
  for (const std::string_view name : names) {
    for (const Vendor vendor : {Vendor::Nvidia, Vendor::Amd}) {
      const std::string head = fmt::format(" {}(", name);
      CHECK(device_function(name, vendor).find(head) != std::string::npos);
    }
    CHECK(device_function(name, Vendor::Amd).find("asm") == std::string::npos);
  }
  CHECK(device_function("none").empty());
  CHECK(device_function("tanh_approx", Vendor::Nvidia, Accuracy::Bf16).find("tanh.approx") !=
        std::string::npos);
}
