// Scalar comparisons, branches, barriers, waits and the MODE register.
#include "float_mode.h"
#include "lanes.h"
#include "listing.h"
#include "opcodes.h"

namespace gfx90a {
namespace {

template <class T, auto F>
void compare(Wave& wave, const Instruction& in) {
  if constexpr (sizeof(T) == 8) {
    wave.scc =
        F(static_cast<T>(scalar64(wave, in.op[0])), static_cast<T>(scalar64(wave, in.op[1])));
  } else {
    wave.scc =
        F(static_cast<T>(scalar32(wave, in.op[0])), static_cast<T>(scalar32(wave, in.op[1])));
  }
}

// s_cmpk: the constant is 16 bits, sign- or zero-extended as the type is.
template <class T, class Narrow, auto F>
void compare_short(Wave& wave, const Instruction& in) {
  const auto constant = static_cast<Narrow>(scalar32(wave, in.op[1]));
  wave.scc = F(static_cast<T>(scalar32(wave, in.op[0])), T{constant});
}

template <class T, auto F>
void add_comparison(OpcodeTable& table, const std::string& condition, const std::string& type) {
  table.add(Pipe::Salu, {{("s_cmp_" + condition + "_" + type).c_str(), compare<T, F>}});
  if constexpr (std::is_same_v<T, int32_t>) {
    table.add(Pipe::Salu,
              {{("s_cmpk_" + condition + "_" + type).c_str(), compare_short<int32_t, int16_t, F>}});
  } else if constexpr (std::is_same_v<T, uint32_t>) {
    table.add(Pipe::Salu, {{("s_cmpk_" + condition + "_" + type).c_str(),
                            compare_short<uint32_t, uint16_t, F>}});
  }
}

template <class T>
void add_comparisons(OpcodeTable& table, const std::string& type) {
  add_comparison<T, [](T a, T b) { return a == b; }>(table, "eq", type);
  add_comparison<T, [](T a, T b) { return a != b; }>(table, "lg", type);
  add_comparison<T, [](T a, T b) { return b < a; }>(table, "gt", type);
  add_comparison<T, [](T a, T b) { return b <= a; }>(table, "ge", type);
  add_comparison<T, [](T a, T b) { return a < b; }>(table, "lt", type);
  add_comparison<T, [](T a, T b) { return a <= b; }>(table, "le", type);
}

template <class T, bool Set>
void test_bit(Wave& wave, const Instruction& in) {
  const uint32_t index = scalar32(wave, in.op[1]) % (8 * sizeof(T));
  const uint64_t value = sizeof(T) == 8 ? scalar64(wave, in.op[0]) : scalar32(wave, in.op[0]);
  wave.scc = (((value >> index) & 1) != 0) == Set;
}

template <bool (*Taken)(const Wave&)>
void branch(Wave& wave, const Instruction& in) {
  if (Taken(wave)) wave.next = in.target;
}
bool always(const Wave&) { return true; }
bool scc0(const Wave& wave) { return !wave.scc; }
bool scc1(const Wave& wave) { return wave.scc; }
bool vccz(const Wave& wave) { return wave.s64(kVcc) == 0; }
bool vccnz(const Wave& wave) { return wave.s64(kVcc) != 0; }
bool execz(const Wave& wave) { return wave.exec() == 0; }
bool execnz(const Wave& wave) { return wave.exec() != 0; }

void s_endpgm(Wave& wave, const Instruction&) { wave.state = Wave::State::Ended; }
void s_barrier(Wave& wave, const Instruction&) { wave.state = Wave::State::AtBarrier; }

// The immediate: vmcnt in bits 0-3 and 14-15, lgkmcnt in bits 8-11. A counter that the listing does
// not name has its largest value there.
void s_waitcnt(Wave& wave, const Instruction& in) {
  const uint32_t bits = in.immediate;
  wave.waits.wait((bits & 0xF) | ((bits >> 10) & 0x30), (bits >> 8) & 0xF);
}

// s_getpc_b64: the address of the next instruction.
void s_getpc_b64(Wave& wave, const Instruction& in) {
  wave.set_s64(in.op[0].first, wave.block->image + in.line->address + in.line->bytes);
}

// hwreg(id, first bit, width): id in bits 0-5, first bit in 6-10, width - 1 in 11-15.
void set_mode(Wave& wave, uint32_t hwreg, uint32_t value) {
  constexpr uint32_t kModeRegister = 1;
  if ((hwreg & 0x3F) != kModeRegister) throw Fault("only the MODE register can be set");
  const uint32_t first = (hwreg >> 6) & 31, width = ((hwreg >> 11) & 31) + 1;
  const uint32_t mask = static_cast<uint32_t>(((uint64_t{1} << width) - 1) << first);
  wave.mode = (wave.mode & ~mask) | ((value << first) & mask);
  if ((wave.mode & 0xF) != 0) throw Fault("a rounding mode other than to nearest");
  adopt_float_mode(wave.mode);
}
void s_setreg_b32(Wave& wave, const Instruction& in) {
  set_mode(wave, in.immediate, scalar32(wave, in.op[0]));
}
void s_setreg_imm32_b32(Wave& wave, const Instruction& in) {
  set_mode(wave, in.immediate, in.op[0].bits32);
}

}  // namespace

void add_scalar_compare_ops(OpcodeTable& table) {
  add_comparisons<int32_t>(table, "i32");
  add_comparisons<uint32_t>(table, "u32");
  add_comparison<uint64_t, [](uint64_t a, uint64_t b) { return a == b; }>(table, "eq", "u64");
  add_comparison<uint64_t, [](uint64_t a, uint64_t b) { return a != b; }>(table, "lg", "u64");
  table.add(Pipe::Salu, {
                            {"s_bitcmp0_b32", test_bit<uint32_t, false>},
                            {"s_bitcmp1_b32", test_bit<uint32_t, true>},
                            {"s_bitcmp0_b64", test_bit<uint64_t, false>},
                            {"s_bitcmp1_b64", test_bit<uint64_t, true>},
                        });
}

void add_control_ops(OpcodeTable& table) {
  table.add(Pipe::Branch, {
                              {"s_branch", branch<always>},
                              {"s_cbranch_scc0", branch<scc0>},
                              {"s_cbranch_scc1", branch<scc1>},
                              {"s_cbranch_vccz", branch<vccz>},
                              {"s_cbranch_vccnz", branch<vccnz>},
                              {"s_cbranch_execz", branch<execz>},
                              {"s_cbranch_execnz", branch<execnz>},
                          });
  table.add(Pipe::Salu, {
                            {"s_endpgm", s_endpgm},
                            {"s_getpc_b64", s_getpc_b64},
                            {"s_setreg_b32", s_setreg_b32},
                            {"s_setreg_imm32_b32", s_setreg_imm32_b32},
                            {"s_setprio", nothing},
                            {"s_sleep", nothing},
                            {"s_inst_prefetch", nothing},
                            {"s_icache_inv", nothing},
                            {"s_dcache_inv", nothing},
                            {"s_dcache_wb", nothing},
                        });
  table.add(Pipe::Barrier, {{"s_barrier", s_barrier}});
  table.add(Pipe::Nop, {{"s_nop", nothing}});
  table.add(Pipe::Wait, {{"s_waitcnt", s_waitcnt}});
}

}  // namespace gfx90a
