#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "schedule/resources.h"
#include "schedule/units.h"

namespace attngen::schedule {
namespace {

constexpr int kMatrixCols = 32;
constexpr int kChunk = 8;    // elements of 16 bytes
constexpr int kGranule = 8;  // registers are granted in eights

int ceil_power_of_two(int n) {
  int power = 1;
  while (power < n) power *= 2;
  return power;
}

int threads_of(const Schedule& s) { return 2 * s.warpgroups * kWaveLanes; }

// As templates/cdna2/parts/keys.h: chunks of 16 bytes of a key in LDS, an odd number of them where
// they cannot exchange places within 128 bytes.
int key_chunks(const Kernel& kernel) { return round_up(kernel.head_dim_qk, 2 * kChunk) / kChunk; }
int key_bytes(const Kernel& kernel, const Schedule& s) {
  const int chunks = key_chunks(kernel);
  return s.tile_kv * (chunks % 8 == 0 ? chunks : chunks + 1) * 16;
}
int value_bytes(const Kernel& kernel, const Schedule& s) {
  return round_up(kernel.head_dim_v, kMatrixCols) * s.tile_kv * kElement;
}

// Registers in which a thread carries its share of a tile from global memory to LDS (keys.h,
// values.h). Keys and values take turns.
int key_staging(const Kernel& kernel, const Schedule& s) {
  const int rows = std::max(1, threads_of(s) / ceil_power_of_two(key_chunks(kernel)));
  return 4 * ((s.tile_kv + rows - 1) / rows);
}
int value_staging(const Kernel& kernel, const Schedule& s) {
  const auto registers = [&](int columns) {
    const int lanes = 32 / columns;
    const int threads = round_up(kernel.head_dim_v / columns, lanes) * (s.tile_kv / 4);
    return 4 * columns / 2 * ((threads + threads_of(s) - 1) / threads_of(s));
  };
  return std::min(registers(4), registers(8));
}

// Room to move what lies beyond the direct registers: one accumulator.
constexpr int kMoved = 32;

int output_registers(const Kernel& kernel) {
  return round_up(kernel.head_dim_v, kMatrixCols) * kWaveRows / kWaveLanes;
}

// Pages of a cache that hold no whole tiles of keys.
bool is_row_by_row(const Kernel& kernel, const Schedule& s) { return kernel.page % s.tile_kv != 0; }

// Registers beyond the tensors and the fragments in flight: addresses, limits, row state, sums.
// What the user's functions take is an estimate, fitted to random specs
// (tests/mi250/check_random.py).
constexpr int kFragments = 16;
int margin(const Kernel& kernel, const Schedule& s) {
  const bool mask_loads = kernel.mask.load > 0;
  int registers = 31;
  if (!kernel.rows.exponential) registers += 24;
  if (!kernel.plain_score) registers += 8;
  if (kernel.key_loads > 0) registers += 8;
  if (kernel.tested_mask) registers += 8;
  if (mask_loads) registers += 8;
  if (is_row_by_row(kernel, s)) registers += 8;  // addresses of 64 bits
  // What keys add to ALiBi's scores the compiler has ready, a register for each of a lane's.
  if (kernel.key_line) registers += s.tile_kv / 2;
  // The loads of a whole block go ahead of what reads them.
  if (!kernel.rows.exponential && (kernel.key_loads > 0 || mask_loads)) registers += s.tile_kv / 2;
  return registers;
}

int register_need(const Kernel& kernel, const Schedule& s) {
  const int query = round_up(kernel.head_dim_qk, 16) * kWaveRows * kElement / 4 / kWaveLanes;
  const int output = output_registers(kernel);
  const int scores = s.tile_kv * kWaveRows / kWaveLanes;
  const int staging = std::max(key_staging(kernel, s), value_staging(kernel, s));
  return query + output + 2 * scores + staging + kFragments + margin(kernel, s);
}

// The tile that needs the least registers: more threads share what is on its way from memory, and
// four waves are as many as one SIMD each has room for.
bool is_least(const Schedule& s) { return s.warpgroups == 2 && s.tile_kv == kMatrixCols; }

// What the family does in one way alone.
std::string fixed_refusal(const Schedule& s) {
  if (s.warpgroups == 3) return "3 warpgroups; this family's tiles divide among 1, 2 or 4";
  if (s.tile_kv != 32 && s.tile_kv != 64 && s.tile_kv != 128) {
    return fmt::format("a tile of {} keys; this family has 32, 64 and 128", s.tile_kv);
  }
  if (s.stages != 1) {
    return fmt::format("{} stages; this family has 1 in LDS and the next in registers", s.stages);
  }
  if (s.weights != Place::Registers) return "weights in LDS; this family keeps them in registers";
  if (s.overlap != Overlap::IntraWarpgroup) return "this family always overlaps within a wave";
  if (s.split_keys) return "split keys; this family's tiles visit all keys of their rows";
  if (s.scan) return "a scan; this family has none";
  if (s.ping_pong) return "ping-pong; SIMDs alternate between waves by themselves";
  if (s.grid != Grid::Plain) return "this family's grid is plain: one block a tile";
  return {};
}

// A tile's rows are of one row of the caller's blocks, and its keys of one of them.
std::string why_cells_unfit(const Kernel& kernel, const Schedule& s) {
  const int queries = s.queries(kernel.group());
  if (kernel.block_queries % queries != 0) {
    return fmt::format("a tile has {} queries; those of {} keep the same blocks", queries,
                       kernel.block_queries);
  }
  return kernel.block_size % s.tile_kv == 0
             ? ""
             : fmt::format("a tile of {} keys; blocks have {}", s.tile_kv, kernel.block_size);
}

// What a CU has too little of for a block of so many resources.
std::string shortage(const Kernel& kernel, const Schedule& s, const Resources& resources,
                     const target::Target& target) {
  const int registers = resources.register_need;
  if (resources.shared_bytes > target.shared_bytes_per_block) {
    return fmt::format("needs {} bytes of LDS; {} has {}", resources.shared_bytes, target.name,
                       target.shared_bytes_per_block);
  }
  if (registers > target.registers_per_thread) {
    return fmt::format("needs {} registers a thread; {} has {}", registers, target.name,
                       target.registers_per_thread);
  }
  // Only accumulators go to the other half of the file. The estimate is a careful one, and a least
  // tile that spills is better than none.
  const int direct = registers - output_registers(kernel);
  if (registers > kDirectRegisters && direct > kDirectRegisters - kMoved && !is_least(s)) {
    return fmt::format("needs {} registers beside the accumulators; {} can name {}", direct,
                       target.name, kDirectRegisters - kMoved);
  }
  return {};
}

// Blocks that share a CU.
int blocks_of_cu(const Resources& resources, int waves, int simd_registers,
                 const target::Target& target) {
  const int by_registers =
      kSimds * (simd_registers / round_up(resources.register_need, kGranule)) / waves;
  const int by_shared = target.shared_bytes_per_core / resources.shared_bytes;
  const int by_threads = target.threads_per_core / resources.threads;
  return std::min({by_registers, by_shared, by_threads});
}

}  // namespace

Fit fit_cdna2(const Kernel& kernel, const Schedule& s, const target::Target& target) {
  std::string reason = fixed_refusal(s);
  if (reason.empty() && s.pack_heads) reason = why_unpackable(kernel);
  if (reason.empty() && kernel.block_size > 0) reason = why_cells_unfit(kernel, s);
  if (!reason.empty()) return {std::nullopt, std::move(reason)};
  Resources resources;
  resources.threads = threads_of(s);
  resources.fixed_max = kernel.fixed_max;
  resources.row_order = kernel.row_order;
  resources.page_rows = is_row_by_row(kernel, s);
  resources.register_need = register_need(kernel, s);
  resources.shared_bytes = key_bytes(kernel, s) + value_bytes(kernel, s);
  reason = shortage(kernel, s, resources, target);
  if (!reason.empty()) return {std::nullopt, std::move(reason)};
  const int simd_registers = target.registers_per_core / kSimds / kWaveLanes;
  const int waves = 2 * s.warpgroups;
  const int blocks = blocks_of_cu(resources, waves, simd_registers, target);
  if (blocks == 0) {
    return {std::nullopt, fmt::format("needs {} registers a thread; {} waves share {} of a SIMD",
                                      resources.register_need, waves / kSimds, simd_registers)};
  }
  resources.waves_per_simd = std::max(1, blocks * waves / kSimds);
  resources.consumer_registers = simd_registers / resources.waves_per_simd / kGranule * kGranule;
  return {resources, ""};
}

}  // namespace attngen::schedule
