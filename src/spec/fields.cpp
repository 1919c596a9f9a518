#include "spec/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "spec/inputs.h"
#include "spec/point_values.h"
#include "spec/spec_name.h"
#include "spec/user_names.h"
#include "spec/values.h"

namespace attngen::spec {
namespace {

constexpr int kMostHeads = 65535;  // as in form.cpp

class FieldReader {
 public:
  FieldReader(const Node& root, Spec& spec, Report& report)
      : root_(root), spec_(spec), report_(report), names_(spec.pattern, report) {}

  void read() {
    read_words();
    read_heads();
    read_scale();
    read_memory();
    reserve_softmax_names();
    read_inputs(root_, spec_, names_, report_);
    read_constants();
    read_let_names();
    read_row_names();
    read_fixed();
    read_workload();
    read_sparsity();
    read_passes();
  }

 private:
  bool is_recurrent() const { return spec_.pattern == Pattern::Recurrent; }

  void read_words() {
    if (const Node* name = root_.find("name")) {
      spec_.name = name->text;
      if (auto reason = why_no_spec_name(name->text)) {
        report_.at_value(*name, "/name", fmt::format("a spec cannot be named '{}'", name->text),
                         *reason);
      }
    }
    if (const Node* doc = root_.find("doc")) {
      spec_.doc = doc->text;
      if (doc->text.find("*/") != std::string::npos) {
        report_.at_value(*doc, "/doc", "doc must not contain '*/'", "it ends a comment in C");
      }
      if (doc->text.ends_with('\\') || doc->text.ends_with("?\?/")) {  // its trigraph
        report_.at_value(*doc, "/doc", "doc must not end in a backslash",
                         "it continues a comment in C");
      }
    }
    read_word(root_.find("dtype"), {DType::Bf16, DType::Fp16}, spec_.dtype);
    read_word(root_.find("layout"), {Layout::Bshd, Layout::Bhsd}, spec_.layout);
    read_bool(root_.find("varlen"), spec_.varlen);
    read_whole(root_.find("maps"), spec_.maps);
    if (const Node* targets = root_.find("targets")) {
      spec_.targets.clear();
      for (const Node& target : targets->children) spec_.targets.push_back(target.text);
    }
  }

  void check_multiple(const Node& heads, const char* of, int q, int divisor) {
    const Node* node = heads.find("q");
    if (node == nullptr || divisor == 0 || q % divisor == 0) return;
    report_.at_value(
        *node, "/heads/q",
        fmt::format("heads.q must be a multiple of heads.{}, got {} and {}", of, q, divisor),
        hint_on_heads(q, divisor));
  }

  // The numbers of query heads that are nearest to q; of two that divide, the other order.
  static std::string hint_on_heads(int q, int kv) {
    if (kv % q == 0) {
      return fmt::format("exchange them, {{q: {}, kv: {}}}, or write q: {}", kv, q, kv);
    }
    const int below = q / kv * kv;
    const int above = below + kv;
    if (below == 0) return fmt::format("{} is the next one", above);
    return above > kMostHeads ? fmt::format("{} is the nearest", below)
                              : fmt::format("{} and {} are the nearest", below, above);
  }

  void read_heads() {
    if (const Node* heads = root_.find("heads")) {
      read_whole(heads->find("q"), spec_.heads.q);
      read_whole(heads->find(is_recurrent() ? "k" : "kv"), spec_.heads.k);
      spec_.heads.v = spec_.heads.k;
      if (is_recurrent()) read_whole(heads->find("v"), spec_.heads.v);
      check_heads(*heads);
    }
    if (const Node* head_dim = root_.find("head_dim")) {
      read_whole(head_dim->find("qk"), spec_.head_dim.qk);
      read_whole(head_dim->find("v"), spec_.head_dim.v);
    }
  }

  void check_heads(const Node& heads) {
    const auto [q, k, v] = spec_.heads;
    if (!is_recurrent()) {
      if (heads.find("kv") != nullptr) check_multiple(heads, "kv", q, k);
      return;
    }
    // Queries and keys are shared by groups of value heads, or the other way round.
    for (const auto& [name, count] : {std::pair{"k", k}, std::pair{"v", v}}) {
      if (heads.find(name) == nullptr || heads.find("q") == nullptr) continue;
      if (q % count != 0 && count % q != 0) {
        report_.at_value(*heads.find("q"), "/heads/q",
                         fmt::format("one of heads.q and heads.{} must be a multiple of the other, "
                                     "got {} and {}",
                                     name, q, count));
      }
    }
  }

