// The order of tiles: each tile of a call comes once, however its heads fall into sections.
// EMITTED is an emitted kernel as to_host.py makes it, named "emulated".
#include EMITTED

#include <algorithm>
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

}  // namespace

int main() {
  int most = 0;
  for (const int64_t batch : {1, 2, 7, 33, 64}) {
    for (const int64_t seq_q : {1, 129, 1000, 4096}) {
      for (const int64_t seq_kv : {0, 1000, 4096, 50000, 1 << 20}) {
        for (const int places : {1, 132, 264}) {
          const Params p = params_of(Call{batch, seq_q, seq_kv, places});
          most = std::max(most, p.last_section + 1);
          if (each_tile_once(p)) continue;
          std::printf("batch %d, seq_q %d, seq_kv %d, %d places: not each tile once\n", p.batch,
                      p.seq_q, p.seq_kv, places);
          return 1;
        }
      }
    }
  }
  std::printf("up to %d sections\n", most);
  return most > 4 ? 0 : 1;  // or nothing was tried
}
