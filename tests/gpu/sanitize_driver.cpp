// Runs a few small kernels once each, for compute-sanitizer: scripts/gpu_sanitize.sh.
//
// Tensors are allocated to the byte, so that memcheck sees any access around them. Lengths are
// ragged: tails of queries and keys, fewer keys than queries, one key, none.
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include "sanitize_bias.h"
#include "sanitize_bits.h"
#include "sanitize_causal.h"
#include "sanitize_far.h"
#include "sanitize_full.h"
#include "sanitize_heads.h"
#include "sanitize_ids.h"
#include "sanitize_latent.h"
#include "sanitize_listed.h"
#include "sanitize_lists.h"
#include "sanitize_maps.h"
#include "sanitize_maps_split.h"
#include "sanitize_mask.h"
#include "sanitize_nearest.h"
#include "sanitize_paged.h"
#include "sanitize_selected.h"
#include "sanitize_shifted.h"
#include "sanitize_sides.h"
#include "sanitize_sigmoid.h"
#include "sanitize_sparse.h"
#include "sanitize_split.h"
#include "sanitize_strips.h"
#include "sanitize_tables.h"
#include "sanitize_wide.h"
#include "sanitize_window.h"

namespace {

struct Lengths {
  int64_t batch, seq_q, seq_kv;
};
constexpr Lengths kLengths[] = {{1, 200, 300}, {2, 77, 77}, {1, 150, 64},
                                {1, 130, 136}, {1, 3, 1},   {1, 65, 0}};
// Several tiles for each core, whose queries come into slots that others had. Not for kernels in
// which one lane arrives, after a __syncwarp, for what its warp has read of a slot of keys, or one
// of maps' warpgroups for both: racecheck does not follow.
constexpr Lengths kManyTiles = {150, 130, 70};
constexpr Lengths kFarLengths = {1, 2060, 2080};  // enough queries for states of keys far behind
constexpr Lengths kSplitLengths = {1, 70, 1500};  // enough keys for four splits of them

struct Dims {
  int heads_q, heads_kv, head_dim;
  bool bf16;
  int maps = 1;
  bool far = false;
  int head_dim_v = head_dim;
  bool walks = false;  // a scout finds its blocks, or warps gather what is in them
  bool splits = false;
  int block_queries = 64;  // that keep the same blocks of keys
};

bool check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return true;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  return false;
}

