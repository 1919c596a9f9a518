// One call of an emitted MI250 kernel in the interpreter: its data, its argument, its results.
#pragma once

#include <cstdint>
#include <map>
#include <new>
#include <random>
#include <string>
#include <vector>

#include "attention/oracle.h"
#include "gfx90a/machine.h"
#include "hold/fill.h"
#include "hold/storage.h"
#include "spec/spec.h"

namespace attngen::mi250 {

struct Sequence {
  int64_t q_begin = 0, seq_q = 0, kv_begin = 0, seq_kv = 0;
};

struct Shape {
  int64_t batch = 1, seq_q = 1, seq_kv = 1;  // of packed sequences the longest
  std::vector<Sequence> packed;              // one behind the other in memory; none: a batch
  int64_t total_q = 0, total_kv = 0;         // of these
  bool wild = false;  // offsets that descend and lie far outside, of empty ones around a third
  hold::StrideKind strides = hold::StrideKind::Default;
  double logits = 1;  // the standard deviation of scores
  std::string text() const;
  int64_t queries(int64_t b) const { return packed.empty() ? seq_q : packed[index(b)].seq_q; }
  // The second of three or more packed sequences is of NaN, which no other may read.
  bool is_poisoned(int64_t b) const { return packed.size() > 2 && b == 1; }

 private:
  static size_t index(int64_t b) { return static_cast<size_t>(b); }
};

// What of the kernel's schedule its argument depends on.
struct Grid {
  int tile_q = 128, threads = 256;
  bool longest_first = false;
  bool pack_heads = false;
};

// Memory as hipMalloc gives it, so that transactions count as they would on a card.
template <typename T>
struct DeviceAllocator {
  using value_type = T;
  static constexpr std::align_val_t kAlignment{256};
  DeviceAllocator() = default;
  template <typename U>
  explicit DeviceAllocator(const DeviceAllocator<U>&) {}
  T* allocate(size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), kAlignment)); }
  void deallocate(T* p, size_t) { ::operator delete(p, kAlignment); }
  bool operator==(const DeviceAllocator&) const = default;
};

// A tensor as stored: 16-bit elements, poisoned where no element lies.
struct Tensor {
  hold::Extent extent;
  std::vector<uint16_t, DeviceAllocator<uint16_t>> bits;
  std::vector<float> values;  // widened, in the same places
  attention::TensorView view() const {
    return {values.data(), extent.batch_stride, extent.seq_stride, extent.head_stride};
  }
};

class Call {
 public:
  // `fills`: how an input is filled (hold/fill.h), by name.
  Call(const spec::Spec& spec, const Shape& shape, const std::map<std::string, std::string>& fills,
       uint64_t seed);
  void run(const gfx90a::Kernel& kernel, const Grid& grid, uint64_t seed,
           gfx90a::Counters& counters);

  const attention::Problem& problem() const { return problem_; }
  double output(int64_t b, int64_t h, int64_t q, int64_t column) const;
  double save(size_t index, int64_t b, int64_t h, int64_t q) const;
  // Whether something was written where no element of the output lies.
  bool wrote_outside() const;

 private:
  struct Input {
    std::vector<std::byte> bytes;  // as the kernel reads it; a scalar's value
    bool scalar = false;
  };
  void poison(const Sequence& sequence);
  int64_t cells_q() const;
  int64_t cells_kv() const;
  void draw_blocks(std::mt19937_64& random);
  int64_t tiles_per_head(const Grid& grid) const;
  int64_t tile_heads(const Grid& grid) const;  // of a batch
  int64_t length_of(const std::string& name) const;
  std::vector<std::byte> kernarg(const Grid& grid) const;

  const spec::Spec& spec_;
  Shape shape_;
  Tensor q_, k_, v_, o_;
  std::vector<int32_t> begins_q_, begins_kv_;  // of packed sequences, and where the last ends
  std::vector<uint8_t> block_mask_;
  std::vector<int32_t> block_counts_, block_indices_;
  std::vector<std::vector<float>> saves_;
  std::vector<Input> inputs_;  // in the spec's order
  attention::Problem problem_;
};

}  // namespace attngen::mi250
