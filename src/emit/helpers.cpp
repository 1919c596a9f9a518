#include "emit/helpers.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "emit/device_text.h"
#include "emit/mask_functions.h"
#include "expr/print.h"

namespace attngen::emit {

using attention::PairForm;
using attention::Reduction;
using attention::RowForm;
using spec::Spec;

namespace {

// The helpers that the text calls, beyond the vendor's functions.
constexpr std::string_view kFromBf16 =
    "__device__ __forceinline__ float from_bf16(uint16_t x) {\n"
    "  return __uint_as_float(static_cast<uint32_t>(x) << 16);\n"
    "}\n";
constexpr std::string_view kFromFp16 =
    "__device__ __forceinline__ float from_fp16(uint16_t x) {\n"
    "  float y;\n"
    "  asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(y) : \"h\"(x));\n"
    "  return y;\n"
    "}\n";
constexpr std::string_view kFromFp16Amd =
    "__device__ __forceinline__ float from_fp16(uint16_t x) {\n"
    "  return static_cast<float>(__builtin_bit_cast(_Float16, x));\n"
    "}\n";
constexpr std::string_view kCount =
    "// How many of the ascending values are below each limit, or at most it (bit i of kOrEqual): "
    "all\n"
    "// lanes of a warp search together, 32 places a round, for all limits at once.\n"
    "template <unsigned kOrEqual, int kLimits>\n"
    "__device__ __forceinline__ void count(const int* values, int length,\n"
    "                                      const int (&limits)[kLimits], int (&counts)[kLimits]) "
    "{\n"
    "  static_assert(kLimits <= 32, \"a bit of kOrEqual each\");\n"
    "  int end[kLimits], step[kLimits], place[kLimits], value[kLimits];\n"
    "  bool more = length > 0;\n"
    "#pragma unroll\n"
    "  for (int i = 0; i < kLimits; ++i) {\n"
    "    counts[i] = 0;\n"
    "    end[i] = length;\n"
    "  }\n"
    "#pragma unroll 1\n"
    "  while (more) {\n"
    "#pragma unroll\n"
    "    for (int i = 0; i < kLimits; ++i) {\n"
    "      step[i] = (end[i] - counts[i] + 31) / 32;\n"
    "      place[i] = counts[i] + static_cast<int>(threadIdx.x % 32) * step[i];\n"
    "      value[i] = __ldg(&values[max(min(place[i], end[i] - 1), 0)]);\n"
    "    }\n"
    "    more = false;\n"
    "#pragma unroll\n"
    "    for (int i = 0; i < kLimits; ++i) {\n"
    "      const bool or_equal = kOrEqual >> i & 1;\n"
    "      const bool inside = or_equal ? value[i] <= limits[i] : value[i] < limits[i];\n"
    "      const int asked = __popc(__ballot_sync(0xffffffffu, place[i] < end[i] && inside));\n"
    "      end[i] = min(end[i], counts[i] + asked * step[i]);\n"
    "      if (asked > 0) counts[i] += (asked - 1) * step[i] + 1;\n"
    "      more = more || counts[i] < end[i];\n"
    "    }\n"
    "  }\n"
    "}\n";
constexpr std::string_view kCountAmd =
    "// How many of the ascending values are below the limit, or at most it: all lanes of a wave\n"
    "// search together, 64 places a round.\n"
    "template <bool kOrEqual>\n"
    "__device__ __forceinline__ int count(const int* values, int length, int limit) {\n"
    "  int begin = 0, end = length;\n"
    "  while (begin < end) {\n"
    "    const int step = (end - begin + 63) / 64;\n"
    "    const int place = begin + static_cast<int>(threadIdx.x % 64) * step;\n"
    "    const int value = __ldg(&values[min(place, end - 1)]);\n"
    "    const bool inside = place < end && (kOrEqual ? value <= limit : value < limit);\n"
    "    const int asked = __popcll(__ballot(inside));\n"
    "    if (asked == 0) break;\n"
    "    end = min(end, begin + asked * step);\n"
    "    begin += (asked - 1) * step + 1;\n"
    "  }\n"
    "  return begin;\n"
    "}\n";
constexpr std::string_view kCountWithin =
    "// One such number, known to be within begin..end: each lane searches alone.\n"
    "template <bool kOrEqual>\n"
    "__device__ __forceinline__ int count_within(const int* values, int begin, int end, int limit) "
    "{\n"
    "  while (begin < end) {\n"
    "    const int middle = (begin + end) / 2;\n"
    "    const int value = __ldg(&values[middle]);\n"
    "    if (kOrEqual ? value <= limit : value < limit) {\n"
    "      begin = middle + 1;\n"
    "    } else {\n"
    "      end = middle;\n"
    "    }\n"
    "  }\n"
    "  return begin;\n"
    "}\n";
// Clang rounds __fdividef correctly, in ten instructions; the reciprocal is within 1 ulp.
constexpr std::string_view kDivideAmd =
    "__device__ __forceinline__ float divide_approx(float x, float y) {\n"
    "  return x * __builtin_amdgcn_rcpf(y);\n"
    "}\n";
// To clang __ldg is an ordinary load, which no loop can shed across a barrier.
constexpr std::string_view kReadOnlyAmd =
    "// Memory that nobody writes while the kernel runs.\n"
    "template <typename T>\n"
    "__device__ __forceinline__ T read_only(const T* pointer) {\n"
    "  return *(const __attribute__((address_space(4))) T*)(pointer);\n"
    "}\n";

std::string replaced(std::string text, std::string_view word, std::string_view by) {
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + by.size())) {
    text.replace(at, word.size(), by);
  }
  return text;
}

}  // namespace

