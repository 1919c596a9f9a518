// Which queries or keys of packed sequences an entry of a table of ids is about. Each sequence may
// end in a tile or a block that is not full: sequence b has the entries of a head that begin with
// `begin / size + b`, so that nobody has to count those before. One between two may be nobody's.
#pragma once

constexpr int kSortingBlocks = 1;  // of the kernel before the main one; the others tabulate
constexpr int kTableThreads = kSortThreads;

template <typename Call>
__host__ __device__ __forceinline__ int64_t entries_of_head(bool of_keys, const Call& call) {
  return (of_keys ? call.total_kv / kTileKv : call.total_q / kTileQueries) + int64_t{call.batch};
}

// Of every head that the table tells apart. Nothing is asked where no key exists. `Call`: Params,
// or arguments that are in range.
template <typename Call>
__host__ __device__ __forceinline__ int64_t table_entries(int table, const Call& call) {
  if (call.total_kv == 0) return 0;
  const TableShape shape = table_shape(table);
  return shape.heads * entries_of_head(shape.of_keys, call);
}

__device__ __forceinline__ int64_t first_entry(bool of_keys, const Sequence& s) {
  return int64_t{of_keys ? s.kv_begin / kTileKv : s.q_begin / kTileQueries} + s.b;
}

__device__ __forceinline__ Stretch stretch_of(int table, int64_t entry, const Params& p) {
  const TableShape shape = table_shape(table);
  const int64_t entries = entries_of_head(shape.of_keys, p), place = entry % entries;
  int b = 0;  // the last sequence that does not begin beyond the place
  for (int end = p.batch; end - b > 1;) {
    const int middle = b + (end - b) / 2;
    (first_entry(shape.of_keys, sequence_of(middle, p)) <= place ? b : end) = middle;
  }
  const Sequence s = sequence_of(b, p);
  // A table of key heads counts those; one of no heads has the first in their place.
  const int h = static_cast<int>(entry / entries) * (kHeadsQ / shape.heads);
  const Stretch none{row_at(b, h, 0, s), 0, 0};
  if (s.seq_q == 0 || s.seq_kv == 0) return none;  // nobody asks, and ids may not be there
  const int size = shape.of_keys ? kTileKv : kTileQueries;
  const int length = shape.of_keys ? s.seq_kv : s.seq_q;
  const int64_t first = (place - first_entry(shape.of_keys, s)) * size;
  if (first < 0 || first >= length) return none;
  return {none.row, static_cast<int>(first), static_cast<int>(min(first + size, int64_t{length}))};
}
