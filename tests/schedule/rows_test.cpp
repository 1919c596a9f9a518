#include "schedule/rows.h"

#include <doctest/doctest.h>

#include "kernels.h"

namespace attngen::schedule {
namespace {

TEST_CASE("rows add up to what attention counts") {
  for (const char* mask : {"true", "kv_idx <= q_pos", "kv_idx <= q_pos and q_pos - kv_idx < 300",
                           "kv_idx < 100", "(kv_idx + q_idx) % 2 == 0"}) {
    const attention::KeyRange range = attention::key_range(parse_mask(mask), {});
    for (const auto& lengths : {std::pair{1000, 1500}, {1500, 1000}, {64, 4096}, {1, 7}}) {
      const int seq_q = lengths.first, seq_kv = lengths.second;
      for (const int tile_q : {64, 128, 192}) {
        for (const int tile_kv : {64, 80, 128}) {
          CAPTURE(mask);
          CAPTURE(seq_q);
          CAPTURE(tile_q);
          CAPTURE(tile_kv);
          const attention::TileCounts expected =
              attention::count_tiles(range, seq_q, seq_kv, tile_q, tile_kv);
          const TileRows rows = tile_rows(range, seq_q, seq_kv, tile_q, 256);
          double full = 0, partial = 0;
          for (const RowKeys& keys : rows.keys) {
            const RowBlocks blocks = blocks_of(keys, tile_kv);
            full += static_cast<double>(blocks.full) * rows.stride;
            partial += static_cast<double>(blocks.partial) * rows.stride;
          }
          CHECK(rows.count == expected.rows);
          CHECK(full == static_cast<double>(expected.full));
          CHECK(partial == static_cast<double>(expected.partial));
        }
      }
    }
  }
}

TEST_CASE("of very many rows a sample stands for all") {
  const attention::KeyRange range = attention::key_range(parse_mask("kv_idx <= q_pos"), {});
  const int64_t seq = 1'000'000;
  const TileRows rows = tile_rows(range, seq, seq, 64, 256);
  CHECK(rows.count == 15625);
  CHECK(rows.keys.size() == 256);
  double blocks = 0;
  for (const RowKeys& keys : rows.keys) {
    const RowBlocks b = blocks_of(keys, 128);
    blocks += static_cast<double>(b.full + b.partial) * rows.stride;
  }
  const attention::TileCounts expected = attention::count_tiles(range, seq, seq, 64, 128);
  CHECK(blocks ==
        doctest::Approx(static_cast<double>(expected.full + expected.partial)).epsilon(0.01));
}

}  // namespace
}  // namespace attngen::schedule
