// Matrix instructions, entry by entry against the formulas of their layouts.
#include <array>
#include <cmath>

#include "test_support.h"

namespace gfx90a {
namespace {

TEST_SUITE_BEGIN("mfma");

enum class Type : uint8_t { F16, Bf16, F32 };

struct MfmaShape {
  const char* name;
  Type type;
  unsigned m, k, blocks;

  unsigned per_lane() const { return m * k * blocks / kLanes; }  // elements of K
  unsigned registers() const { return m * m * blocks / kLanes; }
};
constexpr std::array<MfmaShape, 13> kShapes = {{
    {"32x32x8f16", Type::F16, 32, 8, 1},
    {"32x32x8bf16_1k", Type::Bf16, 32, 8, 1},
    {"16x16x16f16", Type::F16, 16, 16, 1},
    {"16x16x16bf16_1k", Type::Bf16, 16, 16, 1},
    {"32x32x4f16", Type::F16, 32, 4, 2},
    {"32x32x4bf16_1k", Type::Bf16, 32, 4, 2},
    {"16x16x4f16", Type::F16, 16, 4, 4},
    {"16x16x4bf16_1k", Type::Bf16, 16, 4, 4},
    {"4x4x4f16", Type::F16, 4, 4, 16},
    {"4x4x4bf16_1k", Type::Bf16, 4, 4, 16},
    {"32x32x2f32", Type::F32, 32, 2, 1},
    {"16x16x4f32", Type::F32, 16, 4, 1},
    {"4x4x1f32", Type::F32, 4, 1, 16},
}};

// The formulas of the calculator: where A[i][k] lies (and B[k][i]), and where D[i][j].
struct Place {
  unsigned lane, element;
};
Place source_place(const MfmaShape& shape, unsigned block, unsigned i, unsigned k) {
  return {i + shape.m * (block + shape.blocks * (k / shape.per_lane())), k % shape.per_lane()};
}
Place result_place(const MfmaShape& shape, unsigned block, unsigned i, unsigned j) {
  if (shape.m == 4) return {j + 4 * block, i};
  const unsigned groups = kLanes / shape.m;
  return {j + shape.m * (i / 4 % groups),
          i % 4 + 4 * (i / (4 * groups)) + shape.m * shape.m / kLanes * block};
}

std::string registers(char letter, unsigned first, unsigned count) {
  if (count == 1) return letter + std::to_string(first);
  return letter + ("[" + std::to_string(first) + ":" + std::to_string(first + count - 1) + "]");
}

unsigned source_registers(const MfmaShape& shape) {
  return shape.type == Type::F32 ? shape.per_lane() : shape.per_lane() / 2;
}

std::string instruction(const MfmaShape& shape, const std::string& d, const std::string& c) {
  const unsigned n = source_registers(shape);
  return std::string("v_mfma_f32_") + shape.name + " " + d + ", " + registers('v', 32, n) + ", " +
         registers('v', 40, n) + ", " + c;
}

void set_source(Wave& wave, const MfmaShape& shape, unsigned row, Place place, float value) {
  if (shape.type == Type::F32) {
    wave.v[row + place.element][place.lane] = f32(value);
    return;
  }
  uint32_t& to = wave.v[row + place.element / 2][place.lane];
  const uint32_t bits = shape.type == Type::F16 ? f16(value) : bf16(value);
  to = place.element % 2 == 0 ? (to & 0xFFFF0000) | bits : (to & 0xFFFF) | bits << 16;
}

void zero_sources(Wave& wave) {
  for (unsigned row = 32; row < 48; ++row) std::fill_n(wave.v[row], kLanes, 0);
}

std::vector<std::string> all_in_place() {
  std::vector<std::string> lines;
  for (const MfmaShape& shape : kShapes) {
    const std::string d = registers('v', 0, shape.registers());
    lines.push_back(instruction(shape, d, d));
  }
  return lines;
}

// Unit vectors: A has a single one, and B a single one, in the same k; D must have it at i, j.
// Every entry of A, B and D is visited.
TEST_CASE("layouts, entry by entry") {
  Lone lone(all_in_place());
  for (size_t n = 0; n < kShapes.size(); ++n) {
    const MfmaShape& shape = kShapes[n];
    INFO(shape.name);
    unsigned wrong = 0;
    for (unsigned block = 0; block < shape.blocks; ++block) {
      for (unsigned i = 0; i < shape.m; ++i) {
        for (unsigned k = 0; k < shape.k; ++k) {
          // A[i][k] = 1 alone: row i of D is row k of B, here 1 + j + 100 k.
          Wave& wave = lone.wave();
          zero_sources(wave);
          for (unsigned r = 0; r < shape.registers(); ++r)
            std::fill_n(wave.v[r], kLanes, f32(0.5F));
          set_source(wave, shape, 32, source_place(shape, block, i, k), 1);
          for (unsigned kk = 0; kk < shape.k; ++kk) {
            for (unsigned j = 0; j < shape.m; ++j) {
              set_source(wave, shape, 40, source_place(shape, block, j, kk),
                         static_cast<float>(1 + j + 32 * (kk % 4)));
            }
          }
          lone.step(n);
          for (unsigned row = 0; row < shape.m; ++row) {
            for (unsigned j = 0; j < shape.m; ++j) {
              const Place at = result_place(shape, block, row, j);
              const float expected =
                  row == i ? 0.5F + static_cast<float>(1 + j + 32 * (k % 4)) : 0.5F;
              wrong += to_float(wave.v[at.element][at.lane]) == expected ? 0 : 1;
            }
          }
        }
      }
    }
    CHECK(wrong == 0);
  }
}

// Random small integers, whose sums are exact in any order.
TEST_CASE("products of random matrices, other C, accumulators, constants") {
  std::vector<std::string> lines;
  for (const MfmaShape& shape : kShapes) {
    const unsigned n = shape.registers();
    lines.push_back(instruction(shape, registers('a', 0, n), registers('a', 64, n)));
    lines.push_back(instruction(shape, registers('v', 0, n), registers('v', 64, n)));
    lines.push_back(instruction(shape, registers('v', 0, n), "2.0"));
  }
  Lone lone(lines);
  uint32_t state = 12345;
  const auto random = [&] {
    state = state * 1664525 + 1013904223;
    return static_cast<float>(static_cast<int>(state >> 28) - 8);
  };
  for (size_t n = 0; n < lines.size(); ++n) {
    const MfmaShape& shape = kShapes[n / 3];
    INFO(lines[n]);
    lone.reset();
    Wave& wave = lone.wave();
    std::vector<float> a(size_t{shape.blocks} * shape.m * shape.k), b(a.size());
    for (unsigned block = 0; block < shape.blocks; ++block) {
      for (unsigned i = 0; i < shape.m; ++i) {
        for (unsigned k = 0; k < shape.k; ++k) {
          const size_t at = (size_t{block} * shape.m + i) * shape.k + k;
          set_source(wave, shape, 32, source_place(shape, block, i, k), a[at] = random());
          set_source(wave, shape, 40, source_place(shape, block, i, k), b[at] = random());
        }
      }
    }
    const unsigned c_row = n % 3 == 0 ? kAccumulators + 64 : 64;
    for (unsigned r = 0; r < shape.registers(); ++r) {
      for (unsigned lane = 0; lane < kLanes; ++lane) wave.v[c_row + r][lane] = f32(random());
    }
    wave.set_s64(kExec, 0x10);  // plays no part
    lone.step(n);
    const unsigned d_row = n % 3 == 0 ? kAccumulators : 0;
    unsigned wrong = 0;
    for (unsigned block = 0; block < shape.blocks; ++block) {
      for (unsigned i = 0; i < shape.m; ++i) {
        for (unsigned j = 0; j < shape.m; ++j) {
          const Place at = result_place(shape, block, i, j);
          float sum = n % 3 == 2 ? 2.0F : to_float(wave.v[c_row + at.element][at.lane]);
          for (unsigned k = 0; k < shape.k; ++k) {
            sum += a[(size_t{block} * shape.m + i) * shape.k + k] *
                   b[(size_t{block} * shape.m + j) * shape.k + k];
          }
          wrong += to_float(wave.v[d_row + at.element][at.lane]) == sum ? 0 : 1;
        }
      }
    }
    CHECK(wrong == 0);
  }
}

// One entry: D[0][0] of 16x16x16 f16, bf16 and of 16x16x4 f32.
float entry(const char* name, uint32_t a, uint32_t b, float c) {
  const auto found = std::find_if(kShapes.begin(), kShapes.end(),
                                  [&](const MfmaShape& s) { return std::string(s.name) == name; });
  static Lone lone(all_in_place());
  lone.reset();
  zero_sources(lone.wave());
  for (unsigned r = 0; r < 4; ++r) std::fill_n(lone.wave().v[r], kLanes, f32(c));
  lone.wave().v[32][0] = a;
  lone.wave().v[40][0] = b;
  lone.step(static_cast<size_t>(found - kShapes.begin()));
  return to_float(lone.wave().v[0][0]);
}

TEST_CASE("subnormal inputs and results of fp16 and bf16 forms are zero") {
  CHECK(entry("16x16x16f16", f16(0x1p-14F), f16(1), 0) == 0x1p-14F);
  CHECK(entry("16x16x16f16", f16(0x1p-15F), f16(1), 0) == 0);
  CHECK(entry("16x16x16f16", f16(1), f16(-0x1p-15F), 0) == 0);
  CHECK(entry("16x16x16bf16_1k", bf16(0x1p-126F), bf16(1), 0) == 0x1p-126F);
  CHECK(entry("16x16x16bf16_1k", bf16(0x1p-127F), bf16(1), 0) == 0);
  CHECK(entry("16x16x16bf16_1k", bf16(0x1p-100F), bf16(0x1p-30F), 0) == 0);
  CHECK(entry("16x16x4f32", f32(0x1p-127F), f32(1), 0) == 0x1p-127F);
  CHECK(entry("16x16x4f32", f32(0x1p-100F), f32(0x1p-30F), 0) == 0x1p-130F);
}

TEST_CASE("a result used too early") {
  const std::string product = "v_mfma_f32_32x32x8f16 v[0:15], v[32:33], v[40:41], 0";
  const std::string small = "v_mfma_f32_4x4x4f16 v[0:3], v[32:33], v[40:41], 0";
  const auto fault = [](const std::vector<std::string>& lines) {
    Lone lone(lines);
    for (unsigned lane = 0; lane < kLanes; ++lane) lone.wave().v[50][lane] = 0;
    return fault_of([&] { lone.run_all(); });
  };
  const std::string use = "v_add_f32 v60, v15, v15", pause = "s_nop 15";
  CHECK(fault({product, pause, use}) ==
        "uses v15 3 slots too soon after a matrix instruction wrote it");
  CHECK(!fault({product, pause, "s_nop 1", use}).empty());
  CHECK(fault({product, pause, "s_nop 2", use}).empty());
  CHECK(fault({product, pause, "v_mov_b32 v61, 0", "v_mov_b32 v61, 0", "s_nop 0", use}).empty());
  CHECK(!fault({product, pause, "v_mov_b32 v15, 0"}).empty());
  CHECK(!fault({product, pause, "ds_write_b32 v50, v15"}).empty());
  CHECK(!fault({small, "s_nop 3", "v_add_f32 v60, v3, v3"}).empty());
  CHECK(fault({small, "s_nop 4", "v_add_f32 v60, v3, v3"}).empty());
  CHECK(!fault({product, "v_mfma_f32_32x32x8f16 v[64:79], v[0:1], v[40:41], 0"}).empty());
  CHECK(fault({product, "v_mfma_f32_32x32x8f16 v[0:15], v[32:33], v[40:41], v[0:15]"}).empty());
  CHECK(fault({product, "v_add_f32 v60, v16, v16"}).empty());
}

TEST_CASE("infinities and NaNs pass through") {
  CHECK(std::isinf(entry("16x16x16f16", f16(INFINITY), f16(1), 0)));
  CHECK(std::isnan(entry("16x16x16f16", f16(INFINITY), f16(0), 0)));
  CHECK(std::isnan(entry("16x16x16bf16_1k", 0x7FC0, bf16(1), 0)));
}

TEST_SUITE_END();

}  // namespace
}  // namespace gfx90a
