// How vector instructions read and write the 64 lanes of their operands.
//
// An operation is a function of single lanes, e.g. `[](float a, float b) { return a + b; }`; its
// types say how registers are read: 32-bit values from one row, 64-bit ones from two, `Half` from
// sixteen bits. `vector_op` makes the instruction of it: modifiers, SDWA, DPP, EXEC.
#pragma once

#include <immintrin.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "fault.h"
#include "wave.h"

namespace gfx90a {

// An fp16 value, computed with as fp32 and rounded when written.
struct Half {
  float value;
};
// The low sixteen bits, as an integer.
struct Short {
  uint16_t bits;
};
inline int16_t as_signed(Short x) { return static_cast<int16_t>(x.bits); }

using Row = uint32_t[kLanes];

// Where a load of less than 32 bits puts its value; the d16 forms keep the other half.
enum class Into : uint8_t { Whole, Low, High };
template <Into Part, class T>
void put_part(uint32_t& to, T value) {
  // Sign-extended if T is signed.
  const auto wide = static_cast<uint32_t>(static_cast<int32_t>(value));
  if (Part == Into::Whole) to = wide;
  if (Part == Into::Low) to = (to & 0xFFFF0000) | (wide & 0xFFFF);
  if (Part == Into::High) to = (to & 0xFFFF) | wide << 16;
}

inline uint32_t bits_reversed(uint32_t x) {
  uint32_t out = 0;
  for (unsigned i = 0; i < 32; ++i) out |= ((x >> i) & 1) << (31 - i);
  return out;
}

inline uint32_t lane_mask(uint64_t mask, unsigned lane) {
  return 0 - static_cast<uint32_t>((mask >> lane) & 1);
}

inline void fill(uint32_t* row, uint32_t value) {
  for (unsigned lane = 0; lane < kLanes; ++lane) row[lane] = value;
}

// Writes the lanes of `mask`.
inline void store_row(Wave& wave, unsigned row, const uint32_t* values, uint64_t mask) {
  uint32_t* to = wave.v[row];
  if (mask == ~uint64_t{0}) {
    std::memcpy(to, values, sizeof(Row));
    return;
  }
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const uint32_t active = lane_mask(mask, lane);
    to[lane] = (values[lane] & active) | (to[lane] & ~active);
  }
}

