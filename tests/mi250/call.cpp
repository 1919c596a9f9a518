#include "call.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <utility>
#include <variant>

#include "attention/row_form.h"
#include "emit/user_functions.h"
#include "schedule/schedule.h"

namespace attngen::mi250 {
namespace {

using Random = std::mt19937_64;

template <typename Visit>
void for_elements(const Tensor& t, const Visit& visit) {
  t.extent.for_rows([&](int64_t, int64_t, int64_t, int64_t at) {
    for (int64_t d = 0; d < t.extent.head_dim; ++d) visit(static_cast<size_t>(at + d));
  });
}

// No fp16 subnormals: matrix instructions take them for zero.
void fill(Tensor& t, spec::DType dtype, double size, Random& random) {
  const double least = dtype == spec::DType::Fp16 ? 0x1p-14 : 0;
  std::normal_distribution<double> normal;
  for_elements(t, [&](size_t at) {
    const double value = size * normal(random);
    t.bits[at] = hold::narrow(dtype, std::abs(value) < least ? 0 : value);
    t.values[at] = static_cast<float>(hold::widen(dtype, t.bits[at]));
  });
}

// Offsets that, cut off, are those of 0x0+0x0+`total`+0x0+0x0.
std::vector<int32_t> scattered(int64_t total) {
  constexpr int32_t kMost = std::numeric_limits<int32_t>::max();
  constexpr int32_t kLeast = std::numeric_limits<int32_t>::min();
  const auto half = static_cast<int32_t>(total / 2);
  return {kMost, half, kLeast, kMost, half, kLeast};
}

// The bytes of the argument, member after member, as C++ lays them out.
class Bytes {
 public:
  template <typename T>
  void put(T value) {
    align(sizeof value);
    const size_t at = bytes_.size();
    bytes_.resize(at + sizeof value);
    std::memcpy(bytes_.data() + at, &value, sizeof value);
  }
  void align(size_t alignment) {
    while (bytes_.size() % alignment != 0) bytes_.push_back(std::byte{0});
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace

std::string Shape::text() const {
  std::string lengths = fmt::format("{},{},{}", batch, seq_q, seq_kv);
  for (size_t i = 0; i < packed.size(); ++i) {
    if (i == 0) lengths.clear();
    lengths += fmt::format("{}{}x{}",
                           i > 0  ? "+"
                           : wild ? "wild:"
                                  : "",
                           packed[i].seq_q, packed[i].seq_kv);
  }
  return fmt::format("{},{},{}", lengths, hold::name_of(strides), logits);
}

Call::Call(const spec::Spec& spec, const Shape& shape,
           const std::map<std::string, std::string>& fills, uint64_t seed)
    : spec_(spec), shape_(shape) {
  Random random(seed);
  using hold::StrideKind;
  const StrideKind of_keys = shape.strides;
  const StrideKind of_queries = of_keys == StrideKind::Shared ? StrideKind::Padded : of_keys;
  const bool packed = !shape.packed.empty();
  const int64_t batch = packed ? 1 : shape.batch;
  const int64_t queries = packed ? shape.total_q : shape.seq_q;
  const int64_t keys = packed ? shape.total_kv : shape.seq_kv;
  const auto made = [&](int64_t length, int64_t heads, int64_t head_dim, StrideKind strides) {
    return Tensor({batch, length, heads, head_dim, strides, spec.layout});
  };
  q_ = made(queries, spec.heads.q, spec.head_dim.qk, of_queries);
  k_ = made(keys, spec.heads.kv(), spec.head_dim.qk, of_keys);
  v_ = made(keys, spec.heads.kv(), spec.head_dim.v, of_keys);
  o_ = made(queries, spec.heads.q, spec.head_dim.v, of_queries);
  fill(q_, spec.dtype, shape.logits, random);
  fill(k_, spec.dtype, 1, random);
  fill(v_, spec.dtype, 1, random);
  const auto rows = static_cast<size_t>(batch * spec.heads.q * queries);
  for (size_t i = 0; i < spec.normalize.saves.size(); ++i) {
    saves_.emplace_back(rows, std::numeric_limits<float>::quiet_NaN());
  }
  problem_ = {shape.batch, shape.seq_q, shape.seq_kv, q_.view(), k_.view(), v_.view(), {}};
  for (size_t b = 0; packed && b <= shape.packed.size(); ++b) {
    const bool ends = b == shape.packed.size();
    if (!ends && shape.is_poisoned(static_cast<int64_t>(b))) poison(shape.packed[b]);
    begins_q_.push_back(static_cast<int32_t>(ends ? queries : shape.packed[b].q_begin));
    begins_kv_.push_back(static_cast<int32_t>(ends ? keys : shape.packed[b].kv_begin));
  }
  problem_.inputs["cu_seqlens_q"] = {begins_q_.begin(), begins_q_.end()};
  problem_.inputs["cu_seqlens_kv"] = {begins_kv_.begin(), begins_kv_.end()};
  if (shape.wild) {  // the oracle's stay
    begins_q_ = scattered(queries);
    begins_kv_ = scattered(keys);
  }
  if (spec.block_size > 0) draw_blocks(random);
  if (spec.page) draw_pages(random);
  const hold::Lengths lengths{shape.batch, shape.seq_q, shape.seq_kv, queries, keys};
  for (const spec::Input& input : spec.inputs) {
    const auto found = fills.find(input.name);
    const std::string how = found == fills.end() ? "normal" : found->second;
    auto values = hold::fill(spec, input, lengths, how, random());
    inputs_.push_back({hold::store(input, values), input.shape.empty()});
    problem_.inputs[input.name] = std::move(values);
  }
}

int64_t Call::cells_q() const {
  return (shape_.seq_q + spec_.block_queries - 1) / spec_.block_queries;
}
int64_t Call::cells_kv() const { return (shape_.seq_kv + spec_.block_size - 1) / spec_.block_size; }

// A third of the blocks, none of every fifth row, all of every seventh. Lists in any order, with
// one that is none and one twice where there is room; what follows is not meant.
void Call::draw_blocks(Random& random) {
  const int64_t rows = shape_.batch * spec_.block_heads * cells_q(), width = cells_kv();
  const auto room = static_cast<size_t>(spec_.most_blocks.value_or(width));
  for (int64_t row = 0; row < rows; ++row) {
    std::vector<int32_t> list;
    for (int64_t j = 0; j < width; ++j) {
      const bool kept = row % 5 != 4 && (row % 7 == 6 || random() % 3 == 0);
      block_mask_.push_back(kept ? static_cast<uint8_t>(1 + random() % 255) : 0);
      if (kept) list.push_back(static_cast<int32_t>(j));
    }
    std::shuffle(list.begin(), list.end(), random);
    if (list.size() < room && !list.empty()) list.push_back(list.front());
    if (list.size() < room) list.insert(list.begin(), random() % 2 == 0 ? -1 : 1'000'000);
    block_counts_.push_back(static_cast<int32_t>(list.size()));
    for (int32_t j = 0; list.size() < room; ++j) list.push_back(j);
    block_indices_.insert(block_indices_.end(), list.begin(),
                          list.begin() + static_cast<ptrdiff_t>(room));
  }
  problem_.inputs["block_mask"] = {block_mask_.begin(), block_mask_.end()};
  problem_.inputs["block_counts"] = {block_counts_.begin(), block_counts_.end()};
  problem_.inputs["block_indices"] = {block_indices_.begin(), block_indices_.end()};
}

// After which the oracle's keys and values are as the table says.
void Call::draw_pages(Random& random) {
  pages_.emplace(spec_, shape_, random);
  pages_->settle(k_);
  pages_->settle(v_);
  paged_k_ = pages_->laid_out(k_);
  paged_v_ = pages_->laid_out(v_);
  if (shape_.strides != hold::StrideKind::Swapped) return;
  paged_k_.extent.batch_stride = pages_->spread(paged_k_, far_k_);
  paged_v_.extent.batch_stride = pages_->spread(paged_v_, far_v_);
}

void Call::poison(const Sequence& sequence) {
  const auto over = [](Tensor& t, int64_t begin, int64_t count) {
    t.extent.for_rows([&](int64_t, int64_t seq, int64_t, int64_t at) {
      if (seq < begin || seq >= begin + count) return;
      for (int64_t d = 0; d < t.extent.head_dim; ++d) {
        t.bits[static_cast<size_t>(at + d)] = kPoison;
        t.values[static_cast<size_t>(at + d)] = std::numeric_limits<float>::quiet_NaN();
      }
    });
  };
  over(q_, sequence.q_begin, sequence.seq_q);
  over(k_, sequence.kv_begin, sequence.seq_kv);
  over(v_, sequence.kv_begin, sequence.seq_kv);
}

// Of packed sequences at most.
int64_t Call::tiles_per_head(const Grid& grid) const {
  const int64_t rows = grid.pack_heads ? schedule::packed_rows(spec_.heads.group()) : 1;
  if (!shape_.packed.empty()) return shape_.total_q * rows / grid.tile_q + shape_.batch;
  return (shape_.seq_q * rows + grid.tile_q - 1) / grid.tile_q;
}

// Of packed sequences in pages it may say more, if nothing lies along it.
int64_t Call::total_kv() const {
  const bool along = std::ranges::any_of(spec_.inputs, [](const spec::Input& input) {
    return spec::has_dim(input, spec::Input::Dim::Kind::SeqKv);
  });
  constexpr int64_t kMore = 1000;
  return shape_.total_kv + (pages_ && !shape_.wild && !along ? kMore : 0);
}

// Of the call.
int64_t Call::length_of(const std::string& name) const {
  return name == "batch" ? shape_.batch : name == "total_q" ? shape_.total_q : total_kv();
}

int64_t Call::tile_heads(const Grid& grid) const {
  const int packed = spec_.heads.kv() * schedule::head_parts(spec_.heads.group());
  return grid.pack_heads ? packed : spec_.heads.q;
}

// struct Params of templates/cdna2/parts/tile.h.
std::vector<std::byte> Call::kernarg(const Grid& grid) const {
  Bytes bytes;
  const Tensor *const k = &keys(), *const v = &values();
  bytes.put<const void*>(q_.bits.data());
  bytes.put<const void*>(far_k_ ? far_k_->data() : k->bits.data());
  bytes.put<const void*>(far_v_ ? far_v_->data() : v->bits.data());
  bytes.put<const void*>(o_.bits.data());
  const bool packed = !shape_.packed.empty();
  for (const Tensor* t : {&q_, k, v, &o_}) {
    const bool in_pages = pages_ && (t == k || t == v);
    if (!packed || in_pages) bytes.put(t->extent.batch_stride);
    bytes.put(t->extent.seq_stride);
    bytes.put(t->extent.head_stride);
  }
  for (const int64_t number : {shape_.batch, packed ? shape_.total_q : shape_.seq_q,
                               packed ? total_kv() : shape_.seq_kv, tiles_per_head(grid)}) {
    bytes.put(static_cast<int32_t>(number));
  }
  if (packed) {
    bytes.put<const void*>(begins_q_.data());
    bytes.put<const void*>(begins_kv_.data());
  } else if (grid.longest_first) {
    // Two key heads at a time: several sections even in small calls.
    const int64_t heads = tile_heads(grid), section = 2 * heads / spec_.heads.kv();
    bytes.put(static_cast<int32_t>(std::min(section, shape_.batch * heads)));
  }
  if (spec_.block_size > 0) {
    bytes.put(static_cast<int32_t>(cells_q()));
    bytes.put(static_cast<int32_t>(cells_kv()));
    if (spec_.sparsity == spec::Spec::Sparsity::BlockBitmap) {
      bytes.put<const void*>(block_mask_.data());
    } else {
      bytes.put<const void*>(block_counts_.data());
      bytes.put<const void*>(block_indices_.data());
    }
  }
  if (pages_) {
    bytes.put<const void*>(pages_->table().data());
    bytes.put(pages_->table_stride());
    bytes.put(static_cast<int32_t>(pages_->table_stride() * pages_->size()));
    bytes.put(static_cast<int32_t>(pages_->count()));
  }
  const auto form = std::get<attention::RowForm>(attention::derive_row_form(spec_.normalize));
  const auto lengths = emit::user_functions(spec_, form, target::Family::Cdna2).lengths;
  size_t alignment = lengths.empty() ? 1 : sizeof(int32_t);
  for (const Input& input : inputs_) {
    alignment = std::max(alignment, input.scalar ? input.bytes.size() : sizeof(void*));
  }
  if (inputs_.empty()) {
    bytes.put(uint8_t{0});
  } else {
    bytes.align(alignment);
    for (const std::string& length : lengths) {
      bytes.put(static_cast<int32_t>(length_of(length)));
    }
    for (const Input& input : inputs_) {
      if (!input.scalar) {
        bytes.put<const void*>(input.bytes.data());
      } else if (input.bytes.size() == 1) {
        bytes.put(input.bytes[0]);
      } else {
        int32_t word = 0;
        std::memcpy(&word, input.bytes.data(), sizeof word);
        bytes.put(word);
      }
    }
    bytes.align(alignment);
  }
  if (saves_.empty()) bytes.put(uint8_t{0});
  for (const std::vector<float>& save : saves_) bytes.put<const void*>(save.data());
  bytes.align(8);
  return bytes.take();
}

void Call::run(const gfx90a::Kernel& kernel, const Grid& grid, uint64_t seed,
               gfx90a::Counters& counters) {
  gfx90a::Memory memory;
  const auto map = [&](const auto& values, const char* name, gfx90a::Access access) {
    if (values.empty()) return;
    memory.map(const_cast<void*>(static_cast<const void*>(values.data())),
               values.size() * sizeof values[0], name, access);
  };
  map(q_.bits, "q", gfx90a::Access::Read);
  map(keys().bits, "k", gfx90a::Access::Read);
  map(values().bits, "v", gfx90a::Access::Read);
  for (const auto* far : {&far_k_, &far_v_}) {
    if (*far) map(std::span((*far)->data(), (*far)->size()), "far", gfx90a::Access::Read);
  }
  map(o_.bits, "o", gfx90a::Access::ReadWrite);
  map(begins_q_, "cu_seqlens_q", gfx90a::Access::Read);
  map(begins_kv_, "cu_seqlens_kv", gfx90a::Access::Read);
  map(block_mask_, "block_mask", gfx90a::Access::Read);
  map(block_counts_, "block_counts", gfx90a::Access::Read);
  map(block_indices_, "block_indices", gfx90a::Access::Read);
  for (int64_t b = 0; pages_ && b < shape_.batch; ++b) {
    const auto row =
        std::span(pages_->table()).subspan(static_cast<size_t>(b * pages_->table_stride()));
    map(row.first(static_cast<size_t>(pages_->used(b))), "page_table", gfx90a::Access::Read);
  }
  for (const std::vector<float>& save : saves_) map(save, "save", gfx90a::Access::ReadWrite);
  for (const Input& input : inputs_) {
    if (!input.scalar) map(input.bytes, "input", gfx90a::Access::Read);
  }
  gfx90a::Launch launch;
  const int64_t planes = shape_.packed.empty() ? shape_.batch : 1;
  launch.grid.x = static_cast<uint32_t>(tiles_per_head(grid) * planes * tile_heads(grid));
  launch.block.x = static_cast<uint32_t>(grid.threads);
  launch.kernarg = kernarg(grid);
  launch.seed = seed;
  gfx90a::run(kernel, launch, memory, counters);
}

double Call::output(int64_t b, int64_t h, int64_t q, int64_t column) const {
  const bool packed = !shape_.packed.empty();
  const int64_t row = packed ? shape_.packed[static_cast<size_t>(b)].q_begin + q : q;
  const int64_t at = o_.extent.at(packed ? 0 : b, row, h) + column;
  return hold::widen(spec_.dtype, o_.bits[static_cast<size_t>(at)]);
}

double Call::save(size_t index, int64_t b, int64_t h, int64_t q) const {
  const int64_t at = shape_.packed.empty()
                         ? (b * spec_.heads.q + h) * shape_.seq_q + q
                         : h * shape_.total_q + shape_.packed[static_cast<size_t>(b)].q_begin + q;
  return static_cast<double>(saves_[index][static_cast<size_t>(at)]);
}

bool Call::wrote_outside() const {
  std::vector<bool> inside(o_.bits.size());
  for_elements(o_, [&](size_t at) { inside[at] = true; });
  for (size_t i = 0; i < inside.size(); ++i) {
    if (!inside[i] && o_.bits[i] != kPoison) return true;
  }
  return false;
}

}  // namespace attngen::mi250
