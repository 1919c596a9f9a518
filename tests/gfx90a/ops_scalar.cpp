// Scalar arithmetic and logic. "SCC" in the comments is what the instruction leaves there.
#include <bit>

#include "lanes.h"
#include "opcodes.h"

namespace gfx90a {
namespace {

using I = int32_t;
using U = uint32_t;
using L = uint64_t;

template <class T>
T read(const Wave& wave, const Operand& operand) {
  if constexpr (sizeof(T) == 8) {
    return static_cast<T>(scalar64(wave, operand));
  } else {
    return static_cast<T>(scalar32(wave, operand));
  }
}
void write(Wave& wave, const Operand& operand, uint32_t value) { wave.s[operand.first] = value; }
void write(Wave& wave, const Operand& operand, int32_t value) {
  wave.s[operand.first] = static_cast<U>(value);
}
void write(Wave& wave, const Operand& operand, uint64_t value) {
  wave.set_s64(operand.first, value);
}

enum class Scc : uint8_t { Kept, NotZero };

// d = f(a), d = f(a, b), or with `Old` d = f(d, a).
template <Scc Flag, auto F, class R, class A>
void scalar_as(Wave& wave, const Instruction& in, R (*)(A)) {
  const R result = F(read<A>(wave, in.op[1]));
  write(wave, in.op[0], result);
  if (Flag == Scc::NotZero) wave.scc = result != 0;
}
template <Scc Flag, auto F, class R, class A, class B>
void scalar_as(Wave& wave, const Instruction& in, R (*)(A, B)) {
  const R result = F(read<A>(wave, in.op[1]), read<B>(wave, in.op[2]));
  write(wave, in.op[0], result);
  if (Flag == Scc::NotZero) wave.scc = result != 0;
}
template <Scc Flag, auto F>
void scalar(Wave& wave, const Instruction& in) {
  scalar_as<Flag, F>(wave, in, +F);
}

// SCC: carry, borrow.
template <bool Subtract, bool CarryIn>
void add_u32(Wave& wave, const Instruction& in) {
  const L a = scalar32(wave, in.op[1]), b = scalar32(wave, in.op[2]);
  const L carry = CarryIn && wave.scc ? 1 : 0;
  const L sum = Subtract ? a - b - carry : a + b + carry;
  write(wave, in.op[0], static_cast<U>(sum));
  wave.scc = ((sum >> 32) & 1) != 0;
}

// SCC: signed overflow.
int32_t checked(Wave& wave, int64_t result) {
  wave.scc = result != static_cast<I>(result);
  return static_cast<I>(result);
}
template <bool Subtract>
void add_i32(Wave& wave, const Instruction& in) {
  const int64_t a = read<I>(wave, in.op[1]), b = read<I>(wave, in.op[2]);
  write(wave, in.op[0], checked(wave, Subtract ? a - b : a + b));
}
// s_addk_i32 d, imm; s_mulk_i32, which leaves SCC alone.
void s_addk_i32(Wave& wave, const Instruction& in) {
  const int64_t a = read<I>(wave, in.op[0]);
  const int64_t b = static_cast<int16_t>(scalar32(wave, in.op[1]));
  write(wave, in.op[0], checked(wave, a + b));
}
void s_mulk_i32(Wave& wave, const Instruction& in) {
  const auto factor = static_cast<int16_t>(scalar32(wave, in.op[1]));
  write(wave, in.op[0], read<U>(wave, in.op[0]) * static_cast<U>(factor));
}
void s_movk_i32(Wave& wave, const Instruction& in) {
  write(wave, in.op[0], I{static_cast<int16_t>(scalar32(wave, in.op[1]))});
}
template <class T>
void conditional_move(Wave& wave, const Instruction& in) {
  if (wave.scc) write(wave, in.op[0], read<T>(wave, in.op[1]));
}

// SCC: the first was taken.
template <class T, bool Max>
void extreme(Wave& wave, const Instruction& in) {
  const T a = read<T>(wave, in.op[1]), b = read<T>(wave, in.op[2]);
  wave.scc = Max ? a > b : a < b;
  write(wave, in.op[0], wave.scc ? a : b);
}

template <class T>
void select(Wave& wave, const Instruction& in) {
  write(wave, in.op[0], read<T>(wave, in.op[wave.scc ? 1 : 2]));
}

void s_abs_i32(Wave& wave, const Instruction& in) {
  const U a = read<U>(wave, in.op[1]), result = (a >> 31) != 0 ? 0 - a : a;
  write(wave, in.op[0], result);
  wave.scc = result != 0;
}

template <unsigned Shift>
void shift_add(Wave& wave, const Instruction& in) {
  const L sum = (L{read<U>(wave, in.op[1])} << Shift) + read<U>(wave, in.op[2]);
  write(wave, in.op[0], static_cast<U>(sum));
  wave.scc = sum >> 32 != 0;
}

template <bool Set, class T>
void set_bit(Wave& wave, const Instruction& in) {
  const T bit = T{1} << (read<U>(wave, in.op[1]) % (8 * sizeof(T)));
  const T old = read<T>(wave, in.op[0]);
  write(wave, in.op[0], static_cast<T>(Set ? old | bit : old & ~bit));
}

template <auto F>
void save_exec(Wave& wave, const Instruction& in) {
  const L exec = wave.exec(), result = F(read<L>(wave, in.op[1]), exec);
  write(wave, in.op[0], exec);
  wave.set_s64(kExec, result);
  wave.scc = result != 0;
}

// Field: first bit in bits 0-5 of b, width in bits 16-22.
template <class T>
T field(T a, U b) {
  constexpr unsigned kBits = 8 * sizeof(T);
  const unsigned first = b % kBits, width = (b >> 16) & 0x7F;
  if (width == 0) return 0;
  const T shifted = a >> first;
  return width >= kBits ? shifted : static_cast<T>(shifted & ((T{1} << width) - 1));
}
template <class T>
T signed_field(T a, U b) {
  const unsigned width = (b >> 16) & 0x7F;
  const T bits = field(a, b);
  if (width == 0 || width >= 8 * sizeof(T)) return bits;
  const T top = T{1} << (width - 1);
  return (bits ^ top) - top;
}

template <auto F32, auto F64>
void add_logic(OpcodeTable& table, const std::string& name) {
  table.add(Pipe::Salu, {{(name + "_b32").c_str(), scalar<Scc::NotZero, F32>},
                         {(name + "_b64").c_str(), scalar<Scc::NotZero, F64>}});
}

void add_logic_ops(OpcodeTable& table) {
  add_logic<[](U a, U b) { return a & b; }, [](L a, L b) { return a & b; }>(table, "s_and");
  add_logic<[](U a, U b) { return a | b; }, [](L a, L b) { return a | b; }>(table, "s_or");
  add_logic<[](U a, U b) { return a ^ b; }, [](L a, L b) { return a ^ b; }>(table, "s_xor");
  add_logic<[](U a, U b) { return a & ~b; }, [](L a, L b) { return a & ~b; }>(table, "s_andn2");
  add_logic<[](U a, U b) { return a | ~b; }, [](L a, L b) { return a | ~b; }>(table, "s_orn2");
  add_logic<[](U a, U b) { return ~(a & b); }, [](L a, L b) { return ~(a & b); }>(table, "s_nand");
  add_logic<[](U a, U b) { return ~(a | b); }, [](L a, L b) { return ~(a | b); }>(table, "s_nor");
  add_logic<[](U a, U b) { return ~(a ^ b); }, [](L a, L b) { return ~(a ^ b); }>(table, "s_xnor");
  add_logic<[](U a) { return ~a; }, [](L a) { return ~a; }>(table, "s_not");
  add_logic<[](U a, U b) { return a << (b & 31); }, [](L a, U b) { return a << (b & 63); }>(
      table, "s_lshl");
  add_logic<[](U a, U b) { return (a >> (b & 31)); }, [](L a, U b) { return (a >> (b & 63)); }>(
      table, "s_lshr");
  table.add(
      Pipe::Salu,
      {
          {"s_ashr_i32",
           scalar<Scc::NotZero, [](I a, U b) { return (static_cast<U>(a >> (b & 31))); }>},
          {"s_ashr_i64",
           scalar<Scc::NotZero,
                  [](L a, U b) { return (static_cast<L>(static_cast<int64_t>(a) >> (b & 63))); }>},
          {"s_bfe_u32", scalar<Scc::NotZero, [](U a, U b) { return field(a, b); }>},
          {"s_bfe_u64", scalar<Scc::NotZero, [](L a, U b) { return field(a, b); }>},
          {"s_bfe_i32", scalar<Scc::NotZero, [](U a, U b) { return signed_field(a, b); }>},
          {"s_bfe_i64", scalar<Scc::NotZero, [](L a, U b) { return signed_field(a, b); }>},
          {"s_bcnt1_i32_b32", scalar<Scc::NotZero, [](U a) { return U(std::popcount(a)); }>},
          {"s_bcnt1_i32_b64", scalar<Scc::NotZero, [](L a) { return U(std::popcount(a)); }>},
          {"s_bcnt0_i32_b32", scalar<Scc::NotZero, [](U a) { return U(std::popcount(~a)); }>},
          {"s_bcnt0_i32_b64", scalar<Scc::NotZero, [](L a) { return U(std::popcount(~a)); }>},
          {"s_and_saveexec_b64", save_exec<[](L a, L exec) { return a & exec; }>},
          {"s_or_saveexec_b64", save_exec<[](L a, L exec) { return a | exec; }>},
          {"s_xor_saveexec_b64", save_exec<[](L a, L exec) { return a ^ exec; }>},
          {"s_andn2_saveexec_b64", save_exec<[](L a, L exec) { return a & ~exec; }>},
          {"s_orn2_saveexec_b64", save_exec<[](L a, L exec) { return a | ~exec; }>},
          {"s_andn1_saveexec_b64", save_exec<[](L a, L exec) { return ~a & exec; }>},
          {"s_orn1_saveexec_b64", save_exec<[](L a, L exec) { return ~a | exec; }>},
      });
}

void add_arithmetic_ops(OpcodeTable& table) {
  constexpr auto kKept = Scc::Kept;
  table.add(Pipe::Salu,
            {
                {"s_add_u32", add_u32<false, false>},
                {"s_addc_u32", add_u32<false, true>},
                {"s_sub_u32", add_u32<true, false>},
                {"s_subb_u32", add_u32<true, true>},
                {"s_add_i32", add_i32<false>},
                {"s_sub_i32", add_i32<true>},
                {"s_addk_i32", s_addk_i32},
                {"s_mulk_i32", s_mulk_i32},
                {"s_min_i32", extreme<I, false>},
                {"s_max_i32", extreme<I, true>},
                {"s_min_u32", extreme<U, false>},
                {"s_max_u32", extreme<U, true>},
                {"s_mul_i32", scalar<kKept, [](U a, U b) { return a * b; }>},
                {"s_mul_hi_u32", scalar<kKept, [](U a, U b) { return U((L{a} * b) >> 32); }>},
                {"s_mul_hi_i32",
                 scalar<kKept, [](I a, I b) { return static_cast<U>((int64_t{a} * b) >> 32); }>},
                {"s_abs_i32", s_abs_i32},
                {"s_lshl1_add_u32", shift_add<1>},
                {"s_lshl2_add_u32", shift_add<2>},
                {"s_lshl3_add_u32", shift_add<3>},
                {"s_lshl4_add_u32", shift_add<4>},
            });
}

void add_move_ops(OpcodeTable& table) {
  constexpr auto kKept = Scc::Kept;
  table.add(
      Pipe::Salu,
      {
          {"s_mov_b32", scalar<kKept, [](U a) { return a; }>},
          {"s_mov_b64", scalar<kKept, [](L a) { return a; }>},
          {"s_movk_i32", s_movk_i32},
          {"s_cmov_b32", conditional_move<U>},
          {"s_cmov_b64", conditional_move<L>},
          {"s_cselect_b32", select<U>},
          {"s_cselect_b64", select<L>},
          {"s_brev_b32", scalar<kKept, [](U a) { return bits_reversed(a); }>},
          {"s_ff1_i32_b32",
           scalar<kKept, [](U a) { return a == 0 ? ~U{0} : U(std::countr_zero(a)); }>},
          {"s_ff1_i32_b64",
           scalar<kKept, [](L a) { return a == 0 ? ~U{0} : U(std::countr_zero(a)); }>},
          {"s_ff0_i32_b32",
           scalar<kKept, [](U a) { return ~a == 0 ? ~U{0} : U(std::countr_one(a)); }>},
          {"s_flbit_i32_b32",
           scalar<kKept, [](U a) { return a == 0 ? ~U{0} : U(std::countl_zero(a)); }>},
          {"s_flbit_i32_b64",
           scalar<kKept, [](L a) { return a == 0 ? ~U{0} : U(std::countl_zero(a)); }>},
          {"s_sext_i32_i8", scalar<kKept, [](U a) { return I{static_cast<int8_t>(a)}; }>},
          {"s_sext_i32_i16", scalar<kKept, [](U a) { return I{static_cast<int16_t>(a)}; }>},
          {"s_bfm_b32",
           scalar<kKept, [](U a, U b) { return ((U{1} << (a & 31)) - 1) << (b & 31); }>},
          {"s_bfm_b64",
           scalar<kKept, [](U a, U b) { return ((L{1} << (a & 63)) - 1) << (b & 63); }>},
          {"s_bitset0_b32", set_bit<false, U>},
          {"s_bitset1_b32", set_bit<true, U>},
          {"s_bitset0_b64", set_bit<false, L>},
          {"s_bitset1_b64", set_bit<true, L>},
          {"s_pack_ll_b32_b16", scalar<kKept, [](U a, U b) { return (a & 0xFFFF) | b << 16; }>},
          {"s_pack_lh_b32_b16",
           scalar<kKept, [](U a, U b) { return (a & 0xFFFF) | (b & 0xFFFF0000); }>},
          {"s_pack_hh_b32_b16",
           scalar<kKept, [](U a, U b) { return (a >> 16 | (b & 0xFFFF0000)); }>},
      });
}

}  // namespace

void add_scalar_ops(OpcodeTable& table) {
  add_logic_ops(table);
  add_arithmetic_ops(table);
  add_move_ops(table);
}

}  // namespace gfx90a
