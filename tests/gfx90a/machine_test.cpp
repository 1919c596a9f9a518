// Whole kernels: blocks, waves, barriers, and faults with their places.
#include <cmath>
#include <fstream>
#include <iterator>
#include <numeric>
#include <sstream>

#include "test_support.h"

namespace gfx90a {
namespace {

TEST_SUITE_BEGIN("machine");

struct Out {
  const uint32_t* data;
};

// Runs an assembly kernel that stores to out[256 block + thread]; s[0:1] holds the arguments, s2
// the block, v0 the thread.
std::string run_on(const AsmKernel& text, std::vector<uint32_t>& out, uint64_t seed = 1,
                   bool shuffle = true) {
  return fault_of([&] {
    const Kernel kernel = assemble_kernel(text);
    Memory memory;
    memory.map(out.data(), out.size() * 4, "out");
    Launch launch;
    launch.grid = {static_cast<uint32_t>(out.size() / 256), 1, 1};
    launch.block = {256, 1, 1};
    launch.seed = seed;
    launch.shuffle = shuffle;
    launch.most_instructions = 100000;
    launch.set_kernarg(Out{out.data()});
    Counters counters(kernel.instructions());
    run(kernel, launch, memory, counters);
  });
}

const std::string kStore = R"(
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_lshl_b32 s6, s2, 8
  v_add_u32 v1, s6, v0
  v_lshlrev_b32 v1, 2, v1
  s_waitcnt lgkmcnt(0)
  global_store_dword v1, v2, s[4:5]
  s_endpgm
)";

TEST_CASE("every thread of every block runs once") {
  std::vector<uint32_t> out(size_t{4} * 256);
  CHECK(run_on({"s_mul_i32 s7, s2, 1000\n v_add_u32 v2, s7, v0" + kStore}, out) == "");
  for (unsigned i = 0; i < out.size(); ++i) CHECK(out[i] == i / 256 * 1000 + i % 256);
}

TEST_CASE("registers and LDS begin as NaNs") {
  std::vector<uint32_t> out(256);
  CHECK(run_on({"v_mov_b32 v2, v77" + kStore}, out) != "");  // beyond the vector registers
  CHECK(run_on({"v_mov_b32 v2, v63" + kStore}, out) == "");
  CHECK(out[255] == kPoison);
  CHECK(run_on({"v_accvgpr_read_b32 v2, a63" + kStore}, out) == "");
  CHECK(out[255] == kPoison);
  CHECK(run_on({"v_mov_b32 v2, s31" + kStore}, out) == "");
  CHECK(out[255] == kPoison);
  CHECK(run_on({"v_mov_b32 v3, 0\n ds_read_b32 v2, v3\n s_waitcnt lgkmcnt(0)" + kStore, 4}, out) ==
        "");
  CHECK(out[255] == kPoison);
  CHECK(std::isnan(to_float(kPoison)));
  CHECK(std::isnan(half_to_float(kPoison & 0xFFFF)));
  CHECK(std::isnan(half_to_float(kPoison >> 16)));
  CHECK(std::isnan(to_float(kPoison << 16)));
}

// Thread t writes LDS and reads what thread 255 - t wrote.
AsmKernel reversal(const std::string& between) {
  return {"v_lshlrev_b32 v3, 2, v0\n ds_write_b32 v3, v0\n" + between +
              "v_xor_b32 v4, 0x3fc, v3\n ds_read_b32 v2, v4\n s_waitcnt lgkmcnt(0)" + kStore,
          1024};
}

TEST_CASE("a barrier, and its lack, under every seed") {
  std::vector<uint32_t> out(size_t{2} * 256);
  for (const uint64_t seed : {1, 2, 3, 4, 5}) {
    CHECK(run_on(reversal("s_waitcnt lgkmcnt(0)\n s_barrier\n"), out, seed) == "");
    CHECK(out[256] == 255);
    const std::string fault = run_on(reversal("s_waitcnt lgkmcnt(0)\n"), out, seed);
    CHECK(fault.find("race in LDS") != std::string::npos);
    CHECK(fault.find("seed " + std::to_string(seed)) != std::string::npos);
  }
  CHECK(run_on(reversal(""), out, 1, false).find("race in LDS") != std::string::npos);
  // The write may still be under way behind the barrier.
  CHECK(run_on(reversal("s_barrier\n"), out).find("race in LDS") != std::string::npos);
  CHECK(run_on(reversal("s_barrier\n s_waitcnt lgkmcnt(0)\n"), out).find("race") !=
        std::string::npos);
}

TEST_CASE("write after read across waves") {
  const std::string
      read =
          "v_lshlrev_b32 v3, 2, v0\n ds_write_b32 v3, v0\n s_waitcnt lgkmcnt(0)\n s_barrier\n"
          "v_xor_b32 v4, 0x3fc, v3\n ds_read_b32 v2, v4\n",
      wait = "s_waitcnt lgkmcnt(0)\n", write = "ds_write_b32 v3, v0\n" + wait;
  std::vector<uint32_t> out(256);
  CHECK(run_on({read + wait + write + kStore, 1024}, out).find("race") != std::string::npos);
  CHECK(run_on({read + wait + "s_barrier\n" + write + kStore, 1024}, out) == "");
  // The read may still be under way behind the barrier.
  CHECK(run_on({read + "s_barrier\n" + write + kStore, 1024}, out).find("race") !=
        std::string::npos);
}

TEST_CASE("a wave that ends does not hold up a barrier") {
  std::vector<uint32_t> out(256);
  const std::string first_wave_ends =
      "v_cmp_gt_u32 vcc, 64, v0\n s_cbranch_vccz go\n s_endpgm\n go:\n";
  CHECK(run_on({first_wave_ends + "s_barrier\n v_mov_b32 v2, 5" + kStore}, out) == "");
  CHECK(out[0] == 0);
  CHECK(out[64] == 5);
}

TEST_CASE("faults name instruction, address, wave, block and seed") {
  std::vector<uint32_t> out(256);
  const std::string outside =
      run_on({"v_mov_b32 v2, 0x10000\n ds_read_b32 v3, v2" + kStore, 64}, out, 9, false);
  CHECK(outside.find("`ds_read_b32 v3, v2`: reads 4 bytes of LDS at 0x10000 (lane 0); the block "
                     "has 64 bytes") != std::string::npos);
  CHECK(outside.find("0x") == 0);
  CHECK(outside.find("(wave 0 of block 0,0,0; seed 9)") != std::string::npos);
  CHECK(run_on({"loop: s_branch loop"}, out).find("the kernel does not end") != std::string::npos);
  const std::string unknown = run_on({"s_sethalt 1" + kStore}, out);
  CHECK(unknown.find("`s_sethalt 1`: this instruction is not known to the interpreter") !=
        std::string::npos);
  CHECK(run_on({"v_mad_i32_i24 v2, v0, v0, v0 clamp" + kStore}, out)
            .find("clamp of these integers is not modelled") != std::string::npos);
  CHECK(run_on({"s_mov_b64 s[4:5], src_shared_base" + kStore}, out)
            .find("operand `src_shared_base`") != std::string::npos);
}

TEST_CASE("files that are no code objects") {
  write_text(scratch_path("text"), "hello");
  CHECK(fault_of([] { read_code_object(scratch_path("text")); }) == "the ELF is cut off");
  CHECK(fault_of([] { read_code_object(scratch_path("none")); }).find("cannot read") == 0);
  const Kernel kernel = assemble_kernel({"s_endpgm"});
  CHECK(fault_of([&] { (void)kernel.object().kernel("other"); }) ==
        "no kernel `other`; there is: kernel");
}

TEST_CASE("a code object cut off anywhere gives a fault or a kernel, no crash") {
  assemble_kernel({"s_endpgm"});
  std::ifstream stream(scratch_path("kernel.co"), std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(stream), {});
  REQUIRE(bytes.size() > 64);  // more than an ELF's header
  for (size_t size = 0; size < bytes.size(); size += 7) {
    write_text(scratch_path("cut.co"), bytes.substr(0, size));
    (void)fault_of([] { read_code_object(scratch_path("cut.co")); });
  }
  std::string garbled = bytes;
  for (size_t i = 16; i < bytes.size(); i += 3) {
    garbled[i] = static_cast<char>(garbled[i] ^ 0xFF);
    write_text(scratch_path("cut.co"), garbled);
    (void)fault_of([] { read_code_object(scratch_path("cut.co")); });
    garbled[i] = bytes[i];
  }
}

TEST_CASE("the hottest loop and its blocks") {
  const Kernel kernel = assemble_kernel({R"(
  s_mov_b32 s4, 0
outer:
  s_mov_b32 s5, 0
inner:
  v_pk_mul_f32 v[2:3], v[2:3], v[2:3]
  v_exp_f32 v4, v2
  s_nop 3
  s_add_u32 s5, s5, 1
  s_cmp_lt_u32 s5, 5
  s_cbranch_scc1 inner
  s_add_u32 s4, s4, 1
  s_cmp_lt_u32 s4, 3
  s_cbranch_scc1 outer
  s_endpgm
)"});
  Launch launch;
  launch.block = {128, 1, 1};
  Memory memory;
  Counters counters(kernel.instructions());
  run(kernel, launch, memory, counters);
  const BasicBlock loop = counters.hottest_loop();
  CHECK(loop.first == 1);  // the outer loop: no matrix instruction, so the most instructions
  CHECK(loop.entered == 6);
  const Mix all = counters.mix();
  CHECK(all[Pipe::Packed] == 30);
  CHECK(all[Pipe::Transcendental] == 30);
  CHECK(all[Pipe::Nop] == 4 * 30);
  CHECK(all[Pipe::Branch] == 36);
  CHECK(counters.basic_blocks().size() == 5);
  CHECK(counters.report().find("whole run") != std::string::npos);
  CHECK(counters.annotated_listing().find("30  v_exp_f32_e32 v4, v2") != std::string::npos);
}

TEST_SUITE_END();

}  // namespace
}  // namespace gfx90a
