// SPDX-License-Identifier: Apache-2.0
// The checks that no table says, and the schema.
#include "policy/params.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "json/codec.h"
#include "json/reader.h"
#include "json/schema.h"

namespace sbx {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

Error not_both(const std::string& first, const std::string& second, const std::string& where) {
  return Error{ErrorCode::kBadValue, "\"" + first + "\" and \"" + second + "\" exclude each other",
               where + "/" + second, "remove one of the two"};
}

Status check_file(const json& file, const std::string& where) {
  const bool has_text = present(file, "content") != nullptr;
  const bool has_bytes = present(file, "content_base64") != nullptr;
  if (has_text && has_bytes) return not_both("content", "content_base64", where);
  if (has_text || has_bytes) return {};
  return Error{ErrorCode::kMissingField, "a file needs \"content\" or \"content_base64\"", where,
               "an empty file has \"content\": \"\""};
}

// What no table says.
Status check_program(const json& params, const std::string& pointer) {
  const bool has_command = present(params, "command") != nullptr;
  const json* argv = present(params, "argv");
  if (has_command && argv != nullptr) return not_both("command", "argv", pointer);
  if (has_command) return {};
  if (argv == nullptr) {
    return Error{ErrorCode::kMissingField, "there is no command to run", pointer + "/command",
                 "give \"command\" or \"argv\""};
  }
  if (argv->empty() || argv->front() == "") {
    return Error{ErrorCode::kBadValue, "must name a program first", pointer + "/argv",
                 R"(such as ["ls", "-l"])"};
  }
  return {};
}

// In the order of the table, whatever the order of the document's keys: fields at the top by their
// position, what is unknown last.
const Error& first_error(const std::vector<Error>& errors, const std::string& pointer,
                         const std::vector<FieldSpec>& fields) {
  const auto rank = [&](const Error& error) {
    std::string_view name = error.where;
    name.remove_prefix(std::min(name.size(), pointer.size() + 1));
    name = name.substr(0, name.find('/'));
    const auto at = std::find_if(fields.begin(), fields.end(),
                                 [&](const FieldSpec& field) { return field.name == name; });
    return at - fields.begin();
  };
  return *std::min_element(errors.begin(), errors.end(),
                           [&](const Error& a, const Error& b) { return rank(a) < rank(b); });
}

std::vector<FieldSpec> request_fields(std::span<const FieldSpec> beside) {
  std::vector<FieldSpec> fields(kRequestSpec.fields.begin(), kRequestSpec.fields.end());
  fields.insert(fields.end(), beside.begin(), beside.end());
  return fields;
}

// Null is as if it were not there.
ordered_json has(const char* name, const char* type) {
  return {{"required", ordered_json::array({name})}, {"properties", {{name, {{"type", type}}}}}};
}

}  // namespace

Result<json> read_params(std::string_view text) { return read_json_strict(text, JsonBounds{}); }

const json* present(const json& object, const char* key) {
  const auto at = object.find(key);
  return at == object.end() || at->is_null() ? nullptr : &*at;
}

Result<Request> decode_request(const json& params, const std::string& pointer,
                               std::span<const FieldSpec> beside) {
  const std::vector<FieldSpec> fields = request_fields(beside);
  const std::vector<Error> errors = check_fields(params, ObjectSpec{fields}, pointer);
  if (!errors.empty()) return first_error(errors, pointer, fields);
  SBX_CHECK_OK(check_program(params, pointer));
  if (const json* files = present(params, "files")) {
    for (std::size_t i = 0; i < files->size(); ++i) {
      SBX_CHECK_OK(check_file((*files)[i], pointer + "/files/" + std::to_string(i)));
    }
  }
  Request request;
  std::vector<Error> none;  // only "+KEY" has any
  decode_object(kRequestSpec, params, &request, pointer, none);
  if (!request.argv.empty()) request.command = display_arguments(request.argv);
  return request;
}

ordered_json request_schema(std::span<const FieldSpec> beside) {
  ordered_json schema = {
      {"$schema", "http://json-schema.org/draft-07/schema#"},
      {"title", "sbx request"},
      {"description", "The params of the methods run and start, and a line of batch."}};
  schema.update(object_schema(ObjectSpec{request_fields(beside)}, json::object()));
  schema["anyOf"] = ordered_json::array({has("command", "string"), has("argv", "array")});
  schema["properties"]["argv"]["minItems"] = 1;
  schema["properties"]["files"]["items"]["oneOf"] =
      ordered_json::array({has("content", "string"), has("content_base64", "string")});
  schema["not"] = {
      {"required", ordered_json::array({"command", "argv"})},
      {"properties", {{"command", {{"type", "string"}}}, {"argv", {{"type", "array"}}}}}};
  return schema;
}

}  // namespace sbx
