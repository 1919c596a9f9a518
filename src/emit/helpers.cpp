#include "emit/helpers.h"

#include <string_view>
#include <utility>
#include <vector>

#include "emit/device_text.h"
#include "emit/template_files.h"
#include "expr/print.h"
#include "schedule/search.h"
#include "target/target.h"

namespace attngen::emit {

using attention::PairForm;
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
  for (const auto& [cuda, own] : {std::pair{"__fdividef(", "divide_approx("},
                                  {"__fadd_rn(", "add_apart("},
                                  {"__fsub_rn(", "subtract_apart("}}) {
    text = replaced(std::move(text), cuda, own);
  }
  return called_functions("cdna2/parts/stand_ins.h", text) + text;
}

std::string helpers_text(const Spec& spec, const RowForm& form, const PairForm& pairs,
                         const Fragment& fragment, std::string_view text) {
  const bool amd = fragment.vendor == expr::Vendor::Amd;
  const std::string code = code_of(text) + (amd ? "" : calls_of_parts(form, pairs));
  const expr::Accuracy accuracy =
      schedule::accuracy_of(spec, amd ? target::Family::Cdna2 : target::Family::Hopper);
  std::string result;
  // From the last on: a function may call one whose name comes before its own.
  const std::vector<std::string_view> names = expr::device_function_names();
  for (auto name = names.rbegin(); name != names.rend(); ++name) {
    if (!calls(code, *name) && !calls(result, *name)) continue;
    // AMD's template of exponential forms defines it, after the user's functions.
    result.insert(0, amd && form.exponential && *name == "exp2_approx"
                         ? "__device__ __forceinline__ float exp2_approx(float x);\n\n"
                         : expr::device_function(*name, fragment.vendor, accuracy) + "\n");
  }
  return result + called_functions(fragment.helpers, code);
}

}  // namespace attngen::emit
