// Calls the generated kernel and compares one row with a plain loop on the CPU.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

#include "../gpu.h"
#include "attention.h"

namespace {

constexpr int kSkipped = 77;  // what test drivers take for "skipped"
constexpr int kSeq = 1000, kHeadsQ = 8, kHeadsKv = 2, kDim = 128;
constexpr double kCap = 30;

// bf16 is the upper half of a float.
uint16_t to_bf16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
float from_bf16(uint16_t half) {
  const uint32_t bits = static_cast<uint32_t>(half) << 16;
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

// A tensor [1, kSeq, heads, kDim] here and on the GPU.
struct Tensor {
  explicit Tensor(int heads) : heads(heads), host(static_cast<size_t>(kSeq) * heads * kDim) {
    device = gpu::zeros(bytes());
  }
  size_t bytes() const { return host.size() * sizeof(uint16_t); }

  void fill(std::mt19937& random) {
    std::normal_distribution<float> normal;
    for (uint16_t& element : host) {
      element = to_bf16(normal(random));
    }
    gpu::copy_bytes(device, host.data(), bytes());
  }
  void fetch() { gpu::copy_bytes(host.data(), device, bytes()); }
  double at(int row, int head, int column) const {
    return from_bf16(host[(static_cast<size_t>(row) * heads + head) * kDim + column]);
  }

  int heads;
  std::vector<uint16_t> host;
  void* device = nullptr;
};

// O[row] of one query head, as attention.yaml says.
std::vector<double> expected_row(const Tensor& q, const Tensor& k, const Tensor& v, int row,
                                 int head) {
  const int head_kv = head / (kHeadsQ / kHeadsKv);
  std::vector<double> output(kDim);
  double sum = 0;
  for (int key = 0; key <= row; ++key) {
    double score = 0;
    for (int column = 0; column < kDim; ++column) {
      score += q.at(row, head, column) * k.at(key, head_kv, column);
    }
    const double weight = std::exp(kCap * std::tanh(score / std::sqrt(kDim) / kCap));
    sum += weight;
    for (int column = 0; column < kDim; ++column) {
      output[column] += weight * v.at(key, head_kv, column);
    }
  }
  for (double& element : output) {
    element /= sum;
  }
  return output;
}

}  // namespace

int main() {
  if (!gpu::found()) {
    std::printf("skipped: no %s here\n", gpu::kWanted);
    return kSkipped;
  }
  std::mt19937 random(1);
  Tensor q(kHeadsQ), k(kHeadsKv), v(kHeadsKv), o(kHeadsQ);
  q.fill(random);
  k.fill(random);
  v.fill(random);

  attention_forward_args args{};  // all strides zero: contiguous; lse null: not wanted
  args.size = sizeof(args);
  args.batch = 1;
  args.seq_q = args.seq_kv = kSeq;
  args.heads_q = kHeadsQ;
  args.heads_kv = kHeadsKv;
  args.q = q.device;
  args.k = k.device;
  args.v = v.device;
  args.o = o.device;

  void* workspace = gpu::zeros(attention_forward_workspace(&args));
  const attention_status status = attention_forward(&args, workspace, /*stream=*/nullptr);
  if (status != ATTENTION_OK) {
    std::fprintf(stderr, "attention_forward: %s\n", attention_status_string(status));
    return 1;
  }
  o.fetch();

  const int row = kSeq - 1, head = 5;
  const std::vector<double> expected = expected_row(q, k, v, row, head);
  double error = 0;
  for (int column = 0; column < kDim; ++column) {
    const double difference = std::abs(o.at(row, head, column) - expected[column]);
    error = difference <= error ? error : difference;  // a NaN stays
  }
  std::printf("largest error of row %d: %.2e\n", row, error);
  return error < 5e-3 ? 0 : 1;
}
