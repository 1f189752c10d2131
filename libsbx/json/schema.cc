// SPDX-License-Identifier: Apache-2.0
// The printing of the tables that check.cc walks.
#include "json/schema.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace sbx {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

ordered_json value_schema(const ValueSpec& spec, const json& defaults);

ordered_json text_schema(const TextForm* form) {
  ordered_json schema = {{"type", "string"}};
  if (form != nullptr) schema["pattern"] = form->pattern;
  return schema;
}

ordered_json number_schema(const ValueSpec& spec) {
  return {{"type", spec.kind == Kind::kCount ? "integer" : "number"},
          {"minimum", spec.min},
          {"maximum", spec.max}};
}

ordered_json map_schema(const ValueSpec& spec) {
  ordered_json schema = {{"type", "object"}};
  if (spec.form != nullptr) schema["propertyNames"] = {{"pattern", spec.form->pattern}};
  schema["additionalProperties"] = value_schema(*spec.item, nullptr);
  return schema;
}

ordered_json list_schema(const ValueSpec& spec) {
  ordered_json schema = {{"type", "array"}, {"items", value_schema(*spec.item, nullptr)}};
  if (spec.kind == Kind::kList && spec.min > 0) schema["minItems"] = spec.min;
  return schema;
}

ordered_json bare_schema(const ValueSpec& spec, const json& defaults) {
  switch (spec.kind) {
    case Kind::kBool:
      return {{"type", "boolean"}};
    case Kind::kCount:
    case Kind::kNumber:
      return number_schema(spec);
    case Kind::kText:
      return text_schema(spec.form);
    case Kind::kEnum:
      return {{"type", "string"}, {"enum", spec.names}};
    case Kind::kList:
      return list_schema(spec);
    case Kind::kMap:
      return map_schema(spec);
    case Kind::kObject:
      return object_schema(*spec.object, defaults);
    case Kind::kTextOrList:
      return {{"anyOf", {text_schema(spec.form), list_schema(spec)}}};
    case Kind::kTextOrObject:
      break;
  }
  return {{"anyOf", {text_schema(spec.form), object_schema(*spec.object, nullptr)}}};
}

// Types that can be null all have a plain "type"; an enum would want null among its names too.
ordered_json value_schema(const ValueSpec& spec, const json& defaults) {
  ordered_json schema = bare_schema(spec, defaults);
  if (spec.nullable) {
    schema["type"] = {schema["type"], "null"};
    if (schema.contains("enum")) schema["enum"].push_back(nullptr);
  }
  return schema;
}

ordered_json field_schema(const FieldSpec& field, const json& defaults) {
  const auto given = defaults.find(field.name);
  const json value = given == defaults.end() ? json(nullptr) : *given;
  ordered_json schema = {{"description", field.description}};
  schema.update(value_schema(field.value, value));
  const bool known = given != defaults.end();
  if (known && field.value.kind != Kind::kObject) schema["default"] = value;
  return schema;
}

ordered_json not_both_schema(const std::string& name) {
  const ordered_json both = ordered_json::array({name, "+" + name});
  return {{"not", {{"required", both}}}};
}

}  // namespace

ordered_json object_schema(const ObjectSpec& spec, const json& defaults) {
  ordered_json properties = ordered_json::object();
  ordered_json required = ordered_json::array();
  ordered_json not_both = ordered_json::array();
  for (const FieldSpec& field : spec.fields) {
    const std::string name(field.name);
    properties[name] = field_schema(field, defaults);
    if (field.required) required.push_back(name);
    if (!spec.appendable || field.value.kind != Kind::kList) continue;
    ValueSpec list = field.value;
    list.nullable = false;
    properties["+" + name] = {{"description", "Appended to the parent's \"" + name + "\"."}};
    properties["+" + name].update(value_schema(list, nullptr));
    not_both.push_back(not_both_schema(name));
  }
  ordered_json schema = {{"type", "object"}, {"properties", std::move(properties)}};
  if (!required.empty()) schema["required"] = std::move(required);
  if (!not_both.empty()) schema["allOf"] = std::move(not_both);
  schema["additionalProperties"] = false;
  return schema;
}

}  // namespace sbx
