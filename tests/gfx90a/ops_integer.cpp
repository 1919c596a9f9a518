// Integer, bit and move instructions of the vector unit without carries.
#include <algorithm>
#include <bit>

#include "lanes.h"
#include "opcodes.h"

namespace gfx90a {
namespace {

using I = int32_t;
using U = uint32_t;
using L = uint64_t;
using S = Short;

int32_t low24(int32_t x) { return static_cast<int32_t>(static_cast<U>(x) << 8) >> 8; }
uint32_t field(uint32_t x, uint32_t first, uint32_t width) {
  first &= 31;
  width &= 31;
  return (x >> first) & ((U{1} << width) - 1);
}
int32_t signed_field(uint32_t x, uint32_t first, uint32_t width) {
  const uint32_t bits = field(x, first, width),
                 top = (width & 31) == 0 ? 0 : 1U << ((width & 31) - 1);
  return static_cast<int32_t>((bits ^ top) - top);
}

// Bytes of {a, b} (b the low four); a selector of 8-11 replicates the sign of bytes 1, 3, 5, 7, 12
// gives 0 and more gives 0xFF.
uint32_t permuted_bytes(uint32_t a, uint32_t b, uint32_t selectors) {
  const uint64_t bytes = static_cast<uint64_t>(a) << 32 | b;
  uint32_t out = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const uint32_t select = (selectors >> (8 * i)) & 0xFF;
    uint32_t byte = 0;
    if (select < 8) {
      byte = (bytes >> (8 * select)) & 0xFF;
    } else if (select < 12) {
      byte = ((bytes >> (16 * (select - 8) + 15)) & 1) != 0 ? 0xFF : 0;
    } else if (select > 12) {
      byte = 0xFF;
    }
    out |= byte << (8 * i);
  }
  return out;
}

// Most of the generator's byte shuffles take whole bytes by one selector for all lanes.
void v_perm_b32(Wave& wave, const Instruction& in) {
  const Source<U> a(wave, in, 1), b(wave, in, 2);
  const Operand& selectors = in.op[3];
  const uint32_t same = scalar32(wave, selectors);
  bool bytes_only = !selectors.vector();
  for (unsigned i = 0; i < 4; ++i) bytes_only = bytes_only && ((same >> (8 * i)) & 0xFF) < 8;
  Destination<U> d;
  if (bytes_only) {
    const uint32_t s0 = 8 * (same & 7), s1 = 8 * ((same >> 8) & 7), s2 = 8 * ((same >> 16) & 7),
                   s3 = 8 * ((same >> 24) & 7);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const uint64_t bytes = static_cast<uint64_t>(a[lane]) << 32 | b[lane];
      d.set(lane, static_cast<U>(((bytes >> s0) & 0xFF) | ((bytes >> s1) & 0xFF) << 8 |
                                 ((bytes >> s2) & 0xFF) << 16 | ((bytes >> s3) & 0xFF) << 24));
    }
  } else {
    const Source<U> each(wave, in, 3);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      d.set(lane, permuted_bytes(a[lane], b[lane], each[lane]));
    }
  }
  d.commit(wave, in);
}

S short_of(uint32_t x) { return {static_cast<uint16_t>(x)}; }
S short_of_signed(int32_t x) { return {static_cast<uint16_t>(x)}; }

uint32_t product_high(uint32_t a, uint32_t b) { return static_cast<U>((L{a} * b) >> 32); }
int32_t product_high_signed(int32_t a, int32_t b) {
  return static_cast<I>((static_cast<int64_t>(a) * b) >> 32);
}

int32_t saturated(int64_t x) {
  return static_cast<I>(std::clamp<int64_t>(x, INT32_MIN, INT32_MAX));
}
uint32_t saturated_unsigned(int64_t x) {
  return static_cast<U>(std::clamp<int64_t>(x, 0, UINT32_MAX));
}

void add_clamping(OpcodeTable& table) {
  table.add(Pipe::Valu,
            {
                {"v_add_i32 clamp", vector_op<[](I a, I b) { return saturated(int64_t{a} + b); }>},
                {"v_sub_i32 clamp", vector_op<[](I a, I b) { return saturated(int64_t{a} - b); }>},
                {"v_add_u32 clamp",
                 vector_op<[](U a, U b) { return saturated_unsigned(int64_t{a} + b); }>},
                {"v_sub_u32 clamp",
                 vector_op<[](U a, U b) { return saturated_unsigned(int64_t{a} - b); }>},
                {"v_subrev_u32 clamp",
                 vector_op<[](U a, U b) { return saturated_unsigned(int64_t{b} - a); }>},
            });
}

