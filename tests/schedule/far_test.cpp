// Keys far behind that come as states (attention/far_form.h).
#include <doctest/doctest.h>

#include "kernels.h"
#include "schedule/resources.h"

namespace attngen::schedule {
namespace {

Kernel decaying_kernel(int head_dim, int64_t seq, bool has_far) {
  Kernel kernel = softmax_kernel(head_dim, head_dim, 16, 1, seq, "kv_idx <= q_pos", false);
  kernel.rows.exponential = false;
  kernel.rows.rescale = expr::number(1);
  kernel.rows.reductions.resize(1);
  kernel.rows.reductions[0].element =
      expr::make(expr::Op::Abs, {expr::variable("score", expr::Type::Float)});
  kernel.weight = {1, 3, 0, 0};
  kernel.has_far = has_far;
  return kernel;
}

Candidate best(const Kernel& kernel) { return search(kernel, h200()).ranked.front(); }

TEST_CASE("long decaying rows take tiles whose far keys come as states") {
  for (const int head_dim : {64, 128}) {
    const Candidate with = best(decaying_kernel(head_dim, 16384, true));
    const Candidate without = best(decaying_kernel(head_dim, 16384, false));
    CHECK(with.resources.forms.far);
    CHECK(with.schedule.tile_kv == 64);
    CHECK_FALSE(without.resources.forms.far);
    CHECK(with.cost.seconds < 0.75 * without.cost.seconds);
  }
}

TEST_CASE("far keys that are summed want four slots") {
  Kernel kernel = decaying_kernel(256, 16384, true);  // two stages of keys, and of values
  CHECK(best(kernel).resources.forms.far);
  kernel.head_dim_v = 128;  // keys do not fit slots of values
  for (const Candidate& candidate : search(kernel, h200()).ranked) {
    CHECK(candidate.resources.forms.far ==
          (candidate.schedule.tile_kv == 64 && candidate.schedule.stages >= 4));
  }
  kernel.rows.reductions.clear();
  CHECK(best(kernel).resources.forms.far);
}

TEST_CASE("values in parts share their sums over far keys, if a block takes several tiles") {
  Kernel kernel = decaying_kernel(256, 16384, true);
  const double one_part = best(kernel).cost.seconds;
  kernel.value_parts = 2;
  const Candidate both = best(kernel);
  CHECK(both.resources.parts_in_turn);
  CHECK(both.cost.seconds < 1.6 * one_part);  // half of the products are those of far keys
  Schedule plain = both.schedule;
  plain.grid = Grid::Plain;
  CHECK_FALSE(fit_hopper(kernel, plain, h200()).resources->parts_in_turn);
  kernel.rows.reductions.clear();
  CHECK_FALSE(best(kernel).resources.parts_in_turn);
}

TEST_CASE("calls of few queries are predicted without states") {
  const Candidate with = best(decaying_kernel(128, 2047, true));
  const Candidate without = best(decaying_kernel(128, 2047, false));
  CHECK(with.schedule == without.schedule);
  CHECK(with.cost.seconds == without.cost.seconds);
}

TEST_CASE("without a sum the time is nearly that of the keys, not of the pairs") {
  const auto seconds = [](int64_t seq) {
    Kernel kernel = decaying_kernel(128, seq, true);
    kernel.rows.reductions.clear();
    return best(kernel).cost.seconds;
  };
  CHECK(seconds(32768) < 2.5 * seconds(16384));
}

}  // namespace
}  // namespace attngen::schedule
