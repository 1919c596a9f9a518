// What a call of an emitted kernel is asked for: "padded:large:2,70,130", "70x130+1x0+64x64".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hold/storage.h"

namespace attngen::emulate {

struct Sequence {
  int64_t q_begin = 0, seq_q = 0, kv_begin = 0, seq_kv = 0;
};

struct Call {
  std::string text;
  std::vector<Sequence> sequences;  // one behind the other in memory
  int64_t total_q = 0, total_kv = 0, max_q = 0, max_kv = 0;
  hold::StrideKind strides = hold::StrideKind::Default;
  bool opposed = false;    // queries nearly orthogonal to what all keys have in common
  bool large = false;      // scores in the hundreds
  bool wild = false;       // offsets that descend and lie far outside
  bool exceeding = false;  // sequences longer than the tensors of their blocks
  bool roomy = false;      // total_kv is more than the sequences have
  int status = 0;          // that the call must have
  int64_t batch() const { return static_cast<int64_t>(sequences.size()); }
};

// batch,seq_q,seq_kv; of packed sequences a list of seq_q x seq_kv. Any of opposed:, large:,
// padded: and swapped: may stand before it, bad_length: before what must be refused as such,
// wild: before 0x0+0x0+7x9+0x0+0x0, and exceeding: before packed sequences that keep blocks.
Call read_call(const std::string& text, bool varlen);

}  // namespace attngen::emulate
