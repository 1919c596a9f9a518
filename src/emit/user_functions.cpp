#include "emit/user_functions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "attention/interval_mask.h"
#include "attention/tiles.h"
#include "emit/absorb.h"
#include "emit/api.h"
#include "emit/comment.h"
#include "emit/device_names.h"
#include "emit/device_text.h"
#include "emit/epilogue.h"
#include "emit/fragment.h"
#include "expr/simplify.h"

namespace attngen::emit {
namespace {

using attention::Reduction;
using attention::RowForm;
using expr::Op;
using spec::Spec;

attention::KeyRange range_of(const Spec& spec) {
  return attention::key_range(spec.mask, spec.inputs);
}

// Under block sparsity the caller's blocks are visited, not those that the mask would keep.
std::optional<attention::BlockTest> test_of(const Spec& spec) {
  if (spec.block_size > 0) return std::nullopt;
  return attention::block_test(spec.mask, spec.inputs);
}

std::string inputs_text(const Spec& spec, bool with_batch) {
  if (spec.inputs.empty()) return "struct Inputs {};\n";
  std::string text = "// The spec's inputs.\nstruct Inputs {\n";
  std::vector<CommentedLine> members;
  if (with_batch) members.push_back({"  int batch;", ""});
  for (const spec::Input& input : spec.inputs) {
    members.push_back({fmt::format("  {} {};", c_type_of(input), input.name),
                       input.shape.empty() ? "" : shape_text(input)});
  }
  return text + commented(members) + "};\n";
}

std::string row_text(const Spec& spec) {
  return fmt::format(
      "// Where a row of scores stands.\n"
      "struct Row {{\n"
      "  int b, h, h_kv, q_idx, q_pos, seq_q, seq_kv;\n"
      "{}"
      "}};\n",
      spec.varlen ? "  int64_t first_save;  // of this head's queries in the saves\n" : "");
}

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
    "// How many of the ascending values are below the limit, or at most it: all lanes of a warp\n"
    "// search together, 32 places a round.\n"
    "template <bool kOrEqual>\n"
    "__device__ __forceinline__ int count(const int* values, int length, int limit) {\n"
    "  int begin = 0, end = length;\n"
    "  while (begin < end) {\n"
    "    const int step = (end - begin + 31) / 32;\n"
    "    const int place = begin + static_cast<int>(threadIdx.x % 32) * step;\n"
    "    const int value = __ldg(&values[min(place, end - 1)]);\n"
    "    const bool inside = place < end && (kOrEqual ? value <= limit : value < limit);\n"
    "    const int asked = __popc(__ballot_sync(0xffffffffu, inside));\n"
    "    if (asked == 0) break;\n"
    "    end = min(end, begin + asked * step);\n"
    "    begin += (asked - 1) * step + 1;\n"
    "  }\n"
    "  return begin;\n"
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

// CUDA's own functions that the text calls, by this project's for AMD.
std::string for_amd(std::string text) {
  std::string helpers;
  if (has_word(text, "__fdividef")) helpers.append(kDivideAmd).append("\n");
  if (has_word(text, "__ldg")) helpers.append(kReadOnlyAmd).append("\n");
  return helpers +
         replaced(replaced(std::move(text), "__fdividef", "divide_approx"), "__ldg(", "read_only(");
}

std::string score_text(const Spec& spec, const DeviceNames& names) {
  if (is_plain_score(spec)) return "";
  return comment("score", spec.score_text) + text_of({"float",
                                                      "score_of",
                                                      {"float score", kRow, "int kv_idx", kInputs},
                                                      returned(spec.score, names.names())});
}

std::string mask_text(const Spec& spec, const DeviceNames& names) {
  if (is_interval(spec)) return "";
  return comment("mask", spec.mask_text) + text_of({"bool",
                                                    "pair_exists",
                                                    {kRow, "int kv_idx", kInputs},
                                                    returned(spec.mask, names.names())});
}

std::string key_range_text(const Spec& spec, const DeviceNames& names) {
  std::string text = is_interval(spec) ? comment("mask", spec.mask_text) + "//\n" : "";
  text +=
      "// Rows q_first..q_last have no pair outside [begin, end), and every pair inside\n"
      "// [full_begin, full_end).\n"
      "struct KeyRange {\n"
      "  int begin, end, full_begin, full_end;\n"
      "};\n\n";
  const std::vector<std::string> parameters{"int q_first", "int q_last", kRow, kInputs};
  const attention::KeyRange range = range_of(spec);
  if (!is_masked(spec) || range.always_full) {
    return text + text_of({"KeyRange", "key_range", parameters,
                           "  return {0, row.seq_kv, 0, row.seq_kv};\n"});
  }
  const auto clamped = [](const expr::Expr& value, const char* low) {
    const expr::Expr floor =
        low[0] == '0' ? expr::integer(0) : expr::variable(low, expr::Type::Int);
    const expr::Expr seq_kv = expr::variable("seq_kv", expr::Type::Int);
    return expr::make(Op::Max, {expr::make(Op::Min, {value, seq_kv}), floor});
  };
  // A bound that is in range by itself stays as it is.
  const auto printed = [&](const char* member, const expr::Expr& value, const char* low) {
    const bool safe = value.is_number(0) ||
                      (value.op() == Op::Variable && value.name() == "seq_kv" && low[0] == '0');
    return assignment(fmt::format("keys.{}", member),
                      safe && low[0] == '0' ? value : clamped(value, low), names.names());
  };
  std::string body;
  if (attention::searches(range)) body += "  if (row.seq_kv == 0) return {};  // no key to ask\n";
  body += "  KeyRange keys;\n";
  body += printed("begin", range.begin, "0");
  body += printed("end", range.end, "0");
  body += printed("full_begin", range.full_begin, "0");
  body += printed("full_end", range.full_end, "0");
  return text + text_of({"KeyRange", "key_range", parameters, body + "  return keys;\n"});
}

std::string block_test_text(const Spec& spec, const DeviceNames& names) {
  const auto test = test_of(spec);
  if (!test) return "";
  const std::vector<std::string> parameters{"int q_first", "int q_last", "int kv_first",
                                            "int kv_last", kRow,         kInputs};
  return "// Whether a pair of rows q_first..q_last may exist among keys kv_first..kv_last.\n" +
         text_of({"bool", "block_kept", parameters, returned(test->kept, names.names())}) +
         "\n// Whether all of them exist.\n" +
         text_of({"bool", "block_full", parameters, returned(test->full, names.names())});
}

// Sums of the same exponential are one.
std::vector<const Reduction*> distinct_reductions(const RowForm& form, const DeviceNames& names) {
  std::vector<const Reduction*> distinct;
  for (const Reduction& reduction : form.reductions) {
    const bool known = std::any_of(distinct.begin(), distinct.end(), [&](const Reduction* other) {
      return names.reduction(*other) == names.reduction(reduction);
    });
    if (!known) distinct.push_back(&reduction);
  }
  return distinct;
}

std::string reductions_text(const Spec& spec, const RowForm& form, const DeviceNames& names,
                            const Fragment& fragment) {
  std::string text = comment("normalize", spec.normalize_text) + "\n";
  if (form.reductions.empty()) return text + "struct Reductions {};\n";
  text += "// Running, over the pairs seen so far.\nstruct Reductions {\n";
  std::vector<CommentedLine> members;
  for (const Reduction* reduction : distinct_reductions(form, names)) {
    const bool max = reduction->kind == Reduction::Kind::Max;
    members.push_back(
        {fmt::format("  float {} = {};", names.reduction(*reduction), max ? "-INFINITY" : "0"),
         fmt::format("{}({}){}{}", max ? "rowmax" : "rowsum", expr::print(reduction->element),
                     reduction->deferred ? ", " : "",
                     reduction->deferred ? fragment.keys_of_thread : "")});
  }
  return text + commented(members) + "};\n";
}

std::string complete_text(const RowForm& form, const DeviceNames& names, const Fragment& fragment) {
  std::string body;
  for (const Reduction* reduction : distinct_reductions(form, names)) {
    if (!reduction->deferred) continue;
    body += fmt::format("  red.{0} = {1}(red.{0});\n", names.reduction(*reduction),
                        reduction->kind == Reduction::Kind::Max ? fragment.max : fragment.sum);
  }
  return "// A thread's reductions to those of the row.\n"
         "__device__ __forceinline__ Reductions complete(Reductions red) {\n" +
         body + "  return red;\n}\n";
}

// exponential: the row `m` that weights read, from the running maximum.
std::string row_max_text(const RowForm& form, const DeviceNames& names) {
  const auto row = std::find_if(form.rows.begin(), form.rows.end(), [&](const auto& candidate) {
    return candidate.name == form.max_row;
  });
  if (row == form.rows.end()) return "";
  // Earlier rows that it reads are constant along the row of scores.
  expr::Expr value = row->value;
  for (auto earlier = row; earlier != form.rows.begin();) {
    --earlier;
    value = expr::substitute(value, {{earlier->name, earlier->value}});
  }
  const expr::Names base = names.names();
  const expr::Names printed{[&](std::string_view name) {
                              return name == form.max_reduction ? std::string("max_score")
                                                                : base.variable(name);
                            },
                            base.load};
  return fmt::format("// The row value {}.\n", row->name) +
         text_of(
             {"float", "row_max", {"float max_score", kRow, kInputs}, returned(value, printed)});
}

// The definitions of the device functions that the text calls.
std::string helpers_text(const Spec& spec, const RowForm& form, const Fragment& fragment,
                         const std::string& text) {
  std::vector<std::string> names;
  const auto add = [&](const expr::Expr& e) {
    if (!e) return;
    for (std::string& name : expr::device_functions_of(e)) names.push_back(std::move(name));
  };
  add(spec.score);
  add(spec.mask);
  const attention::KeyRange range = range_of(spec);
  for (const expr::Expr& e : {range.begin, range.end, range.full_begin, range.full_end}) add(e);
  if (const auto test = test_of(spec)) {
    add(test->kept);
    add(test->full);
  }
  for (const Reduction& reduction : form.reductions) {
    add(reduction.element);
    add(reduction.rescale);
  }
  for (const attention::RowValue& row : form.rows) add(row.value);
  add(form.weight);
  add(form.rescale);
  add(form.output);
  for (const spec::NamedExpr& save : form.saves) add(save.value);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());

