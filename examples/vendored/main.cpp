// Llama 3 8B's attention on keys that are all zero: every weight is equal, so that each row of the
// result is the mean of the values up to and including its own.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include "../gpu.h"
#include "llama3_8b.h"

namespace {

constexpr int kSkipped = 77;  // what test drivers take for "skipped"
constexpr int kSeq = 300, kHeadsQ = 32, kHeadsKv = 8, kDim = 128;

// bf16 is the upper half of a float. 0 and 1 are exact.
constexpr uint16_t kOne = 0x3f80;
float from_bf16(uint16_t half) {
  const uint32_t bits = static_cast<uint32_t>(half) << 16;
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

// [1, kSeq, heads, kDim] of zeros.
void* zeros(int heads) { return gpu::zeros(sizeof(uint16_t) * kSeq * heads * kDim); }

}  // namespace

int main() {
  if (!gpu::found()) {
    std::printf("skipped: no %s here\n", gpu::kWanted);
    return kSkipped;
  }
  llama3_8b_forward_args args{};  // all strides zero: contiguous; lse null: not wanted
  args.size = sizeof(args);
  args.batch = 1;
  args.seq_q = args.seq_kv = kSeq;
  args.heads_q = kHeadsQ;
  args.heads_kv = kHeadsKv;
  args.q = zeros(kHeadsQ);
  args.k = zeros(kHeadsKv);
  args.o = zeros(kHeadsQ);

  // Even tokens are 1, odd ones 0.
  void* v = zeros(kHeadsKv);
  std::vector<uint16_t> values(static_cast<size_t>(kSeq) * kHeadsKv * kDim);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = i / (kHeadsKv * kDim) % 2 == 0 ? kOne : 0;
  }
  gpu::copy_bytes(v, values.data(), values.size() * sizeof(uint16_t));
  args.v = v;

  void* workspace = gpu::zeros(llama3_8b_forward_workspace(&args));
  const llama3_8b_status status = llama3_8b_forward(&args, workspace, /*stream=*/nullptr);
  if (status != LLAMA3_8B_OK) {
    std::fprintf(stderr, "llama3_8b_forward: %s\n", llama3_8b_status_string(status));
    return 1;
  }
  std::vector<uint16_t> result(static_cast<size_t>(kSeq) * kHeadsQ * kDim);
  gpu::copy_bytes(result.data(), args.o, result.size() * sizeof(uint16_t));

  float error = 0;
  for (size_t i = 0; i < result.size(); ++i) {
    const size_t row = i / (kHeadsQ * kDim);
    const float mean = static_cast<float>(row / 2 + 1) / static_cast<float>(row + 1);
    const float difference = std::fabs(from_bf16(result[i]) - mean);
    error = difference <= error ? error : difference;  // a NaN stays
  }
  std::printf("largest error: %.2e\n", static_cast<double>(error));
  return error < 5e-3F ? 0 : 1;  // bf16 holds values near 1 to 4e-3
}
