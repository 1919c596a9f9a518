#include "spec/hints.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>

#include "expr/evaluate.h"
#include "expr/parse.h"
#include "spec/names.h"
#include "spec/report.h"
#include "text/characters.h"
#include "text/lookalikes.h"

namespace attngen::spec {
namespace {

struct Hint {
  std::string_view word;
  const char* text;
  const char* number = "";  // at each '$' of the text, where the user gives none
};

constexpr const char* kCausalMask = "write mask: kv_idx <= q_pos";
constexpr const char* kWindowMask = "write mask: kv_idx <= q_pos and q_pos - kv_idx < $";
constexpr const char* kMaskMod = "write mask: and the condition, such as kv_idx <= q_pos";
constexpr const char* kSoftCap = "write score: $ * tanh(score / $)";
constexpr const char* kAlibi =
    "write score: score + slopes[h] * (kv_idx - q_pos), slopes being one of the inputs";
constexpr const char* kBias =
    "write score: score + bias[h, q_idx, kv_idx], bias being one of the inputs";
constexpr const char* kScale = "write scale: and the number; the default is 1/sqrt(head_dim.qk)";
constexpr const char* kHeads = "write heads: {q: 32, kv: 8}";
constexpr const char* kHeadDim = "write head_dim: {qk: $, v: $}";
constexpr const char* kSizes =
    "a call says it; what is to be fast is written as workload: {batch: 1, seq_q: 4096}";
constexpr const char* kTarget = "write targets: [h100]";
constexpr const char* kDropout = "kernels have no dropout: leave it out";
constexpr const char* kVarlen = "write varlen: true";
constexpr const char* kPages = "write kv_cache: {paged: 64}";
constexpr const char* kNormalizer =
    "it belongs in normalize: {rows: {l: rowsum(abs(score))}, weight: score, output: acc / l}";
constexpr const char* kSave = "it belongs in normalize, here softmax's: {save: {lse: m + log(l)}}";
constexpr const char* kOutput = "it belongs in normalize, here softmax's: {output: acc / l}";
constexpr const char* kSinks =
    "write them in normalize, as m: max(rowmax(score), sink[h]) and l: rowsum(exp(score - m)) + "
    "exp(sink[h] - m), sink being one of the inputs";
constexpr const char* kBlocks = "write blocks: {size: $, from: bitmap}";
constexpr const char* kBefore = "do it to q, k and v before the call";
constexpr const char* kRotary = "rotate q and k before the call: kernels take them as they are";
constexpr const char* kNoFp8 = "kernels are bf16 or fp16, keys and values too: there is no fp8";
constexpr const char* kLet = "names for parts of expressions belong in let: {x: score / 30}";

// Of the whole text.
constexpr Hint kKeys[] = {
    {"causal", kCausalMask},
    {"is_causal", kCausalMask},
    {"window", kWindowMask, "1024"},
    {"window_size", kWindowMask, "1024"},
    {"sliding_window", kWindowMask, "1024"},
    {"mask_mod", kMaskMod},
    {"attn_mask", kMaskMod},
    {"attention_mask", kMaskMod},
    {"score_mod", "write score: and the expression, such as 30 * tanh(score / 30)"},
    {"softcap", kSoftCap, "30"},
    {"soft_cap", kSoftCap, "30"},
    {"logits_soft_cap", kSoftCap, "30"},
    {"attn_logit_softcapping", kSoftCap, "30"},
    {"alibi", kAlibi},
    {"alibi_slopes", kAlibi},
    {"bias", kBias},
    {"attn_bias", kBias},
    {"softmax_scale", kScale},
    {"sm_scale", kScale},
    {"scaling", kScale},
    {"softmax", "write normalize: softmax"},
    {"num_heads", kHeads},
    {"n_heads", kHeads},
    {"num_attention_heads", kHeads},
    {"num_key_value_heads", kHeads},
    {"num_kv_heads", kHeads},
    {"kv_heads", kHeads},
    {"heads_kv", kHeads},
    {"heads_q", kHeads},
    {"enable_gqa", kHeads},
    {"head_size", kHeadDim, "128"},
    {"d_head", kHeadDim, "128"},
    {"seq", kSizes},
    {"seq_q", kSizes},
    {"seq_kv", kSizes},
    {"seq_len", kSizes},
    {"seqlen", kSizes},
    {"max_seqlen", kSizes},
    {"max_seq_len", kSizes},
    {"max_position_embeddings", kSizes},
    {"batch", kSizes},
    {"batch_size", kSizes},
    {"gpu", kTarget},
    {"device", kTarget},
    {"arch", kTarget},
    {"dropout", kDropout},
    {"dropout_p", kDropout},
    {"attention_dropout", kDropout},
    {"cu_seqlens", kVarlen},
    {"page_size", "write kv_cache: {paged: $}", "64"},
    {"block_table", kPages},
    {"torch_dtype", "write dtype: bf16"},
    {"rows", kNormalizer},
    {"weight", kNormalizer},
    {"save", kSave},
    {"output", kOutput},
    {"sink", kSinks},
    {"sinks", kSinks},
    {"block_mask", kBlocks, "64"},
    {"block_size", kBlocks, "64"},
    {"version", "write attngen: 1"},
    {"rope", kRotary},
    {"rotary", kRotary},
    {"rope_theta", kRotary},
    {"kv_dtype", kNoFp8},
    {"kv_cache_dtype", kNoFp8},
    {"query", kBefore},
    {"key", kBefore},
    {"value", kBefore},
    {"define", kLet},
    {"variables", kLet},
    {"terms", kLet},
    {"where", kLet},
};

// Of heads, in pattern parallel, of head_dim and of kv_cache.
constexpr Hint kHeadCounts[] = {
    {"query", "write q"},  {"queries", "write q"}, {"key", "write kv"},      {"keys", "write kv"},
    {"value", "write kv"}, {"values", "write kv"}, {"heads_kv", "write kv"}, {"heads_q", "write q"},
};
constexpr const char* kOneWidth = "one number for both: qk: $";
constexpr Hint kWidths[] = {{"q", kOneWidth, "128"}, {"k", kOneWidth, "128"}};
constexpr const char* kPaged = "write paged: $";
constexpr Hint kCaches[] = {
    {"page_size", kPaged, "64"},
    {"block_size", kPaged, "64"},
    {"size", kPaged, "64"},
    {"page", kPaged, "64"},
};

constexpr const char* kTwoLengths = "write seq_q and seq_kv";

// Of a workload and of fixed lengths.
constexpr Hint kLengths[] = {
    {"seq", kTwoLengths},         {"seq_len", kTwoLengths},      {"seqlen", kTwoLengths},
    {"length", kTwoLengths},      {"batch_size", "write batch"}, {"seqlen_q", "write seq_q"},
    {"seqlen_k", "write seq_kv"}, {"seqlen_kv", "write seq_kv"}, {"kv_len", "write seq_kv"},
};

// Of dimensions of inputs, in pattern parallel.
constexpr const char* kOneLength = "write seq_q or seq_kv";
constexpr Hint kDims[] = {
    {"seq_len", kOneLength},
    {"seqlen", kOneLength},
    {"length", kOneLength},
    {"num_heads", "write heads"},
    {"num_kv_heads", "write heads_kv"},
    {"head_dim", "write dim"},
    {"d", "write dim"},
    {"kv_heads", "write heads_kv"},
    {"h", "write heads"},
    {"b", "write batch"},
    {"s", kOneLength},
};

constexpr const char* kNumber = "write the number: of all lengths only seq_q and seq_kv are names";
constexpr const char* kNoOrder = "no reduction depends on the order of keys: see rowmax and rowsum";
constexpr const char* kNoThreshold =
    "it needs the scores of a row in order; kernels have their rowmax and rowsum alone";
constexpr const char* kNoQueries =
    "it needs a key's scores with all queries; kernels reduce over the keys of a query alone";
constexpr const char* kKey = "write kv_idx, which counts keys from 0";
constexpr const char* kWindow = "write kv_idx <= q_pos and q_pos - kv_idx < n, n being the number";
constexpr const char* kCap = "write cap * tanh(score / cap), cap being the number";

constexpr const char* kOwnSequence =
    "q_idx, kv_idx, seq_q and seq_kv are of the pair's own sequence; b is its index";
constexpr const char* kOnePair =
    "it is the score of this pair: other pairs' and other heads' scores are not known here";
constexpr const char* kNoRandom = "kernels have no random numbers, and no dropout";
constexpr const char* kTanhGelu =
    "write 0.5 * x * (1 + tanh(0.79788456 * (x + 0.044715 * x * x * x))); gelu(x) is by erf";
constexpr const char* kNoValue = "leave the key out: it has a default";

// Of variables, and of what is called or has indices, whose words end in a bracket; in small
// letters.
constexpr Hint kNames[] = {
    {"causal", "write kv_idx <= q_pos"},
    {"batch", "b is its index; how many there are has no name"},
    {"batch_idx", "write b"},
    {"cu_seqlens_kv", kOwnSequence},
    {"cu_seqlens_q", kOwnSequence},
    {"dim", kNumber},
    {"head", "write h"},
    {"head_dim", kNumber},
    {"head_idx", "write h"},
    {"heads", kNumber},
    {"heads_kv", kNumber},
    {"heads_q", kNumber},
    {"i", "write q_pos, or q_idx, which counts queries from 0"},
    {"infinity", "write inf"},
    {"j", kKey},
    {"k_pos", kKey},
    {"kv", kKey},
    {"kv_len", "write seq_kv"},
    {"kv_pos", kKey},
    {"l", "declare it in normalize, which alone reads it: rows: {l: rowsum(exp(score - m))}"},
    {"m", "declare it in normalize, which alone reads it: rows: {m: rowmax(score)}"},
    {"nan", "there is none; pairs that do not count are left out by mask"},
    {"none", kNoValue},
    {"null", kNoValue},
    {"pi", "write 3.14159265"},
    {"q_len", "write seq_q"},
    {"seq", kOneLength},
    {"seq_len", kOneLength},
    {"seqlen", kOneLength},
    {"seqlen_k", "write seq_kv"},
    {"seqlen_q", "write seq_q"},
    {"alibi(", "write score + slopes[h] * (kv_idx - q_pos), slopes being one of the inputs"},
    {"bernoulli(", kNoRandom},
    {"causal(", "write kv_idx <= q_pos"},
    {"ceil(", "write -floor(-x)"},
    {"clip(", "write clamp(x, low, high)"},
    {"colmax(", kNoQueries},
    {"colsum(", kNoQueries},
    {"cu_seqlens_kv[", kOwnSequence},
    {"cu_seqlens_q[", kOwnSequence},
    {"cumsum(", kNoOrder},
    {"dropout(", kDropout},
    {"elu(", "write relu(x) + min(exp(x), 1) - 1"},
    {"expm1(", "write exp(x) - 1"},
    {"float(", "an i32 becomes an f32 where it must; of infinity, write inf"},
    {"fmod(", "write x % y"},
    {"gelu_new(", kTanhGelu},
    {"gelu_tanh(", kTanhGelu},
    {"leaky_relu(", "write max(x, 0.01 * x)"},
    {"ln(", "write log(x)"},
    {"log10(", "write log(x) / log(10)"},
    {"log1p(", "write log(1 + x)"},
    {"maximum(", "write max(x, y)"},
    {"mean(", "write rowsum(x) / rowsum(1), in rows"},
    {"minimum(", "write min(x, y)"},
    {"mod(", "write x % y"},
    {"power(", "write pow(x, y)"},
    {"rand(", kNoRandom},
    {"randn(", kNoRandom},
    {"random(", kNoRandom},
    {"round(", "write floor(x + 0.5)"},
    {"score[", kOnePair},
    {"rowcumsum(", kNoOrder},
    {"rowmean(", "write rowsum(x) / rowsum(1), in rows"},
    {"rowmin(", "write -rowmax(-x)"},
    {"sliding_window(", kWindow},
    {"soft_cap(", kCap},
    {"softcap(", kCap},
    {"softmax(", "write normalize: softmax, which is the default"},
    {"softplus(", "write relu(x) + log(1 + exp(-abs(x)))"},
    {"sqr(", "write square(x)"},
    {"sum(", "write rowsum(x), in rows"},
    {"swish(", "write silu(x)"},
    {"tan(", "write sin(x) / cos(x)"},
    {"topk(", kNoThreshold},
    {"window(", kWindow},
};

// What others write, in small letters, and specs.
constexpr Hint kSynonyms[] = {
    {"bfloat16", "bf16"}, {"float16", "fp16"}, {"half", "fp16"}, {"f16", "fp16"},
    {"float32", "f32"},   {"fp32", "f32"},     {"float", "f32"}, {"int32", "i32"},
    {"int64", "i32"},     {"i64", "i32"},      {"long", "i32"},  {"int", "i32"},
    {"uint8", "u8"},      {"bool", "u8"},      {"yes", "true"},  {"on", "true"},
    {"true", "true"},     {"no", "false"},     {"off", "false"}, {"false", "false"},
};

struct ValueHint {
  std::string_view pointer;
  std::string_view word;  // in small letters; "" of what is no scalar
  const char* text;
};

constexpr const char* kStorage = "q, k, v and o are stored in 16 bits; sums are fp32 in any case";
constexpr const char* kPlusOne =
    "write normalize: {rows: {m: \"max(rowmax(score), 0)\", l: rowsum(exp(score - m)) + exp(-m)}, "
    "weight: exp(score - m), output: acc / l}";

constexpr ValueHint kValues[] = {
    {"/dtype", "fp32", kStorage},
    {"/dtype", "float32", kStorage},
    {"/dtype", "fp8", kNoFp8},
    {"/dtype", "float8", kNoFp8},
    {"/dtype", "e4m3", kNoFp8},
    {"/dtype", "e5m2", kNoFp8},
    {"/dtype", "fp8_e4m3", kNoFp8},
    {"/dtype", "fp8_e5m2", kNoFp8},
    {"/dtype", "float8_e4m3fn", kNoFp8},
    {"/dtype", "float8_e5m2", kNoFp8},
    {"/scale", "", "leave it out: the default is 1/sqrt(head_dim.qk)"},
    {"/scale", "none", "leave it out: the default is 1/sqrt(head_dim.qk)"},
    {"/normalize", "linear", "write normalize: none"},
    {"/normalize", "sigmoid", "write normalize: {weight: sigmoid(score)}"},
    {"/normalize", "relu", "write normalize: {weight: relu(score)}"},
    {"/normalize", "l1",
     "write normalize: {rows: {l: rowsum(abs(score))}, weight: score, output: acc / l}"},
    {"/normalize", "entmax", kNoThreshold},
    {"/normalize", "entmax15", kNoThreshold},
    {"/normalize", "sparsemax", kNoThreshold},
    {"/normalize", "softmax1", kPlusOne},
    {"/normalize", "softmax_plus_one", kPlusOne},
    {"/share_kv", "true", "write share_kv: {v_prefix: 512}, which is head_dim.v"},
    {"/kv_cache", "paged", kPages},
    {"/blocks", "bitmap", "write {size: 64, from: bitmap}"},
    {"/blocks", "indices", "write {size: 64, from: indices}"},
    {"/blocks/size", "", "write one number of keys; queries: 1 where a block has fewer queries"},
    {"/blocks/from", "list", "write indices"},
};

template <size_t N>
Hint find_hint(const Hint (&hints)[N], std::string_view word) {
  const auto* found =
      std::find_if(hints, hints + N, [&](const Hint& hint) { return hint.word == word; });
  return found == hints + N ? Hint{word, ""} : *found;
}

template <size_t N>
const char* find(const Hint (&hints)[N], std::string_view word) {
  return find_hint(hints, word).text;
}

// Not so 0 and -1, which others write for no cap, or for a window of all keys.
bool is_amount(const Node& value) {
  const double number = number_of(value).value_or(0);
  return number > 0 && number <= std::numeric_limits<int32_t>::max() &&
         value.text.size() <= kMaxName;
}

std::string with_number(const Hint& hint, const Node& value) {
  std::string out;
  for (const char c : std::string_view(hint.text)) {
    if (c != '$') {
      out += c;
    } else {
      out += is_amount(value) ? value.text : hint.number;
    }
  }
  return out;
}

bool takes_number(const Type& type) {
  return type.kind == Type::Kind::Whole || type.kind == Type::Kind::Number ||
         std::any_of(type.parts.begin(), type.parts.end(), takes_number);
}

bool takes_word(const Type& type, const std::string& word) {
  return (type.kind == Type::Kind::Bool && (word == "true" || word == "false")) ||
         std::ranges::find(type.words, word) != type.words.end() ||
         std::ranges::any_of(type.parts, [&](const Type& part) { return takes_word(part, word); });
}

// A value to begin with: the one that is allowed, the first word, of all other numbers `number`.
std::string usual_value(const Type& type, const std::string& number) {
  if (type.kind == Type::Kind::Word) return type.words[0];
  if (type.kind == Type::Kind::List && type.minimum == 0) return "[]";
  if (type.kind != Type::Kind::Whole) return "";
  return type.minimum == type.maximum ? fmt::format("{}", type.minimum) : number;
}

// The required entries that a map lacks; "" if a value is hard to guess.
std::string usual_entries(const Node& map, const Type& type, const std::string& number) {
  std::string entries;
  for (const Key& key : type.keys) {
    if (!key.required || map.find(key.name) != nullptr) continue;
    const std::string value = usual_value(key.type, number);
    if (value.empty()) return "";
    entries += fmt::format("{}{}: {}", entries.empty() ? "" : ", ", key.name, value);
  }
  return entries;
}

// The number that a text of no number stands for: .5, +5, 1/8, '8', or the name of a constant.
std::string as_number(const std::string& text, const Type& type, const Node& root) {
  const Node* constants = root.find("constants");
  const Node* constant = constants != nullptr ? constants->find(text) : nullptr;
  if (constant != nullptr) return "write " + constant->text;
  const auto parsed = expr::parse(text, {});
  const auto* e = std::get_if<expr::Expr>(&parsed);
  if (e == nullptr || e->type() == expr::Type::Bool) return "";
  if (e->is_number() && text.starts_with('0')) return "";  // 010: what is meant is not known
  const double value = expr::evaluate(*e, {});
  const bool fits = type.kind != Type::Kind::Whole || std::floor(value) == value;
  return fits && std::isfinite(value) ? fmt::format("write {}", value) : "";
}

// "bfloat16" of "torch.bfloat16".
std::string without_module(const std::string& word) {
  const bool has_module = !word.empty() && text::is_letter(word[0]);
  return has_module ? word.substr(word.rfind('.') + 1) : word;  // npos + 1 is 0
}

void add_keys(const Type& type, std::set<std::string, std::less<>>& names) {
  for (const Key& key : type.keys) {
    names.insert(key.name);
    add_keys(key.type, names);
  }
  for (const Type& part : type.parts) add_keys(part, names);
}

// Of a text that has one.
std::string first_lookalike(std::string_view text) {
  while (text::plain_character(text) == nullptr) text.remove_prefix(text::character_length(text));
  return text::character_name(text);
}

// Of what is no map of a dtype and a shape.
std::string hint_on_input(const Node& value, const Type& type) {
  if (number_of(value))
    return fmt::format("a number is a constant: {{{}: {}}}", value.key, value.text);
  const std::string word = text::lower(value.text);
  const std::string synonym = find(kSynonyms, word);
  const auto is_dtype = [&](const std::string& name) {
    return std::ranges::any_of(type.keys, [&](const Key& key) {
      return key.name == "dtype" && takes_word(key.type, name);
    });
  };
  return fmt::format("write {{dtype: {}, shape: [heads]}}", is_dtype(word)      ? word
                                                            : is_dtype(synonym) ? synonym
                                                                                : "f32");
}

// Of a name, or a list of names.
std::string hint_on_inputs(const Node& value) {
  const Node& first = value.children.empty() ? value : value.children[0];
  const bool is_name = first.kind == Node::Kind::Scalar && !why_no_identifier(first.text);
  return fmt::format("write {{{}: {{dtype: f32, shape: [heads]}}}}",
                     is_name ? first.text : "slopes");
}

bool begins_value(char c) {
  return text::is_word(c) || std::string_view("[{('\"").find(c) != std::string_view::npos;
}

}  // namespace

std::string hint_on_key(const Node& entry, std::string_view pointer) {
  if (pointer.empty()) return with_number(find_hint(kKeys, text::lower(entry.key)), entry);
  if (pointer == "/heads") return find(kHeadCounts, text::lower(entry.key));
  if (pointer == "/head_dim") return with_number(find_hint(kWidths, entry.key), entry);
  if (pointer == "/kv_cache") return with_number(find_hint(kCaches, entry.key), entry);
  const bool of_lengths = pointer.starts_with("/workload") || pointer == "/fixed";
  return of_lengths ? find(kLengths, entry.key) : "";
}

std::string hint_on_colon(std::string_view written) {
  static const auto keys = [] {
    std::set<std::string, std::less<>> all;
    add_keys(spec_type(), all);
    return all;
  }();
  const std::string plain = text::with_plain_characters(written);
  const std::string_view line = plain;
  const auto* word_end = std::find_if_not(line.begin(), line.end(), text::is_word);
  const auto word = static_cast<size_t>(word_end - line.begin());
  const bool colon = line.substr(word).starts_with(':');
  const size_t value = line.find_first_not_of(' ', word + (colon ? 1 : 0));
  const bool has_both = colon && value > word + 1 && line == written;
  if (value == std::string_view::npos || value == word || has_both) return "";
  if (!colon && !begins_value(line[value])) return "";  // score + 1: a part of an expression
  const std::string_view key = line.substr(0, word);
  if (!keys.contains(key)) return "";
  return fmt::format("write {}: {}{}", key, text::shortened(line.substr(value), kMaxName),
                     line == written ? "" : ", without " + first_lookalike(written));
}

const std::map<std::string, std::string, std::less<>>& hints_on_names() {
  static const auto hints = [] {
    std::map<std::string, std::string, std::less<>> all;
    for (const Hint& hint : kNames) all.emplace(hint.word, hint.text);
    return all;
  }();
  return hints;
}

std::string hint_on_missing(const Node& map, const Type& type) {
  if (!std::ranges::all_of(map.children, &Node::valid)) return "";
  std::string number;
  for (const Key& key : type.keys) {
    const Node* given = map.find(key.name);
    if (key.required && given != nullptr && number_of(*given)) number = given->text;
  }
  const std::string entries = usual_entries(map, type, number);
  if (entries.empty()) return "";
  const bool of_input = entries.ends_with("shape: []");
  return "add " + entries + (of_input ? ", which is one number; [heads] is one for each head" : "");
}

std::string hint_on_value(const Node& value, std::string_view pointer, const Type& type,
                          const Node& root) {
  if (value.text.size() > kMaxName) return "";
  const std::string word = without_module(text::lower(value.text));
  for (const ValueHint& hint : kValues) {
    if (hint.pointer == pointer && hint.word == word) return hint.text;
  }
  if (pointer == "/inputs") return hint_on_inputs(value);
  const bool is_object = type.kind == Type::Kind::Object;
  if (is_object && pointer.starts_with("/inputs/")) return hint_on_input(value, type);
  const bool is_none = value.kind == Node::Kind::Null || word == "none";
  if (is_none && takes_word(type, "batch")) {  // a dimension
    return "write its length, or leave the dimension out";
  }
  if (value.kind != Node::Kind::Scalar) return "";
  if (type.kind == Type::Kind::List) {
    if (type.minimum == 0 && (word.empty() || word == "scalar")) return "write []";
    return fmt::format(fmt::runtime(value.quoted ? "write [\"{}\"]" : "write [{}]"), value.text);
  }
  if (is_object) {
    const std::string entries = number_of(value) ? usual_entries({}, type, value.text) : "";
    return entries.empty() ? "" : fmt::format("write {{{}}}", entries);
  }
  const std::string_view dim = takes_word(type, "seq_q") ? find(kDims, word) : "";
  if (!dim.empty()) return std::string(dim);
  if (takes_number(type) && !number_of(value)) return as_number(value.text, type, root);
  const std::string synonym = find(kSynonyms, word);
  return takes_word(type, synonym) ? "write " + synonym : "";
}

}  // namespace attngen::spec
