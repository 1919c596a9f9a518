// The C interface as data: the header, the declarations inside the source and the manifest are
// three spellings of it.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "spec/spec.h"

namespace attngen::emit {

struct Field {
  std::string c_type;  // "const void*"
  std::string name;
  std::string meaning;
};

struct Parameter {
  std::string c_type, name;
};
struct Function {
  std::string result, name;  // "size_t", "llama_forward_workspace"
  std::vector<Parameter> parameters;
  std::string meaning;
};

struct Status {
  std::string name;  // "LLAMA_BAD_HEADS"
  int value = 0;
  std::string text;  // what <name>_status_string returns
};

// One pass: its argument struct and the functions that take it.
struct PassApi {
  spec::Pass pass = spec::Pass::Forward;
  std::string args_name;     // "llama_forward_args"
  std::string args_meaning;  // what holds of all fields alike
  std::vector<Field> fields;
  std::vector<Function> functions;
};

struct Api {
  std::string name, upper_name;
  std::vector<Status> statuses;
  Function status_string;
  std::vector<PassApi> passes;
};

// Of the passes that templates carry, in the spec's order.
Api api_of(const spec::Spec& spec);

// The type of an input inside the argument struct and the kernel: "const float*", "int32_t".
std::string c_type_of(const spec::Input& input);
// How many elements lie along a dimension: "seq_kv", but "total_kv" of packed sequences.
std::string name_in_memory(const spec::Spec& spec, const spec::Input::Dim& dim);
// "[batch, seq_kv]", "[total_kv]" of packed sequences, or "scalar".
std::string shape_text(const spec::Spec& spec, const spec::Input& input);
// Bytes that the input's first element must be aligned to.
int alignment_of(const spec::Spec& spec, const spec::Input& input);

// Enum, structs and prototypes: the body of the header, without includes.
std::string declarations(const Api& api);

// The header <name>.h: C99, no vendor header. `banner` is its first comment.
std::string header(const Api& api, std::string_view banner);

// What replaces parts/api.cuh: the declarations, and how the kernel gets its inputs from them.
// `lengths`: those of the call with which the struct Inputs begins.
std::string source_api(const spec::Spec& spec, const Api& api,
                       const std::set<std::string>& lengths);

}  // namespace attngen::emit
