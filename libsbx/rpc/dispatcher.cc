// SPDX-License-Identifier: Apache-2.0
// A name → its row; params → values, by the row; then the row's call.
#include "rpc/dispatcher.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "base/text.h"
#include "json/codec.h"
#include "json/reader.h"
#include "policy/params.h"

namespace sbx {
namespace {

using nlohmann::json;

Result<json> take_tool_params(json& document) {
  json params = json::object();
  if (present(document, "params") != nullptr) params = std::move(document["params"]);
  document.erase("params");
  if (params.is_object()) return params;
  return Error{ErrorCode::kWrongType, "must be an object", "/params", "such as {}"};
}

Result<std::string> take_call_id(json& document) {
  const json* id = present(document, "id");
  if (id == nullptr || document.size() != 1 || !(id->is_string() || id->is_number())) {
    return Error{ErrorCode::kBadValue, "must be the id of a request, and nothing else", "/id",
                 R"(such as {"id": 7})"};
  }
  std::string text = id->dump();
  document.clear();
  return text;
}

}  // namespace

std::string normal_id(std::string_view json_text) {
  const Result<json> id = read_json_strict(json_text);
  if (id.ok()) return id.value().dump();
  // A number that is too long to be read is compared as it was written.
  return id.error().code == ErrorCode::kOutOfRange ? std::string(json_text) : std::string();
}

Result<const Method*> find_method(std::span<const Method> methods, std::string_view name) {
  for (const Method& method : methods) {
    if (method.name == name) return &method;
  }
  const std::vector<std::string_view> names = method_names(methods);
  const auto nearest = nearest_name(name, names);
  const std::vector<std::string> all(names.begin(), names.end());
  return Error{
      ErrorCode::kUnknownMethod, "no such method: " + escape_control_bytes(name.substr(0, 100)), "",
      nearest ? "did you mean \"" + std::string(*nearest) + "\"?" : "one of " + join(all, ", ")};
}

Result<MethodParams> decode_method_params(const Method& method, std::string_view params) {
  SBX_TRY(json document, read_params(params));
  MethodParams out;
  Result<json> tool_params = json();
  if (document.is_object()) {
    if (method.beside == Beside::kCallId) {
      SBX_TRY(out.id, take_call_id(document));
    } else if (method.beside == Beside::kToolParams) {
      tool_params = take_tool_params(document);
    }
  }
  if (method.beside == Beside::kRequest) {
    SBX_TRY(out.request, decode_request(document, "", method.fields.fields));
  } else if (std::vector<Error> errors = check_fields(document, method.fields, "");
             !errors.empty()) {
    return std::move(errors.front());
  }
  std::vector<Error> none;  // only "+KEY" has any
  decode_object(method.fields, document, &out, "", none);
  SBX_TRY(out.tool_params, std::move(tool_params));
  return out;
}

void Dispatcher::call(ClientId client, bool is_operator, std::string_view id,
                      std::string_view method, std::string_view params, MethodReply reply) {
  service_.note_call();
  // An error may repeat what it was given.
  reply = [this, to = std::move(reply)](const Result<WriteValue>& result) {
    if (result.ok()) return to(result);
    to(service_.redacted(result.error()));
  };
  const auto run = [&]() -> Status {
    SBX_TRY(const Method* row, find_method(methods_, method));
    SBX_TRY(MethodParams decoded, decode_method_params(*row, params.empty() ? "{}" : params));
    if (row->for_operator && !is_operator) {
      return Error{ErrorCode::kNotGranted,
                   "only the operator's side may call " + std::string(method), "",
                   "call it on the stdio of serve, or open the socket with the operator's token"};
    }
    MethodCall call{service_,           tools_, client, id.empty() ? std::string() : normal_id(id),
                    std::move(decoded), reply};
    return row->call(call);
  };
  if (const Status status = run(); !status.ok()) reply(status.error());
}

}  // namespace sbx