std::string for_amd(std::string text) {
  std::string helpers;
  if (has_word(text, "__fdividef")) helpers.append(kDivideAmd).append("\n");
  if (has_word(text, "__ldg")) helpers.append(kReadOnlyAmd).append("\n");
  return helpers +
         replaced(replaced(std::move(text), "__fdividef", "divide_approx"), "__ldg(", "read_only(");
}

std::string helpers_text(const Spec& spec, const RowForm& form, const PairForm& pairs,
                         const Fragment& fragment, const std::string& text) {
  std::vector<std::string> names;
  const auto add = [&](const expr::Expr& e) {
    if (!e) return;
    for (std::string& name : expr::device_functions_of(e)) names.push_back(std::move(name));
  };
  add(pairs.score);
  add(pairs.base);
  add(pairs.mask);
  add(pairs.of_key);
  add(pairs.of_distance);
  for (const spec::NamedExpr& constant : pairs.constants) add(constant.value);
  for (const attention::Line& line : pairs.lines) add(line.first);
  for (const attention::KeyRow& row : pairs.key_rows) add(row.load);
  const attention::KeyRange range = range_of(spec);
  for (const expr::Expr& e : {range.begin, range.end, range.full_begin, range.full_end}) add(e);
  if (const auto test = test_of(spec)) {
    add(test->kept);
    add(test->full);
    for (const attention::IdTable& table : test->tables) add(table.value);
  }
  for (const expr::Expr& element : pairs.elements) add(element);
  for (const Reduction& reduction : form.reductions) add(reduction.rescale);
  for (const attention::RowValue& row : form.rows) add(row.value);
  add(pairs.weight);
  add(form.rescale);
  add(form.output);
  for (const spec::NamedExpr& save : form.saves) add(save.value);
  names.insert(names.end(), {"exp2_approx", "reciprocal"});  // of `absorb`
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());

  const auto accuracy =
      spec.dtype == spec::DType::Bf16 ? expr::Accuracy::Bf16 : expr::Accuracy::Full;
  std::string result;
  // From the last on: a function may call one whose name comes before its own.
  for (auto name = names.rbegin(); name != names.rend(); ++name) {
    if (!has_word(text, *name) && !has_word(result, *name)) continue;
    // The template of exponential forms defines it, after the user's functions.
    result.insert(0, form.exponential && *name == "exp2_approx"
                         ? "__device__ __forceinline__ float exp2_approx(float x);\n\n"
                         : expr::device_function(*name, fragment.vendor, accuracy) + "\n");
  }
  if (has_word(text, "from_bf16")) result.append(kFromBf16).append("\n");
  const bool amd = fragment.vendor == expr::Vendor::Amd;
  if (has_word(text, "from_fp16")) result.append(amd ? kFromFp16Amd : kFromFp16).append("\n");
  if (has_word(text, "count")) result.append(amd ? kCountAmd : kCount).append("\n");
  if (has_word(text, "count_within")) result.append(kCountWithin).append("\n");
  if (has_word(text, fragment.sum)) result.append(fragment.sum_text).append("\n");
  // The template of exponential forms has its own, after the user's functions.
  if (!form.exponential && has_word(text, fragment.max)) {
    result.append(fragment.max_text).append("\n");
  }
  return result;
}

}  // namespace attngen::emit