void add_arithmetic(OpcodeTable& table) {
  table.add(
      Pipe::Valu,
      {
          {"v_add_u32", vector_op<[](U a, U b) { return a + b; }>},
          {"v_sub_u32", vector_op<[](U a, U b) { return a - b; }>},
          {"v_subrev_u32", vector_op<[](U a, U b) { return b - a; }>},
          {"v_add_i32", vector_op<[](U a, U b) { return a + b; }>},
          {"v_sub_i32", vector_op<[](U a, U b) { return a - b; }>},
          {"v_add3_u32", vector_op<[](U a, U b, U c) { return a + b + c; }>},
          {"v_mul_lo_u32", vector_op<[](U a, U b) { return a * b; }>},
          {"v_mul_hi_u32", vector_op<[](U a, U b) { return product_high(a, b); }>},
          {"v_mul_hi_i32", vector_op<[](I a, I b) { return product_high_signed(a, b); }>},
          {"v_mul_u32_u24", vector_op<[](U a, U b) { return (a & 0xFFFFFF) * (b & 0xFFFFFF); }>},
          {"v_mul_hi_u32_u24",
           vector_op<[](U a, U b) { return product_high(a & 0xFFFFFF, b & 0xFFFFFF); }>},
          {"v_mul_i32_i24", vector_op<[](I a, I b) {
             return (static_cast<U>(low24(a)) * static_cast<U>(low24(b)));
           }>},
          {"v_mul_hi_i32_i24",
           vector_op<[](I a, I b) { return product_high_signed(low24(a), low24(b)); }>},
          {"v_mad_u32_u24",
           vector_op<[](U a, U b, U c) { return (a & 0xFFFFFF) * (b & 0xFFFFFF) + c; }>},
          {"v_mad_i32_i24", vector_op<[](I a, I b, U c) {
             return (static_cast<U>(low24(a)) * static_cast<U>(low24(b)) + c);
           }>},
          {"v_max_i32", vector_op<[](I a, I b) { return (a > b ? a : b); }>},
          {"v_min_i32", vector_op<[](I a, I b) { return a < b ? a : b; }>},
          {"v_max_u32", vector_op<[](U a, U b) { return (a > b ? a : b); }>},
          {"v_min_u32", vector_op<[](U a, U b) { return a < b ? a : b; }>},
          {"v_max3_i32", vector_op<[](I a, I b, I c) {
             return std::max({a, b, c});
           }>},
          {"v_min3_i32", vector_op<[](I a, I b, I c) {
             return std::min({a, b, c});
           }>},
          {"v_max3_u32", vector_op<[](U a, U b, U c) {
             return std::max({a, b, c});
           }>},
          {"v_min3_u32", vector_op<[](U a, U b, U c) {
             return std::min({a, b, c});
           }>},
          {"v_med3_i32", vector_op<[](I a, I b, I c) {
             return std::max(std::min(a, b), std::min(std::max(a, b), c));
           }>},
          {"v_med3_u32", vector_op<[](U a, U b, U c) {
             return std::max(std::min(a, b), std::min(std::max(a, b), c));
           }>},
          {"v_sad_u32", vector_op<[](U a, U b, U c) { return ((a > b ? a - b : b - a) + c); }>},
      });
}

