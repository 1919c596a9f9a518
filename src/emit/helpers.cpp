#include "emit/helpers.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "emit/device_text.h"
#include "emit/mask_functions.h"
#include "emit/template_files.h"
#include "expr/print.h"

namespace attngen::emit {

using attention::PairForm;
using attention::Reduction;
using attention::RowForm;
using spec::Spec;

namespace {

std::string replaced(std::string text, std::string_view word, std::string_view by) {
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + by.size())) {
    text.replace(at, word.size(), by);
  }
  return text;
}

// What the Hopper template itself calls.
std::string calls_of_parts(const RowForm& form, const PairForm& pairs) {
  std::string calls;
  if (form.exponential) calls += "exp2_approx(); quad_max();\n";  // softmax.cuh
  if (pairs.bias && pairs.bias->input.element == spec::Input::Element::Fp16) {
    calls += "from_fp16();\n";  // bias.cuh
  }
  return calls;
}

}  // namespace

std::string for_amd(std::string text) {
  text = replaced(replaced(std::move(text), "__fdividef", "divide_approx"), "__ldg(", "read_only(");
  return called_functions("cdna2/parts/stand_ins.h", text) + text;
}

std::string helpers_text(const Spec& spec, const RowForm& form, const PairForm& pairs,
                         const Fragment& fragment, std::string text) {
  const bool amd = fragment.vendor == expr::Vendor::Amd;
  if (!amd) text += calls_of_parts(form, pairs);
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
  for (const expr::Expr& word : pairs.key_words) add(word);
  for (const spec::NamedExpr& constant : pairs.constants) add(constant.value);
  for (const attention::Line& line : pairs.lines) add(line.first);
  for (const attention::KeyRow& row : pairs.key_rows) add(row.load);
  const attention::KeyRange range = range_of(spec);
  for (const expr::Expr& e : {range.begin, range.end, range.full_begin, range.full_end}) add(e);
  if (const auto test = attention::block_test(spec)) {
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
    // AMD's template of exponential forms defines it, after the user's functions.
    result.insert(0, amd && form.exponential && *name == "exp2_approx"
                         ? "__device__ __forceinline__ float exp2_approx(float x);\n\n"
                         : expr::device_function(*name, fragment.vendor, accuracy) + "\n");
  }
  return result + called_functions(fragment.helpers, text);
}

}  // namespace attngen::emit
