#include "emit/manifest.h"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "emit/banner.h"
#include "emit/computed.h"
#include "emit/source.h"

namespace attngen::emit {
namespace {

using Json = nlohmann::ordered_json;

// Four digits: what differs between hosts is far below.
double rounded(double value) {
  const std::string digits = fmt::format("{:.4g}", value);
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

Json function_json(const Function& function) {
  Json parameters = Json::array();
  for (const Parameter& p : function.parameters) {
    parameters.push_back({{"name", p.name}, {"c_type", p.c_type}});
  }
  return {{"name", function.name},
          {"result", function.result},
          {"parameters", parameters},
          {"meaning", function.meaning}};
}

Json pass_json(const PassApi& pass) {
  Json fields = Json::array();
  for (const Field& field : pass.fields) {
    fields.push_back({{"name", field.name}, {"c_type", field.c_type}, {"meaning", field.meaning}});
  }
  Json functions = Json::array();
  for (const Function& function : pass.functions) functions.push_back(function_json(function));
  return {{"pass", spec::name_of(pass.pass)},
          {"args", {{"name", pass.args_name}, {"meaning", pass.args_meaning}, {"fields", fields}}},
          {"functions", functions}};
}

Json resources_json(const schedule::Candidate& candidate) {
  const schedule::Resources& resources = candidate.resources;
  if (candidate.cost.family == target::Family::Cdna2) {
    return {{"threads", resources.threads},
            {"waves_per_simd", resources.waves_per_simd},
            {"registers", resources.consumer_registers},
            {"shared_bytes", resources.shared_bytes}};
  }
  return {{"threads", resources.threads},
          {"producer_registers", resources.producer_registers},
          {"consumer_registers", resources.consumer_registers},
          {"shared_bytes", resources.shared_bytes},
          {"blocks_per_core", resources.blocks_per_core}};
}

Json cost_json(const schedule::Cost& cost) {
  return {{"seconds", rounded(cost.seconds)},
          {"tflop_per_s", rounded(cost.flop_per_s * 1e-12)},
          {"bound", schedule::bound_name(cost)}};
}

Json predictions_json(const std::vector<Prediction>& predictions) {
  Json points = Json::array();
  for (const auto& [workload, cost] : predictions) {
    Json point{{"batch", workload.batch},
               {"seq_q", workload.seq_q},
               {"seq_kv", workload.seq_kv},
               {"weight", workload.weight}};
    for (const auto& [input, value] : workload.values) point["values"][input] = value.number;
    point.update(cost_json(cost));
    points.push_back(std::move(point));
  }
  return points;
}

}  // namespace

std::string manifest(const spec::Spec& spec, const Api& api,
                     const std::vector<PredictedChoice>& choices) {
  Json json{{"name", spec.name}, {"attngen", version()}, {"spec", spec.hash}};
  if (!spec.doc.empty()) json["doc"] = spec.doc;
  json["header"] = spec.name + ".h";
  for (const auto& [what, text] : computed(spec)) json["computes"][what] = text;
  Json statuses = Json::array();
  for (const Status& status : api.statuses) {
    statuses.push_back({{"name", status.name}, {"value", status.value}, {"text", status.text}});
  }
  json["statuses"] = std::move(statuses);
  json["status_string"] = function_json(api.status_string);
  Json passes = Json::array();
  for (const PassApi& pass : api.passes) passes.push_back(pass_json(pass));
  json["passes"] = std::move(passes);
  Json targets = Json::array();
  for (const auto& [choice, predictions] : choices) {
    targets.push_back({{"target", choice.target->name},
                       {"file", source_name(spec, *choice.target)},
                       {"compile", compile_command(spec, *choice.target)},
                       {"model", choice.target->hash},
                       {"schedule", Json::parse(schedule::to_json(choice.candidate.schedule))},
                       {"schedule_given", choice.replayed},
                       {"resources", resources_json(choice.candidate)},
                       {"predicted", predictions_json(predictions)}});
  }
  json["targets"] = std::move(targets);
  return json.dump(2) + "\n";
}

}  // namespace attngen::emit
