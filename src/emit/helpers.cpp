#include "emit/helpers.h"

#include <functional>
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

// Appends the function, once, behind those that it calls.
void add_with_callees(std::string_view name,
                      const std::function<std::string(std::string_view)>& text_of,
                      std::string& result) {
  const std::string text = text_of(name);
  if (result.find(text) != std::string::npos) return;
  for (const std::string_view other : expr::device_function_names()) {
    if (other != name && calls(text, other)) add_with_callees(other, text_of, result);
  }
  result += text;
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
  const auto text_of = [&](std::string_view name) -> std::string {
    // AMD's template of exponential forms defines it, after the user's functions.
    if (amd && form.exponential && name == "exp2_approx") {
      return "__device__ __forceinline__ float exp2_approx(float x);\n\n";
    }
    return expr::device_function(name, fragment.vendor, accuracy) + "\n";
  };
  std::string result;
  for (const std::string_view name : expr::device_function_names()) {
    if (calls(code, name)) add_with_callees(name, text_of, result);
  }
  return result + called_functions(fragment.helpers, code);
}

}  // namespace attngen::emit