  const auto accuracy =
      spec.dtype == spec::DType::Bf16 ? expr::Accuracy::Bf16 : expr::Accuracy::Full;
  std::string result;
  for (const std::string& name : names) {
    if (!has_word(text, name)) continue;
    // The template of exponential forms defines it, after the user's functions.
    result += form.exponential && name == "exp2_approx"
                  ? "__device__ __forceinline__ float exp2_approx(float x);\n\n"
                  : expr::device_function(name, fragment.vendor, accuracy) + "\n";
  }
  if (has_word(text, "from_bf16")) result.append(kFromBf16).append("\n");
  const bool amd = fragment.vendor == expr::Vendor::Amd;
  if (has_word(text, "from_fp16")) result.append(amd ? kFromFp16Amd : kFromFp16).append("\n");
  if (has_word(text, "count")) result.append(amd ? kCountAmd : kCount).append("\n");
  if (has_word(text, fragment.sum)) result.append(fragment.sum_text).append("\n");
  // The template of exponential forms has its own, after the user's functions.
  if (!form.exponential && has_word(text, fragment.max)) {
    result.append(fragment.max_text).append("\n");
  }
  return result;
}

}  // namespace

bool is_plain_score(const Spec& spec) {
  return spec.score.op() == Op::Variable && spec.score.name() == "score" && spec.scale > 0;
}

