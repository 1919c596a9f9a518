// Partial evaluation of the C preprocessor: from a template, which compiles by itself with default
// values, to a source that reads as if written for one spec.
//
// What the generator knows (ATTN_ names) is resolved; every other directive stays:
//   #include "parts/x.cuh"          the part's text, once; or the replacement given for it
//   #include <cuda.h>               moved to the entry's first include, each once
//   #if ATTN_MASKED ... #endif      the branch that is taken
//   #define ATTN_TILE_KV 128        dropped: a default for compiling the template by itself
//   ATTN_TILE_KV                    its value
//   attention_x, ATTENTION_X        <name>_x, <NAME>_X
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "emit/condition.h"

namespace attngen::emit {

struct Template {
  std::string entry;  // "hopper/forward.cu"
  // A template file's text by its path; includes are sought beside the including file, then beside
  // the entry.
  std::function<std::optional<std::string_view>(std::string_view path)> find;
};

struct Substitution {
  Values values;  // of every ATTN_ name that the template uses
  // Text for an include as it is written ("parts/user.cuh"), inserted as it is (only its own
  // `#include <...>` lines move up).
  std::map<std::string, std::string, std::less<>> replacements;
  std::string name;  // of the kernel: attention_forward becomes <name>_forward
};

// "hopper/forward.cu:12: ATTN_TYLE has no value": an error in the template, not of a user.
struct TemplateError {
  std::string message;
};

std::variant<std::string, TemplateError> preprocess(const Template& input,
                                                    const Substitution& substitution);

}  // namespace attngen::emit
