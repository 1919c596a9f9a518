#include "test_support.h"

#include <fmt/format.h>
#include <immintrin.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "float_math.h"
#include "operand.h"

namespace gfx90a {
namespace {

struct Folder {
  Folder() : path(std::filesystem::temp_directory_path() / fmt::format("gfx90a-{}", getpid())) {
    std::filesystem::create_directories(path);
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::filesystem::path path;
};

void shell(const std::string& command) {
  INFO(command);
  REQUIRE(std::system(command.c_str()) == 0);
}

void put(Wave& wave, const Holds& holds) {
  if (holds.name == "scc") {
    wave.scc = holds.value(0) != 0;
    return;
  }
  const Operand operand = parse_operand(holds.name);
  for (unsigned i = 0; i < operand.count; ++i) {
    const unsigned at = operand.first + i;
    if (operand.scalar()) wave.s[at] = static_cast<uint32_t>(holds.value(0) >> (32 * i));
    for (unsigned lane = 0; operand.vector() && lane < kLanes; ++lane) {
      wave.v[at][lane] = static_cast<uint32_t>(holds.value(lane) >> (32 * i));
    }
  }
}

void check(const Wave& wave, const Wave& before, const Holds& holds) {
  if (holds.name == "scc") {
    CHECK_MESSAGE(wave.scc == (holds.value(0) != 0), "scc");
    return;
  }
  const Operand operand = parse_operand(holds.name);
  for (unsigned i = 0; i < operand.count; ++i) {
    const unsigned at = operand.first + i;
    const auto expected = [&](unsigned lane) {
      return static_cast<uint32_t>(holds.value(lane) >> (32 * i));
    };
    if (operand.scalar()) {
      CHECK_MESSAGE(wave.s[at] == expected(0), holds.name, " register ", i, ": ",
                    fmt::format("{:#x} is not {:#x}", wave.s[at], expected(0)));
      continue;
    }
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const bool active = ((before.exec() >> lane) & 1) != 0;
      const uint32_t wanted = active ? expected(lane) : before.v[at][lane];
      if (wave.v[at][lane] == wanted) continue;
      FAIL_CHECK(fmt::format("{} register {} lane {}: {:#x} is not {:#x}", holds.name, i, lane,
                             wave.v[at][lane], wanted));
      break;
    }
  }
}

}  // namespace

uint32_t f32(float value) { return std::bit_cast<uint32_t>(value); }
uint64_t f64(double value) { return std::bit_cast<uint64_t>(value); }
uint32_t f16(float value) { return half_bits(value); }
uint32_t f16x2(float low, float high) { return f16(low) | f16(high) << 16; }
uint32_t bf16(float value) { return f32(value) >> 16; }
float to_float(uint32_t bits) { return std::bit_cast<float>(bits); }
float half_to_float(uint32_t bits) { return _cvtsh_ss(static_cast<uint16_t>(bits)); }

std::string scratch_path(const std::string& name) {
  static const Folder folder;
  return (folder.path / name).string();
}

void write_text(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

Decoded assemble(const std::vector<std::string>& lines) {
  std::string text = ".text\n";
  for (const std::string& line : lines) text += line + "\n";
  const std::string source = scratch_path("lines.s"), object = scratch_path("lines.o");
  write_text(source, text);
  shell("clang-15 -target amdgcn-amd-amdhsa -mcpu=gfx90a -c " + source + " -o " + object);
  KernelDescriptor all;
  all.size = UINT32_MAX;
  all.vgprs = all.agprs = 256;
  return decode(disassemble("llvm-objdump-15", object), all);
}

Kernel assemble_kernel(const AsmKernel& kernel) {
  const std::string source = scratch_path("kernel.s"), object = scratch_path("kernel.o"),
                    linked = scratch_path("kernel.co");
  write_text(source, fmt::format(R"(
.text
.globl kernel
.p2align 8
.type kernel,@function
kernel:
{}
.Lend:
.size kernel, .Lend - kernel
.rodata
.p2align 6
.amdhsa_kernel kernel
  .amdhsa_group_segment_fixed_size {}
  .amdhsa_kernarg_size {}
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_next_free_vgpr 128
  .amdhsa_next_free_sgpr 32
  .amdhsa_accum_offset 64
.end_amdhsa_kernel
)",
                                 kernel.body, kernel.lds_bytes, kernel.kernarg_bytes));
  shell("clang-15 -target amdgcn-amd-amdhsa -mcpu=gfx90a -c " + source + " -o " + object);
  shell("ld.lld-15 -shared " + object + " -o " + linked);
  return Kernel(linked);
}

Kernel compile_kernel(const std::string& name, const std::string& flags) {
  const std::string object = scratch_path("compiled.co");
  shell(
      "clang-15 -x hip --offload-arch=gfx90a --cuda-device-only --no-gpu-bundle-output -O3 "
      "-nogpuinc -nogpulib -fgpu-flush-denormals-to-zero " +
      flags + " -o " + object + " " ATTNGEN_SOURCE_DIR "/tests/gfx90a/kernels/" + name);
  return Kernel(object);
}

Lone::Lone(const std::vector<std::string>& lines)
    : program_(assemble(lines)), counters_(program_.instructions) {
  reset();
}

void Lone::reset() {
  block_ = std::make_unique<Block>(65536, 1, memory_, counters_);
  Wave& wave = *block_->wave[0];
  wave.block = block_.get();
  std::fill_n(&wave.v[0][0], kVectorRows * kLanes, kPoison);
  std::fill(std::begin(wave.s), std::end(wave.s), kPoison);
  wave.set_s64(kExec, ~uint64_t{0});
  wave.mode = 0xF0;  // subnormal numbers are kept
}

void Lone::step(size_t i) {
  const Instruction& in = program_.instructions.at(i);
  wave().waits.check(in);
  wave().delays.step(in);
  wave().next = in.index + 1;
  in.run(wave(), in);
}

void Lone::run_all() {
  for (size_t i = 0; i < program_.instructions.size(); ++i) step(i);
}

void check_cases(const std::vector<Case>& cases) {
  std::vector<std::string> lines;
  lines.reserve(cases.size());
  for (const Case& one : cases) lines.push_back(one.text);
  Lone lone(lines);
  for (size_t i = 0; i < cases.size(); ++i) {
    INFO(cases[i].text);
    lone.reset();
    for (const Holds& holds : cases[i].given) put(lone.wave(), holds);
    const auto before = std::make_unique<Wave>(lone.wave());
    lone.step(i);
    for (const Holds& holds : cases[i].expected) check(lone.wave(), *before, holds);
  }
}

}  // namespace gfx90a
