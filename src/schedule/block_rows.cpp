#include "schedule/block_rows.h"

#include <algorithm>
#include <cstddef>

#include "schedule/units.h"

namespace attngen::schedule {

int block_rows(const Kernel& kernel, const Schedule& s) {
  const int queries = s.queries(kernel.group());
  if (!skips_blocks(s, kernel.block_size, kernel.group())) return 1;
  return std::max(2, (queries + kernel.block_size - 1) / kernel.block_size);
}

std::vector<double> chances_of_keepers(int rows, bool alike) {
  const double again = alike ? kKeptAgain : kKeptByData;
  const double anew = kKeptByData * (1 - again) / (1 - kKeptByData);
  const size_t counts = static_cast<size_t>(rows) + 1;
  // By how many rows so far keep the block, and whether the last of them does.
  std::vector<double> last_keeps(counts), last_drops(counts);
  last_keeps[1] = kKeptByData;
  last_drops[0] = 1 - kKeptByData;
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
  return (1 - chances_of_keepers(rows, kernel.rows_alike).front()) / kKeptByData;
}

}  // namespace attngen::schedule
