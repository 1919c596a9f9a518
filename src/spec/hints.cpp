#include "spec/hints.h"

#include <fmt/format.h>

#include <algorithm>

#include "spec/report.h"

namespace attngen::spec {
namespace {

struct Hint {
  std::string_view word;
  const char* text;
};

constexpr const char* kCausalMask = "write mask: kv_idx <= q_pos";
constexpr const char* kWindowMask = "write mask: kv_idx <= q_pos and q_pos - kv_idx < 1024";
constexpr const char* kSoftCap = "write score: 30 * tanh(score / 30)";

constexpr Hint kKeys[] = {
    {"causal", kCausalMask},
    {"is_causal", kCausalMask},
    {"window", kWindowMask},
    {"sliding_window", kWindowMask},
    {"softcap", kSoftCap},
    {"soft_cap", kSoftCap},
    {"alibi", "write score: score + slopes[h] * (kv_idx - q_pos), slopes being one of the inputs"},
};

constexpr const char* kNumber = "write the number: of all lengths only seq_q and seq_kv are names";
constexpr const char* kNoOrder = "no reduction depends on the order of keys: see rowmax and rowsum";

// Of variables and of functions.
constexpr Hint kNames[] = {
    {"causal", "write kv_idx <= q_pos"},
    {"batch", "b is its index; how many there are has no name"},
    {"cumsum", kNoOrder},
    {"dim", kNumber},
    {"head_dim", kNumber},
    {"heads", kNumber},
    {"heads_kv", kNumber},
    {"heads_q", kNumber},
    {"rowcumsum", kNoOrder},
    {"rowmean", "write rowsum(x) / rowsum(1)"},
    {"rowmin", "write -rowmax(-x)"},
    {"seq", "write seq_q or seq_kv"},
    {"seq_len", "write seq_q or seq_kv"},
};

// What others write, and specs.
constexpr Hint kSynonyms[] = {
    {"bfloat16", "bf16"}, {"float16", "fp16"}, {"half", "fp16"}, {"f16", "fp16"},
    {"float32", "f32"},   {"fp32", "f32"},     {"float", "f32"}, {"int32", "i32"},
    {"int", "i32"},       {"uint8", "u8"},     {"bool", "u8"},   {"yes", "true"},
    {"on", "true"},       {"True", "true"},    {"no", "false"},  {"off", "false"},
    {"False", "false"},
};

struct ValueHint {
  std::string_view pointer;
  std::string_view word;
  const char* text;
};

constexpr const char* kStorage = "q, k, v and o are stored in 16 bits; sums are fp32 in any case";

constexpr ValueHint kValues[] = {
    {"/dtype", "fp32", kStorage},
    {"/dtype", "float32", kStorage},
    {"/normalize", "sigmoid", "write normalize: {weight: sigmoid(score)}"},
    {"/normalize", "relu", "write normalize: {weight: relu(score)}"},
};

template <size_t N>
const char* find(const Hint (&hints)[N], std::string_view word) {
  const auto* found =
      std::find_if(hints, hints + N, [&](const Hint& hint) { return hint.word == word; });
  return found == hints + N ? "" : found->text;
}

bool takes_number(const Type& type) {
  return type.kind == Type::Kind::Whole || type.kind == Type::Kind::Number ||
         std::any_of(type.parts.begin(), type.parts.end(), takes_number);
}

bool takes_word(const Type& type, const std::string& word) {
  return (type.kind == Type::Kind::Bool && (word == "true" || word == "false")) ||
         std::find(type.words.begin(), type.words.end(), word) != type.words.end();
}

// heads: 32 for heads: {q: 32, kv: 32}.
std::string as_map(const Node& value, const Type& type) {
  std::string entries;
  for (const Key& key : type.keys) {
    if (!key.required || key.type.kind != Type::Kind::Whole) return "";
    entries += fmt::format("{}{}: {}", entries.empty() ? "" : ", ", key.name, value.text);
  }
  return fmt::format("write {{{}}}", entries);
}

// The number that a text of no number stands for: .5, or the name of a constant.
std::string as_number(const std::string& text, const Node& root) {
  const Node* constants = root.find("constants");
  const Node* constant = constants != nullptr ? constants->find(text) : nullptr;
  if (constant != nullptr) return "write " + constant->text;
  Node completed;
  completed.kind = Node::Kind::Scalar;
  completed.text = "0" + text;
  return text.starts_with('.') && number_of(completed) ? "write " + completed.text : "";
}

}  // namespace

std::string hint_on_key(std::string_view key) { return find(kKeys, key); }

const std::map<std::string, std::string, std::less<>>& hints_on_names() {
  static const auto hints = [] {
    std::map<std::string, std::string, std::less<>> all;
    for (const Hint& hint : kNames) all.emplace(hint.word, hint.text);
    return all;
  }();
  return hints;
}

std::string hint_on_value(const Node& value, std::string_view pointer, const Type& type,
                          const Node& root) {
  if (value.kind != Node::Kind::Scalar || value.text.size() > kMaxName) return "";
  for (const ValueHint& hint : kValues) {
    if (hint.pointer == pointer && hint.word == value.text) return hint.text;
  }
  if (type.kind == Type::Kind::List) {
    return fmt::format(fmt::runtime(value.quoted ? "write [\"{}\"]" : "write [{}]"), value.text);
  }
  if (type.kind == Type::Kind::Object) return number_of(value) ? as_map(value, type) : "";
  if (takes_number(type) && !number_of(value)) return as_number(value.text, root);
  const std::string synonym = find(kSynonyms, value.text);
  return takes_word(type, synonym) ? "write " + synonym : "";
}

}  // namespace attngen::spec
