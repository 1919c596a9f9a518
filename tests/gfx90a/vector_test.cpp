// Single vector instructions with known answers.
#include <cmath>

#include "test_support.h"

namespace gfx90a {
namespace {

constexpr uint64_t kOdd = 0xAAAAAAAAAAAAAAAA;
constexpr float kInf = INFINITY;
const uint32_t kNan = 0x7FC00000;

TEST_SUITE_BEGIN("instructions");

TEST_CASE("fp32 arithmetic") {
  check_cases({
      {"v_add_f32 v0, v1, v2", {{"v1", f32(1.5F)}, {"v2", f32(2)}}, {{"v0", f32(3.5F)}}},
      {"v_add_f32 v0, v1, v2", {{"exec", kOdd}, {"v1", f32(1)}, {"v2", f32(2)}}, {{"v0", f32(3)}}},
      {"v_sub_f32 v0, 1.0, v2", {{"v2", f32(3)}}, {{"v0", f32(-2)}}},
      {"v_subrev_f32 v0, v1, v2", {{"v1", f32(1)}, {"v2", f32(3)}}, {{"v0", f32(2)}}},
      {"v_mul_f32 v0, -v1, |v2|", {{"v1", f32(2)}, {"v2", f32(-3)}}, {{"v0", f32(-6)}}},
      {"v_mul_f32 v0, s3, v2", {{"s3", f32(2)}, {"v2", f32(5)}}, {{"v0", f32(10)}}},
      {"v_mul_f32 v0, 0x40490fdb, v2", {{"v2", f32(2)}}, {{"v0", 0x40C90FDB}}},
      {"v_mul_legacy_f32 v0, 0, v2", {{"v2", f32(kInf)}}, {{"v0", 0}}},
      {"v_add_f32 v0, v1, v2 clamp", {{"v1", f32(1)}, {"v2", f32(2)}}, {{"v0", f32(1)}}},
      {"v_add_f32 v0, v1, v2 clamp", {{"v1", kNan}, {"v2", f32(2)}}, {{"v0", 0}}},
      {"v_add_f32_e64 v0, v1, v2 mul:2", {{"v1", f32(1)}, {"v2", f32(2)}}, {{"v0", f32(6)}}},
      {"v_add_f32_e64 v0, v1, v2 div:2", {{"v1", f32(1)}, {"v2", f32(2)}}, {{"v0", f32(1.5F)}}},
      // Fused: (1 + 2^-12)^2 - 1 - 2^-11 = 2^-24, which rounding the product would lose.
      {"v_fma_f32 v0, v1, v1, v2",
       {{"v1", f32(1 + 0x1p-12F)}, {"v2", f32(-1 - 0x1p-11F)}},
       {{"v0", f32(0x1p-24F)}}},
      {"v_mad_f32 v0, v1, v1, v2",
       {{"v1", f32(1 + 0x1p-12F)}, {"v2", f32(-1 - 0x1p-11F)}},
       {{"v0", 0}}},
      {"v_fmac_f32 v0, v1, v2",
       {{"v0", f32(10)}, {"v1", f32(2)}, {"v2", f32(3)}},
       {{"v0", f32(16)}}},
      {"v_max_f32 v0, v1, v2", {{"v1", f32(-0.0F)}, {"v2", f32(0)}}, {{"v0", f32(0)}}},
      {"v_min_f32 v0, v1, v2", {{"v1", f32(0)}, {"v2", f32(-0.0F)}}, {{"v0", f32(-0.0F)}}},
      {"v_max_f32 v0, v1, v2", {{"v1", kNan}, {"v2", f32(-5)}}, {{"v0", f32(-5)}}},
      {"v_max_f32 v0, v1, v2", {{"v1", f32(-5)}, {"v2", kNan}}, {{"v0", f32(-5)}}},
      {"v_max_f32 v0, v1, v2", {{"v1", f32(-kInf)}, {"v2", f32(-5)}}, {{"v0", f32(-5)}}},
      {"v_max3_f32 v0, v1, v2, v3",
       {{"v1", f32(1)}, {"v2", f32(7)}, {"v3", f32(3)}},
       {{"v0", f32(7)}}},
      {"v_med3_f32 v0, v1, v2, v3",
       {{"v1", f32(9)}, {"v2", f32(7)}, {"v3", f32(3)}},
       {{"v0", f32(7)}}},
      {"v_floor_f32 v0, v1", {{"v1", f32(-1.5F)}}, {{"v0", f32(-2)}}},
      {"v_ceil_f32 v0, v1", {{"v1", f32(-1.5F)}}, {{"v0", f32(-1)}}},
      {"v_trunc_f32 v0, v1", {{"v1", f32(-1.5F)}}, {{"v0", f32(-1)}}},
      {"v_rndne_f32 v0, v1", {{"v1", f32(2.5F)}}, {{"v0", f32(2)}}},
      {"v_fract_f32 v0, v1", {{"v1", f32(-0.25F)}}, {{"v0", f32(0.75F)}}},
      {"v_ldexp_f32 v0, v1, v2", {{"v1", f32(3)}, {"v2", 4}}, {{"v0", f32(48)}}},
      {"v_frexp_mant_f32 v0, v1", {{"v1", f32(12)}}, {{"v0", f32(0.75F)}}},
      {"v_frexp_exp_i32_f32 v0, v1", {{"v1", f32(12)}}, {{"v0", 4}}},
  });
}

TEST_CASE("the transcendental unit") {
  check_cases({
      {"v_exp_f32 v0, v1", {{"v1", f32(10)}}, {{"v0", f32(1024)}}},
      {"v_exp_f32 v0, v1", {{"v1", f32(0.5F)}}, {{"v0", f32(1.41421356F)}}},
      {"v_exp_f32 v0, v1", {{"v1", f32(-0.75F)}}, {{"v0", f32(0.594603558F)}}},
      {"v_exp_f32 v0, v1", {{"v1", f32(-126)}}, {{"v0", f32(0x1p-126F)}}},
      {"v_exp_f32 v0, v1", {{"v1", f32(-127)}}, {{"v0", 0}}},  // flushed
      {"v_exp_f32 v0, v1", {{"v1", f32(-kInf)}}, {{"v0", 0}}},
      {"v_exp_f32 v0, v1", {{"v1", f32(128)}}, {{"v0", f32(kInf)}}},
      {"v_exp_f32 v0, v1", {{"v1", f32(kInf)}}, {{"v0", f32(kInf)}}},
      {"v_exp_f32 v0, v1", {{"v1", kNan}}, {{"v0", kNan}}},
      {"v_log_f32 v0, v1", {{"v1", f32(8)}}, {{"v0", f32(3)}}},
      {"v_log_f32 v0, v1", {{"v1", 0}}, {{"v0", f32(-kInf)}}},
      {"v_log_f32 v0, v1", {{"v1", 1}}, {{"v0", f32(-kInf)}}},  // a subnormal
      {"v_rcp_f32 v0, v1", {{"v1", f32(4)}}, {{"v0", f32(0.25F)}}},
      {"v_rcp_f32 v0, v1", {{"v1", f32(-0.0F)}}, {{"v0", f32(-kInf)}}},
      {"v_rsq_f32 v0, v1", {{"v1", f32(16)}}, {{"v0", f32(0.25F)}}},
      {"v_sqrt_f32 v0, v1", {{"v1", f32(16)}}, {{"v0", f32(4)}}},
      {"v_sin_f32 v0, v1", {{"v1", f32(0.25F)}}, {{"v0", f32(1)}}},
      {"v_cos_f32 v0, v1", {{"v1", f32(0.5F)}}, {{"v0", f32(-1)}}},
      {"v_exp_f16 v0, v1", {{"v1", f16(3)}}, {{"v0", f16(8)}}},
  });
}

TEST_CASE("division") {
  Lone lone({"v_div_scale_f32 v10, s[4:5], v1, v1, v0", "v_rcp_f32 v11, v10",
             "v_div_scale_f32 v12, vcc, v0, v1, v0", "v_fma_f32 v13, -v10, v11, 1.0",
             "v_fmac_f32 v11, v13, v11", "v_mul_f32 v13, v12, v11", "v_fma_f32 v14, -v10, v13, v12",
             "v_fmac_f32 v13, v14, v11", "v_fma_f32 v10, -v10, v13, v12",
             "v_div_fmas_f32 v10, v10, v11, v13", "v_div_fixup_f32 v2, v10, v1, v0"});
  const std::vector<float> numbers = {1.0F,    -3.0F,  0x1p100F, 0x1.8p-120F, 0.0F, -0.0F,
                                      kInf,    1e-38F, 3e38F,    0.1F,        7.0F, 0x1p-126F,
                                      -1e-30F, 1e30F,  1234.5F,  NAN};
  for (const float denominator : numbers) {
    lone.reset();
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      lone.wave().v[0][lane] = f32(numbers[lane % numbers.size()]);
      lone.wave().v[1][lane] = f32(denominator);
    }
    lone.run_all();
    for (unsigned lane = 0; lane < numbers.size(); ++lane) {
      const float exact = numbers[lane] / denominator, got = to_float(lone.wave().v[2][lane]);
      INFO(numbers[lane], " / ", denominator, " = ", got);
      if (std::isnan(exact)) {
        CHECK(std::isnan(got));
      } else if (exact != 0 && std::fabs(exact) < 0x1p-126F) {
        CHECK(std::fabs(got - exact) <= 0x1p-149F);  // a subnormal quotient may be rounded twice
      } else {
        CHECK(f32(got) == f32(exact));
      }
    }
  }
}

TEST_CASE("fp16 and packed arithmetic") {
  check_cases({
      {"v_add_f16 v0, v1, v2", {{"v1", f16(1.5F)}, {"v2", f16(2)}}, {{"v0", f16(3.5F)}}},
      {"v_mul_f16 v0, 0.5, v2", {{"v2", f16(3)}}, {{"v0", f16(1.5F)}}},
      {"v_max_f16 v0, v1, v2", {{"v1", 0x7E00}, {"v2", f16(2)}}, {{"v0", f16(2)}}},
      {"v_pk_add_f16 v0, v1, v2",
       {{"v1", f16x2(1, 2)}, {"v2", f16x2(10, 20)}},
       {{"v0", f16x2(11, 22)}}},
      {"v_pk_add_f16 v0, v1, v2 op_sel:[1,0] op_sel_hi:[0,1]",
       {{"v1", f16x2(1, 2)}, {"v2", f16x2(10, 20)}},
       {{"v0", f16x2(12, 21)}}},
      {"v_pk_fma_f16 v0, v1, v2, v3 neg_lo:[1,0,0] neg_hi:[0,0,1]",
       {{"v1", f16x2(1, 2)}, {"v2", f16x2(3, 4)}, {"v3", f16x2(5, 6)}},
       {{"v0", f16x2(2, 2)}}},
      {"v_pk_add_u16 v0, v1, v2", {{"v1", 0xFFFF0001}, {"v2", 0x00020002}}, {{"v0", 0x00010003}}},
      {"v_pk_lshlrev_b16 v0, v1, v2",
       {{"v1", 0x00040001}, {"v2", 0x00FF00FF}},
       {{"v0", 0x0FF001FE}}},
      {"v_pk_ashrrev_i16 v0, v1, v2",
       {{"v1", 0x00040001}, {"v2", 0x80008000}},
       {{"v0", 0xF800C000}}},
      {"v_pk_mul_f32 v[0:1], v[2:3], v[4:5]",
       {{"v2", f32(2)}, {"v3", f32(3)}, {"v4", f32(5)}, {"v5", f32(7)}},
       {{"v0", f32(10)}, {"v1", f32(21)}}},
      {"v_pk_mul_f32 v[0:1], v[2:3], v[4:5] op_sel_hi:[1,0]",  // the low one for both
       {{"v2", f32(2)}, {"v3", f32(3)}, {"v4", f32(5)}, {"v5", f32(7)}},
       {{"v0", f32(10)}, {"v1", f32(15)}}},
      {"v_pk_add_f32 v[0:1], v[2:3], s[4:5] op_sel:[1,0] op_sel_hi:[0,1] neg_lo:[0,1]",
       {{"v2", f32(2)}, {"v3", f32(3)}, {"s4", f32(5)}, {"s5", f32(7)}},
       {{"v0", f32(-2)}, {"v1", f32(9)}}},
      {"v_pk_fma_f32 v[0:1], v[2:3], v[4:5], v[6:7] op_sel:[0,0,1] op_sel_hi:[1,1,0]",
       {{"v2", f32(2)},
        {"v3", f32(3)},
        {"v4", f32(5)},
        {"v5", f32(7)},
        {"v6", f32(1)},
        {"v7", f32(4)}},
       {{"v0", f32(14)}, {"v1", f32(22)}}},
      {"v_pk_mov_b32 v[0:1], v[2:3], v[4:5] op_sel:[1,0]",
       {{"v2", 2}, {"v3", 3}, {"v4", 4}, {"v5", 5}},
       {{"v0", 3}, {"v1", 4}}},
      {"v_fma_mix_f32 v0, v1, v2, v3 op_sel:[1,0,0] op_sel_hi:[1,0,1]",
       {{"v1", f16x2(2, 3)}, {"v2", f32(10)}, {"v3", f16x2(4, 9)}},
       {{"v0", f32(34)}}},
      {"v_fma_mixlo_f16 v0, v1, v2, v3",
       {{"v0", 0x12345678}, {"v1", f32(2)}, {"v2", f32(3)}, {"v3", f32(4)}},
       {{"v0", 0x12340000 | f16(10)}}},
      {"v_fma_mixhi_f16 v0, v1, -v2, |v3|",
       {{"v0", 0x12345678}, {"v1", f32(2)}, {"v2", f32(3)}, {"v3", f32(-4)}},
       {{"v0", 0x5678 | f16(-2) << 16}}},
      {"v_fma_f16 v0, v1, v2, v3 op_sel:[1,0,0,0]",
       {{"v0", 0x12345678}, {"v1", f16x2(9, 2)}, {"v2", f16(3)}, {"v3", f16(4)}},
       {{"v0", 0x12340000 | f16(10)}}},
      {"v_fma_f16 v0, v1, v2, -v3 op_sel:[0,0,0,1]",
       {{"v0", 0x12345678}, {"v1", f16(2)}, {"v2", f16(3)}, {"v3", f16(4)}},
       {{"v0", 0x5678 | f16(2) << 16}}},
      {"v_pack_b32_f16 v0, v1, v2 op_sel:[1,0]",
       {{"v1", f16x2(1, 2)}, {"v2", f16x2(3, 4)}},
       {{"v0", f16x2(2, 3)}}},
      {"v_dot2_f32_f16 v0, v1, v2, v3",
       {{"v1", f16x2(1, 2)}, {"v2", f16x2(3, 4)}, {"v3", f32(100)}},
       {{"v0", f32(111)}}},
  });
}

TEST_CASE("conversions") {
  check_cases({
      {"v_cvt_f32_i32 v0, v1", {{"v1", 0xFFFFFFFE}}, {{"v0", f32(-2)}}},
      {"v_cvt_f32_u32 v0, v1", {{"v1", 0xFFFFFFFF}}, {{"v0", f32(4294967296.0F)}}},
      {"v_cvt_i32_f32 v0, v1", {{"v1", f32(-1.9F)}}, {{"v0", 0xFFFFFFFF}}},
      {"v_cvt_i32_f32 v0, v1", {{"v1", f32(1e20F)}}, {{"v0", 0x7FFFFFFF}}},
      {"v_cvt_u32_f32 v0, v1", {{"v1", f32(-1)}}, {{"v0", 0}}},
      {"v_cvt_u32_f32 v0, v1", {{"v1", kNan}}, {{"v0", 0}}},
      {"v_cvt_f32_ubyte2 v0, v1", {{"v1", 0x00C80000}}, {{"v0", f32(200)}}},
      {"v_cvt_f16_f32 v0, v1", {{"v1", f32(1.0F + 0x1p-11F)}}, {{"v0", f16(1)}}},  // ties to even
      {"v_cvt_f32_f16 v0, v1", {{"v1", 0x00000001}}, {{"v0", f32(0x1p-24F)}}},
      {"v_cvt_f32_f16_e64 v0, |v1|", {{"v1", f16(-2)}}, {{"v0", f32(2)}}},
      {"v_cvt_pkrtz_f16_f32 v0, v1, v2",
       {{"v1", f32(1.0F + 0x1.FFp-11F)}, {"v2", f32(1e6F)}},
       {{"v0", f16x2(1, 65504)}}},
      {"v_cvt_f64_f32 v[0:1], v2", {{"v2", f32(1.5F)}}, {{"v[0:1]", f64(1.5)}}},
      {"v_cvt_f32_f64 v0, v[2:3]", {{"v[2:3]", f64(-2.5)}}, {{"v0", f32(-2.5F)}}},
      {"v_fma_f64 v[0:1], v[2:3], v[4:5], 1.0",
       {{"v[2:3]", f64(3)}, {"v[4:5]", f64(4)}},
       {{"v[0:1]", f64(13)}}},
      {"v_cvt_pk_u16_u32 v0, v1, v2", {{"v1", 70000}, {"v2", 3}}, {{"v0", 0x0003FFFF}}},
  });
}

TEST_CASE("integers and bits") {
  check_cases({
      {"v_mov_b32 v0, 1.0", {}, {{"v0", 0x3F800000}}},
      {"v_mov_b32 v0, -16", {}, {{"v0", 0xFFFFFFF0}}},
      {"v_add_u32 v0, v1, v2", {{"v1", 0xFFFFFFFF}, {"v2", 2}}, {{"v0", 1}}},
      {"v_sub_u32 v0, v1, v2", {{"v1", 5}, {"v2", 7}}, {{"v0", 0xFFFFFFFE}}},
      {"v_add_i32 v0, v1, v2 clamp", {{"v1", 0x7FFFFFFF}, {"v2", 2}}, {{"v0", 0x7FFFFFFF}}},
      {"v_add_i32 v0, v1, -16 clamp", {{"v1", 0x80000001}}, {{"v0", 0x80000000}}},
      {"v_add_i32 v0, v1, v2 clamp", {{"v1", 7}, {"v2", 0xFFFFFFFE}}, {{"v0", 5}}},
      {"v_sub_i32 v0, v1, v2 clamp", {{"v1", 0x80000000}, {"v2", 1}}, {{"v0", 0x80000000}}},
      {"v_sub_i32 v0, v1, v2 clamp", {{"v1", 5}, {"v2", 7}}, {{"v0", 0xFFFFFFFE}}},
      {"v_add_u32 v0, v1, v2 clamp", {{"v1", 0xFFFFFFFF}, {"v2", 2}}, {{"v0", 0xFFFFFFFF}}},
      {"v_sub_u32 v0, v1, v2 clamp", {{"v1", 5}, {"v2", 7}}, {{"v0", 0}}},
      {"v_subrev_u32 v0, v1, v2 clamp", {{"v1", 5}, {"v2", 7}}, {{"v0", 2}}},
      {"v_add3_u32 v0, v1, v2, v3", {{"v1", 1}, {"v2", 2}, {"v3", 3}}, {{"v0", 6}}},
      {"v_lshl_add_u32 v0, v1, 3, v3", {{"v1", 5}, {"v3", 2}}, {{"v0", 42}}},
      {"v_add_lshl_u32 v0, v1, v2, 2", {{"v1", 5}, {"v2", 2}}, {{"v0", 28}}},
      {"v_lshl_or_b32 v0, v1, 8, v3", {{"v1", 0x12}, {"v3", 0x34}}, {{"v0", 0x1234}}},
      {"v_and_or_b32 v0, v1, v2, v3", {{"v1", 0xFF}, {"v2", 0xF0}, {"v3", 1}}, {{"v0", 0xF1}}},
      {"v_or3_b32 v0, v1, v2, v3", {{"v1", 1}, {"v2", 2}, {"v3", 4}}, {{"v0", 7}}},
      {"v_xad_u32 v0, v1, v2, v3", {{"v1", 6}, {"v2", 3}, {"v3", 10}}, {{"v0", 15}}},
      {"v_lshlrev_b32 v0, 33, v1", {{"v1", 3}}, {{"v0", 6}}},
      {"v_ashrrev_i32 v0, 4, v1", {{"v1", 0x80000000}}, {{"v0", 0xF8000000}}},
      {"v_lshlrev_b64 v[0:1], 36, v[2:3]", {{"v[2:3]", 0x1}}, {{"v[0:1]", 0x1000000000}}},
      {"v_ashrrev_i64 v[0:1], 4, v[2:3]",
       {{"v[2:3]", 0x8000000000000000}},
       {{"v[0:1]", 0xF800000000000000}}},
      {"v_bfe_u32 v0, v1, 8, 12", {{"v1", 0xABCDEF12}}, {{"v0", 0xDEF}}},
      {"v_bfe_i32 v0, v1, 8, 12", {{"v1", 0xABCDEF12}}, {{"v0", 0xFFFFFDEF}}},
      {"v_bfe_u32 v0, v1, 8, 0", {{"v1", 0xABCDEF12}}, {{"v0", 0}}},
      {"v_bfi_b32 v0, v1, v2, v3",
       {{"v1", 0x0000FFFF}, {"v2", 0x12345678}, {"v3", 0x9ABCDEF0}},
       {{"v0", 0x9ABC5678}}},
      {"v_bfm_b32 v0, 4, 8", {}, {{"v0", 0xF00}}},
      {"v_bfrev_b32 v0, v1", {{"v1", 1}}, {{"v0", 0x80000000}}},
      {"v_ffbh_u32 v0, v1", {{"v1", 0x00100000}}, {{"v0", 11}}},
      {"v_ffbl_b32 v0, v1", {{"v1", 0}}, {{"v0", 0xFFFFFFFF}}},
      {"v_bcnt_u32_b32 v0, v1, v2", {{"v1", 0xF0F}, {"v2", 100}}, {{"v0", 108}}},
      {"v_alignbit_b32 v0, v1, v2, 8",
       {{"v1", 0x11223344}, {"v2", 0x55667788}},
       {{"v0", 0x44556677}}},
      {"v_alignbyte_b32 v0, v1, v2, 3",
       {{"v1", 0x11223344}, {"v2", 0x55667788}},
       {{"v0", 0x22334455}}},
      // Bytes 0-3 of a selector's number are the second operand's.
      {"v_perm_b32 v0, v1, v2, s3",
       {{"v1", 0x13121110}, {"v2", 0x03020100}, {"s3", 0x07050301}},
       {{"v0", 0x13110301}}},
      {"v_perm_b32 v0, v1, v2, v3",
       {{"v1", 0x83121110}, {"v2", 0x03828100}, {"v3", 0x0D0C0B09}},
       {{"v0", 0xFF00FF00}}},  // 0xFF, 0, sign of byte 7, sign of byte 3
      {"v_mul_u32_u24 v0, v1, v2", {{"v1", 0xFF000003}, {"v2", 5}}, {{"v0", 15}}},
      {"v_mul_i32_i24 v0, v1, v2", {{"v1", 0x00FFFFFF}, {"v2", 5}}, {{"v0", 0xFFFFFFFB}}},
      {"v_mad_u32_u24 v0, v1, v2, v3", {{"v1", 3}, {"v2", 5}, {"v3", 7}}, {{"v0", 22}}},
      {"v_mul_lo_u32 v0, v1, v2", {{"v1", 0x10001}, {"v2", 0x10001}}, {{"v0", 0x20001}}},
      {"v_mul_hi_u32 v0, v1, v2", {{"v1", 0x80000000}, {"v2", 6}}, {{"v0", 3}}},
      {"v_mul_hi_i32 v0, v1, v2", {{"v1", 0xFFFFFFFF}, {"v2", 6}}, {{"v0", 0xFFFFFFFF}}},
      {"v_max_i32 v0, v1, v2", {{"v1", 0xFFFFFFFF}, {"v2", 6}}, {{"v0", 6}}},
      {"v_max_u32 v0, v1, v2", {{"v1", 0xFFFFFFFF}, {"v2", 6}}, {{"v0", 0xFFFFFFFF}}},
      {"v_min3_i32 v0, v1, v2, v3",
       {{"v1", 3}, {"v2", 0xFFFFFFFF}, {"v3", 7}},
       {{"v0", 0xFFFFFFFF}}},
      {"v_med3_i32 v0, v1, v2, v3", {{"v1", 3}, {"v2", 0xFFFFFFFF}, {"v3", 7}}, {{"v0", 3}}},
      {"v_add_u16 v0, v1, v2", {{"v1", 0x7FFFFFFF}, {"v2", 2}}, {{"v0", 1}}},
      {"v_ashrrev_i16 v0, 4, v2", {{"v2", 0x12348000}}, {{"v0", 0xF800}}},
      {"v_swap_b32 v0, v1", {{"v0", 3}, {"v1", 4}}, {{"v0", 4}, {"v1", 3}}},
      {"v_accvgpr_write_b32 a3, v1", {{"v1", 77}}, {{"a3", 77}}},
      {"v_accvgpr_read_b32 v0, a255", {{"a255", 78}}, {{"v0", 78}}},
  });
}

TEST_CASE("carries and selections") {
  check_cases({
      {"v_add_co_u32 v0, vcc, v1, v2",
       {{"v1", [](unsigned lane) { return lane < 8 ? 0xFFFFFFFF : 1; }}, {"v2", 1}},
       {{"v0", [](unsigned lane) { return lane < 8 ? 0 : 2; }}, {"vcc", 0xFF}}},
      {"v_addc_co_u32 v0, vcc, v1, v2, vcc",
       {{"vcc", 0xF}, {"v1", 0xFFFFFFFF}, {"v2", 0}},
       {{"v0", [](unsigned lane) { return lane < 4 ? 0 : 0xFFFFFFFF; }}, {"vcc", 0xF}}},
      {"v_add_co_u32_e64 v0, s[4:5], s3, v2",
       {{"exec", 0xF0}, {"s3", 0xFFFFFFFF}, {"v2", 1}},
       {{"v0", 0}, {"s[4:5]", 0xF0}}},
      {"v_sub_co_u32 v0, vcc, v1, v2",
       {{"v1", 1}, {"v2", 2}},
       {{"v0", 0xFFFFFFFF}, {"vcc", ~0ULL}}},
      {"v_subb_co_u32 v0, vcc, v1, v2, vcc",
       {{"vcc", ~0ULL}, {"v1", 2}, {"v2", 1}},
       {{"v0", 0}, {"vcc", 0}}},
      {"v_subbrev_co_u32 v0, vcc, v1, v2, vcc",
       {{"vcc", 0}, {"v1", 2}, {"v2", 1}},
       {{"v0", 0xFFFFFFFF}, {"vcc", ~0ULL}}},
      {"v_mad_u64_u32 v[0:1], s[4:5], v2, v3, v[6:7]",
       {{"v2", 0xFFFFFFFF}, {"v3", 0xFFFFFFFF}, {"v[6:7]", 0xFFFFFFFF}},
       {{"v[0:1]", 0xFFFFFFFF00000000}, {"s[4:5]", 0}}},
      {"v_mad_i64_i32 v[0:1], s[4:5], v2, v3, 5",
       {{"v2", 0xFFFFFFFF}, {"v3", 7}},
       {{"v[0:1]", 0xFFFFFFFFFFFFFFFE}}},
      {"v_cndmask_b32 v0, v1, v2, vcc",
       {{"vcc", 0xFF00}, {"v1", 1}, {"v2", 2}},
       {{"v0", [](unsigned lane) { return lane >= 8 && lane < 16 ? 2 : 1; }}}},
      {"v_cndmask_b32_e64 v0, 0, -v2, s[4:5]",
       {{"s[4:5]", 1}, {"v2", f32(2)}},
       {{"v0", [](unsigned lane) { return lane == 0 ? f32(-2) : 0; }}}},
  });
}

TEST_CASE("comparisons") {
  const auto halves = [](unsigned lane) { return lane < 32 ? f32(1) : f32(3); };
  check_cases({
      {"v_cmp_lt_f32 vcc, v1, v2", {{"v1", halves}, {"v2", f32(2)}}, {{"vcc", 0xFFFFFFFF}}},
      {"v_cmp_gt_f32_e64 s[4:5], v1, 2.0",
       {{"exec", kOdd}, {"v1", halves}},
       {{"s[4:5]", 0xAAAAAAAA00000000}}},
      {"v_cmp_ge_f32 vcc, 1.0, v1", {{"v1", halves}}, {{"vcc", 0xFFFFFFFF}}},
      {"v_cmp_eq_f32 vcc, v1, v1", {{"v1", kNan}}, {{"vcc", 0}}},
      {"v_cmp_neq_f32 vcc, v1, v1", {{"v1", kNan}}, {{"vcc", ~0ULL}}},
      {"v_cmp_u_f32 vcc, v1, v1", {{"v1", kNan}}, {{"vcc", ~0ULL}}},
      {"v_cmp_o_f32 vcc, v1, v1", {{"v1", kNan}}, {{"vcc", 0}}},
      {"v_cmp_nlt_f32 vcc, v1, v2", {{"v1", kNan}, {"v2", 0}}, {{"vcc", ~0ULL}}},
      {"v_cmp_nge_f32 vcc, v1, v2", {{"v1", f32(1)}, {"v2", f32(1)}}, {{"vcc", 0}}},
      {"v_cmp_lg_f32 vcc, v1, v2", {{"v1", kNan}, {"v2", 0}}, {{"vcc", 0}}},
      {"v_cmp_lt_i32 vcc, v1, v2", {{"v1", 0xFFFFFFFF}, {"v2", 0}}, {{"vcc", ~0ULL}}},
      {"v_cmp_lt_u32 vcc, v1, v2", {{"v1", 0xFFFFFFFF}, {"v2", 0}}, {{"vcc", 0}}},
      {"v_cmp_ne_u32 vcc, 0, v2",
       {{"v2", [](unsigned lane) { return lane % 2; }}},
       {{"vcc", kOdd}}},
      {"v_cmp_gt_i64 vcc, v[2:3], v[4:5]",
       {{"v[2:3]", 0x100000000}, {"v[4:5]", 0xFFFFFFFF}},
       {{"vcc", ~0ULL}}},
      {"v_cmp_lt_i16 vcc, v1, v2", {{"v1", 0x0000FFFF}, {"v2", 0}}, {{"vcc", ~0ULL}}},
      {"v_cmp_gt_f16 vcc, v1, v2", {{"v1", f16(2)}, {"v2", f16(1)}}, {{"vcc", ~0ULL}}},
      {"v_cmp_class_f32 vcc, v1, v2", {{"v1", f32(-kInf)}, {"v2", 4}}, {{"vcc", ~0ULL}}},
      {"v_cmp_class_f32 vcc, v1, v2", {{"v1", 1}, {"v2", 0x37F}}, {{"vcc", 0}}},  // a subnormal
      {"v_cmpx_lt_f32 vcc, v1, v2",
       {{"v1", halves}, {"v2", f32(2)}},
       {{"vcc", 0xFFFFFFFF}, {"exec", 0xFFFFFFFF}}},
  });
}

TEST_CASE("subnormal numbers follow the MODE register") {
  Lone lone({"s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 0", "v_mul_f32 v0, v1, v2",
             "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 3", "v_mul_f32 v3, v1, v2"});
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    lone.wave().v[1][lane] = f32(0x1p-100F);
    lone.wave().v[2][lane] = f32(0x1p-30F);
  }
  lone.run_all();
  CHECK(lone.wave().v[0][5] == 0);
  CHECK(lone.wave().v[3][5] == f32(0x1p-130F));
}

TEST_SUITE_END();

}  // namespace
}  // namespace gfx90a
