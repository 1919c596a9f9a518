#include "emit/api.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "attention/output_columns.h"
#include "attention/row_tables.h"
#include "emit/comment.h"
#include "emit/device_text.h"
#include "emit/forward_api.h"
#include "emit/layout.h"
#include "text/characters.h"

namespace attngen::emit {
namespace {

using spec::Input;

struct StatusText {
  const char* name;
  const char* text;
};
// In the order of their values; the texts are those of the templates. Values are part of the binary
// interface: add at the end.
constexpr std::array kStatuses = {
    StatusText{"OK", "ok"},
    StatusText{"BAD_ARGS_SIZE", "args.size is not the size of the argument struct"},
    StatusText{"NULL_POINTER", "a required pointer is null"},
    StatusText{"MISALIGNED",
               "a pointer is not aligned: q, k, v, o, workspace to 16 bytes, others as documented"},
    StatusText{"BAD_LENGTH", "a batch or sequence length is negative or too large"},
    StatusText{"BAD_HEADS", "heads_q or heads_kv is not what the kernel was generated for"},
    StatusText{"BAD_STRIDE",
               "a stride is negative, no multiple of 8 elements or too large, or o's is 0"},
    StatusText{"BAD_WORKSPACE", "the workspace is null"},
    StatusText{"BAD_DEVICE",
               "the device is not one that the kernel is for, or its driver is too old"},
    StatusText{"LAUNCH_FAILED", "the launch failed"},
};

// BAD_LENGTH where a length is fixed and of a cache in pages, MISALIGNED where values are columns
// of the keys.
constexpr const char* kBadFixed =
    "a batch or sequence length is negative, differs from the fixed one, or is too large";
constexpr const char* kBadPages =
    "a length or the number of pages is negative or too large, or a length or the page size is not "
    "the kernel's";
constexpr const char* kMisalignedKeys =
    "a pointer is not aligned: q, k, o, workspace to 16 bytes, others as documented";

std::string_view meaning_of(const StatusText& status, const spec::Spec& spec) {
  const std::string_view name = status.name;
  if (spec.page && name == "BAD_LENGTH") return kBadPages;
  const bool fixed = spec.fixed.batch || spec.fixed.seq_q || spec.fixed.seq_kv;
  if (fixed && name == "BAD_LENGTH") return kBadFixed;
  if (spec.v_prefix && name == "MISALIGNED") return kMisalignedKeys;
  return status.text;
}

std::string prototype(const Function& function) {
  std::vector<std::string> parameters;
  for (const Parameter& parameter : function.parameters) {
    parameters.push_back(parameter.c_type + " " + parameter.name);
  }
  return fmt::format("{} {}({});\n", function.result, function.name, fmt::join(parameters, ", "));
}

std::string status_enum(const Api& api) {
  std::vector<CommentedLine> lines;
  for (const Status& status : api.statuses) {
    const bool last = &status == &api.statuses.back();
    lines.push_back(
        {fmt::format("  {} = {}{}", status.name, status.value, last ? "" : ","), status.text});
  }
  return fmt::format("typedef enum {0}_status {{\n{1}}} {0}_status;\n", api.name, commented(lines));
}

std::string args_struct(const PassApi& pass) {
  std::vector<CommentedLine> lines;
  for (const Field& field : pass.fields) {
    lines.push_back({fmt::format("  {} {};", field.c_type, field.name), field.meaning});
  }
  return fmt::format("typedef struct {0} {{\n{1}}} {0};\n", pass.args_name, commented(lines));
}

// `head(const args& args) { return {members}; }`, on one line if it fits.
std::string getter(const std::string& head, const std::string& args,
                   const std::vector<std::string>& members) {
  const std::string signature = head + "(" + args + (members.empty() ? "" : " args") + ") {";
  const std::string body = fmt::format("return {{{}}};", fmt::join(members, ", "));
  const std::string line = signature + " " + body + " }\n";
  return line.size() <= kColumns + 1 ? line : signature + "\n" + wrapped("  " + body) + "}\n";
}

const char* element_type(Input::Element element) {
  switch (element) {
    case Input::Element::F32:
      return "float";
    case Input::Element::I32:
      return "int32_t";
    case Input::Element::U8:
      return "uint8_t";
    case Input::Element::Bf16:
    case Input::Element::Fp16:
      return "uint16_t";
  }
  return "";
}

// A statement of check_pointers.
std::string refused_if(const std::string& condition, const std::string& status) {
  std::string line = fmt::format("  if ({}) return {};\n", condition, status);
  if (line.size() <= kColumns + 1) return line;
  return fmt::format("  if ({}) {{\n    return {};\n  }}\n", condition, status);
}

std::string misaligned_if(const std::string& pointer, int bytes, const Api& api) {
  return refused_if(fmt::format("reinterpret_cast<uintptr_t>(args.{}) % {} != 0", pointer, bytes),
                    api.upper_name + "_MISALIGNED");
}

// Of inputs and saved values.
std::string pointer_checks(const spec::Spec& spec, const Api& api) {
  std::string checks;
  for (const Input& input : spec.inputs) {
    if (input.shape.empty()) continue;
    // A tensor along the keys has no element when there are none; the other lengths are above zero.
    const bool along_keys = spec::has_dim(input, Input::Dim::Kind::SeqKv);
    const std::string any_key =
        fmt::format(" && args.{} > 0", name_in_memory(spec, {Input::Dim::Kind::SeqKv}));
    checks += refused_if(fmt::format("args.{} == nullptr{}", input.name, along_keys ? any_key : ""),
                         api.upper_name + "_NULL_POINTER");
    const int bytes = alignment_of(spec, input);
    if (bytes > 1) checks += misaligned_if(input.name, bytes, api);
  }
  for (const spec::NamedExpr& save : spec.normalize.saves) {
    checks += misaligned_if(save.name, 4, api);
  }
  return checks;
}

}  // namespace

int alignment_of(const spec::Spec& spec, const Input& input) {
  const bool copied =
      attention::is_read_by_columns(spec, input) || attention::is_read_by_whole_rows(spec, input);
  return copied ? 16 : spec::bytes_of(input.element);
}

std::string name_in_memory(const spec::Spec& spec, const Input::Dim& dim) {
  if (!spec.varlen || !spec::is_length(dim.kind)) return spec::name_of(dim);
  return dim.kind == Input::Dim::Kind::SeqQ ? "total_q" : "total_kv";
}

std::string c_type_of(const Input& input) {
  const bool half = input.element == Input::Element::Bf16 || input.element == Input::Element::Fp16;
  if (input.shape.empty()) return half ? "float" : element_type(input.element);
  return fmt::format("const {}*", element_type(input.element));
}

std::string shape_text(const spec::Spec& spec, const Input& input) {
  if (input.shape.empty()) return "scalar";
  std::vector<std::string> dims;
  for (const Input::Dim& dim : input.shape) dims.push_back(name_in_memory(spec, dim));
  return fmt::format("[{}]", fmt::join(dims, ", "));
}

Api api_of(const spec::Spec& spec) {
  Api api;
  api.name = spec.name;
  api.upper_name = text::upper(spec.name);
  int value = 0;
  for (const StatusText& status : kStatuses) {
    api.statuses.push_back(
        {api.upper_name + "_" + status.name, value++, std::string(meaning_of(status, spec))});
  }
  api.status_string = {"const char*",
                       spec.name + "_status_string",
                       {{spec.name + "_status", "status"}},
                       "The meaning of a status."};
  for (const spec::Pass pass : spec.passes) {
    if (pass == spec::Pass::Forward) api.passes.push_back(forward_api(spec));
  }
  return api;
}

std::string declarations(const Api& api) {
  std::string text = status_enum(api) + "\n" + comment("", api.status_string.meaning) +
                     prototype(api.status_string);
  for (const PassApi& pass : api.passes) {
    text += "\n" + comment("", pass.args_meaning) + args_struct(pass);
    for (const Function& function : pass.functions) {
      text += "\n" + comment("", function.meaning) + prototype(function);
    }
  }
  return text;
}

std::string header(const Api& api, std::string_view banner) {
  const std::string guard = api.upper_name + "_H_";
  return fmt::format(
      "{0}#ifndef {1}\n#define {1}\n\n#include <stddef.h>\n#include <stdint.h>\n\n"
      "#ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n{2}\n"
      "#ifdef __cplusplus\n}}  // extern \"C\"\n#endif\n\n#endif  // {1}\n",
      banner, guard, laid_out(declarations(api)));
}

std::string source_api(const spec::Spec& spec, const Api& api,
                       const std::set<std::string>& lengths) {
  std::string text = "// The C interface, as in " + spec.name + ".h.\n";
  text += "extern \"C\" {\n\n" + declarations(api) + "\n}  // extern \"C\"\n\nnamespace {\n\n";

  std::vector<std::string> members;
  members.reserve(lengths.size() + spec.inputs.size());
  for (const std::string& length : lengths) {
    members.push_back(fmt::format("static_cast<int>(args.{})", length));
  }
  for (const Input& input : spec.inputs) members.push_back("args." + input.name);
  const std::string args = fmt::format("const {}_forward_args&", spec.name);
  text += getter("Inputs inputs_of", args, members);
  members.clear();
  for (const spec::NamedExpr& save : spec.normalize.saves) members.push_back("args." + save.name);
  text += getter("Saves saves_of", args, members);
  const std::string checks = pointer_checks(spec, api);
  text += fmt::format("{0}_status check_pointers({1}{2}) {{\n{3}  return {4}_OK;\n}}\n", spec.name,
                      args, checks.empty() ? "" : " args", checks, api.upper_name);
  return text + "\n}  // namespace\n";
}

}  // namespace attngen::emit
