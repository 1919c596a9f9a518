// Single scalar instructions with known answers.
#include "test_support.h"

namespace gfx90a {
namespace {

TEST_SUITE_BEGIN("instructions");

TEST_CASE("scalar arithmetic") {
  check_cases({
      {"s_add_u32 s0, s1, s2", {{"s1", 0xFFFFFFFF}, {"s2", 2}}, {{"s0", 1}, {"scc", 1}}},
      {"s_addc_u32 s0, s1, s2", {{"scc", 1}, {"s1", 3}, {"s2", 4}}, {{"s0", 8}, {"scc", 0}}},
      {"s_sub_u32 s0, s1, s2", {{"s1", 1}, {"s2", 2}}, {{"s0", 0xFFFFFFFF}, {"scc", 1}}},
      {"s_subb_u32 s0, s1, s2", {{"scc", 1}, {"s1", 5}, {"s2", 2}}, {{"s0", 2}, {"scc", 0}}},
      {"s_add_i32 s0, s1, s2", {{"s1", 0x7FFFFFFF}, {"s2", 1}}, {{"s0", 0x80000000}, {"scc", 1}}},
      {"s_add_i32 s0, s1, -1", {{"s1", 1}}, {{"s0", 0}, {"scc", 0}}},
      {"s_sub_i32 s0, s1, s2", {{"s1", 0x80000000}, {"s2", 1}}, {{"s0", 0x7FFFFFFF}, {"scc", 1}}},
      {"s_mul_i32 s0, s1, 0x10001", {{"s1", 0x10001}}, {{"s0", 0x20001}}},
      {"s_mul_hi_u32 s0, s1, s2", {{"s1", 0x80000000}, {"s2", 6}}, {{"s0", 3}}},
      {"s_mul_hi_i32 s0, s1, s2", {{"s1", 0xFFFFFFFF}, {"s2", 6}}, {{"s0", 0xFFFFFFFF}}},
      {"s_min_i32 s0, s1, s2", {{"s1", 0xFFFFFFFF}, {"s2", 1}}, {{"s0", 0xFFFFFFFF}, {"scc", 1}}},
      {"s_max_u32 s0, s1, s2", {{"s1", 3}, {"s2", 7}}, {{"s0", 7}, {"scc", 0}}},
      {"s_abs_i32 s0, s1", {{"s1", 0xFFFFFFFB}}, {{"s0", 5}, {"scc", 1}}},
      {"s_movk_i32 s0, 0x8000", {}, {{"s0", 0xFFFF8000}}},
      {"s_addk_i32 s0, 0xffff", {{"s0", 5}}, {{"s0", 4}, {"scc", 0}}},
      {"s_mulk_i32 s0, 0xfffe", {{"s0", 5}}, {{"s0", 0xFFFFFFF6}}},
      {"s_lshl3_add_u32 s0, s1, s2", {{"s1", 5}, {"s2", 2}}, {{"s0", 42}, {"scc", 0}}},
  });
}

TEST_CASE("scalar logic and moves") {
  check_cases({
      {"s_and_b64 s[0:1], s[2:3], vcc",
       {{"s[2:3]", 0xFF00FF00FF00FF00}, {"vcc", 0x00000000FFFFFFFF}},
       {{"s[0:1]", 0xFF00FF00}, {"scc", 1}}},
      {"s_and_b32 s0, s1, s2", {{"s1", 1}, {"s2", 2}}, {{"s0", 0}, {"scc", 0}}},
      {"s_andn2_b64 s[0:1], exec, s[2:3]", {{"s[2:3]", ~0ULL}}, {{"s[0:1]", 0}, {"scc", 0}}},
      {"s_orn2_b32 s0, s1, s2", {{"s1", 1}, {"s2", 0xFFFFFFF0}}, {{"s0", 0xF}, {"scc", 1}}},
      {"s_xnor_b32 s0, s1, s2", {{"s1", 5}, {"s2", 5}}, {{"s0", 0xFFFFFFFF}, {"scc", 1}}},
      {"s_not_b64 s[0:1], s[2:3]", {{"s[2:3]", ~0ULL}}, {{"s[0:1]", 0}, {"scc", 0}}},
      {"s_lshl_b32 s0, s1, 33", {{"s1", 3}}, {{"s0", 6}, {"scc", 1}}},
      {"s_lshr_b64 s[0:1], s[2:3], 36", {{"s[2:3]", 0x5000000000}}, {{"s[0:1]", 5}, {"scc", 1}}},
      {"s_ashr_i32 s0, s1, 4", {{"s1", 0x80000000}}, {{"s0", 0xF8000000}, {"scc", 1}}},
      {"s_bfe_u32 s0, s1, 0x80004", {{"s1", 0xABCDE}}, {{"s0", 0xCD}, {"scc", 1}}},
      {"s_bfe_i32 s0, s1, 0x80004", {{"s1", 0xABCDE}}, {{"s0", 0xFFFFFFCD}, {"scc", 1}}},
      {"s_bfm_b64 s[0:1], 4, 36", {}, {{"s[0:1]", 0xF000000000}}},
      {"s_bcnt1_i32_b64 s0, s[2:3]", {{"s[2:3]", 0xFF000000FF}}, {{"s0", 16}, {"scc", 1}}},
      {"s_ff1_i32_b64 s0, s[2:3]", {{"s[2:3]", 0x100000000}}, {{"s0", 32}}},
      {"s_flbit_i32_b32 s0, s1", {{"s1", 0x00010000}}, {{"s0", 15}}},
      {"s_brev_b32 s0, s1", {{"s1", 2}}, {{"s0", 0x40000000}}},
      {"s_sext_i32_i8 s0, s1", {{"s1", 0x80}}, {{"s0", 0xFFFFFF80}}},
      {"s_bitset1_b32 s0, 5", {{"s0", 1}}, {{"s0", 0x21}}},
      {"s_pack_ll_b32_b16 s0, s1, s2",
       {{"s1", 0x11112222}, {"s2", 0x33334444}},
       {{"s0", 0x44442222}}},
      {"s_pack_hh_b32_b16 s0, s1, s2",
       {{"s1", 0x11112222}, {"s2", 0x33334444}},
       {{"s0", 0x33331111}}},
      {"s_cselect_b32 s0, s1, s2", {{"scc", 1}, {"s1", 3}, {"s2", 4}}, {{"s0", 3}}},
      {"s_cselect_b64 s[0:1], -1, 0", {{"scc", 0}}, {{"s[0:1]", 0}}},
      {"s_cselect_b64 s[0:1], -1, 0", {{"scc", 1}}, {{"s[0:1]", ~0ULL}}},
      {"s_cmov_b32 s0, s1", {{"scc", 0}, {"s0", 1}, {"s1", 2}}, {{"s0", 1}}},
      {"s_mov_b64 s[0:1], 0x80000000", {}, {{"s[0:1]", 0x80000000}}},
      {"s_mov_b32 m0, -1", {}, {{"m0", 0xFFFFFFFF}}},
  });
}

TEST_CASE("masks of lanes") {
  check_cases({
      {"s_and_saveexec_b64 s[0:1], vcc",
       {{"exec", 0xFF}, {"vcc", 0xF0}},
       {{"s[0:1]", 0xFF}, {"exec", 0xF0}, {"scc", 1}}},
      {"s_and_saveexec_b64 s[0:1], vcc",
       {{"exec", 0xFF}, {"vcc", 0xF00}},
       {{"s[0:1]", 0xFF}, {"exec", 0}, {"scc", 0}}},
      {"s_or_saveexec_b64 s[0:1], s[2:3]",
       {{"exec", 0xF}, {"s[2:3]", 0xF0}},
       {{"s[0:1]", 0xF}, {"exec", 0xFF}, {"scc", 1}}},
      {"s_andn2_saveexec_b64 s[0:1], s[2:3]",
       {{"exec", 0xF}, {"s[2:3]", 0xFF}},
       {{"s[0:1]", 0xF}, {"exec", 0xF0}, {"scc", 1}}},
      {"s_xor_b64 exec, exec, s[2:3]",
       {{"exec", 0xF}, {"s[2:3]", 0xFF}},
       {{"exec", 0xF0}, {"scc", 1}}},
  });
}

TEST_CASE("scalar comparisons") {
  check_cases({
      {"s_cmp_lt_i32 s0, s1", {{"s0", 0xFFFFFFFF}, {"s1", 0}}, {{"scc", 1}}},
      {"s_cmp_lt_u32 s0, s1", {{"s0", 0xFFFFFFFF}, {"s1", 0}}, {{"scc", 0}}},
      {"s_cmp_ge_i32 s0, 3", {{"s0", 3}}, {{"scc", 1}}},
      {"s_cmp_lg_u64 s[0:1], 0", {{"s[0:1]", 0x100000000}}, {{"scc", 1}}},
      {"s_cmpk_eq_i32 s0, 0xffff", {{"s0", 0xFFFFFFFF}}, {{"scc", 1}}},
      {"s_cmpk_eq_u32 s0, 0xffff", {{"s0", 0xFFFF}}, {{"scc", 1}}},
      {"s_bitcmp1_b32 s0, 5", {{"s0", 0x20}}, {{"scc", 1}}},
      {"s_bitcmp0_b64 s[0:1], 40", {{"s[0:1]", 0x10000000000}}, {{"scc", 0}}},
  });
}

TEST_CASE("branches") {
  const std::vector<std::string> names = {"scc0", "scc1", "vccz", "vccnz", "execz", "execnz"};
  std::vector<std::string> lines;
  lines.reserve(names.size() + 3);
  for (const std::string& name : names) lines.push_back("s_cbranch_" + name + " target");
  lines.insert(lines.end(), {"s_branch target", "s_nop 0", "target: s_nop 0"});
  Lone lone(lines);
  for (const bool scc : {false, true}) {
    for (const uint64_t vcc : {uint64_t{0}, uint64_t{1} << 40}) {
      for (const uint64_t exec : {uint64_t{0}, uint64_t{1} << 40}) {
        lone.wave().scc = scc;
        lone.wave().set_s64(kVcc, vcc);
        lone.wave().set_s64(kExec, exec);
        const std::vector<bool> taken = {!scc, scc, vcc == 0, vcc != 0, exec == 0, exec != 0, true};
        for (size_t i = 0; i < taken.size(); ++i) {
          lone.step(i);
          CHECK(lone.wave().next == (taken[i] ? 8 : i + 1));
        }
      }
    }
  }
}

TEST_CASE("scalar loads") {
  Lone lone({"s_load_dwordx2 s[4:5], s[0:1], 0x8", "s_waitcnt lgkmcnt(0)",
             "s_buffer_load_dwordx2 s[6:7], s[8:11], 0x4", "s_waitcnt lgkmcnt(0)"});
  const std::vector<uint32_t> data = {10, 11, 12, 13};
  lone.memory().map(data.data(), 16, "data");
  const auto address = std::bit_cast<uint64_t>(data.data());
  lone.wave().set_s64(0, address);
  lone.wave().set_s64(8, address);
  lone.wave().s[10] = 8;  // bytes: the second dword is beyond
  lone.wave().s[11] = 0x20000;
  lone.run_all();
  CHECK(lone.wave().s[4] == 12);
  CHECK(lone.wave().s[5] == 13);
  CHECK(lone.wave().s[6] == 11);
  CHECK(lone.wave().s[7] == 0);
}

TEST_SUITE_END();

}  // namespace
}  // namespace gfx90a