// Registers `rows` of all lanes from `Dwords` dwords at from(lane) each.
template <unsigned Dwords, class From>
void load_lanes(uint32_t (*rows)[kLanes], From from) {
  const auto four = [&](unsigned lane) {
    return _mm_loadu_ps(reinterpret_cast<const float*>(from(lane)));
  };
  const auto two_twos = [&](unsigned lane) {
    const __m128 low = _mm_castsi128_ps(_mm_loadu_si64(from(lane)));
    return _mm_loadh_pi(low, reinterpret_cast<const __m64*>(from(lane + 1)));
  };
  const auto put = [&](unsigned row, unsigned lane, __m128 values) {
    _mm_store_ps(reinterpret_cast<float*>(rows[row] + lane), values);
  };
  for (unsigned lane = 0; lane < kLanes; lane += 4) {
    if constexpr (Dwords == 4) {
      __m128 a = four(lane), b = four(lane + 1), c = four(lane + 2), d = four(lane + 3);
      _MM_TRANSPOSE4_PS(a, b, c, d);
      put(0, lane, a);
      put(1, lane, b);
      put(2, lane, c);
      put(3, lane, d);
    } else if constexpr (Dwords == 2) {
      const __m128 a = two_twos(lane), b = two_twos(lane + 2);
      put(0, lane, _mm_shuffle_ps(a, b, 0b10'00'10'00));
      put(1, lane, _mm_shuffle_ps(a, b, 0b11'01'11'01));
    } else {
      for (unsigned l = lane; l < lane + 4; ++l) {
        for (unsigned i = 0; i < Dwords; ++i) {
          std::memcpy(&rows[i][l], reinterpret_cast<const std::byte*>(from(l)) + size_t{4} * i, 4);
        }
      }
    }
  }
}

// The lanes whose value is not zero.
inline uint64_t nonzero_lanes(const uint32_t* values) {
  uint64_t mask = 0;
  for (unsigned lane = 0; lane < kLanes; lane += 8) {
    const __m256i eight = _mm256_load_si256(reinterpret_cast<const __m256i*>(values + lane));
    const __m256i zero = _mm256_cmpeq_epi32(eight, _mm256_setzero_si256());
    const auto some = static_cast<uint32_t>(~_mm256_movemask_ps(_mm256_castsi256_ps(zero))) & 0xFF;
    mask |= static_cast<uint64_t>(some) << lane;
  }
  return mask;
}

// A mask from a scalar pair operand.
inline uint64_t mask_of(const Wave& wave, const Operand& operand) {
  return operand.scalar() ? wave.s64(operand.first) : operand.bits64;
}

inline uint32_t scalar32(const Wave& wave, const Operand& operand) {
  return operand.scalar() ? wave.s[operand.first] : operand.bits32;
}
inline uint64_t scalar64(const Wave& wave, const Operand& operand) {
  return operand.scalar() ? wave.s64(operand.first) : operand.bits64;
}

// Lanes that DPP lets an instruction write; all without DPP.
uint64_t dpp_lanes(const Wave& wave, const Instruction& in);
// Applies DPP and SDWA source selection to a row of source `index` (0 or 1).
const uint32_t* select_source(const Wave& wave, const Instruction& in, unsigned index,
                              const uint32_t* row, uint32_t* buffer);
// Puts a result into the destination bits that SDWA names.
void select_destination(const Wave& wave, const Instruction& in, unsigned row, uint32_t* values);

void halves_to_floats(const uint32_t* rows, unsigned shift, float* values);
void floats_to_halves(const float* values, uint32_t* rows);  // upper halves zero

// One register's row of operand `i`: a pointer into the register file, or `buffer`. `part`: 0 the
// low, 1 the high register of a 64-bit operand. `constant` is what a constant operand holds.
inline const uint32_t* row_of(const Wave& wave, const Operand& operand, unsigned part,
                              uint32_t constant, uint32_t* buffer) {
  if (operand.vector()) return wave.v[operand.first + part];
  fill(buffer, operand.scalar() ? wave.s[operand.first + part] : constant);
  return buffer;
}

// The value of all lanes of a source, by type.
template <class T>
class Source {
 public:
  Source(const Wave& wave, const Instruction& in, unsigned i) {
    const Operand& operand = in.op[i];
    low_ = row_of(wave, operand, 0, operand.bits32, low_buffer_);
    if (!in.plain && i >= 1 && i <= 2) low_ = select_source(wave, in, i - 1, low_, low_buffer_);
    if (operand.neg || operand.abs) modify(operand, 31);
  }
  T operator[](unsigned lane) const { return std::bit_cast<T>(low_[lane]); }
  // Lanes `lane` to `lane` + 7.
  __m256 eight(unsigned lane) const {
    return _mm256_load_ps(reinterpret_cast<const float*>(low_ + lane));
  }

 private:
  void modify(const Operand& operand, unsigned sign) {
    const uint32_t bit = uint32_t{1} << sign, keep = operand.abs ? ~bit : ~uint32_t{0};
    const uint32_t flip = operand.neg ? bit : 0;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      low_buffer_[lane] = (low_[lane] & keep) ^ flip;
    }
    low_ = low_buffer_;
  }
  alignas(64) Row low_buffer_;
  const uint32_t* low_;
};

template <class T>
requires(sizeof(T) == 8) class Source<T> {
 public:
  Source(const Wave& wave, const Instruction& in, unsigned i) {
    const Operand& operand = in.op[i];
    const uint64_t constant = std::is_floating_point_v<T> ? operand.double_bits() : operand.bits64;
    if (operand.scalar() && operand.count == 1) throw Fault("a 64-bit operand of one register");
    low_ = row_of(wave, operand, 0, static_cast<uint32_t>(constant), low_buffer_);
    high_ = row_of(wave, operand, 1, static_cast<uint32_t>(constant >> 32), high_buffer_);
    sign_keep_ = operand.abs ? 0x7FFFFFFF : 0xFFFFFFFF;
    sign_flip_ = operand.neg ? 0x80000000 : 0;
  }
  T operator[](unsigned lane) const {
    const uint64_t high = (high_[lane] & sign_keep_) ^ sign_flip_;
    return std::bit_cast<T>(high << 32 | low_[lane]);
  }

 private:
  alignas(64) Row low_buffer_, high_buffer_;
  const uint32_t *low_, *high_;
  uint32_t sign_keep_, sign_flip_;
};

template <>
class Source<Half> {
 public:
  Source(const Wave& wave, const Instruction& in, unsigned i) {
    const Operand& operand = in.op[i];
    alignas(64) Row buffer;
    const uint32_t* row = row_of(wave, operand, 0, operand.bits16, buffer);
    if (!in.plain && i >= 1 && i <= 2) row = select_source(wave, in, i - 1, row, buffer);
    // Without SDWA, op_sel picks the half; bit 0 is the first source, operand 1.
    const bool high = in.plain && i >= 1 && ((in.op_sel >> (i - 1)) & 1) != 0;
    halves_to_floats(row, high ? 16 : 0, values_);
    for (float& value : values_) {
      if (operand.abs) value = std::bit_cast<float>(std::bit_cast<uint32_t>(value) & 0x7FFFFFFF);
      if (operand.neg) value = -value;
    }
  }
  Half operator[](unsigned lane) const { return {values_[lane]}; }

 private:
  alignas(64) float values_[kLanes];
};

template <>
class Source<Short> {
 public:
  Source(const Wave& wave, const Instruction& in, unsigned i) {
    const Operand& operand = in.op[i];
    row_ = row_of(wave, operand, 0, operand.bits32, buffer_);
    if (!in.plain && i >= 1 && i <= 2) row_ = select_source(wave, in, i - 1, row_, buffer_);
    shift_ = in.plain && i >= 1 && ((in.op_sel >> (i - 1)) & 1) != 0 ? 16 : 0;
  }
  Short operator[](unsigned lane) const { return {static_cast<uint16_t>(row_[lane] >> shift_)}; }

 private:
  alignas(64) Row buffer_;
  const uint32_t* row_;
  unsigned shift_;
};

// Output modifiers of floating-point results: times 2^omod, then clamped to [0, 1]; a NaN clamps to
// 0 (DX10_CLAMP, which compilers set).
template <class T>
T modified(const Instruction& in, T value) {
  if (in.omod != 0) value *= in.omod == -1 ? T(0.5) : T(1 << in.omod);
  if (in.clamp) value = value > T(0) ? (value < T(1) ? value : T(1)) : T(0);
  return value;
}

// The destination: operand `i`, all lanes, then committed under EXEC.
template <class T>
class Destination {
 public:
  void set(unsigned lane, T value) { low_[lane] = std::bit_cast<uint32_t>(value); }
  void set_eight(unsigned lane, __m256 values) {
    _mm256_store_ps(reinterpret_cast<float*>(low_ + lane), values);
  }
  void commit(Wave& wave, const Instruction& in, unsigned i = 0) {
    if constexpr (std::is_floating_point_v<T>) {
      if (in.clamp || in.omod != 0) {
        for (uint32_t& bits : low_) {
          bits = std::bit_cast<uint32_t>(modified(in, std::bit_cast<float>(bits)));
        }
      }
    }
    uint64_t mask = wave.exec();
    if (!in.plain) {
      if (in.dpp != nullptr) mask &= dpp_lanes(wave, in);
      select_destination(wave, in, in.op[i].first, low_);
    }
    store_row(wave, in.op[i].first, low_, mask);
  }

 private:
  alignas(64) Row low_;
};

template <class T>
requires(sizeof(T) == 8) class Destination<T> {
 public:
  void set(unsigned lane, T value) {
    const auto bits = std::bit_cast<uint64_t>(value);
    low_[lane] = static_cast<uint32_t>(bits);
    high_[lane] = static_cast<uint32_t>(bits >> 32);
  }
  void commit(Wave& wave, const Instruction& in, unsigned i = 0) {
    if (std::is_floating_point_v<T> && (in.clamp || in.omod != 0)) {
      throw Fault("output modifiers of f64 are not modelled");
    }
    store_row(wave, in.op[i].first, low_, wave.exec());
    store_row(wave, in.op[i].first + 1, high_, wave.exec());
  }

 private:
  alignas(64) Row low_, high_;
};

template <>
class Destination<Half> {
 public:
  void set(unsigned lane, Half value) { values_[lane] = value.value; }
  void commit(Wave& wave, const Instruction& in, unsigned i = 0) {
    if (in.clamp || in.omod != 0) {
      for (float& value : values_) value = modified(in, value);
    }
    alignas(64) Row rows;
    floats_to_halves(values_, rows);
    const unsigned to = in.op[i].first;
    if (in.plain && (in.op_sel & 8) != 0) {  // op_sel's last bit: the upper half, the lower stays
      for (unsigned lane = 0; lane < kLanes; ++lane) {
        rows[lane] = rows[lane] << 16 | (wave.v[to][lane] & 0xFFFF);
      }
    }
    uint64_t mask = wave.exec();
    if (!in.plain) {
      if (in.dpp != nullptr) mask &= dpp_lanes(wave, in);
      select_destination(wave, in, to, rows);
    }
    store_row(wave, to, rows, mask);
  }

 private:
  alignas(64) float values_[kLanes];
};

template <>
class Destination<Short> : public Destination<uint32_t> {
 public:
  void set(unsigned lane, Short value) { Destination<uint32_t>::set(lane, value.bits); }
  void commit(Wave& wave, const Instruction& in, unsigned i = 0) {
    if (in.plain && (in.op_sel & 8) != 0) throw Fault("op_sel of a 16-bit integer result");
    Destination<uint32_t>::commit(wave, in, i);
  }
};

// An operand's row as it stands, without modifiers.
struct PlainRow {
  PlainRow(const Wave& wave, const Operand& operand)
      : row(row_of(wave, operand, 0, operand.bits32, buffer)) {}
  alignas(64) Row buffer;
  const uint32_t* row;
};

template <class>
using RowPointer = const uint32_t*;
// `to` may be one of the rows.
template <auto F, class... A>
void apply_to_rows(uint32_t* to, RowPointer<A>... rows) {
#ifdef __clang__
#pragma clang loop vectorize(assume_safety)
#else
#pragma GCC ivdep
#endif
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    to[lane] = std::bit_cast<uint32_t>(F(std::bit_cast<A>(rows[lane])...));
  }
}

template <auto F, class R, class... S>
void apply_to_sources(Wave& wave, const Instruction& in, const S&... sources) {
  Destination<R> d;
  for (unsigned lane = 0; lane < kLanes; ++lane) d.set(lane, F(sources[lane]...));
  d.commit(wave, in);
}

template <class T>
constexpr bool kOneRegister = std::is_arithmetic_v<T> && sizeof(T) == 4;

// `At`: which operands are the sources.
template <auto F, class R, class... A, size_t... At>
void apply_to_operands(Wave& wave, const Instruction& in, R (*)(A...), std::index_sequence<At...>) {
  if constexpr (kOneRegister<R> && (kOneRegister<A> && ...)) {
    if (in.unmodified && wave.exec() == ~uint64_t{0}) {  // from row to row
      return apply_to_rows<F, A...>(wave.v[in.op[0].first], PlainRow(wave, in.op[At]).row...);
    }
  }
  apply_to_sources<F, R>(wave, in, Source<A>(wave, in, At)...);
}

// The instruction of a function of lanes: destination, then the sources.
template <auto F, class R, class... A>
void vector_op_as(Wave& wave, const Instruction& in, R (*signature)(A...)) {
  constexpr auto kSources = []<size_t... I>(std::index_sequence<I...>) {
    return std::index_sequence<I + 1 ...>();
  };
  apply_to_operands<F>(wave, in, signature, kSources(std::index_sequence_for<A...>()));
}
template <auto F>
void vector_op(Wave& wave, const Instruction& in) {
  vector_op_as<F>(wave, in, +F);
}

// d = f(a, b, d): the multiply-accumulate forms, whose destination is a source too.
template <auto F>
void accumulate_op(Wave& wave, const Instruction& in) {
  apply_to_operands<F>(wave, in, +F, std::index_sequence<1, 2, 0>());
}

}  // namespace gfx90a