  void read_scale() {
    const Node* scale = root_.find("scale");
    if (spec_.head_dim.qk > 0) spec_.scale = 1 / std::sqrt(static_cast<double>(spec_.head_dim.qk));
    if (scale == nullptr || !number_of(*scale)) return;
    spec_.scale = *number_of(*scale);
    if (spec_.scale == 0 && !is_recurrent()) {
      report_.warn(*scale, "/scale", "scale 0 takes queries and keys out of the scores",
                   "the default is 1/sqrt(head_dim.qk)");
    }
  }

  void read_memory() {
    if (const Node* cache = root_.find("kv_cache")) {
      if (const Node* page = cache->find("paged")) spec_.page = static_cast<int>(whole_of(*page));
    }
    const Node* share = root_.find("share_kv");
    if (share == nullptr) return;
    const Node* prefix = share->find("v_prefix");
    if (prefix == nullptr) return;
    spec_.v_prefix = static_cast<int>(whole_of(*prefix));
    const auto [qk, v] = spec_.head_dim;
    if (qk > 0 && *spec_.v_prefix > qk) {
      report_.at_value(
          *prefix, "/share_kv/v_prefix",
          fmt::format("share_kv.v_prefix is {}, but K has {} columns", *spec_.v_prefix, qk));
    } else if (v > 0 && *spec_.v_prefix != v) {
      report_.at_value(
          *prefix, "/share_kv/v_prefix",
          fmt::format("share_kv.v_prefix must be head_dim.v, got {} and {}", *spec_.v_prefix, v));
    }
  }

  void read_constants() {
    const Node* constants = root_.find("constants");
    if (constants == nullptr) return;
    for (const Node& entry : constants->children) {
      if (!entry.valid || !names_.add(entry, "/constants", "a constant")) continue;
      spec_.constants.emplace_back(entry.key, number_of(entry).value_or(0));
      std::string& shown = spec_.constants_text;
      shown += fmt::format("{}{} = {}", shown.empty() ? "" : ", ", entry.key, entry.text);
    }
  }

  // Their texts are read with the expressions that use them.
  void read_let_names() {
    const Node* lets = root_.find("let");
    if (lets == nullptr) return;
    for (const Node& let : lets->children) {
      if (let.valid) names_.add(let, "/let", "a name of let");
    }
  }

  static bool is_row_of_softmax(std::string_view name) { return name == "m" || name == "l"; }

  void reserve_softmax_names() {
    const Node* normalize = root_.find("normalize");
    const bool softmax = normalize == nullptr || normalize->text == "softmax";
    if (is_recurrent() || !(softmax || is_rest_of_softmax(*normalize))) return;
    for (const char* name : {"m", "l"}) names_.reserve(name, "a value of softmax");
    // Saved values take its place.
    if (softmax || normalize->find("save") == nullptr) names_.reserve("lse", "a value of softmax");
  }

  // The expressions of rows are read elsewhere; their names must differ from all others.
  void read_row_names() {
    const Node* normalize = root_.find("normalize");
    if (normalize == nullptr) return;
    if (const Node* rows = normalize->find("rows")) {
      for (const Node& row : rows->children) {
        names_.add_symbol(row, "/normalize/rows", "a row value");
      }
    }
    if (const Node* saves = normalize->find("save")) {
      for (const Node& save : saves->children) {
        // A row may be saved under its own name.
        const Node* rows = normalize->find("rows");
        if (rows != nullptr && rows->find(save.key) != nullptr) continue;
        if (is_rest_of_softmax(*normalize) && is_row_of_softmax(save.key)) continue;
        names_.add_symbol(save, "/normalize/save", "a saved value");
      }
    }
  }

  void read_fixed() {
    const Node* fixed = root_.find("fixed");
    if (fixed == nullptr) return;
    for (const auto& [name, out] :
         {std::pair{"batch", &spec_.fixed.batch}, std::pair{"seq_q", &spec_.fixed.seq_q},
          std::pair{"seq_kv", &spec_.fixed.seq_kv}}) {
      if (const Node* node = fixed->find(name)) *out = whole_of(*node);
    }
  }

  void read_workload() {
    Workload usual;
    usual.batch = spec_.fixed.batch.value_or(usual.batch);
    usual.seq_q = spec_.fixed.seq_q.value_or(usual.seq_q);
    usual.seq_kv = spec_.fixed.seq_kv.value_or(usual.seq_kv);
    spec_.workload = {usual};
    const Node* workload = root_.find("workload");
    if (workload == nullptr) return;
    spec_.workload.clear();
    if (workload->kind == Node::Kind::Map) {
      spec_.workload.push_back(read_point(*workload, "/workload"));
    }
    if (workload->kind == Node::Kind::List) {
      for (size_t i = 0; i < workload->children.size(); ++i) {
        spec_.workload.push_back(
            read_point(workload->children[i], child("/workload", std::to_string(i))));
      }
    }
  }

