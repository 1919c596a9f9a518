#include "emit/user_functions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "attention/interval_mask.h"
#include "attention/pair_form.h"
#include "attention/reductions.h"
#include "attention/tiles.h"
#include "emit/absorb.h"
#include "emit/api.h"
#include "emit/comment.h"
#include "emit/device_names.h"
#include "emit/device_text.h"
#include "emit/epilogue.h"
#include "emit/fragment.h"
#include "emit/prepass.h"
#include "expr/simplify.h"

namespace attngen::emit {
namespace {

using attention::PairForm;
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
  return attention::block_test(spec.mask, spec.inputs, !spec.varlen);
}

std::string inputs_text(const Spec& spec, bool with_batch, size_t tables) {
  if (spec.inputs.empty()) return "struct Inputs {};\n";
  std::string text = "// The spec's inputs.\nstruct Inputs {\n";
  std::vector<CommentedLine> members;
  if (with_batch) members.push_back({"  int batch;", ""});
  for (const spec::Input& input : spec.inputs) {
    members.push_back({fmt::format("  {} {};", c_type_of(input), input.name),
                       input.shape.empty() ? "" : shape_text(input)});
  }
  if (tables > 0) members.push_back({fmt::format("  int4* {}[{}] = {{}};", kTables, tables), ""});
  return text + commented(members) + "};\n";
}

std::string row_text(const Spec& spec, const PairForm& pairs, bool searched) {
  std::vector<CommentedLine> members;
  if (spec.varlen) {
    members.push_back({"  int64_t first_save;", "of this head's queries in the saves"});
  }
  if (searched)
    members.push_back({"  const int2* keys;", "in shared memory: the row's keys [x, y)"});
  for (const spec::NamedExpr& constant : pairs.constants) {
    const bool is_int = constant.value.type() == expr::Type::Int;
    members.push_back({fmt::format("  {} {};", is_int ? "int" : "float", constant.name.substr(1)),
                       expr::print(constant.value)});
  }
  return "// Where a row of scores stands" +
         std::string(pairs.constants.empty() ? "" : ", and what its pairs have in common") +
         ".\nstruct Row {\n  int b, h, h_kv, q_idx, q_pos, seq_q, seq_kv;\n" + commented(members) +
         "};\n";
}

std::string constants_text(const PairForm& pairs, const DeviceNames& names) {
  if (pairs.constants.empty()) return "";
  std::string body;
  for (const spec::NamedExpr& constant : pairs.constants) {
    body += assignment("row." + constant.name.substr(1), constant.value, names.names());
  }
  return "// Computed once a tile.\n" +
         text_of({"void", "set_constants", {"Row& row", kInputs}, body});
}

std::string lines_text(const PairForm& pairs, const DeviceNames& names) {
  if (pairs.lines.empty()) return "";
  std::string members, body = "  Lines lines;\n";
  for (const attention::Line& line : pairs.lines) {
    members += fmt::format("  float {};\n", line.name.substr(1));
    body += assignment("lines." + line.name.substr(1), line.first, names.names());
  }
  return "// What grows evenly along the keys of a block, at its key kv_idx.\nstruct Lines {\n" +
         members + "};\n\n" +
         text_of({"Lines", "lines_at", {kRow, "int kv_idx", kInputs}, body + "  return lines;\n"});
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
    "// How many of the ascending values are below each limit, or at most it (bit i of kOrEqual): "
    "all\n"
    "// lanes of a warp search together, 32 places a round, for all limits at once.\n"
    "template <unsigned kOrEqual, int kLimits>\n"
    "__device__ __forceinline__ void count(const int* values, int length,\n"
    "                                      const int (&limits)[kLimits], int (&counts)[kLimits]) "
    "{\n"
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

// CUDA's own functions that the text calls, by this project's for AMD.
std::string for_amd(std::string text) {
  std::string helpers;
  if (has_word(text, "__fdividef")) helpers.append(kDivideAmd).append("\n");
  if (has_word(text, "__ldg")) helpers.append(kReadOnlyAmd).append("\n");
  return helpers +
         replaced(replaced(std::move(text), "__fdividef", "divide_approx"), "__ldg(", "read_only(");
}

// In the exponent's units of an exponential form: score_unit of a score.
std::string score_text(const Spec& spec, const PairForm& pairs, const DeviceNames& names) {
  if (is_plain_score(spec) || !pairs.score) return "";
  const std::string heading = comment("score", spec.score_text);
  if (pairs.affine) {
    return heading +
           "// As an exponent of two: one part for a thread's keys of a block, from its first "
           "on,\n// and one for the key `column` places behind.\n" +
           text_of({"float",
                    "exponent_base",
                    {kRow, "int kv_idx", kInputs},
                    returned(pairs.base, names.names())}) +
           "\n" +
           text_of({"float",
                    "exponent_of",
                    {"float product", kRow, "float base", "int column"},
                    returned(pairs.score, names.names())});
  }
  return heading + text_of({"float", "score_of", pair_parameters(pairs),
                            returned(pairs.score, names.names())});
}

std::string mask_text(const Spec& spec, const RowForm& form, const PairForm& pairs,
                      const DeviceNames& names, bool amd) {
  if (is_interval(spec) || (!amd && has_searched_limits(spec, form))) return "";
  return comment("mask", spec.mask_text) + text_of({"bool",
                                                    "pair_exists",
                                                    {kRow, "int kv_idx", kInputs},
                                                    returned(pairs.mask, names.names())});
}

// Searches of the same values go on side by side, since each round waits for memory. The ends read
// what they found.
class Searches {
 public:
  explicit Searches(const DeviceNames& names) : names_(names) {}

  expr::Expr replace(const expr::Expr& e) {
    if (e.operands().empty()) return e;
    if (const auto row = names_.searched_row(e)) return place_of(e, *row);
    std::vector<expr::Expr> operands;
    for (const expr::Expr& operand : e.operands()) operands.push_back(replace(operand));
    return attention::with_operands(e, std::move(operands));
  }

  std::string text() const {
    std::string text;
    for (size_t i = 0; i < groups_.size(); ++i) {
      const Group& group = groups_[i];
      text += fmt::format("  int counts{0}[{1}];\n", i, group.limits.size());
      text += wrapped(fmt::format("  const int limits{}[{}] = {{{}}};", i, group.limits.size(),
                                  fmt::join(group.limits, ", ")));
      text += wrapped(fmt::format("  count<{0}>({1}, {2}, limits{3}, counts{3});", group.or_equal,
                                  group.values, group.length, i));
    }
    return text;
  }

 private:
  struct Group {
    std::string values, length;
    std::vector<std::string> limits;
    unsigned or_equal = 0;  // bit i: of limit i
  };
  expr::Expr place_of(const expr::Expr& search, const DeviceNames::SearchedRow& row) {
    const std::string limit =
        expr::print_c(search.operands().back(), expr::Dialect::Device, names_.names());
    size_t i = 0;
    while (i < groups_.size() && groups_[i].values != row.values) ++i;
    if (i == groups_.size()) groups_.push_back({row.values, row.length, {}, 0});
    Group& group = groups_[i];
    size_t j = 0;
    while (j < group.limits.size() &&
           !(group.limits[j] == limit && (group.or_equal >> j & 1) == unsigned{row.or_equal})) {
      ++j;
    }
    if (j == group.limits.size()) {
      group.limits.push_back(limit);
      group.or_equal |= unsigned{row.or_equal} << j;
    }
    return expr::variable(fmt::format("counts{}[{}]", i, j), expr::Type::Int);
  }

  const DeviceNames& names_;
  std::vector<Group> groups_;
};

std::string searches_text(attention::KeyRange& range, const DeviceNames& names) {
  Searches searches(names);
  for (expr::Expr* end : {&range.begin, &range.end, &range.full_begin, &range.full_end}) {
    *end = searches.replace(*end);
  }
  return searches.text();
}

std::string key_range_text(const Spec& spec, const DeviceNames& names, bool own_heading, bool amd) {
  std::string text = own_heading ? comment("mask", spec.mask_text) + "//\n" : "";
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
  attention::KeyRange found = range;
  if (!amd) body += searches_text(found, names);
  body += "  KeyRange keys;\n";
  body += printed("begin", found.begin, "0");
  body += printed("end", found.end, "0");
  body += printed("full_begin", found.full_begin, "0");
  body += printed("full_end", found.full_end, "0");
  return text + text_of({"KeyRange", "key_range", parameters, body + "  return keys;\n"});
}

// The same of one row, where the ends take a search.
std::string row_keys_text(const Spec& spec, const RowForm& form, const DeviceNames& names) {
  if (!has_searched_limits(spec, form)) return "";
  const attention::KeyRange range = range_of(spec);
  const expr::Expr row = expr::variable("q_idx", expr::Type::Int);
  std::string body = "  int2 keys;\n";
  const auto put = [&](const char* member, const expr::Expr& end, const char* low,
                       const char* high) {
    const expr::Expr value = expr::make(
        Op::Max, {expr::make(Op::Min, {expr::substitute(end, {{"q_first", row}, {"q_last", row}}),
                                       expr::variable(high, expr::Type::Int)}),
                  expr::variable(low, expr::Type::Int)});
    body += assignment(fmt::format("keys.{}", member), value, names.names_within(low, high));
  };
  put("x", range.begin, "tile.begin", "tile.full_begin");
  put("y", range.end, "tile.full_end", "tile.end");
  return "// The keys [x, y) of one row of a tile, within the tile's.\n" +
         text_of({"int2",
                  "row_keys",
                  {kRow, "const KeyRange& tile", kInputs},
                  body + "  return keys;\n"});
}

std::string block_test_text(const Spec& spec, const DeviceNames& names) {
  const auto test = test_of(spec);
  if (!test) return "";
  const std::vector<std::string> parameters{"int q_first", "int q_last", "int kv_first",
                                            "int kv_last", kRow,         kInputs};
  const auto tested = [&](const expr::Expr& condition) {
    return entries_text(condition, test->tables) + returned(condition, names.names());
  };
  return tables_text(test->tables, names) +
         "// Whether a pair of rows q_first..q_last may exist among keys kv_first..kv_last.\n" +
         text_of({"bool", "block_kept", parameters, tested(test->kept)}) +
         "\n// Whether all of them exist.\n" +
         text_of({"bool", "block_full", parameters, tested(test->full)});
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

std::string reductions_text(const Spec& spec, const RowForm& form, const PairForm& pairs,
                            const DeviceNames& names, const Fragment& fragment) {
  std::string text = comment("normalize", spec.normalize_text) + "\n";
  if (pairs.near_logistic) {
    return text +
           "struct Reductions {\n"
           "  bool near = true;  // the warp's blocks so far had small weights alone\n"
           "};\n";
  }
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
  for (const spec::NamedExpr& constant : pairs.constants) add(constant.value);
  for (const attention::Line& line : pairs.lines) add(line.first);
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

// acc is of weights without the factor.
RowForm with_factor(RowForm form, double factor) {
  if (factor == 1) return form;
  const expr::Expr& output = form.output;
  const bool divides = output.op() == Op::Divide && output.operand(0).op() == Op::Variable &&
                       output.operand(0).name() == "acc";
  form.output =
      divides
          ? expr::make(Op::Divide,
                       {output.operand(0),
                        expr::simplify(expr::make(Op::Multiply,
                                                  {output.operand(1), expr::number(1 / factor)}))})
          : expr::simplify(expr::substitute(
                output, {{"acc", expr::make(Op::Multiply, {expr::variable("acc", expr::Type::Float),
                                                           expr::number(factor)})}}));
  return form;
}

}  // namespace

bool is_plain_score(const Spec& spec) {
  return spec.score.op() == Op::Variable && spec.score.name() == "score" && spec.scale > 0;
}

bool is_interval(const Spec& spec) { return attention::has_row_limits(range_of(spec)); }

bool has_searched_limits(const Spec& spec, const RowForm& form) {
  return form.exponential && spec.block_size == 0 && attention::has_searched_limits(range_of(spec));
}

bool has_block_test(const Spec& spec) { return test_of(spec).has_value(); }

size_t id_tables(const Spec& spec) {
  const auto test = test_of(spec);
  return test ? test->tables.size() : 0;
}

bool has_walk(const Spec& spec) {
  return attention::searches(range_of(spec)) || has_block_test(spec);
}

bool is_masked(const Spec& spec) { return !(spec.mask.is_number() && spec.mask.number() != 0); }

UserFunctions user_functions(const Spec& spec, const RowForm& form, target::Family family,
                             bool near) {
  const Fragment& fragment = fragment_of(family);
  const bool amd = fragment.vendor == expr::Vendor::Amd;  // whose template tests no whole blocks
  const DeviceNames names(spec, form);
  const PairForm pairs = attention::pair_form(spec, form, near);
  std::vector<std::string> sections{
      constants_text(pairs, names),
      lines_text(pairs, names),
      score_text(spec, pairs, names),
      mask_text(spec, form, pairs, names, amd),
      key_range_text(spec, names, mask_text(spec, form, pairs, names, amd).empty(), amd),
      amd ? "" : row_keys_text(spec, form, names),
      amd ? "" : block_test_text(spec, names),
      reductions_text(spec, form, pairs, names, fragment)};
  if (form.exponential) {
    sections.push_back(row_max_text(form, names));
  } else {
    sections.push_back(absorb_functions(spec, form, pairs, names, fragment));
  }
  sections.push_back(complete_text(form, names, fragment));
  sections.push_back(epilogue_functions(spec, with_factor(form, pairs.weight_factor), names));

  std::string body;
  for (const std::string& section : sections) {
    if (!section.empty()) body += "\n" + section;
  }
  UserFunctions result;
  result.inputs_have_batch = names.reads_batch();
  std::string text = helpers_text(spec, form, pairs, fragment, body) + body.substr(1);
  if (amd) text = for_amd(std::move(text));
  result.text = inputs_text(spec, result.inputs_have_batch, amd ? 0 : id_tables(spec)) + "\n" +
                row_text(spec, pairs, !amd && has_searched_limits(spec, form)) + "\n" + text;
  return result;
}

}  // namespace attngen::emit
