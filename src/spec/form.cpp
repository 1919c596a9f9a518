#include "spec/form.h"

#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <utility>

#include "text/diagnostics.h"

namespace attngen::spec {
namespace {

using Kind = Type::Kind;

// Emitted kernels count with int32, and refuse lengths so large that a tile's end would be none.
constexpr double kMaxInt = std::numeric_limits<int32_t>::max();
constexpr double kMaxLength = kMaxInt - std::numeric_limits<uint16_t>::max();

Type simple(Kind kind) {
  Type type;
  type.kind = kind;
  return type;
}

Type whole(double minimum, double maximum, int multiple = 1) {
  Type type = simple(Kind::Whole);
  type.minimum = minimum;
  type.maximum = maximum;
  type.multiple = multiple;
  return type;
}

Type one_of(std::vector<std::string> words) {
  Type type = simple(Kind::Word);
  type.words = std::move(words);
  return type;
}

// A number that kernels can hold: they take what is smaller than the least for 0.
Type f32() {
  Type type = simple(Kind::Number);
  type.least = std::numeric_limits<float>::min();
  type.minimum = -std::numeric_limits<float>::max();
  type.maximum = std::numeric_limits<float>::max();
  return type;
}

Type object(std::vector<Key> keys) {
  Type type = simple(Kind::Object);
  type.keys = std::move(keys);
  return type;
}

Type collection(Kind kind, Type element, double minimum, double maximum) {
  Type type = simple(kind);
  type.minimum = minimum;
  type.maximum = maximum;
  type.parts = {std::move(element)};
  return type;
}

Type list(Type element, double minimum, double maximum) {
  return collection(Kind::List, std::move(element), minimum, maximum);
}

Type set(Type element, double maximum) {
  Type type = list(std::move(element), 1, maximum);
  type.unique = true;
  return type;
}

Type dictionary(Type element, double maximum) {
  return collection(Kind::Dictionary, std::move(element), 0, maximum);
}

Type either(std::vector<Type> parts) {
  Type type = simple(Kind::Either);
  type.parts = std::move(parts);
  return type;
}

Key required(std::string name, Type type, std::string help) {
  return {std::move(name), std::move(type), std::move(help), nullptr, true, {}};
}

Key optional(std::string name, Type type, std::string help, nlohmann::json fallback = nullptr) {
  return {std::move(name), std::move(type), std::move(help), std::move(fallback), false, {}};
}

Type heads() { return whole(1, 65535); }
Type expression() { return simple(Kind::Expression); }
Type length() { return whole(1, kMaxLength); }

Type input() {
  Type parallel = one_of({"heads_kv", "seq_q", "seq_kv", "dim"});
  parallel.only = Pattern::Parallel;
  Type recurrent = one_of({"seq", "dim"});
  recurrent.only = Pattern::Recurrent;
  const Type dimension =
      either({one_of({"batch", "heads"}), parallel, recurrent, whole(1, kMaxInt)});
  return object({
      required("dtype", one_of({"f32", "i32", "bf16", "fp16", "u8"}), "Element type."),
      required("shape", list(dimension, 0, 8), "Dimensions, outermost first; [] is a scalar."),
      optional("sorted", simple(Kind::Bool),
               "Ascending along the last dimension: tile bounds come from first and last elements.",
               false),
  });
}

Type workload_point() {
  Type weight = simple(Kind::Number);
  weight.minimum = 1e-9;
  weight.maximum = 1e9;
  Key values = optional("values", dictionary(f32(), 64),
                        "What each element of an input of the mask is taken to be, or for how many "
                        "queries or keys ids of i32 along them stay the same: for predictions.");
  values.only = Pattern::Parallel;
  return object({
      optional("batch", length(), "Sequences.", 1),
      optional("seq_q", length(), "Query length; the fixed one if not given, else required."),
      optional("seq_kv", length(), "Key and value length; seq_q if not given."),
      optional("weight", weight, "How much this point counts.", 1),
      std::move(values),
  });
}

Type normalizer() {
  return object({
      optional("rows", dictionary(expression(), 32),
               "Values of a row, in order; rowmax(...) and rowsum(...) reduce over its pairs."),
      optional(
          "weight", expression(),
          "Weight of a pair: of score, indices, rows and inputs. Without rows and weight both are "
          "softmax's."),
      optional("output", expression(),
               "Element of O: of acc, rows, its column and what is constant in a row.", "acc"),
      optional("save", dictionary(expression(), 32),
               "Per-row fp32 results, [batch, heads, seq_q]."),
  });
}

std::vector<Key> common_keys() {
  return {
      required("attngen", whole(1, 1), "Version of the format: 1."),
      optional("$schema", simple(Kind::Line), "For editors; ignored."),
      required("name", simple(Kind::Name), "Prefix of every emitted symbol and file."),
      optional("doc", simple(Kind::Line), "One line, copied to the emitted banner."),
      optional("pattern", one_of({"parallel", "recurrent"}),
               "parallel: scores, rows, aggregation. recurrent: a state along the sequence.",
               "parallel"),
      required("dtype", one_of({"bf16", "fp16"}), "Storage of q, k, v, o; sums are fp32."),
      required("head_dim",
               object({required("qk", whole(8, 1024, 8), "Columns of Q and K."),
                       required("v", whole(8, 1024, 8), "Columns of V and O.")}),
               "Elements of a head."),
      optional("layout", one_of({"bshd", "bhsd"}), "Order of the dimensions of q, k, v, o.",
               "bshd"),
      optional("varlen", simple(Kind::Bool),
               "Packed sequences, [total, heads, dim], with their first positions.", false),
      optional("scale", either({one_of({"default"}), f32()}),
               "Factor of Q . K; default is 1 / sqrt(head_dim.qk).", "default"),
      optional("passes", set(one_of({"forward", "backward", "decode", "step"}), 4),
               "Kernels to emit.", nlohmann::json::array({"forward"})),
      optional("inputs", dictionary(input(), 64), "The user's own tensors, by name."),
      optional("constants", dictionary(f32(), 256), "Names for numbers, folded at generation."),
      optional("let", dictionary(expression(), 64),
               "Names for parts of expressions, in order: each may use those above it."),
      optional("fixed",
               object({optional("batch", length(), "Sequences."),
                       optional("seq_q", length(), "Query length."),
                       optional("seq_kv", length(), "Key and value length.")}),
               "Lengths that the kernel may rely on; it refuses others."),
      optional("workload", either({workload_point(), list(workload_point(), 1, 1024)}),
               "What the search optimises for: one point or a list with weights."),
      optional("targets", set(simple(Kind::Name), 64), "Names of hardware models.",
               nlohmann::json::array({"h100"})),
  };
}

std::vector<Key> parallel_keys() {
  const Type page = object({required("paged", whole(1, 65536), "Keys of a page.")});
  const Type prefix = object({required("v_prefix", whole(8, 1024, 8), "Columns of K that are V.")});
  const Type blocks = object({
      required("size", whole(1, 4096), "Keys of a block, and queries, unless these are given."),
      optional("queries", whole(1, 4096),
               "Queries of a block: neighbours that keep the same ones."),
      required("from", one_of({"bitmap", "indices"}), "How blocks are given."),
      optional("most", whole(1, 1048576), "Entries of each list; otherwise one for every block."),
      optional("per", one_of({"heads", "heads_kv"}),
               "Who keeps blocks of its own: a query head, or all query heads of a key head.",
               "heads"),
      optional("rows", one_of({"alike", "apart"}),
               "Whether a row of blocks keeps mostly what the one before keeps: for the search.",
               "alike"),
  });
  return {
      required("heads",
               object({required("q", heads(), "Query heads."),
                       required("kv", heads(), "Key and value heads; divides q.")}),
               "Numbers of heads."),
      optional("kv_cache", either({one_of({"contiguous"}), page}), "Where keys and values lie.",
               "contiguous"),
      optional(
          "maps", whole(1, 2),
          "Maps of scores over one V: q and k have as many heads for each of v and o, and O is the "
          "sum of the maps' outputs.",
          1),
      optional("share_kv", either({simple(Kind::False), prefix}),
               "V is the first columns of K (absorbed MLA).", false),
      optional("score", expression(), "Score of a pair, from the scaled product `score`.", "score"),
      optional("mask", expression(), "Whether a pair exists.", true),
      optional("normalize", either({one_of({"softmax", "none"}), normalizer()}),
               "How the scores of a row become weights.", "softmax"),
      optional("blocks", blocks, "Block sparsity, given at run time."),
      optional("tokens",
               object({required("indices", whole(1, 1 << 20), "Keys of a query's list."),
                       optional("distinct", simple(Kind::Bool), "No key stands twice in a list.",
                                false)}),
               "Token sparsity: a list of keys for each query."),
  };
}

std::vector<Key> recurrent_keys() {
  return {
      required("heads",
               object({required("q", heads(), "Query heads."), required("k", heads(), "Key heads."),
                       required("v", heads(), "Value heads.")}),
               "Numbers of heads."),
      optional("query", expression(), "Of q.", "q * scale"),
      optional("key", expression(), "Of k.", "k"),
      optional("value", expression(), "Of v.", "v"),
      optional("log_decay", expression(), "Logarithm of the state's decay.", 0),
      optional("delta", expression(), "Factor of the delta rule."),
      optional("skip", expression(), "Factor of v that is added to the output."),
      optional("output", expression(), "Element of O, from `acc`.", "acc"),
      optional("state",
               object({optional("initial", simple(Kind::Bool), "A first state is given.", false),
                       optional("final", simple(Kind::Bool), "The last state is written.", false)}),
               "fp32 [batch, heads.v, qk, v] in and out."),
  };
}

}  // namespace

Type spec_type() {
  std::vector<Key> keys = common_keys();
  for (const auto& [pattern, own] : {std::pair{Pattern::Parallel, parallel_keys()},
                                     std::pair{Pattern::Recurrent, recurrent_keys()}}) {
    for (Key key : own) {
      key.only = pattern;
      keys.push_back(std::move(key));
    }
  }
  return object(std::move(keys));
}

std::string describe(const Type& type) {
  std::vector<std::string> items;
  switch (type.kind) {
    case Kind::Whole:
      return "a whole number";
    case Kind::Number:
      return "a number";
    case Kind::Bool:
      return "true or false";
    case Kind::False:
      return "false";
    case Kind::Name:
      return "a name";
    case Kind::Line:
      return "a text";
    case Kind::Expression:
      return "an expression";
    case Kind::List:
      return "a list";
    case Kind::Object:
    case Kind::Dictionary:
      return "a map";
    case Kind::Word:
      for (const std::string& word : type.words) items.push_back(fmt::format("'{}'", word));
      return text::listed(items);
    case Kind::Either:
      break;
  }
  for (const Type& part : type.parts) {
    if (part.kind != Kind::Word) {
      items.push_back(describe(part));
      continue;
    }
    for (const std::string& word : part.words) items.push_back(fmt::format("'{}'", word));
  }
  return text::listed(items);
}

}  // namespace attngen::spec
