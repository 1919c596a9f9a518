// Vector comparisons: a scalar mask with a bit for each lane, 0 in lanes that EXEC leaves out;
// v_cmpx writes EXEC as well.
#include <cmath>

#include "float_math.h"
#include "lanes.h"
#include "opcodes.h"

namespace gfx90a {
namespace {

void store_mask(Wave& wave, const Instruction& in, const uint32_t* truth, bool exec_too) {
  const uint64_t mask = nonzero_lanes(truth) & wave.exec();
  wave.set_s64(in.op[0].first, mask);
  if (exec_too) wave.set_s64(kExec, mask);
}

template <auto F, bool ExecToo, class A, class B>
void compare_as(Wave& wave, const Instruction& in, bool (*)(A, B)) {
  const Source<A> a(wave, in, 1);
  const Source<B> b(wave, in, 2);
  alignas(64) Row truth;
  for (unsigned lane = 0; lane < kLanes; ++lane) truth[lane] = F(a[lane], b[lane]) ? 1 : 0;
  store_mask(wave, in, truth, ExecToo);
}
template <auto F, bool ExecToo>
void compare(Wave& wave, const Instruction& in) {
  compare_as<F, ExecToo>(wave, in, +F);
}

template <auto F>
void add_both(OpcodeTable& table, const std::string& condition) {
  const std::string plain = "v_cmp_" + condition, exec_too = "v_cmpx_" + condition;
  table.add(Pipe::Valu, {{plain.c_str(), compare<F, false>}, {exec_too.c_str(), compare<F, true>}});
}

// Half and Short hold their value in a member.
template <class T>
auto number(T x) {
  return x;
}
inline float number(Half x) { return x.value; }
inline uint16_t number(Short x) { return x.bits; }

template <class T>
void add_ordered(OpcodeTable& table, const std::string& type, bool integer) {
  const std::string not_equal = integer ? "ne_" : "neq_";
  add_both<[](T a, T b) { return number(a) < number(b); }>(table, "lt_" + type);
  add_both<[](T a, T b) { return number(a) == number(b); }>(table, "eq_" + type);
  add_both<[](T a, T b) { return number(a) <= number(b); }>(table, "le_" + type);
  add_both<[](T a, T b) { return number(b) < number(a); }>(table, "gt_" + type);
  add_both<[](T a, T b) { return number(b) <= number(a); }>(table, "ge_" + type);
  add_both<[](T a, T b) { return number(a) != number(b); }>(table, not_equal + type);
  add_both<[](T, T) { return true; }>(table, (integer ? "t_" : "tru_") + type);
  add_both<[](T, T) { return false; }>(table, "f_" + type);
}

template <class T>
void add_unordered(OpcodeTable& table, const std::string& type) {
  add_ordered<T>(table, type, false);
  add_both<[](T a, T b) { return number(a) < number(b) || number(b) < number(a); }>(table,
                                                                                    "lg_" + type);
  add_both<[](T a, T b) { return !(number(a) < number(b) || number(b) < number(a)); }>(
      table, "nlg_" + type);
  add_both<[](T a, T b) { return !is_nan(number(a)) && !is_nan(number(b)); }>(table, "o_" + type);
  add_both<[](T a, T b) { return is_nan(number(a)) || is_nan(number(b)); }>(table, "u_" + type);
  add_both<[](T a, T b) { return !(number(b) <= number(a)); }>(table, "nge_" + type);
  add_both<[](T a, T b) { return !(number(b) < number(a)); }>(table, "ngt_" + type);
  add_both<[](T a, T b) { return !(number(a) <= number(b)); }>(table, "nle_" + type);
  add_both<[](T a, T b) { return !(number(a) < number(b)); }>(table, "nlt_" + type);
}

void add_signed_shorts(OpcodeTable& table) {
  add_both<[](Short a, Short b) { return as_signed(a) < as_signed(b); }>(table, "lt_i16");
  add_both<[](Short a, Short b) { return as_signed(a) == as_signed(b); }>(table, "eq_i16");
  add_both<[](Short a, Short b) { return as_signed(a) <= as_signed(b); }>(table, "le_i16");
  add_both<[](Short a, Short b) { return as_signed(b) < as_signed(a); }>(table, "gt_i16");
  add_both<[](Short a, Short b) { return as_signed(b) <= as_signed(a); }>(table, "ge_i16");
  add_both<[](Short a, Short b) { return as_signed(a) != as_signed(b); }>(table, "ne_i16");
}

// Bits of the class mask: signalling NaN, quiet NaN, -inf, -normal, -subnormal, -0, +0, +subnormal,
// +normal, +inf.
bool in_class(float x, uint32_t classes) {
  const auto bits = std::bit_cast<uint32_t>(x);
  const bool negative = (bits >> 31) != 0;
  unsigned kind = 0;
  if (is_nan(x)) {
    kind = (bits & 0x00400000) != 0 ? 1 : 0;
  } else if (biased_exponent(x) == 255) {
    kind = negative ? 2 : 9;
  } else if (biased_exponent(x) > 0) {
    kind = negative ? 3 : 8;
  } else if ((bits & 0x7FFFFFFF) != 0) {
    kind = negative ? 4 : 7;
  } else {
    kind = negative ? 5 : 6;
  }
  return ((classes >> kind) & 1) != 0;
}

}  // namespace

void add_compare_ops(OpcodeTable& table) {
  add_unordered<float>(table, "f32");
  add_unordered<double>(table, "f64");
  add_unordered<Half>(table, "f16");
  add_ordered<int32_t>(table, "i32", true);
  add_ordered<uint32_t>(table, "u32", true);
  add_ordered<int64_t>(table, "i64", true);
  add_ordered<uint64_t>(table, "u64", true);
  add_ordered<Short>(table, "u16", true);
  add_signed_shorts(table);
  add_both<[](float a, uint32_t b) { return in_class(a, b); }>(table, "class_f32");
}

}  // namespace gfx90a
