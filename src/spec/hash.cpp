#include "spec/hash.h"

#include <nlohmann/json.hpp>

#include "expr/print.h"
#include "text/hash.h"

namespace attngen::spec {
namespace {

using Json = nlohmann::ordered_json;

Json text_of(const expr::Expr& e) { return e ? Json(expr::print(e)) : Json(nullptr); }

Json list_of(const std::vector<NamedExpr>& named) {
  Json out = Json::array();
  for (const NamedExpr& item : named) out.push_back({item.name, text_of(item.value)});
  return out;
}

template <typename Value>
Json value_or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json canonical(const Spec& spec) {
  Json out;
  out["name"] = spec.name;
  out["pattern"] = name_of(spec.pattern);
  out["dtype"] = name_of(spec.dtype);
  out["heads"] = {spec.heads.q, spec.heads.k, spec.heads.v};
  out["head_dim"] = {spec.head_dim.qk, spec.head_dim.v};
  if (spec.maps != 1) out["maps"] = spec.maps;  // hashes of other specs are as they were
  out["layout"] = name_of(spec.layout);
  out["varlen"] = spec.varlen;
  out["page"] = value_or_null(spec.page);
  out["v_prefix"] = value_or_null(spec.v_prefix);
  out["scale"] = spec.scale;
  for (Pass pass : spec.passes) out["passes"].push_back(name_of(pass));
  for (const Input& input : spec.inputs) {
    Json shape = Json::array();
    for (const Input::Dim& dim : input.shape) shape.push_back(name_of(dim));
    out["inputs"].push_back({input.name, name_of(input.element), shape, input.sorted});
  }
  out["fixed"] = {value_or_null(spec.fixed.batch), value_or_null(spec.fixed.seq_q),
                  value_or_null(spec.fixed.seq_kv)};
  for (const Workload& point : spec.workload) {
    out["workload"].push_back({point.batch, point.seq_q, point.seq_kv, point.weight});
    Json values;
    for (const auto& [input, value] : point.values) values[input] = value.number;
    if (!values.is_null()) out["workload"].back().push_back(std::move(values));
  }
  out["targets"] = spec.targets;
  out["score"] = text_of(spec.score);
  out["mask"] = text_of(spec.mask);
  out["rows"] = list_of(spec.normalize.rows);
  out["weight"] = text_of(spec.normalize.weight);
  out["output"] = text_of(spec.normalize.output);
  out["saves"] = list_of(spec.normalize.saves);
  out["sparsity"] = {static_cast<int>(spec.sparsity), spec.block_size, spec.token_count};
  if (spec.block_size > 0 && spec.block_heads != spec.heads.q) {
    out["block_heads"] = spec.block_heads;
  }
  if (spec.block_queries != spec.block_size) out["block_queries"] = spec.block_queries;
  if (spec.most_blocks) out["most_blocks"] = *spec.most_blocks;
  if (!spec.rows_alike) out["rows_alike"] = false;
  if (spec.distinct_tokens) out["distinct_tokens"] = true;
  if (spec.recurrent) {
    const Recurrent& recurrent = *spec.recurrent;
    for (const expr::Expr* e :
         {&recurrent.query, &recurrent.key, &recurrent.value, &recurrent.log_decay,
          &recurrent.delta, &recurrent.skip, &recurrent.output}) {
      out["recurrent"].push_back(text_of(*e));
    }
    out["state"] = {recurrent.initial_state, recurrent.final_state};
  }
  return out;
}

}  // namespace

std::string hash_of(const Spec& spec) { return text::hash(canonical(spec).dump()); }

}  // namespace attngen::spec
