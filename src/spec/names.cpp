#include "spec/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "spec/form.h"
#include "text/characters.h"

namespace attngen::spec {

using text::is_digit;
using text::is_letter;
using text::is_word;

namespace {

// C17, C++20 and what CUDA and HIP add, sorted.
constexpr auto kKeywords = std::to_array<std::string_view>(
    {"alignas",   "alignof",   "and",           "and_eq",       "asm",
     "auto",      "bitand",    "bitor",         "bool",         "break",
     "case",      "catch",     "char",          "char16_t",     "char32_t",
     "char8_t",   "class",     "co_await",      "co_return",    "co_yield",
     "compl",     "concept",   "const",         "const_cast",   "consteval",
     "constexpr", "constinit", "continue",      "decltype",     "default",
     "delete",    "do",        "double",        "dynamic_cast", "else",
     "enum",      "explicit",  "export",        "extern",       "false",
     "float",     "for",       "friend",        "goto",         "half",
     "if",        "inline",    "int",           "long",         "main",
     "mutable",   "namespace", "new",           "noexcept",     "not",
     "not_eq",    "nullptr",   "operator",      "or",           "or_eq",
     "private",   "protected", "public",        "register",     "reinterpret_cast",
     "requires",  "restrict",  "return",        "short",        "signed",
     "sizeof",    "static",    "static_assert", "static_cast",  "struct",
     "switch",    "template",  "this",          "thread_local", "throw",
     "true",      "try",       "typedef",       "typeid",       "typename",
     "typeof",    "union",     "unsigned",      "using",        "virtual",
     "void",      "volatile",  "warpSize",      "wchar_t",      "while",
     "xor",       "xor_eq"});

// The expression language (docs/spec.md section 4) and its functions, sorted.
constexpr auto kLanguage = std::to_array<std::string_view>(
    {"abs",  "acc",   "and",   "b",      "clamp", "cos",  "d",     "else",  "erf",     "exp",
     "exp2", "false", "floor", "gelu",   "h",     "if",   "inf",   "int",   "log",     "log2",
     "max",  "min",   "not",   "or",     "pow",   "relu", "rsqrt", "scale", "sigmoid", "sign",
     "silu", "sin",   "sqrt",  "square", "tanh",  "true", "where"});

// What one pattern's expressions have besides, and its argument struct, sorted.
constexpr auto kParallel = std::to_array<std::string_view>(
    {"h_kv", "kv_idx", "map", "q_idx", "q_pos", "rowmax", "rowsum", "score", "seq_kv", "seq_q"});
constexpr auto kRecurrent = std::to_array<std::string_view>(
    {"dim", "final_state", "head_dim", "heads", "heads_k", "heads_v", "initial_state", "seq", "t"});

constexpr auto kTensors = std::to_array<std::string_view>({"k", "o", "q", "v"});
// Other fields of the argument structs, and names of emitted code, sorted.
constexpr auto kArguments = std::to_array<std::string_view>(
    {"args",         "attn_mask_bits", "attn_tables",  "batch",         "blockDim",     "blockIdx",
     "block_counts", "block_indices",  "block_mask",   "cu_seqlens_kv", "cu_seqlens_q", "gridDim",
     "heads_kv",     "heads_q",        "int32_t",      "int64_t",       "max_seq_kv",   "max_seq_q",
     "num_pages",    "page_size",      "page_table",   "size",          "size_t",       "status",
     "stream",       "threadIdx",      "token_counts", "token_indices", "total_kv",     "total_q",
     "uint16_t",     "uint8_t",        "v_prefix",     "workspace"});

template <size_t N>
bool contains(const std::array<std::string_view, N>& sorted, std::string_view name) {
  return std::binary_search(sorted.begin(), sorted.end(), name);
}

// "max_1", "sum_12": the running reductions of a derived row form.
bool names_reduction(std::string_view name) {
  if (!name.starts_with("max_") && !name.starts_with("sum_")) return false;
  return name.size() > 4 && std::all_of(name.begin() + 4, name.end(), is_digit);
}

}  // namespace

std::optional<std::string> why_no_identifier(std::string_view text) {
  if (text.empty()) return "it is empty";
  if (text.size() > kMaxName) return fmt::format("it is longer than {} bytes", kMaxName);
  if (!is_letter(text[0])) return "it must begin with a letter of ASCII";
  if (!std::ranges::all_of(text, is_word)) return "use ASCII letters, digits and underscores";
  return std::nullopt;
}

std::optional<std::string> why_keyword(std::string_view name) {
  if (contains(kKeywords, name)) return "it is a word of C, C++ or CUDA";
  return std::nullopt;
}

std::optional<std::string> why_reserved(std::string_view name, Pattern pattern) {
  const bool recurrent = pattern == Pattern::Recurrent;
  if (contains(kLanguage, name)) return "expressions use that name already";
  if (contains(kParallel, name)) {
    return recurrent ? "it is reserved for pattern parallel" : "expressions use that name already";
  }
  if (recurrent && contains(kRecurrent, name)) return "pattern recurrent uses that name already";
  if (contains(kTensors, name)) return "q, k, v and o are the tensors of a call";
  if (contains(kArguments, name)) {
    return "the argument struct or emitted code uses that name already";
  }
  if (name.find("_stride") != std::string_view::npos) {
    return "names with '_stride' belong to the argument struct";
  }
  if (name.starts_with("old_") || name.starts_with("ATTN_") || names_reduction(name)) {
    return "emitted code uses such names";
  }
  return std::nullopt;
}

}  // namespace attngen::spec