bool is_interval(const Spec& spec) { return attention::has_row_limits(range_of(spec)); }

bool has_block_test(const Spec& spec) { return test_of(spec).has_value(); }

bool has_walk(const Spec& spec) {
  return attention::searches(range_of(spec)) || has_block_test(spec);
}

bool is_masked(const Spec& spec) { return !(spec.mask.is_number() && spec.mask.number() != 0); }

UserFunctions user_functions(const Spec& spec, const RowForm& form, target::Family family) {
  const Fragment& fragment = fragment_of(family);
  const bool amd = fragment.vendor == expr::Vendor::Amd;  // whose template tests no whole blocks
  const DeviceNames names(spec, form);
  std::vector<std::string> sections{
      score_text(spec, names), mask_text(spec, names), key_range_text(spec, names),
      amd ? "" : block_test_text(spec, names), reductions_text(spec, form, names, fragment)};
  if (form.exponential) {
    sections.push_back(row_max_text(form, names));
  } else {
    sections.push_back(absorb_functions(spec, form, names, fragment));
  }
  sections.push_back(complete_text(form, names, fragment));
  sections.push_back(epilogue_functions(spec, form, names));

  std::string body;
  for (const std::string& section : sections) {
    if (!section.empty()) body += "\n" + section;
  }
  UserFunctions result;
  result.inputs_have_batch = names.reads_batch();
  std::string text = helpers_text(spec, form, fragment, body) + body.substr(1);
  if (amd) text = for_amd(std::move(text));
  result.text = inputs_text(spec, result.inputs_have_batch) + "\n" + row_text(spec) + "\n" + text;
  return result;
}

}  // namespace attngen::emit