// Device memory of exactly this size.
class Buffer {
 public:
  explicit Buffer(size_t bytes) : bytes_(bytes) {
    if (bytes > 0) check(cudaMalloc(&data_, bytes), "cudaMalloc");
  }
  ~Buffer() { cudaFree(data_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  void* data() const { return data_; }
  template <typename T>
  void fill(const std::vector<T>& values) const {
    if (bytes_ > 0) {
      check(cudaMemcpy(data_, values.data(), bytes_, cudaMemcpyHostToDevice), "copy in");
    }
  }
  void poison() const {
    if (bytes_ > 0) check(cudaMemset(data_, 0xFF, bytes_), "cudaMemset");
  }
  std::vector<uint16_t> read() const {
    std::vector<uint16_t> values(bytes_ / 2);
    if (bytes_ > 0) {
      check(cudaMemcpy(values.data(), data_, bytes_, cudaMemcpyDeviceToHost), "copy out");
    }
    return values;
  }

 private:
  void* data_ = nullptr;
  size_t bytes_;
};

// Multiples of factor / 8 in [-2 factor, 2 factor), exact in either type for powers of two.
std::vector<uint16_t> random_values(size_t count, bool bf16, uint32_t seed, float factor = 1) {
  std::vector<uint16_t> values(count);
  for (uint16_t& value : values) {
    seed = seed * 1664525u + 1013904223u;
    const float number = factor * static_cast<float>(static_cast<int>(seed >> 27) - 16) / 8.0f;
    uint32_t bits = 0;
    std::memcpy(&bits, &number, sizeof bits);
    if (bf16 || number == 0.0f) {
      value = static_cast<uint16_t>(bits >> 16);
    } else {  // fp16: the exponent's bias is 15 instead of 127
      value = static_cast<uint16_t>((bits >> 16 & 0x8000) | (((bits >> 23 & 0xFF) - 112) << 10) |
                                    (bits >> 13 & 0x3FF));
    }
  }
  return values;
}

// Ids of documents in no order, long enough that whole blocks stand in one.
std::vector<int32_t> random_ids(size_t count, uint32_t seed) {
  std::vector<int32_t> ids(count);
  for (size_t i = 0; i < count; ++i) {
    if (i % 50 == 0) seed = seed * 1664525u + 1013904223u;
    ids[i] = static_cast<int32_t>(seed >> 30);
  }
  return ids;
}

// Whether each pair exists: half of them do.
std::vector<uint8_t> random_bytes(size_t count, uint32_t seed) {
  std::vector<uint8_t> bytes(count);
  for (uint8_t& byte : bytes) {
    seed = seed * 1664525u + 1013904223u;
    byte = static_cast<uint8_t>(seed >> 31);
  }
  return bytes;
}

// The blocks of keys that each row of blocks keeps: two of three, and every fifth row none. What
// stands behind a list is no block.
struct BlockLists {
  static constexpr int64_t kSize = 64;
  std::vector<int32_t> counts, indices;

  BlockLists(int64_t planes, int64_t queries, const Lengths& n) {
    const int64_t rows = (n.seq_q + queries - 1) / queries, blocks = (n.seq_kv + kSize - 1) / kSize;
    for (int64_t row = 0; row < planes * rows; ++row) {
      std::vector<int32_t> kept;
      for (int64_t block = 0; block < blocks; ++block) {
        if (row % 5 != 4 && (row + block) % 3 != 0) kept.push_back(static_cast<int32_t>(block));
      }
      counts.push_back(static_cast<int32_t>(kept.size()));
      kept.resize(static_cast<size_t>(blocks), -1);
      indices.insert(indices.end(), kept.begin(), kept.end());
    }
  }
};

// Of 128 keys, some of which do not exist, for each query of so many planes.
struct TokenLists {
  static constexpr int32_t kRoom = 128;
  std::vector<int32_t> counts, indices;

  TokenLists(int64_t planes, const Lengths& n) {
    for (int64_t row = 0; row < planes * n.seq_q; ++row) {
      counts.push_back(static_cast<int32_t>(row * 37 % (kRoom + 9)));
      for (int64_t i = 0; i < kRoom; ++i) {
        indices.push_back(static_cast<int32_t>((row * 11 + i * 7) % (n.seq_kv + 2)) - 1);
      }
    }
  }
};

// The last page of the cache is the first one's, and so on.
struct PageTable {
  static constexpr int64_t kSize = 16;
  std::vector<int32_t> pages;

  explicit PageTable(const Lengths& n) {
    const int64_t count = n.batch * ((n.seq_kv + kSize - 1) / kSize);
    for (int64_t i = count; i > 0; --i) pages.push_back(static_cast<int32_t>(i - 1));
  }
};

bool is_finite(uint16_t value, bool bf16) {
  const int exponent = bf16 ? 0x7F80 : 0x7C00;
  return (value & exponent) != exponent;
}

// Args: <name>_forward_args, the part of it that every kernel has. `factor` scales the queries.
template <typename Args, typename Workspace, typename Forward>
bool run_once(const char* name, const Dims& dims, const Lengths& n, float factor,
              Workspace workspace_bytes, Forward forward) {
  const auto elements = [&n](int64_t length, int heads, int dim) {
    return static_cast<size_t>(n.batch * length * heads * dim);
  };
  const size_t queries = elements(n.seq_q, dims.heads_q, dims.head_dim);
  const PageTable table(n);
  auto rows = static_cast<size_t>(n.batch * n.seq_kv * dims.heads_kv);  // of keys
  if constexpr (requires(Args args) { args.page_table; }) {
    rows = table.pages.size() * PageTable::kSize * static_cast<size_t>(dims.heads_kv);
  }
  const size_t keys = rows * static_cast<size_t>(dims.head_dim);
  const size_t values = rows * static_cast<size_t>(dims.head_dim_v);
  const Buffer q(2 * dims.maps * queries), k(2 * dims.maps * keys), v(2 * values),
      o(2 * elements(n.seq_q, dims.heads_q, dims.head_dim_v));
  q.fill(random_values(dims.maps * queries, dims.bf16, 1, factor));
  k.fill(random_values(dims.maps * keys, dims.bf16, 2));
  v.fill(random_values(values, dims.bf16, 3));
  o.poison();

  Args args{};
  args.size = sizeof args;
  args.batch = n.batch;
  args.seq_q = n.seq_q;
  args.seq_kv = n.seq_kv;
  args.heads_q = dims.heads_q;
  args.heads_kv = dims.heads_kv;
  args.q = q.data();
  args.k = k.data();
  if constexpr (requires { args.v; }) args.v = v.data();
  args.o = o.data();
  const Buffer lse(4 * static_cast<size_t>(n.batch * dims.maps * dims.heads_q * n.seq_q));
  if constexpr (requires { args.lse; }) args.lse = static_cast<float*>(lse.data());
  const auto planes = std::max<int64_t>(dims.heads_q, n.batch);  // of biases and masks
  const auto pairs = static_cast<size_t>(planes * n.seq_q * n.seq_kv);
  const Buffer bias(2 * pairs);
  if constexpr (requires { args.bias; }) {
    bias.fill(random_values(pairs, dims.bf16, 4));
    args.bias = static_cast<const uint16_t*>(bias.data());
  }
  const Buffer keep(pairs);
  if constexpr (requires { args.keep; }) {
    keep.fill(random_bytes(pairs, 8));
    args.keep = static_cast<const uint8_t*>(keep.data());
  }
  constexpr int64_t kPositions = 33;
  const auto places = static_cast<size_t>(n.batch * dims.heads_q * n.seq_q * kPositions);
  const Buffer rel(2 * places);
  if constexpr (requires { args.rel; }) {
    rel.fill(random_values(places, dims.bf16, 9));
    args.rel = static_cast<const uint16_t*>(rel.data());
  }
  constexpr int64_t kDistances = 601;
  const auto distances = static_cast<size_t>(dims.heads_q * n.seq_q * kDistances);
  const Buffer bd(2 * distances);
  if constexpr (requires { args.bd; }) {
    bd.fill(random_values(distances, dims.bf16, 10));
    args.bd = static_cast<const uint16_t*>(bd.data());
  }
  const auto key_values = static_cast<size_t>(n.batch * n.seq_kv);
  const Buffer key(2 * key_values);
  if constexpr (requires { args.key; }) {
    key.fill(random_values(key_values, dims.bf16, 5));
    args.key = static_cast<const uint16_t*>(key.data());
  }
  const auto tokens = [&n](int64_t length) { return static_cast<size_t>(n.batch * length); };
  const Buffer doc(4 * tokens(n.seq_q)), key_doc(4 * tokens(n.seq_kv));
  if constexpr (requires { args.key_doc; }) {
    doc.fill(random_ids(tokens(n.seq_q), 6));
    key_doc.fill(random_ids(tokens(n.seq_kv), 7));
    args.doc = static_cast<const int32_t*>(doc.data());
    args.key_doc = static_cast<const int32_t*>(key_doc.data());
  }
  const BlockLists lists(n.batch * dims.heads_kv, dims.block_queries, n);
  const Buffer counts(4 * lists.counts.size()), indices(4 * lists.indices.size());
  if constexpr (requires { args.block_counts; }) {
    counts.fill(lists.counts);
    indices.fill(lists.indices);
    args.block_counts = static_cast<const int32_t*>(counts.data());
    args.block_indices = static_cast<const int32_t*>(indices.data());
  }
  const TokenLists token_lists(dims.heads_kv * n.batch, n);
  const Buffer key_counts(4 * token_lists.counts.size());
  const Buffer key_indices(4 * token_lists.indices.size());
  if constexpr (requires { args.token_counts; }) {
    key_counts.fill(token_lists.counts);
    key_indices.fill(token_lists.indices);
    args.token_counts = static_cast<const int32_t*>(key_counts.data());
    args.token_indices = static_cast<const int32_t*>(key_indices.data());
  }
  const Buffer page_table(4 * table.pages.size());
  if constexpr (requires { args.page_table; }) {
    page_table.fill(table.pages);
    args.page_size = PageTable::kSize;
    args.num_pages = static_cast<int64_t>(table.pages.size());
    args.page_table = static_cast<const int32_t*>(page_table.data());
  }
  const Buffer workspace(workspace_bytes(&args));
  workspace.poison();

  const int status = forward(&args, workspace.data(), nullptr);
  if (status != 0 || !check(cudaDeviceSynchronize(), name)) {
    std::fprintf(stderr, "%s: status %d\n", name, status);
    return false;
  }
  for (const uint16_t value : o.read()) {
    if (!is_finite(value, dims.bf16)) {
      std::fprintf(stderr, "%s: not finite, or not written\n", name);
      return false;
    }
  }
  return true;
}

template <typename Args, typename Workspace, typename Forward>
bool run(const char* only, const char* name, const Dims& dims, Workspace workspace_bytes,
         Forward forward) {
  if (std::strstr(name, only) == nullptr) return true;
  for (const Lengths& lengths : kLengths) {
    // Scores in the hundreds: a later block's maximum is far above the first's.
    for (const float factor : {1.0f, 64.0f}) {
      if (!run_once<Args>(name, dims, lengths, factor, workspace_bytes, forward)) return false;
    }
  }
  if (dims.far && !run_once<Args>(name, dims, kFarLengths, 1, workspace_bytes, forward)) {
    return false;
  }
  if (dims.splits && !run_once<Args>(name, dims, kSplitLengths, 1, workspace_bytes, forward)) {
    return false;
  }
  const bool reuses = dims.maps == 1 && !dims.walks;
  if (reuses && !run_once<Args>(name, dims, kManyTiles, 1, workspace_bytes, forward)) return false;
  std::printf("%s: ran\n", name);
  return true;
}

}  // namespace

#define RUN(name, ...) \
  run<name##_forward_args>(only, #name, __VA_ARGS__, name##_forward_workspace, name##_forward)

// Of the kernels those whose names contain the argument; of none all.
int main(int argc, char** argv) {
  const char* const only = argc > 1 ? argv[1] : "";
  const bool all =
      RUN(sanitize_full, Dims{2, 2, 128, true}) & RUN(sanitize_causal, Dims{4, 1, 64, false}) &
      RUN(sanitize_window, Dims{2, 1, 72, true}) & RUN(sanitize_sigmoid, Dims{2, 2, 128, true}) &
      RUN(sanitize_maps, Dims{2, 1, 64, true, 2}) & RUN(sanitize_bias, Dims{2, 2, 64, true}) &
      RUN(sanitize_far, Dims{2, 1, 128, true, 1, true}) &
      RUN(sanitize_wide, Dims{2, 1, 64, true, 1, true, 384}) &
      RUN(sanitize_sparse, Dims{4, 2, 128, true, 1, false, 128, true}) &
      RUN(sanitize_selected, Dims{16, 2, 64, true, 1, false, 64, true, false, 1}) &
      RUN(sanitize_paged, Dims{4, 1, 64, true, 1, false, 64, false, true}) &
      RUN(sanitize_lists, Dims{16, 2, 64, true, 1, false, 64, true}) &
      RUN(sanitize_listed, Dims{16, 2, 64, true, 1, false, 64, true}) &
      RUN(sanitize_strips, Dims{2, 2, 64, true}) & RUN(sanitize_tables, Dims{2, 2, 64, true}) &
      RUN(sanitize_shifted, Dims{2, 2, 64, true}) & RUN(sanitize_nearest, Dims{2, 1, 64, true}) &
      RUN(sanitize_ids, Dims{2, 2, 64, true, 1, false, 64, true}) &
      RUN(sanitize_mask, Dims{2, 2, 64, true}) &
      RUN(sanitize_bits, Dims{4, 4, 64, true, 1, false, 64, true}) &
      RUN(sanitize_split, Dims{4, 1, 64, true, 1, false, 64, false, true}) &
      RUN(sanitize_heads, Dims{4, 2, 64, true}) &
      RUN(sanitize_maps_split, Dims{4, 1, 64, true, 2, false, 64, false, true}) &
      RUN(sanitize_latent, Dims{16, 2, 448, true, 1, false, 384, true}) &
      RUN(sanitize_sides, Dims{4, 1, 448, true, 1, false, 384, false, true});
  return all ? 0 : 1;
}
