// The order of tiles: each tile of a call comes once, however its heads fall into sections, and
// however many short rows come after them. With BATCHES_SHARE those of all batches stand side by
// side. EMITTED is an emitted kernel as to_host.py makes it, named "emulated".
#include EMITTED

#include <algorithm>
#include <climits>
#include <cstdio>
#include <vector>

namespace {

struct Call {
  int64_t batch, seq_q, seq_kv;
  int places;
};

Params params_of(const Call& call) {
  emulated_forward_args args{};
  args.batch = call.batch;
  args.seq_q = call.seq_q;
  args.seq_kv = call.seq_kv;
  Params p = params_of(args);
  place_sections(p, args, call.places);
  return p;
}

// Block-sparse kernels have none.
template <typename AnyParams>
int short_rows_of(const AnyParams& p) {
  if constexpr (requires { p.short_rows; }) return p.short_rows;
  return INT_MAX;
}

bool each_tile_once(const Params& p) {
  const int rows = p.tiles_per_head, heads = p.tiles / rows / p.batch;  // of tiles
  std::vector<int> times(static_cast<size_t>(p.tiles));
  for (int index = 0; index < p.tiles; ++index) {
    const Tile tile = tile_at(index, p);
    const int head = tile.h / (kHeadsQ / heads), row = tile.q_first / kTileQ;
    const bool exists =
        tile.b >= 0 && tile.b < p.batch && head >= 0 && head < heads && row >= 0 && row < rows;
    if (!exists) return false;
    ++times[static_cast<size_t>((tile.b * heads + head) * rows + row)];
  }
  return std::ranges::all_of(times, [](int n) { return n == 1; });
}

bool batches_side_by_side(const Params& p) {
  if (p.last_section > 0) return true;  // their ends part some
  const int heads = p.tiles / p.tiles_per_head / p.batch;
  const int beside = kGroup * heads / kHeadsQ;  // 1 if a group's heads share a tile
  for (int index = 0; index < p.tiles; ++index) {
    const Tile tile = tile_at(index, p);
    if (tile.b == 0) continue;
    const Tile other = tile_at(index - beside, p);
    if (other.b != tile.b - 1 || other.h != tile.h || other.q_first != tile.q_first) return false;
  }
  return true;
}

bool is_right(const Params& p) {
#ifdef BATCHES_SHARE
  if (!batches_side_by_side(p)) return false;
#endif
  return each_tile_once(p);
}

}  // namespace

int main() {
  int most = 0, most_short = 0;
  for (const int64_t batch : {1, 2, 7, 33, 64}) {
    for (const int64_t seq_q : {1, 129, 1000, 4096}) {
      for (const int64_t seq_kv : {0, 1000, 4096, 50000, 1 << 20}) {
        for (const int places : {1, 132, 264}) {
          const Params p = params_of(Call{batch, seq_q, seq_kv, places});
          most = std::max(most, p.last_section + 1);
          most_short = std::max(most_short, short_rows_of(p));
          if (is_right(p)) continue;
          std::printf("batch %d, seq_q %d, seq_kv %d, %d places: not the order\n", p.batch, p.seq_q,
                      p.seq_kv, places);
          return 1;
        }
      }
    }
  }
  std::printf("up to %d sections, %d short rows\n", most, most_short);
  return most > 4 && most_short > 1 ? 0 : 1;  // or nothing was tried
}
