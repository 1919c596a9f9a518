#include "schedule/block_rows.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "attention/tiles.h"
#include "schedule/units.h"

namespace attngen::schedule {
namespace {

constexpr double kMostKept = 0.99;       // of all, rows cannot differ
constexpr double kRowsOfKeptAgain = 64;  // of the masks that kKeptAgain is of

}  // namespace

int block_rows(const Kernel& kernel, const Schedule& s) {
  const int queries = s.queries(kernel.group());
  if (rows_of_blocks(s, kernel.block_queries, kernel.group()) == 1) return 1;
  return std::max(2, (queries + kernel.block_queries - 1) / kernel.block_queries);
}

double kept_blocks(const spec::Spec& spec) {
  if (!spec.most_blocks || spec.workload.empty()) return kKeptByData;
  const double most_keys = static_cast<double>(*spec.most_blocks) * spec.block_size;
  const bool grows = attention::is_masked(spec);
  double weights = 0, sum = 0;
  for (const spec::Workload& w : spec.workload) {
    const double named =
        std::min(kMostKept, most_keys / static_cast<double>(std::max<int64_t>(1, w.seq_kv)));
    sum += w.weight * (grows ? named * (2 - named) : named);
    weights += w.weight;
  }
  return sum / weights;
}

double kept_again(const Kernel& kernel) {
  if (!kernel.rows_alike) return kernel.kept_blocks;
  const double apart = std::sqrt(std::min(1.0, kernel.block_queries / kRowsOfKeptAgain));
  return std::max(kernel.kept_blocks, std::pow(kKeptAgain, apart));
}

std::vector<double> chances_of_keepers(int rows, double kept, double again) {
  const double anew = kept * (1 - again) / (1 - kept);
  const size_t counts = static_cast<size_t>(rows) + 1;
  // By how many rows so far keep the block, and whether the last of them does.
  std::vector<double> last_keeps(counts), last_drops(counts);
  last_keeps[1] = kept;
  last_drops[0] = 1 - kept;
  for (int row = 1; row < rows; ++row) {
    std::vector<double> keeps(counts), drops(counts);
    for (size_t k = 0; k < counts; ++k) {
      drops[k] = last_keeps[k] * (1 - again) + last_drops[k] * (1 - anew);
      if (k > 0) keeps[k] = last_keeps[k - 1] * again + last_drops[k - 1] * anew;
    }
    last_keeps = keeps;
    last_drops = drops;
  }
  for (size_t k = 0; k < counts; ++k) last_keeps[k] += last_drops[k];
  return last_keeps;
}

double loads_of_kept(const Kernel& kernel, const Schedule& s) {
  const int rows = block_rows(kernel, s);
  if (rows == 1) return 1;
  return (1 - chances_of_keepers(rows, kernel.kept_blocks, kept_again(kernel)).front()) /
         kernel.kept_blocks;
}

}  // namespace attngen::schedule
