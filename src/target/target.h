// A hardware model, read from specs/hardware/<name>.json: every figure with its unit and source.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attngen::target {

enum class Family : unsigned char { Hopper, Cdna2, Ampere };

const char* name_of(Family);  // "hopper"

// Whether kernels are emitted for the family; of others there is the model alone.
inline bool has_kernels(Family family) { return family != Family::Ampere; }

// One SM or CU counts as one core. Rates are per core and clock. A figure that nobody measured is
// null in its file and 0 here; only latencies and softmax_clk may be so.
struct Target {
  std::string name;  // "h100"
  Family family = Family::Hopper;
  std::string title;  // "NVIDIA H100 SXM5 80 GB"
  std::string hash;   // 16 hexadecimal digits of the file's meaning

  int cores = 0;
  double clock_hz = 0;               // matrix and special units both busy: power binds
  double boost_clock_hz = 0;         // when power does not bind
  double matrix_flop = 0;            // dense bf16/fp16 FLOP / clk / core
  double matrix_flop_sustained = 0;  // FLOP/s of the whole chip under the power limit
  double special = 0;                // exp2, log2, tanh, reciprocal results / clk / core
  double multiply = 0;               // fp32 multiply-adds / clk / core
  double logic = 0;                  // compares, min, max, conversions, integer / clk / core
  double shuffle = 0;                // 32-bit lanes / clk / core
  double issue = 0;                  // instructions (warp or wave) / clk / core
  // The softmax chain (max, multiply-add, exp2, sum, half a pack) of 128 elements with 1, 2 and 3
  // warpgroups, clk: how well warps hide each other's unlike instructions.
  std::array<double, 3> softmax_clk{};
  int warp = 32;

  int shared_bytes_per_block = 0;
  int shared_bytes_per_core = 0;
  double shared_bytes_per_clk = 0;
  int registers_per_core = 0;    // 32-bit
  int registers_per_thread = 0;  // the most that an instruction can name
  int threads_per_core = 0;

  double l2_bytes = 0;
  double l2_bytes_per_s = 0;
  double memory_bytes_per_s = 0;
  double l2_latency_clk = 0;      // of a bulk load of 16 KiB, issue to wait
  double memory_latency_clk = 0;  // the same
  double barrier_clk = 0;         // named barrier hand-off
  double mbarrier_clk = 0;
  double matrix_latency_clk = 0;  // issue to wait of a dependent group, beyond its pure time
  double launch_s = 0;            // start and drain of a kernel
  double wave_s = 0;              // start of one more block on a core, beyond the first
};

// All models known to this build, by name, in alphabetical order.
const std::vector<Target>& all();
// Of those that kernels are emitted for.
std::vector<std::string> names_with_kernels();
// nullptr if there is none of the name.
const Target* find(std::string_view name);
// The model's file as it is, for --print-target; "" if there is none.
std::string_view file_text(std::string_view name);

// Reads a model from JSON text, strictly: every figure {value, unit, source}, no other key. The
// error is one line, "h100.json: /clocks/sustained: missing".
struct Read {
  std::optional<Target> target;
  std::string error;
};
Read read(std::string_view name, std::string_view json);

}  // namespace attngen::target
