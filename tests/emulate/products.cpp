#include "products.h"

#include <cstdlib>
#include <cstring>
#include <utility>

#include "core.h"
#include "storage.h"

namespace emulated {
namespace {

using emulator::from_storage;

float shared_element(uint32_t address) {
  uint16_t x;
  if (address + 2 > emulator::kSharedBytes) std::abort();
  std::memcpy(&x, emulator::core->shared + address, 2);
  return from_storage(x);
}

// An operand of a matrix product in shared memory, by its descriptor.
struct Operand {
  explicit Operand(uint64_t d)
      : start(static_cast<int>((d & 0x3FFF) << 4)),
        leading(static_cast<int>((d >> 16 & 0x3FFF) << 4)),
        stride(static_cast<int>((d >> 32 & 0x3FFF) << 4)),
        span(d >> 62 == 1 ? 128 : 64) {}
  // The sixteen elements of the sum in row `row`: rows of the operand are rows of the tile.
  void by_row(int row, float (&x)[16]) const {
    const int first = start + row / 8 * stride + row % 8 * span;
    for (int k = 0; k < 16; k += 8) {  // a swizzle moves chunks of sixteen bytes
      const uint32_t chunk = emulator::swizzle(static_cast<uint32_t>(first + 2 * k), span);
      for (int i = 0; i < 8; ++i) x[k + i] = shared_element(chunk + 2 * static_cast<uint32_t>(i));
    }
  }
  // Rows of the operand are columns of the tile.
  void by_column(int column, float (&x)[16]) const {
    const int wide = span / 2, first = start + column / wide * leading + column % wide * 2;
    for (int k = 0; k < 16; ++k) x[k] = element(first + k / 8 * stride + k % 8 * span);
  }
  float element(int address) const {
    return shared_element(emulator::swizzle(static_cast<uint32_t>(address), span));
  }
  int start, leading, stride, span;
};

// Of a step of sixteen, a thread's two rows of the operand A.
struct Rows {
  float x[2][16];
};

// In registers: a row's sixteen lie in the four lanes that share it.
Rows rows_in_registers(const uint32_t* a) {
  Rows rows;
  const size_t quad = size_t{emulator::thread_index().x} % 32 / 4 * 4;
  for (size_t i = 0; i < 4; ++i) {  // a[0], a[1]: columns 0-7 of both rows; a[2], a[3]: 8-15
    const auto all = emulator::exchange(a[i]);
    for (size_t lane = 0; lane < 4; ++lane) {
      const uint32_t pair = all[quad + lane];
      rows.x[i % 2][i / 2 * 8 + 2 * lane] = from_storage(static_cast<uint16_t>(pair));
      rows.x[i % 2][i / 2 * 8 + 2 * lane + 1] = from_storage(static_cast<uint16_t>(pair >> 16));
    }
  }
  return rows;
}

Rows rows_of(const Left& left) {
  if (left.registers != nullptr) return rows_in_registers(left.registers);
  const Operand a(left.descriptor);
  Rows rows;
  for (int r = 0; r < 2; ++r) a.by_row(row_of(r), rows.x[r]);
  return rows;
}

// Much of the tests' time goes here.
void multiply(float* d, int groups, const Rows& left, const Operand& right, Lies lies,
              int accumulate) {
  for (int j = 0; j < groups; ++j) {
    float b[2][16], sums[2][2];  // side by side: each is a chain
    for (int e = 0; e < 2; ++e) {
      const int column = 8 * j + column_of() + e;
      lies == Lies::ByRows ? right.by_row(column, b[e]) : right.by_column(column, b[e]);
      for (int r = 0; r < 2; ++r) sums[r][e] = accumulate != 0 ? d[2 * r + e] : 0;
    }
    for (int k = 0; k < 16; ++k) {
      sums[0][0] += left.x[0][k] * b[0][k];
      sums[0][1] += left.x[0][k] * b[1][k];
      sums[1][0] += left.x[1][k] * b[0][k];
      sums[1][1] += left.x[1][k] * b[1][k];
    }
    std::memcpy(d, sums, sizeof(sums));
    d += 4;
  }
}

}  // namespace

int row_of(int r) {
  const int thread = static_cast<int>(emulator::thread_index().x);
  return thread / 32 % 4 * 16 + thread % 32 / 4 + 8 * r;
}
int column_of() { return static_cast<int>(emulator::thread_index().x) % 4 * 2; }

void multiply_later(float* d, int groups, Left left, uint64_t right, Lies lies, int accumulate) {
  emulator::core->current->open.push_back(
      [=] { multiply(d, groups, rows_of(left), Operand(right), lies, accumulate); });
}
void wgmma_commit() {
  emulator::Fiber& fiber = *emulator::core->current;
  fiber.groups.push_back(std::move(fiber.open));
  fiber.open.clear();
}
void wait_for_products(size_t pending) {
  emulator::Fiber& fiber = *emulator::core->current;
  while (fiber.groups.size() > pending) {
    for (const auto& product : fiber.groups.front()) product();
    fiber.groups.pop_front();
  }
  emulator::exchange(0);  // an operand in shared memory is the whole warp's
}

}  // namespace emulated
