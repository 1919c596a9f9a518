// The order of a block-sparse kernel's tiles: each comes once, and of the last ones those that keep
// the most cells come first, for every block alike.
// EMITTED is an emitted kernel as to_host.py makes it, named "emulated".
#include EMITTED

#include <algorithm>
#include <cstdio>
#include <random>
#include <vector>

namespace {

struct Call {
  int64_t batch, seq_q, seq_kv;
  int blocks;
};

// Of each row of cells: with rows that keep none, rows that keep all, and some that are alike.
std::vector<int> draw_counts(const Params& p, std::mt19937& random) {
  std::vector<int> counts(static_cast<size_t>(p.batch * kCellHeads * p.cells_q));
  for (int& count : counts) {
    count = static_cast<int>(random() % static_cast<unsigned>(p.cells_kv + 1)) / 3 * 3;
  }
  return counts;
}

// The caller's bitmap, or the lists' lengths: these may be negative, or more than there is.
template <typename AnyParams>
void keep(AnyParams& p, const std::vector<int>& counts, std::vector<uint8_t>& memory) {
  if constexpr (requires { p.block_mask; }) {
    memory.assign(counts.size() * static_cast<size_t>(p.cells_kv), 0);
    for (size_t row = 0; row < counts.size(); ++row) {
      std::fill_n(memory.begin() + static_cast<int64_t>(row) * p.cells_kv, counts[row], 1);
    }
    p.block_mask = memory.data();
  } else {
    memory.resize(counts.size() * sizeof(int32_t));
    auto* lengths = reinterpret_cast<int32_t*>(memory.data());
    for (size_t row = 0; row < counts.size(); ++row) {
      lengths[row] = counts[row] == 0            ? INT32_MIN
                     : counts[row] == p.cells_kv ? INT32_MAX
                                                 : counts[row];
    }
    p.block_counts = lengths;
  }
}

int count_of(int index, const Params& p, const std::vector<int>& counts) {
  const Tile tile = tile_at(index, p);
  const int row = tile.q_first / (kTileQ / kTileQueries) / kCellQueries;
  const int head = tile.h / (kHeadsQ / kCellHeads);
  return counts[static_cast<size_t>((tile.b * kCellHeads + head) * p.cells_q + row)];
}

bool is_ranked(const std::vector<int>& order, const Params& p, const std::vector<int>& counts,
               int blocks) {
  std::vector<int> times(static_cast<size_t>(p.tiles));
  for (const int index : order) ++times.at(static_cast<size_t>(index));
  if (!std::ranges::all_of(times, [](int n) { return n == 1; })) return false;
  const int first = std::max(p.tiles - kRanked, std::min(blocks, p.tiles));
  for (int i = 0; i < first; ++i) {
    if (order[static_cast<size_t>(i)] != i) return false;
  }
  const auto count = [&](int index) { return count_of(index, p, counts); };
  return std::is_sorted(order.begin() + first, order.end(), [&](int a, int b) {
    return count(a) != count(b) ? count(a) > count(b) : a < b;
  });
}

bool check(const Call& call, std::mt19937& random) {
  emulated_forward_args args{};
  args.batch = call.batch;
  args.seq_q = call.seq_q;
  args.seq_kv = call.seq_kv;
  Params p = params_of(args);
  place_sections(p, args, call.blocks);
  p.first_ranked = first_ranked(p.tiles, call.blocks);
  const std::vector<int> counts = draw_counts(p, random);
  std::vector<uint8_t> memory;
  keep(p, counts, memory);
  bool right = true;
  emulator::launch(call.blocks, 32, sizeof(Shared), [&] {
    Shared& shared = *reinterpret_cast<Shared*>(emulator::core->shared);
    if (threadIdx.x == 0) init_barriers(shared);
    __syncwarp();
    rank_tiles(shared, p);
    std::vector<int> order(static_cast<size_t>(p.tiles));
    for (int i = 0; i < p.tiles; ++i) order[static_cast<size_t>(i)] = ranked(shared, i, p);
    if (threadIdx.x == 0) right = right && is_ranked(order, p, counts, call.blocks);
  });
  return right;
}

}  // namespace

int main() {
  std::mt19937 random(1);
  for (const int64_t batch : {1, 3}) {
    for (const int64_t seq_q : {1, 700, 5000}) {
      for (const int64_t seq_kv : {0, 65, 9000}) {
        for (const int blocks : {1, 7, 132}) {
          if (check(Call{batch, seq_q, seq_kv, blocks}, random)) continue;
          std::printf("batch %d, seq_q %d, seq_kv %d, %d blocks: not ranked\n",
                      static_cast<int>(batch), static_cast<int>(seq_q), static_cast<int>(seq_kv),
                      blocks);
          return 1;
        }
      }
    }
  }
  return 0;
}
