// One call of an emitted MI250 kernel in the interpreter: its data, its argument, its results.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "attention/oracle.h"
#include "gfx90a/machine.h"
#include "hold/fill.h"
#include "pages.h"
#include "shape.h"
#include "spec/spec.h"
#include "tensor.h"

namespace attngen::mi250 {

// What of the kernel's schedule its argument depends on.
struct Grid {
  int tile_q = 128, threads = 256;
  bool longest_first = false;
  bool pack_heads = false;
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
  void draw_pages(std::mt19937_64& random);
  int64_t tiles_per_head(const Grid& grid) const;
  int64_t tile_heads(const Grid& grid) const;                    // of a batch
  const Tensor& keys() const { return pages_ ? paged_k_ : k_; }  // as the kernel reads them
  const Tensor& values() const { return pages_ ? paged_v_ : v_; }
  int64_t total_kv() const;
  int64_t length_of(const std::string& name) const;
  std::vector<std::byte> kernarg(const Grid& grid) const;

  const spec::Spec& spec_;
  Shape shape_;
  Tensor q_, k_, v_, o_;
  std::optional<Pages> pages_;
  Tensor paged_k_, paged_v_;
  std::unique_ptr<Far> far_k_, far_v_;
  std::vector<int32_t> begins_q_, begins_kv_;  // of packed sequences, and where the last ends
  std::vector<uint8_t> block_mask_;
  std::vector<int32_t> block_counts_, block_indices_;
  std::vector<std::vector<float>> saves_;
  std::vector<Input> inputs_;  // in the spec's order
  attention::Problem problem_;
};

}  // namespace attngen::mi250