  Workload read_point(const Node& node, const std::string& pointer) {
    Workload point;
    const bool has_seq_q =
        std::ranges::any_of(node.children, [](const Node& entry) { return entry.key == "seq_q"; });
    if (node.kind == Node::Kind::Map && !has_seq_q && !spec_.fixed.seq_q) {
      report_.at_key(node, pointer, fmt::format("{} needs 'seq_q'", dotted(pointer)));
    }
    point.batch = length_of(node, pointer, "batch", spec_.fixed.batch, point.batch);
    point.seq_q = length_of(node, pointer, "seq_q", spec_.fixed.seq_q, point.seq_q);
    point.seq_kv = length_of(node, pointer, "seq_kv", spec_.fixed.seq_kv, point.seq_q);
    if (const Node* weight = node.find("weight")) point.weight = number_of(*weight).value_or(1);
    if (const Node* values = node.find("values")) {
      point.values = read_point_values(*values, child(pointer, "values"), spec_, report_);
    }
    if (is_recurrent() && point.seq_kv != point.seq_q) {
      report_.at_value(
          node, pointer,
          fmt::format("{}: seq_q and seq_kv are the same in pattern recurrent", dotted(pointer)));
    }
    return point;
  }

  // A length of a point of the workload: if the point does not have it, the fixed one.
  int64_t length_of(const Node& point, const std::string& pointer, const char* name,
                    std::optional<int64_t> fixed, int64_t usual) {
    const Node* given = point.find(name);
    if (given == nullptr) return fixed.value_or(usual);
    const int64_t length = whole_of(*given);
    if (fixed && *fixed != length) {
      const std::string place = child(pointer, name);
      report_.at_value(
          *given, place,
          fmt::format("{} is {}, but fixed.{} is {}", dotted(place), length, name, *fixed));
    }
    return length;
  }

  void read_blocks(const Node& blocks) {
    read_whole(blocks.find("size"), spec_.block_size);
    spec_.block_queries = spec_.block_size;
    read_whole(blocks.find("queries"), spec_.block_queries);
    const Node* from = blocks.find("from");
    const bool lists = from != nullptr && from->text == "indices";
    spec_.sparsity = lists ? Spec::Sparsity::BlockIndices : Spec::Sparsity::BlockBitmap;
    if (const Node* most = blocks.find("most")) {
      read_whole(most, spec_.most_blocks.emplace());
      if (!lists) report_.at_key(*most, "/blocks/most", "a bitmap has no lists that 'most' bounds");
    }
    const Node* per = blocks.find("per");
    const bool shared = per != nullptr && per->text == "heads_kv";
    spec_.block_heads = shared ? spec_.heads.kv() : spec_.heads.q;
    const Node* rows = blocks.find("rows");
    spec_.rows_alike = rows == nullptr || rows->text == "alike";
  }

  void read_sparsity() {
    const Node* blocks = root_.find("blocks");
    const Node* tokens = root_.find("tokens");
    if (blocks != nullptr) read_blocks(*blocks);
    if (tokens == nullptr) return;
    spec_.sparsity = Spec::Sparsity::TokenIndices;
    read_whole(tokens->find("indices"), spec_.token_count);
    read_bool(tokens->find("distinct"), spec_.distinct_tokens);
    if (blocks != nullptr) {
      report_.at_key(*tokens, "/tokens", "a spec has 'blocks' or 'tokens', not both");
    }
  }

  void read_passes() {
    const Node* passes = root_.find("passes");
    if (passes == nullptr) return;
    spec_.passes.clear();
    for (size_t i = 0; i < passes->children.size(); ++i) {
      const Node& node = passes->children[i];
      Pass pass = Pass::Forward;
      read_word(&node, {Pass::Forward, Pass::Backward, Pass::Decode, Pass::Step}, pass);
      spec_.passes.push_back(pass);
      const bool parallel_only = pass == Pass::Decode;
      const bool recurrent_only = pass == Pass::Step;
      if (is_recurrent() ? parallel_only : recurrent_only) {
        report_.at_value(node, child("/passes", std::to_string(i)),
                         fmt::format("pass '{}' belongs to pattern {}", node.text,
                                     is_recurrent() ? "parallel" : "recurrent"));
      }
    }
  }

  const Node& root_;
  Spec& spec_;
  Report& report_;
  UserNames names_;
};

}  // namespace

bool is_rest_of_softmax(const Node& normalize) {
  return !normalize.children.empty() &&
         std::ranges::none_of(normalize.children, [](const Node& entry) {
           return entry.key == "rows" || entry.key == "weight";
         });
}

void read_fields(const Node& root, Spec& spec, Report& report) {
  FieldReader(root, spec, report).read();
}

}  // namespace attngen::spec
