#include "spec/schema.h"

#include <algorithm>
#include <iterator>

#include "spec/form.h"

namespace attngen::spec {
namespace {

using Json = nlohmann::ordered_json;
using Kind = Type::Kind;

constexpr const char* kIdentifier = "^[A-Za-z][A-Za-z0-9_]{0,63}$";

Json schema_of(const Type& type);

Json described(const Key& key) {
  Json out = schema_of(key.type);
  out["description"] = key.help;
  if (!key.fallback.is_null()) out["default"] = key.fallback;
  return out;
}

Json object_of(const std::vector<Key>& keys) {
  Json properties = Json::object();
  Json required = Json::array();
  for (const Key& key : keys) {
    properties[key.name] = described(key);
    if (key.required) required.push_back(key.name);
  }
  Json out;
  out["properties"] = std::move(properties);
  if (!required.empty()) out["required"] = std::move(required);
  return out;
}

Json schema_of(const Type& type) {
  Json out = Json::object();
  switch (type.kind) {
    case Kind::Whole:
      out = {{"type", "integer"},
             {"minimum", static_cast<int64_t>(type.minimum)},
             {"maximum", static_cast<int64_t>(type.maximum)}};
      if (type.multiple != 1) out["multipleOf"] = type.multiple;
      return out;
    case Kind::Number:
      out["type"] = "number";
      if (type.minimum > Type{}.minimum) out["minimum"] = type.minimum;
      if (type.maximum < Type{}.maximum) out["maximum"] = type.maximum;
      return out;
    case Kind::Bool:
      return {{"type", "boolean"}};
    case Kind::False:
      return {{"const", false}};
    case Kind::Word:
      return {{"enum", type.words}};
    case Kind::Name:
      return {{"type", "string"}, {"pattern", kIdentifier}};
    case Kind::Line:
      return {{"type", "string"}, {"pattern", "^[^\\u0000-\\u001f\\u007f]*$"}};
    case Kind::Expression:
      return {{"type", {"string", "number", "boolean"}}};
    case Kind::List:
      out = {{"type", "array"},
             {"items", schema_of(type.parts[0])},
             {"minItems", static_cast<int64_t>(type.minimum)},
             {"maxItems", static_cast<int64_t>(type.maximum)}};
      if (type.unique) out["uniqueItems"] = true;
      return out;
    case Kind::Object:
      out = object_of(type.keys);  // further in, keys of one pattern pass in the other
      out["type"] = "object";
      out["additionalProperties"] = false;
      return out;
    case Kind::Dictionary:
      return {{"type", "object"},
              {"propertyNames", {{"pattern", kIdentifier}}},
              {"additionalProperties", schema_of(type.parts[0])},
              {"maxProperties", static_cast<int64_t>(type.maximum)}};
    case Kind::Either:
      for (const Type& part : type.parts) out["anyOf"].push_back(schema_of(part));
      return out;
  }
  return out;
}

// The keys that both patterns have (no pattern given) or one alone has.
std::vector<Key> keys_of(const std::vector<Key>& keys, std::optional<Pattern> pattern) {
  std::vector<Key> found;
  std::ranges::copy_if(keys, std::back_inserter(found),
                       [&](const Key& key) { return key.only == pattern; });
  return found;
}

}  // namespace

std::string json_schema() {
  const Type spec = spec_type();
  Json out;
  out["$schema"] = "https://json-schema.org/draft/2020-12/schema";
  out["title"] = "attngen attention spec";
  out["type"] = "object";
  out.update(object_of(keys_of(spec.keys, std::nullopt)));
  out["if"] = {{"properties", {{"pattern", {{"const", name_of(Pattern::Recurrent)}}}}},
               {"required", {"pattern"}}};
  out["then"] = object_of(keys_of(spec.keys, Pattern::Recurrent));
  out["else"] = object_of(keys_of(spec.keys, Pattern::Parallel));
  // Keys of the other pattern, and unknown ones.
  out["unevaluatedProperties"] = false;
  return out.dump(2) + "\n";
}

}  // namespace attngen::spec
