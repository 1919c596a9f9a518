#include "spec/scopes.h"

#include <fmt/format.h>

#include <cstdint>
#include <span>
#include <utility>

#include "spec/hints.h"

namespace attngen::spec {
namespace {

struct Name {
  const char* name;
  expr::Type type;
};

// What a value of a pair, a row, an element of O may read besides inputs and constants.
constexpr Name kParallelNames[] = {
    {"score", expr::Type::Float}, {"kv_idx", expr::Type::Int}, {"acc", expr::Type::Float},
    {"b", expr::Type::Int},       {"h", expr::Type::Int},      {"h_kv", expr::Type::Int},
    {"q_idx", expr::Type::Int},   {"q_pos", expr::Type::Int},  {"seq_q", expr::Type::Int},
    {"seq_kv", expr::Type::Int},  {"map", expr::Type::Int},    {"d", expr::Type::Int},
};
constexpr Name kRecurrentNames[] = {
    {"q", expr::Type::Float},   {"k", expr::Type::Float}, {"v", expr::Type::Float},
    {"acc", expr::Type::Float}, {"b", expr::Type::Int},   {"t", expr::Type::Int},
    {"h", expr::Type::Int},     {"d", expr::Type::Int},
};

// How to pass q, k or v so that expressions can read its elements.
std::string as_input(std::string_view name, const Spec& spec) {
  if (spec.maps > 1 && name != "v") return "";  // which have twice as many heads
  const bool of_queries = name == "q";
  const char* const heads = of_queries ? "heads" : "heads_kv";
  const char* const length = of_queries ? "seq_q" : "seq_kv";
  const auto [qk, v] = spec.head_dim;
  const bool other_width = name != "v" && qk != v && qk > 0 && v > 0;
  const bool heads_first = spec.layout == Layout::Bhsd;
  return fmt::format(
      "pass it under another name too: inputs: {{{}_in: {{dtype: {}, shape: [{}{}, "
      "{}, {}]}}}}",
      name, name_of(spec.dtype), spec.varlen ? "" : "batch, ", heads_first ? heads : length,
      heads_first ? length : heads, other_width ? fmt::format("{}", qk) : "dim");
}

}  // namespace

Scopes::Scopes(const Node& root, const Spec& spec) : spec_(spec) {
  add_constants(root);
  add_inputs();
  add_broken_groups(root);
}

void Scopes::add_constants(const Node& root) {
  base_.constants["scale"] = expr::number(spec_.scale);
  base_.constants["inf"] = expr::number(expr::kInfinity);
  const Node* constants = root.find("constants");
  for (const auto& [name, value] : spec_.constants) {
    const bool is_int = constants->find(name)->text.find_first_of(".eE") == std::string::npos &&
                        value >= std::numeric_limits<int32_t>::min() &&
                        value <= std::numeric_limits<int32_t>::max();
    base_.constants[name] =
        is_int ? expr::integer(static_cast<int64_t>(value)) : expr::number(value);
  }
}

void Scopes::add_inputs() {
  for (const Input& input : spec_.inputs) {
    expr::Scope::Input entry;
    const bool is_int = input.element == Input::Element::I32 || input.element == Input::Element::U8;
    entry.element = is_int ? expr::Type::Int : expr::Type::Float;
    for (const Input::Dim& dim : input.shape) entry.dims.push_back(name_of(dim));
    base_.inputs[input.name] = std::move(entry);
  }
}

void Scopes::add_let(const std::string& name, const std::string& text) {
  base_.lets.push_back({name, text});
}

void Scopes::add_broken_groups(const Node& root) {
  for (const Node& node : root.children) {
    if (node.key == "maps" && !node.valid) broken_.insert("map");
    if (node.key == "let" && !node.valid && node.kind != Node::Kind::Map) all_broken_ = true;
  }
  for (const char* group : {"inputs", "constants"}) {
    for (const Node& node : root.children) {
      if (node.key != group) continue;
      all_broken_ = all_broken_ || !node.valid;
      for (const Node& entry : node.children) {
        if (!base_.inputs.contains(entry.key) && !base_.constants.contains(entry.key)) {
          broken_.insert(entry.key);
        }
      }
    }
  }
  if (const Node* normalize = root.find("normalize")) add_broken_rows(*normalize);
}

void Scopes::add_broken_rows(const Node& normalize) {
  for (const Node& rows : normalize.children) {
    if (rows.key != "rows") continue;
    all_broken_ = all_broken_ || (!rows.valid && rows.kind != Node::Kind::Map);
    for (const Node& row : rows.children) {
      if (!rows.valid || !row.valid) broken_.insert(row.key);
    }
  }
}

expr::Scope Scopes::without(std::initializer_list<Reason> forbidden) const {
  const bool recurrent = spec_.pattern == Pattern::Recurrent;
  std::span<const Name> own(kParallelNames), other(kRecurrentNames);
  if (recurrent) std::swap(own, other);
  expr::Scope out = base_;
  for (const Name& name : other) {
    out.forbidden[name.name] = {
        recurrent ? "it belongs to pattern parallel" : "it belongs to pattern recurrent", ""};
  }
  if (!recurrent) {
    for (const char* name : {"q", "k", "v"}) {
      out.forbidden[name] = {"elements of q, k and v have no names", as_input(name, spec_)};
    }
  }
  for (const Name& name : own) {
    out.variables[name.name] = name.type;
    out.forbidden.erase(name.name);
  }
  if (!recurrent) out.hints = hints_on_names();
  for (const Reason& reason : forbidden) {
    out.variables.erase(reason.name);
    out.forbidden[reason.name] = {reason.reason, reason.help};
  }
  if (!recurrent && spec_.maps == 1) {
    out.variables.erase("map");
    out.forbidden["map"] = {"the spec has one map; 'maps: 2' gives it two", ""};
  }
  return out;
}

}  // namespace attngen::spec
