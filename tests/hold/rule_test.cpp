#include "rule.h"

#include <doctest/doctest.h>

#include <limits>

namespace attngen::hold {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kUnit = 0x1p-8;

bool save_ok(const Rows& rows) { return hold_save("lse", rows).ok(); }
bool largest_ok(const Rows& rows) { return hold_largest("o", rows, kUnit).ok(); }
bool mean_ok(const Rows& rows) { return hold_by_magnitude("o", rows, kUnit).ok(); }

// Of outputs both count.
bool ok(const Rows& rows) { return largest_ok(rows) && mean_ok(rows); }

// An error at the edge of what is allowed, and a little beyond.
void check_edge(bool (*holds)(const Rows&), double exact, double naive, double allowed) {
  CAPTURE(naive);
  CHECK(holds({1, {exact + allowed}, {exact}, {naive}}));
  CHECK(holds({1, {exact - allowed}, {exact}, {naive}}));
  CHECK_FALSE(holds({1, {exact + 1.001 * allowed}, {exact}, {naive}}));
  CHECK_FALSE(holds({1, {exact - 1.001 * allowed}, {exact}, {naive}}));
}

TEST_CASE("what is allowed of one number") {
  // Twice the naive error, and a rounding of the exact value: two of them in the mean, and where
  // the naive error is less than half of one.
  check_edge(largest_ok, 1, 1, 2 * kUnit);
  check_edge(largest_ok, 1, 1 + kUnit / 4, 2 * kUnit);
  check_edge(largest_ok, 1, 1 + kUnit, 3 * kUnit);
  check_edge(largest_ok, 1, 1.25, 0.5 + kUnit);
  check_edge(largest_ok, -4, -4.25, 0.5 + 4 * kUnit);
  check_edge(mean_ok, 1, 1, 2 * kUnit);
  check_edge(mean_ok, 1, 0.75, 0.5 + 2 * kUnit);
  // A sixteenth of the naive error in what is saved.
  CHECK(save_ok({1, {1 + 0.99e-5}, {1}, {1}}));
  CHECK_FALSE(save_ok({1, {1 + 1.01e-5}, {1}, {1}}));
  check_edge(save_ok, 0, 16, 1);
  CHECK(roundoff_of(spec::DType::Bf16) == 0x1p-8);
  CHECK(roundoff_of(spec::DType::Fp16) == 0x1p-11);
}

TEST_CASE("a NaN never passes") {
  for (const double exact : {1.0, 0.0, kInf, kNaN}) {
    for (const double naive : {1.0, kInf, kNaN}) {
      CAPTURE(exact);
      CAPTURE(naive);
      const Rows rows{1, {1, kNaN}, {1, exact}, {1, naive}};
      CHECK_FALSE(ok(rows));
      CHECK_FALSE(save_ok(rows));
      CHECK((exact == kInf || !mean_ok(rows)));  // an infinite row has no mean
    }
  }
  const Verdict verdict{"o", kNaN, 1, 0};
  CHECK_FALSE(verdict.ok());
}

TEST_CASE("equal infinities agree, others do not") {
  CHECK(largest_ok({1, {kInf, 1}, {kInf, 1}, {kInf, 1}}));
  CHECK(save_ok({1, {-kInf, 1}, {-kInf, 1}, {-kInf, 1}}));
  for (const double got : {1.0, kInf}) {
    CHECK_FALSE(largest_ok({1, {got, 1}, {-kInf, 1}, {-kInf, 1}}));
    CHECK_FALSE(save_ok({1, {got, 1}, {-kInf, 1}, {-kInf, 1}}));
  }
  CHECK_FALSE(ok({1, {kInf}, {1}, {1}}));
  // A naive overflow is no yardstick.
  CHECK_FALSE(ok({1, {1.5, 1}, {1, 1}, {kInf, 1}}));
}

TEST_CASE("rows that are exactly zero must be") {
  CHECK(ok({2, {0, 0, 1, 1}, {0, 0, 1, 1}, {0, 0, 1, 1}}));
  const Rows rows{2, {1, 1, 0, 1e-6}, {1, 1, 0, 0}, {1, 1, 0, 0}};
  CHECK(largest_ok(rows));
  CHECK_FALSE(mean_ok(rows));
  CHECK(hold_by_magnitude("o", rows, kUnit).row == 1);
}

TEST_CASE("a small wrong row does not hide behind large ones") {
  Rows rows{2, {}, {}, {}};
  for (int row = 0; row < 10; ++row) {
    const double size = row == 7 ? 1e-3 : 1;
    rows.exact.insert(rows.exact.end(), {size, -size});
    rows.naive.insert(rows.naive.end(), {size, -size});
    rows.got.insert(rows.got.end(), {size, row == 7 ? -0.9 * size : -size});
  }
  CHECK(largest_ok(rows));
  CHECK_FALSE(mean_ok(rows));
  CHECK(hold_by_magnitude("o", rows, kUnit).row == 7);
}

TEST_CASE("rows are alike whose root mean squares are between the same powers of two") {
  // The first alone errs by more than it may.
  const Rows rows{2,
                  {1.2 + 2.6 * kUnit, 1.2 + 2.6 * kUnit, 1.5, 1.5},
                  {1.2, 1.2, 1.5, 1.5},
                  {1.2, 1.2, 1.5, 1.5}};
  CHECK(mean_ok(rows));
  CHECK_FALSE(mean_ok({2, {rows.got[0], rows.got[1]}, {1.2, 1.2}, {1.2, 1.2}}));
}

TEST_CASE("a verdict names the row of the largest error") {
  const Rows rows{2, {1, 1, 1, 9, 1, 5}, {1, 1, 1, 1, 1, 1}, {1, 1, 1, 1, 1, 1}};
  CHECK(hold_largest("o", rows, kUnit).row == 1);
  CHECK(hold_by_magnitude("o", rows, kUnit).row == 1);
  CHECK(hold_largest("o", rows, kUnit).error == 8);
}

}  // namespace
}  // namespace attngen::hold
