// A decoded instruction: what the interpreter's inner loop reads.
#pragma once

#include <immintrin.h>

#include <array>
#include <bit>
#include <cstdint>

namespace gfx90a {

inline constexpr unsigned kLanes = 64;
// Visits the lanes of a mask, lowest first.
template <class Visit>
void for_lanes(uint64_t lanes, Visit visit) {
  for (; lanes != 0; lanes &= lanes - 1) visit(static_cast<unsigned>(std::countr_zero(lanes)));
}

// Vector rows: 0-255 are v0-v255, 256-511 the accumulators a0-a255.
inline constexpr unsigned kAccumulators = 256;
inline constexpr unsigned kVectorRows = 512;
// Scalar registers by their encoding: s0-s101, then these.
inline constexpr unsigned kVcc = 106, kM0 = 124, kExec = 126, kScalars = 128;

// What an instruction occupies; the counters' columns.
enum class Pipe : uint8_t {
  Valu,            // full rate
  Packed,          // v_pk_*: two results a lane
  Transcendental,  // quarter rate: exp, log, rcp, rsq, sqrt, sin, cos
  Mfma,
  AccMove,  // v_accvgpr_*
  Salu,
  Smem,
  Branch,
  Lds,
  Vmem,
  Wait,     // s_waitcnt
  Nop,      // s_nop and other idle slots
  Barrier,  // s_barrier
};
inline constexpr unsigned kPipes = 13;
const char* name_of(Pipe pipe);

// A set of registers: 512 vector rows, then 128 scalars. `count` is at most 64 throughout.
struct RegisterSet {
  alignas(32) std::array<uint64_t, 12> words{};  // the last two, always 0, make whole vectors

  void add(unsigned first, unsigned count) {
    if (count == 0) return;
    const Span span(first, count);
    words[span.word] |= span.low;
    words[span.word + 1] |= span.high;
  }
  bool has(unsigned index) const { return ((words[index / 64] >> (index % 64)) & 1) != 0; }
  // Whether it has any of the registers.
  bool meets(unsigned first, unsigned count) const {
    if (count == 0) return false;
    const Span span(first, count);
    return ((words[span.word] & span.low) | (words[span.word + 1] & span.high)) != 0;
  }
  bool meets(const RegisterSet& other) const {
    const auto common = [&](unsigned i) { return _mm256_and_si256(four(i), other.four(i)); };
    const __m256i any = _mm256_or_si256(_mm256_or_si256(common(0), common(4)), common(8));
    return _mm256_testz_si256(any, any) == 0;
  }

 private:
  // A run of registers lies in one word or two.
  struct Span {
    Span(unsigned first, unsigned count) : word(first / 64) {
      const uint64_t ones = ~uint64_t{0} >> (64 - count);
      const unsigned shift = first % 64;
      low = ones << shift;
      high = shift == 0 ? 0 : ones >> (64 - shift);
    }
    unsigned word;
    uint64_t low, high;
  };
  __m256i four(unsigned i) const {
    return _mm256_load_si256(reinterpret_cast<const __m256i*>(&words[i]));
  }
};

struct Operand {
  enum class Kind : uint8_t { None, Vector, Scalar, Constant, Off };
  Kind kind = Kind::None;
  bool neg = false, abs = false, sext = false;
  bool inline_float = false;  // `1.0`, not `1` nor a literal
  bool literal = false;       // `0x3fc`: 32 bits of their own
  uint16_t first = 0;         // row of the vector file or index of the scalar file
  uint16_t count = 0;         // registers
  uint16_t bits16 = 0;        // a constant as fp16 operations read it: `1.0` is 0x3C00
  uint32_t bits32 = 0;        // as 32-bit operations do: 0x3F800000
  // As 64-bit operations do: 0x3FF0000000000000. Integers are sign-extended, literals are not.
  uint64_t bits64 = 0;

  bool vector() const { return kind == Kind::Vector; }
  bool scalar() const { return kind == Kind::Scalar; }
  // A literal is the upper half of a double.
  uint64_t double_bits() const { return literal ? uint64_t{bits32} << 32 : bits64; }
};

enum class Select : uint8_t { Byte0, Byte1, Byte2, Byte3, Word0, Word1, Dword };
enum class Unused : uint8_t { Pad, Sext, Preserve };
struct Sdwa {
  Select dst = Select::Dword, src[2] = {Select::Dword, Select::Dword};
  Unused unused = Unused::Pad;
};
struct Dpp {
  // For each lane the lane it reads; -1 where the pattern reaches outside.
  std::array<int8_t, kLanes> from{};
  uint8_t row_mask = 0xF, bank_mask = 0xF;
  bool bound_zero = false;  // lanes without a source read 0; else they are not written
};

struct Wave;
struct Instruction;
using Handler = void (*)(Wave&, const Instruction&);

struct Line;

// The place of an operand's first register in a RegisterSet.
inline unsigned place_of(const Operand& operand) {
  return operand.first + (operand.scalar() ? kVectorRows : 0U);
}

// Kept small: the instructions of a main loop should stay in the cache.
struct Instruction {
  Handler run = nullptr;
  Pipe pipe = Pipe::Valu;
  uint8_t operands = 0;
  bool plain = true;       // neither SDWA nor DPP
  bool unmodified = true;  // plain, without neg, abs, clamp, omod, op_sel
  bool clamp = false;
  int8_t omod = 0;           // result times 2^omod
  uint8_t result_delay = 0;  // of matrix instructions, in slots (delays.h)
  uint32_t slots = 1;        // that it takes: `s_nop n` n + 1
  RegisterSet touched;       // what it reads or writes, named or not
  // Packed forms: one bit for each source.
  uint8_t op_sel = 0, op_sel_hi = 7, neg_lo = 0, neg_hi = 0;
  Sdwa sdwa;
  // Memory forms.
  bool offen = false, idxen = false, lds = false, glc = false;
  int32_t offset = 0, offset1 = 0;
  // Scalar immediates: simm16 of branches, waits and nops; ds_swizzle's pattern.
  uint32_t immediate = 0;
  uint32_t target = 0;  // of a branch: index of an instruction
  uint32_t index = 0;   // its own
  std::array<Operand, 5> op;
  const Dpp* dpp = nullptr;
  const Line* line = nullptr;  // address and text
};

}  // namespace gfx90a
