// How the scout tells the producer of a tile.
#pragma once

#if ATTN_PERSISTENT
// The producer calls for the next tile when so many blocks of this one are left to load: early
// enough for the trips to memory that finding it takes, late enough that a block that is still busy
// does not hold a tile that another could begin.
#if ATTN_WALK
constexpr int kCallAhead = 3;
#else
constexpr int kCallAhead = 6;  // a search takes several
#endif
#endif

#if ATTN_WALK
// A tile, and up to 32 of the blocks of keys that it visits, in their order.
struct Find {
  Tile tile;  // a batch of -1: none is left
  int visits[32], count;
  int last;  // whether these are the tile's last
#if ATTN_ROWS_DIFFER
  Keepers keepers[32];  // of each visit
#endif
};
#else
struct Find {
  Tile tile;      // a batch of -1: none is left
  KeyRange keys;  // of all its rows
};
#endif
