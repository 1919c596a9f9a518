#include "expr/evaluate.h"

#include <doctest/doctest.h>

#include <cmath>

#include "expr/count.h"
#include "scope.h"

using namespace attngen::expr;
using namespace attngen::expr::testing;

TEST_CASE("a program reads slots and inputs") {
  const std::vector<std::string> names = {"x", "h", "q_idx"};
  const Program program(parsed("x * bias[h, q_idx - 1] + cap"), names);
  const Loader load = [](std::string_view input, std::span<const int64_t> indices) {
    return input == "cap" ? 0.5 : static_cast<double>(indices[0] * 10 + indices[1]);
  };
  const std::vector<double> values = {2, 3, 5};
  CHECK(program(values, load) == 2 * 34 + 0.5);
}

TEST_CASE("a program longer than the stack buffer") {
  const std::vector<std::string> names = {"x"};
  const std::vector<double> values = {1};
  Expr e = parsed("x");
  for (int i = 0; i < 300; ++i) {
    e = make(Op::Add, {e, number(i)});
    CHECK(Program(e, names)(values) == 1 + i * (i + 1) / 2);
  }
}

TEST_CASE("a load has any number of indices") {
  const Loader last = [](std::string_view, std::span<const int64_t> indices) {
    return static_cast<double>(indices.back());
  };
  std::vector<Expr> indices;
  for (int i = 1; i < 20; ++i) {
    indices.push_back(integer(i));
    CHECK(Program(load("t", Type::Int, indices), {})({}, last) == i);
  }
}

TEST_CASE("division floors") {
  const auto value = [](std::string_view text) {
    return evaluate(parsed(text), [](std::string_view) { return 0.0; });
  };
  CHECK(value("-7 // 2") == -4);
  CHECK(value("-7 % 2") == 1);
  CHECK(value("7 % -2") == -1);
  CHECK(value("-7.5 // 2") == -4);
  CHECK(value("-7.5 % 2") == 0.5);
  CHECK(value("int(-1.5)") == -2);
  CHECK(value("int(1e30)") == 2147483647);
  CHECK(value("int(-1e30)") == -2147483648.0);
  CHECK(value("int(0.0 / 0.0)") == 0);
  CHECK(parsed("int(x) // 2").type() == Type::Int);
  CHECK(value("3 // 0") == 0);
  CHECK(value("3 % 0") == 0);
  CHECK(value("min(0.0 / 0.0, 3)") == 3);
  CHECK(value("silu(1)") == doctest::Approx(0.731059));
  CHECK(value("gelu(1)") == doctest::Approx(0.841345));
  CHECK(value("1 if 2 < 3 and not false else 0") == 1);
  CHECK(std::isnan(value("0.0 / 0.0")));
}

TEST_CASE("an integer has no negative zero") {
  const auto value = [](std::string_view text) {
    return evaluate(parsed(text), [](std::string_view) { return 0.0; });
  };
  CHECK(value("1 / -q_idx") == kInfinity);
  CHECK(value("1 / (q_idx * -3)") == kInfinity);
  CHECK(value("1 / (q_idx // -3)") == kInfinity);
  CHECK(value("1 / int(-x)") == kInfinity);
  CHECK(value("1 / -x") == -kInfinity);
}

TEST_CASE("operations are counted by the unit that does them") {
  const std::vector<std::string> varying = {"score", "kv_idx"};
  const auto counted = [&](std::string_view text) { return count(parsed(text), varying); };
  const auto check = [](const OperationCounts& counts, double special, double multiply,
                        double logic, double load) {
    CHECK(counts.special == special);
    CHECK(counts.multiply == multiply);
    CHECK(counts.logic == logic);
    CHECK(counts.load == load);
  };
  check(counted("score"), 0, 0, 0, 0);
  check(counted("exp(m) * cap"), 0, 0, 0, 0);               // the same for every pair
  check(counted("score * cap + m"), 0, 1, 0, 0);            // one multiply-add
  check(counted("score * score + score * m"), 0, 2, 0, 0);  // a multiply and a multiply-add
  check(counted("exp(score - m)"), 1, 2, 0, 0);             // the factor log2 e
  check(counted("score / 3"), 0, 1, 0, 0);
  check(counted("int(kv_idx / 121)"), 1, 8, 2, 0);  // a step: divided
  const auto is_score = [](std::string_view variable) { return variable == "score"; };
  check(count(parsed("int(score / 121)"), varying, Accuracy::Full, is_score), 0, 1, 1, 0);
  check(counted("kv_idx <= q_pos and q_pos - kv_idx < 9"), 0, 0, 4, 0);
  check(counted("score + cap * m"), 0, 1, 0, 0);  // a product for all pairs
  check(counted("kv_idx // 8"), 0, 0, 1, 0);
  check(counted("kv_idx // 3"), 0, 0, 5, 0);
  check(counted("kv_idx // h"), 1, 0, 16, 0);
  check(counted("pow(score, 3)"), 0, 3, 0, 0);
  check(count(make(Op::Pow, {parsed("score"), number(-3)}), varying), 1, 3, 0, 0);
  check(counted("bias[h, kv_idx]"), 0, 0, 0, 1);
  check(counted("slopes[h]"), 0, 0, 0, 0);
  const Expr t = parsed("tanh(score)");
  check(count(t, varying, Accuracy::Bf16), 1, 0, 0, 0);
  check(count(make(Op::Multiply, {t, t}), varying), 2, 4, 0, 0);
  // One of two adds takes the product in.
  const Expr p = parsed("score * cap");
  const Expr twice =
      make(Op::Max, {make(Op::Add, {p, parsed("m")}), make(Op::Add, {p, parsed("l")})});
  check(count(twice, varying), 0, 2, 1, 0);
  // A weight and two sums share what is the same in them, though written apart.
  const std::vector<Expr> together = {parsed("exp(score - m) * cap"), parsed("exp(score - m)"),
                                      parsed("score * exp(score - m)")};
  check(count(together, varying), 1, 4, 0, 0);
}
