// How packed sequences share out the splits of a call: they come longest first, their tiles and
// parts follow one another and have places, and no split is longer than it need be.
// EMITTED is an emitted kernel as to_host.py makes it, named "emulated".
#include EMITTED

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <random>
#include <vector>

namespace {

// Of sequences, with a 0 before.
std::vector<int32_t> offsets(const std::vector<int32_t>& lengths) {
  std::vector<int32_t> all(lengths.size() + 1, 0);
  std::partial_sum(lengths.begin(), lengths.end(), all.begin() + 1);
  return all;
}

struct Batch {
  std::vector<int32_t> q, kv;  // lengths
};

// What the kernel before the main one makes of it.
struct Sorted {
  Params p{};
  std::vector<Sequence> sequences;
  int tile_count = -1, any_split = -1;
};

Sorted sorted(const Batch& batch) {
  const std::vector<int32_t> q = offsets(batch.q), kv = offsets(batch.kv);
  emulated_forward_args args{};
  args.batch = static_cast<int64_t>(batch.q.size());
  args.total_q = q.back();
  args.total_kv = kv.back();
  args.cu_seqlens_q = q.data();
  args.cu_seqlens_kv = kv.data();
  Sorted all{params_of(args), std::vector<Sequence>(batch.q.size())};
  unsigned next_tile = 0;
  all.p.sequences = all.sequences.data();
  all.p.tile_count = &all.tile_count;
  all.p.next_tile = &next_tile;
  all.p.any_split = &all.any_split;
  emulator::launch(1, kSortThreads, 0, [&] {
    wait_for_stream();
    sort_sequences(all.p);
  });
  return all;
}

// Whether one may come before the other: many are in the order of their classes alone.
bool may_precede(const Sequence& a, const Sequence& b, const Params& p) {
  return p.batch <= kFewSequences ? a.seq_kv >= b.seq_kv
                                  : length_class(a.seq_kv) <= length_class(b.seq_kv);
}

// Longest first, each tile and part behind the one before.
bool is_in_order(const Sorted& all) {
  int tiles = 0, parts = 0;
  const Sequence* before = all.sequences.data();
  for (const Sequence& s : all.sequences) {
    if (!may_precede(*before, s, all.p) || s.first_tile != tiles || s.splits < 1) return false;
    if (s.splits > 1 && s.first_part != parts) return false;
    before = &s;
    tiles += tiles_of(s.seq_q) * kTilesBeside * s.splits;
    parts += s.splits > 1 ? s.seq_q * s.splits : 0;
  }
  const bool is_told = !all.p.may_split || all.any_split == (parts > 0 ? 1 : 0);
  return is_told && tiles == all.tile_count && tiles <= all.p.tiles && parts <= all.p.most_parts;
}

int longest_split(const Sorted& all) {
  int longest = 0;
  for (const Sequence& s : all.sequences) {
    if (s.seq_q > 0) longest = std::max(longest, (blocks_of(s) + s.splits - 1) / s.splits);
  }
  return longest;
}

// The fewest blocks whose splits have room, by trying all.
int fewest(const Sorted& all, int most_tiles) {
  for (int most = 1;; ++most) {
    int64_t tiles = 0, parts = 0;
    for (const Sequence& s : all.sequences) {
      const int splits = std::max(1, (blocks_of(s) + most - 1) / most);
      tiles += int64_t{tiles_of(s.seq_q)} * splits;
      parts += splits > 1 ? int64_t{s.seq_q} * splits : 0;
    }
    if (tiles <= most_tiles && parts <= all.p.most_parts) return most;
  }
}

// The kernel tries lengths a twentieth apart.
bool is_short(const Sorted& all) {
  int tiles = 0;
  double blocks = 0;
  for (const Sequence& s : all.sequences) {
    tiles += tiles_of(s.seq_q);
    blocks += 1.0 * tiles_of(s.seq_q) * blocks_of(s);
  }
  const int split = longest_split(all);
  if (all.p.splits > 1) {
    const int least = fewest(all, tiles * all.p.splits);
    return split <= least + least / 20 + 1;
  }
  if (!all.p.may_split) return true;
  const double share = blocks * kTilesBeside / kPlaces;
  const double waves = (tiles * kTilesBeside + kPlaces - 1) / kPlaces;  // of the mean length
  return split <= std::max(share + share / 20 + 2, blocks / std::max(tiles, 1) * waves);
}

bool are_even(const Sorted& all) {
  const Sequence& first = all.sequences.front();
  const int share = (blocks_of(first) + all.p.splits - 1) / all.p.splits;
  const int splits = (blocks_of(first) + share - 1) / share;
  return std::ranges::all_of(all.sequences, [&](const Sequence& s) { return s.splits == splits; });
}

Batch even(int count, int q, int kv) {
  return {std::vector<int32_t>(static_cast<size_t>(count), q),
          std::vector<int32_t>(static_cast<size_t>(count), kv)};
}

// A few texts are much longer than the others, and some are empty.
Batch uneven(int count, int most_q, std::mt19937& random) {
  Batch batch = even(count, 1, 0);
  for (size_t i = 0; i < batch.q.size(); ++i) {
    batch.q[i] = static_cast<int32_t>(random() % static_cast<unsigned>(most_q + 1));
    batch.kv[i] = static_cast<int32_t>(random() % 4000U << random() % 6U);
  }
  return batch;
}

bool holds(const char* what, const Batch& batch, bool is_even) {
  const Sorted all = sorted(batch);
  if (is_in_order(all) && (is_even ? are_even(all) : is_short(all))) return true;
  std::printf("%s, %zu sequences: %d tiles, %d of a tile, longest %d\n", what, batch.q.size(),
              all.tile_count, all.p.splits, longest_split(all));
  return false;
}

}  // namespace

int main() {
  std::mt19937 random(1);
  for (const int count : {1, 2, 3, 7, 20, 64, 256, 300}) {
    for (const int q : {1, 5, 130}) {
      for (const int kv : {1, 700, 8192}) {
        if (!holds("even", even(count, q, kv), true)) return 1;
      }
      for (int i = 0; i < 4; ++i) {
        if (!holds("uneven", uneven(count, q, random), false)) return 1;
      }
    }
  }
  return 0;
}
