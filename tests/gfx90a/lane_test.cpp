// SDWA, DPP, and what reaches across lanes.
#include "test_support.h"

namespace gfx90a {
namespace {

uint64_t ten_times(unsigned lane) { return uint64_t{10} * lane; }
constexpr uint64_t kAll = ~uint64_t{0};

TEST_SUITE_BEGIN("instructions");

TEST_CASE("SDWA picks bytes and words of sources and puts results into parts of registers") {
  check_cases({
      {"v_mov_b32_sdwa v0, v1 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_2",
       {{"v1", 0x12FE5678}},
       {{"v0", 0xFE}}},
      {"v_mov_b32_sdwa v0, sext(v1) dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_2",
       {{"v1", 0x12FE5678}},
       {{"v0", 0xFFFFFFFE}}},
      {"v_mov_b32_sdwa v0, v1 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_0",
       {{"v0", 0xAAAABBBB}, {"v1", 0x12345678}},
       {{"v0", 0x5678BBBB}}},
      {"v_mov_b32_sdwa v0, v1 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:WORD_0",
       {{"v0", 0xAAAABBBB}, {"v1", 0x12345678}},
       {{"v0", 0x56780000}}},
      {"v_mov_b32_sdwa v0, v1 dst_sel:BYTE_1 dst_unused:UNUSED_SEXT src0_sel:BYTE_0",
       {{"v1", 0x80}},
       {{"v0", 0xFFFF8000}}},
      {"v_add_u32_sdwa v0, v1, v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1 "
       "src1_sel:BYTE_0",
       {{"v1", 0x00050000}, {"v2", 0xFFFFFF02}},
       {{"v0", 7}}},
      {"v_lshlrev_b32_sdwa v0, v1, v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:DWORD "
       "src1_sel:WORD_0",
       {{"v1", 4}, {"v2", 0xFFFF0003}},
       {{"v0", 0x30}}},
      {"v_add_f16_sdwa v0, v1, v2 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_1 "
       "src1_sel:WORD_0",
       {{"v0", 0x1234}, {"v1", f16x2(9, 1)}, {"v2", f16x2(2, 9)}},
       {{"v0", 0x1234 | f16(3) << 16}}},
      {"v_cvt_f32_f16_sdwa v0, v1 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1",
       {{"v1", f16x2(9, 1.5F)}},
       {{"v0", f32(1.5F)}}},
      {"v_or_b32_sdwa v0, v1, v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1 "
       "src1_sel:DWORD",
       {{"v1", 0x12340000}, {"v2", 0xABCD0000}},
       {{"v0", 0xABCD1234}}},
      {"v_cmp_eq_u32_sdwa vcc, v1, v2 src0_sel:BYTE_0 src1_sel:DWORD",
       {{"v1", 0x105}, {"v2", 5}},
       {{"vcc", kAll}}},
  });
}

TEST_CASE("DPP moves the first source between lanes") {
  const auto row = [](unsigned lane) { return lane & ~15U; };
  check_cases({
      {"v_mov_b32_dpp v0, v1 quad_perm:[3,0,1,2] row_mask:0xf bank_mask:0xf",
       {{"v1", ten_times}},
       {{"v0", [](unsigned lane) { return 10 * ((lane & ~3U) + (lane + 3) % 4); }}}},
      {"v_mov_b32_dpp v0, v1 row_shr:3 row_mask:0xf bank_mask:0xf",  // no source: not written
       {{"v0", 7}, {"v1", ten_times}},
       {{"v0", [](unsigned lane) { return lane % 16 < 3 ? 7 : 10 * (lane - 3); }}}},
      {"v_mov_b32_dpp v0, v1 row_shr:3 row_mask:0xf bank_mask:0xf bound_ctrl:0",
       {{"v0", 7}, {"v1", ten_times}},
       {{"v0", [](unsigned lane) { return lane % 16 < 3 ? 0 : 10 * (lane - 3); }}}},
      {"v_mov_b32_dpp v0, v1 row_shl:1 row_mask:0xf bank_mask:0xf bound_ctrl:0",
       {{"v1", ten_times}},
       {{"v0", [](unsigned lane) { return lane % 16 == 15 ? 0 : 10 * (lane + 1); }}}},
      {"v_mov_b32_dpp v0, v1 row_ror:4 row_mask:0xf bank_mask:0xf",
       {{"v1", ten_times}},
       {{"v0", [=](unsigned lane) { return 10 * (row(lane) + (lane + 12) % 16); }}}},
      {"v_mov_b32_dpp v0, v1 row_mirror row_mask:0xf bank_mask:0xf",
       {{"v1", ten_times}},
       {{"v0", [=](unsigned lane) { return 10 * (row(lane) + 15 - lane % 16); }}}},
      {"v_mov_b32_dpp v0, v1 row_half_mirror row_mask:0xf bank_mask:0xf",
       {{"v1", ten_times}},
       {{"v0", [](unsigned lane) { return 10 * ((lane & ~7U) + 7 - lane % 8); }}}},
      {"v_mov_b32_dpp v0, v1 row_newbcast:5 row_mask:0xf bank_mask:0xf",
       {{"v1", ten_times}},
       {{"v0", [=](unsigned lane) { return 10 * (row(lane) + 5); }}}},
      {"v_mov_b32_dpp v0, v1 row_bcast:15 row_mask:0xa bank_mask:0xf",  // rows 1 and 3
       {{"v0", 7}, {"v1", ten_times}},
       {{"v0", [=](unsigned lane) { return lane / 16 % 2 == 0 ? 7 : 10 * (row(lane) - 1); }}}},
      {"v_mov_b32_dpp v0, v1 row_bcast:31 row_mask:0xc bank_mask:0xf",
       {{"v0", 7}, {"v1", ten_times}},
       {{"v0", [](unsigned lane) { return lane < 32 ? 7 : 310; }}}},
      {"v_mov_b32_dpp v0, v1 wave_shr:1 row_mask:0xf bank_mask:0xf",
       {{"v0", 7}, {"v1", ten_times}},
       {{"v0", [](unsigned lane) { return lane == 0 ? 7 : 10 * (lane - 1); }}}},
      {"v_mov_b32_dpp v0, v1 quad_perm:[0,1,2,3] row_mask:0xf bank_mask:0x5",
       {{"v0", 7}, {"v1", ten_times}},
       {{"v0", [](unsigned lane) { return lane / 4 % 2 == 0 ? 10 * lane : 7; }}}},
      // A source lane that EXEC leaves out does not exist.
      {"v_mov_b32_dpp v0, v1 row_shr:1 row_mask:0xf bank_mask:0xf",
       {{"exec", 0x5555555555555556}, {"v0", 7}, {"v1", ten_times}},
       {{"v0", [](unsigned lane) { return lane == 2 ? 10 : 7; }}}},
      {"v_add_f32_dpp v0, v1, v2 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:0",
       {{"v1", [](unsigned lane) { return f32(static_cast<float>(lane)); }}, {"v2", f32(100)}},
       {{"v0",
         [](unsigned lane) {
           return f32(lane % 16 == 0 ? 100.0F : 99.0F + static_cast<float>(lane));
         }}}},
  });
}

TEST_CASE("lane reads and writes") {
  check_cases({
      {"v_readlane_b32 s4, v1, 13", {{"exec", 1}, {"v1", ten_times}}, {{"s4", 130}}},
      {"v_readlane_b32 s4, v1, s5", {{"s5", 66}, {"v1", ten_times}}, {{"s4", 20}}},
      {"v_readfirstlane_b32 s4, v1", {{"exec", 0xFF00}, {"v1", ten_times}}, {{"s4", 80}}},
      {"v_readfirstlane_b32 s4, v1", {{"exec", 0}, {"v1", ten_times}}, {{"s4", 0}}},
      {"v_writelane_b32 v0, s4, 7",
       {{"s4", 99}, {"v0", 1}},
       {{"v0", [](unsigned lane) { return lane == 7 ? 99 : 1; }}}},
      {"v_mbcnt_lo_u32_b32 v0, -1, 0",
       {},
       {{"v0", [](unsigned lane) { return lane < 32 ? lane : 32; }}}},
      {"v_mbcnt_hi_u32_b32 v0, -1, v1",
       {{"v1", 5}},
       {{"v0", [](unsigned lane) { return 5 + (lane < 32 ? 0 : lane - 32); }}}},
      {"ds_bpermute_b32 v0, v1, v2",
       {{"v1", [](unsigned lane) { return 4 * (lane ^ 32U); }}, {"v2", ten_times}},
       {{"v0", [](unsigned lane) { return 10 * (lane ^ 32U); }}}},
      {"ds_bpermute_b32 v0, v1, v2 offset:4",  // lane 63 reads lane 0, which EXEC leaves out
       {{"exec", kAll - 1}, {"v1", [](unsigned lane) { return 4 * lane; }}, {"v2", ten_times}},
       {{"v0", [](unsigned lane) { return lane == 63 ? 0 : 10 * (lane + 1); }}}},
      {"ds_permute_b32 v0, v1, v2",
       {{"v1", [](unsigned lane) { return 4 * ((lane + 1) % 64); }}, {"v2", ten_times}},
       {{"v0", [](unsigned lane) { return 10 * ((lane + 63) % 64); }}}},
      {"ds_swizzle_b32 v0, v1 offset:swizzle(SWAP,16)",
       {{"v1", ten_times}},
       {{"v0", [](unsigned lane) { return 10 * (lane ^ 16U); }}}},
      {"ds_swizzle_b32 v0, v1 offset:swizzle(QUAD_PERM,1,0,3,2)",
       {{"v1", ten_times}},
       {{"v0", [](unsigned lane) { return 10 * (lane ^ 1U); }}}},
  });
}

TEST_SUITE_END();

}  // namespace
}  // namespace gfx90a