void add_bits(OpcodeTable& table) {
  table.add(
      Pipe::Valu,
      {
          {"v_mov_b32", vector_op<[](U a) { return a; }>},
          {"v_not_b32", vector_op<[](U a) { return ~a; }>},
          {"v_bfrev_b32", vector_op<[](U a) { return bits_reversed(a); }>},
          {"v_ffbh_u32", vector_op<[](U a) { return a == 0 ? ~U{0} : U(std::countl_zero(a)); }>},
          {"v_ffbl_b32", vector_op<[](U a) { return a == 0 ? ~U{0} : U(std::countr_zero(a)); }>},
          {"v_ffbh_i32", vector_op<[](U a) {
             const U same = (a >> 31) != 0 ? ~a : a;
             return same == 0 ? ~U{0} : U(std::countl_zero(same));
           }>},
          {"v_bcnt_u32_b32", vector_op<[](U a, U b) { return U(std::popcount(a)) + b; }>},
          {"v_and_b32", vector_op<[](U a, U b) { return a & b; }>},
          {"v_or_b32", vector_op<[](U a, U b) { return a | b; }>},
          {"v_xor_b32", vector_op<[](U a, U b) { return a ^ b; }>},
          {"v_xnor_b32", vector_op<[](U a, U b) { return ~(a ^ b); }>},
          {"v_or3_b32", vector_op<[](U a, U b, U c) { return a | b | c; }>},
          {"v_and_or_b32", vector_op<[](U a, U b, U c) { return (a & b) | c; }>},
          {"v_xad_u32", vector_op<[](U a, U b, U c) { return (a ^ b) + c; }>},
          {"v_lshl_add_u32", vector_op<[](U a, U b, U c) { return (a << (b & 31)) + c; }>},
          {"v_add_lshl_u32", vector_op<[](U a, U b, U c) { return (a + b) << (c & 31); }>},
          {"v_lshl_or_b32", vector_op<[](U a, U b, U c) { return (a << (b & 31)) | c; }>},
          {"v_lshlrev_b32", vector_op<[](U a, U b) { return b << (a & 31); }>},
          {"v_lshrrev_b32", vector_op<[](U a, U b) { return (b >> (a & 31)); }>},
          {"v_ashrrev_i32", vector_op<[](U a, I b) { return (b >> (a & 31)); }>},
          {"v_lshlrev_b64", vector_op<[](U a, L b) { return b << (a & 63); }>},
          {"v_lshrrev_b64", vector_op<[](U a, L b) { return (b >> (a & 63)); }>},
          {"v_ashrrev_i64", vector_op<[](U a, int64_t b) { return (b >> (a & 63)); }>},
          {"v_bfe_u32", vector_op<[](U a, U b, U c) { return field(a, b, c); }>},
          {"v_bfe_i32", vector_op<[](U a, U b, U c) { return signed_field(a, b, c); }>},
          {"v_bfi_b32", vector_op<[](U a, U b, U c) { return (a & b) | (~a & c); }>},
          {"v_bfm_b32", vector_op<[](U a, U b) { return ((U{1} << (a & 31)) - 1) << (b & 31); }>},
          {"v_alignbit_b32",
           vector_op<[](U a, U b, U c) { return static_cast<U>((L{a} << 32 | b) >> (c & 31)); }>},
          {"v_alignbyte_b32", vector_op<[](U a, U b, U c) {
             return static_cast<U>((L{a} << 32 | b) >> (8 * (c & 3)));
           }>},
          {"v_perm_b32", v_perm_b32},
      });
}

void add_shorts(OpcodeTable& table) {
  table.add(
      Pipe::Valu,
      {
          {"v_add_u16", vector_op<[](S a, S b) { return short_of(U(a.bits) + b.bits); }>},
          {"v_sub_u16", vector_op<[](S a, S b) { return short_of(U(a.bits) - b.bits); }>},
          {"v_subrev_u16", vector_op<[](S a, S b) { return short_of(U(b.bits) - a.bits); }>},
          {"v_mul_lo_u16", vector_op<[](S a, S b) { return short_of(U(a.bits) * b.bits); }>},
          {"v_lshlrev_b16",
           vector_op<[](S a, S b) { return short_of(U(b.bits) << (a.bits & 15)); }>},
          {"v_lshrrev_b16",
           vector_op<[](S a, S b) { return (short_of(U(b.bits) >> (a.bits & 15))); }>},
          {"v_ashrrev_i16",
           vector_op<[](S a, S b) { return (short_of_signed(as_signed(b) >> (a.bits & 15))); }>},
          {"v_max_u16", vector_op<[](S a, S b) { return (a.bits > b.bits ? a : b); }>},
          {"v_min_u16", vector_op<[](S a, S b) { return a.bits < b.bits ? a : b; }>},
          {"v_max_i16", vector_op<[](S a, S b) { return (as_signed(a) > as_signed(b) ? a : b); }>},
          {"v_min_i16", vector_op<[](S a, S b) { return as_signed(a) < as_signed(b) ? a : b; }>},
          {"v_mad_u32_u16", vector_op<[](S a, S b, U c) { return U(a.bits) * U(b.bits) + c; }>},
      });
}

}  // namespace

void add_integer_ops(OpcodeTable& table) {
  add_arithmetic(table);
  add_clamping(table);
  add_bits(table);
  add_shorts(table);
}

}  // namespace gfx90a
