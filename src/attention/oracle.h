// The meaning of a spec, straight from its definition in double precision: no blocks, no online
// tricks.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "spec/spec.h"

namespace attngen::attention {

// A call's data. Elements are as stored (rounded to bf16 / fp16 already), widened to float.
// Strides are in elements: {batch, seq, head}; the head dim is contiguous.
struct TensorView {
  const float* data = nullptr;
  int64_t batch = 0, seq = 0, head = 0;
};
struct Problem {
  int64_t batch = 1, seq_q = 1, seq_kv = 1;
  TensorView q, k, v;  // v is not read where values are columns of the keys
  // Inputs by name, contiguous in their declared shape; scalars are one element. Ints are exact.
  // An index beyond a dimension reads its nearest element, 0 if it has none; an input that is
  // missing or has too few elements reads as NaN. Block sparsity is given by the names of the
  // argument struct: "block_mask", or "block_counts" and "block_indices", and "max_seq_q" and
  // "max_seq_kv" of one element each; a block that these do not reach is left out. So are lists of
  // tokens, "token_counts" and "token_indices", and packed sequences: "cu_seqlens_q" and
  // "cu_seqlens_kv" of batch + 1 elements each; the views' batch stride and the lengths above are
  // then not used, and inputs along sequences are packed as well.
  std::map<std::string, std::vector<double>, std::less<>> inputs;
};

// Exact: double throughout. Storage: the same mathematics done naively in the storage type: scores,
// weights, row values divided out, and outputs are each rounded to bf16 / fp16, and the product of
// a query and a key errs as fp32 sums may, by 2^-24 of its terms' magnitudes; the yardstick of the
// FlashAttention rule (max error <= 2 x the error of this + a small absolute term).
enum class Arithmetic : uint8_t { Exact, Storage };

struct Row {
  std::vector<double> o;      // [head_dim.v]
  std::vector<double> saves;  // in the order of the spec; of two maps all of map 0, then of map 1
  int64_t pairs = 0;          // existing pairs
};

class Oracle {
 public:
  explicit Oracle(const spec::Spec& spec);  // parallel pattern
  ~Oracle();
  // Query row `q` of query head `h` of batch `b`. Thread-safe. An empty row gives o = 0; its saves
  // are evaluated with the identities of the reductions (lse = -inf), NaN becoming -inf. A row
  // whose scores are all -inf is empty too.
  Row row(const Problem& problem, int64_t b, int64_t h, int64_t q, Arithmetic arithmetic) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Rounds to the nearest value of the type, ties to even; overflow gives infinity.
double round_to(spec::DType dtype, double value);

}  // namespace attngen::attention
