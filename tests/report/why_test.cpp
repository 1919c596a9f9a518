#include "report/why.h"

#include <doctest/doctest.h>

#include "candidates.h"

using attngen::report::candidate;
using attngen::report::tiny_spec;
using attngen::report::why_first;
using attngen::report::wide;
using attngen::schedule::Bound;
using attngen::schedule::Candidate;

namespace {

bool says(const Candidate& first, const std::string& part, bool two_points = false) {
  attngen::spec::Spec spec = tiny_spec();
  if (!two_points) spec.workload.resize(1);
  const std::string text = why_first({{first}, {}}, spec);
  CAPTURE(text);
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a verdict and the shares that it follows from") {
  Candidate first = candidate(wide(), 1.5e-3, Bound::Latency);
  first.cost.first_seconds = 1.5e-3;
  first.cost.states_seconds = 0.4e-3;
  first.cost.launch_seconds = 0.06e-3;
  CHECK(says(first,
             "bound by latency: no pipe is busy for three quarters of the kernel's time. A step of "
             "128 keys takes 2000 clk; busy in it (and in the kernel's whole time) are the tensor "
             "cores 80 % (51 %), "));
  CHECK(
      says(first,
           " 95 % are steps, 3 % the start and end of tiles (15.50 a core, 3000 clk each), 2 % "
           "the wait for the last core. Of the kernel's, 4 % launches, 27 % the making of states, "
           "3 % waits for L2. "));
  CHECK(says(first, "(and in the kernel's whole time at the workload's first point)", true));
  first.cost.splits = 8;
  first.cost.join_seconds = 0.3e-3;
  first.cost.states_seconds = 0.1e-3;
  CHECK(says(first,
             "3 % the start and end of splits of tiles (8 of each, 15.50 a core, 3000 clk each), 2 "
             "% the wait for the last core. Of the kernel's, 4 % launches, 7 % the making of "
             "states, 20 % the joining of splits, 3 % waits for L2. "));
}

TEST_CASE("in how many copies keys come from pages") {
  attngen::spec::Spec spec = tiny_spec();
  Candidate first = candidate(wide(), 1e-3, Bound::Matrix);
  const auto told = [&](int page) {
    spec.page = page;
    const std::string text = why_first({{first}, {}}, spec);
    const size_t begin = text.find(" A step's keys"), end = text.find(" The first needs");
    return begin == std::string::npos ? "" : text.substr(begin, end - begin);
  };
  CHECK(told(256) == " A step's keys come from one page.");
  CHECK(told(64) == " A step's keys come in 2 copies, a page each.");
  first.resources.values_apart = true;
  CHECK(told(16) ==
        " A step's keys come in 8 copies, a page each, values by another warp in as many.");
  first.resources.page_rows = true;
  CHECK(told(1) == " A step's keys come row by row, values by another warp.");
  spec.token_count = 10;
  CHECK(told(16) == "");
}

TEST_CASE("how many of the visited pairs exist") {
  Candidate first = candidate(wide(), 1e-3, Bound::Matrix);
  first.cost.existing = 0.531;
  CHECK(says(first, " Of the pairs of visited blocks 53 % exist. The first needs"));
  CHECK(says(first, "53 % exist at the workload's first point.", true));
  for (const double untold : {0.0, 0.999, 1.0}) {
    first.cost.existing = untold;
    CHECK_FALSE(says(first, "exist"));
  }
}

TEST_CASE("what is too little to tell is not told") {
  const Candidate first = candidate(wide(), 1e-3, Bound::Matrix);
  CHECK(says(first, "takes 2000 clk; busy"));
  CHECK(says(first, "the wait for the last core. The first needs"));
}

TEST_CASE("steps of other lengths than the one shown") {
  Candidate first = candidate(wide(), 1e-3, Bound::Matrix);
  first.cost.core_clk *= 1.1;
  CHECK(says(first, "2000 clk, in the mean 2207 with those that the mask cuts; busy"));
  first.cost.states_seconds = 1e-6;
  CHECK(says(first, "2000 clk, in the mean 2207 with those of far keys; busy"));
  first.cost.states_seconds = 0;
  first.cost.core_clk *= 0.8;
  CHECK(says(first, "2000 clk, in the mean 1753 with those that a warpgroup passes over; busy"));
  // The L2's step has no mean.
  first.cost.l2_clk = 2400;
  CHECK(says(first, "takes 2400 clk, by itself 2000; busy"));
}

TEST_CASE("without a pair no step has a mean") {
  Candidate first = candidate(wide(), 1e-3, Bound::Latency);
  first.cost.blocks = 0;
  CHECK(says(first, "takes 2000 clk; busy"));
}

TEST_CASE("waits at the L2, and blocks that share a core") {
  Candidate first = candidate(wide(), 1e-3, Bound::Matrix);
  first.cost.crowded = 0.05;
  first.resources.blocks_per_core = 2;
  CHECK(says(first, " 90 % are steps, "));
  CHECK(says(first, "(15.50 for each block on it, 3000 clk each)"));
  CHECK(says(first, ", 2 % the wait for the last core, 5 % waits for others at the L2. "));
}

TEST_CASE("a workspace that is more than a page, at the point that needs most") {
  Candidate first = candidate(wide(), 1e-3, Bound::Matrix);
  attngen::spec::Spec spec = tiny_spec();
  spec.varlen = true;
  CHECK(why_first({{first}, {}}, spec).ends_with("bytes of shared memory."));
  spec.workload = {{1000, 8, 8, 1}, {2000, 4, 8, 1}};
  CHECK(why_first({{first}, {}}, spec)
            .ends_with("bytes of shared memory, and for a call of batch 2000, seq_q 4, seq_kv 8 a "
                       "workspace of 64008 "
                       "bytes."));
}
