// SPDX-License-Identifier: Apache-2.0
// Strict about what the protocol says, silent about members that it does not know.
#include "rpc/mcp_message.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "json/reader.h"
#include "json/text_at.h"
#include "json/writer.h"
#include "rpc/json_rpc.h"
#include "tools/json_text.h"

namespace sbx {
namespace {

constexpr std::string_view kVersionKey = "io.modelcontextprotocol/protocolVersion";
constexpr std::string_view kCapabilitiesKey = "io.modelcontextprotocol/clientCapabilities";
constexpr std::string_view kLogLevelKey = "io.modelcontextprotocol/logLevel";
constexpr std::string_view kServerInfoKey = "io.modelcontextprotocol/serverInfo";
constexpr std::string_view kProgressKey = "progressToken";
constexpr JsonBounds kBounds{.max_depth = 65};  // params of 64 levels, as of `serve`

// 1.0 is a whole number too, as JSON Schema has it.
bool is_id(const McpJson& value) {
  if (value.is_number_float()) return value.get<double>() == std::trunc(value.get<double>());
  return value.is_string() || value.is_number_integer();
}

// The id of a message as it was written, a string, a whole number of any length or another number
// that a reader of JSON can hold; empty for none.
std::string id_in(std::string_view line) {
  constexpr std::size_t kMostBytes = 1024;
  const auto members = read_members(line);
  if (!members.ok()) return {};
  for (const RawMember& member : members.value()) {
    if (member.key != "id" || member.value.size() > kMostBytes) continue;
    const auto is_made_of = [&member](std::string_view characters) {
      return member.value.find_first_not_of(characters) == std::string::npos;
    };
    const bool is_text = member.value.front() == '"';
    const bool is_number = is_made_of("-0123456789") ||
                           (is_made_of("-+.eE0123456789") && McpJson::accept(member.value));
    if (is_text || is_number) return std::string(member.value);
  }
  return {};
}

// The same message with an id that every reader takes.
std::string with_other_id(std::string_view line) {
  std::string out = "{\"id\":0";
  const auto members = read_members(line);
  for (const RawMember& member : members.value()) {
    if (member.key == "id") continue;
    out += ',' + McpJson(member.key).dump() + ':';
    out += member.value;
  }
  return out + '}';
}

// The id goes back as it came: a long number would lose digits on its way through a value.
std::string answer_text(const std::string& id, const std::string& key, const McpJson& value) {
  return R"({"jsonrpc":"2.0","id":)" + id + ",\"" + key + "\":" + json_text(value) + "}";
}

McpJson server_info(std::string_view version) { return {{"name", "sbx"}, {"version", version}}; }

McpRefusal refuse(const std::string& id, int code, std::string message, std::string data = "") {
  return mcp_refusal(id, code, std::move(message), std::move(data));
}

// A line that is no JSON, or is beyond our bounds: what `serve` makes of it. `why`: of the whole.
std::variant<McpMessage, McpRefusal> read_unreadable(std::string_view line, const std::string& id,
                                                     const Error& why) {
  const auto read = read_message(line);
  if (const auto* const refusal = std::get_if<RpcRefusal>(&read)) {
    return McpRefusal{id, refusal->code, refusal->error};
  }
  const RpcMessage& message = std::get<RpcMessage>(read);
  if (message.method.empty()) return McpRefusal{id, kMcpInvalidRequest, why};
  if (message.id.empty()) {  // whose bad params nobody is told
    return McpMessage{McpMessage::Kind::kNotification, "null", message.method};
  }
  const auto params = read_json_strict(message.params);
  if (params.ok()) return McpRefusal{id, kMcpInvalidRequest, why};
  return McpRefusal{id, kMcpBadParams, params.error()};
}

std::variant<McpMessage, McpRefusal> read_response(McpMessage message, const McpJson& document) {
  message.kind = McpMessage::Kind::kResponse;
  message.result = member(document, "result").dump();
  const bool is_response = document.contains("result") != document.contains("error");
  if (is_response && message.id != "null") return message;
  return refuse("null", kMcpInvalidRequest, "a message has a method, or a result, or an error");
}

}  // namespace

std::variant<McpMessage, McpRefusal> read_mcp_message(std::string_view line) {
  Result<nlohmann::json> strict = read_json_strict(line, kBounds);
  std::string raw_id;
  if (!strict.ok()) {
    // Well-formed JSON, and beyond our bounds: whoever waits for an answer to it gets one.
    raw_id = id_in(line);
    const bool is_long_number = strict.error().where == "/id" && !raw_id.empty();
    if (is_long_number) strict = read_json_strict(with_other_id(line), kBounds);
    if (!strict.ok()) {
      return read_unreadable(line, raw_id.empty() ? "null" : raw_id, strict.error());
    }
  }
  const McpJson document = strict.value();
  if (!document.is_object()) {
    return refuse("null", kMcpInvalidRequest,
                  document.is_array() ? "batches are not part of the protocol"
                                      : "a message is a JSON object");
  }
  McpMessage message;
  const bool has_id = document.contains("id");
  const bool is_good_id = is_id(member(document, "id"));
  message.id = raw_id;
  if (raw_id.empty()) {
    const bool can_be_told = is_good_id || member(document, "id").is_number();
    message.id = can_be_told ? json_text(member(document, "id")) : "null";
  }
  const std::string& id = message.id;
  if (member(document, "jsonrpc") != "2.0") {
    return refuse(id, kMcpInvalidRequest, "\"jsonrpc\" must be \"2.0\"");
  }
  if (!document.contains("method")) return read_response(std::move(message), document);
  if (!member(document, "method").is_string()) {
    return refuse(id, kMcpInvalidRequest, "\"method\" must be a string");
  }
  if (has_id && !is_good_id) {
    return refuse(id, kMcpInvalidRequest, "\"id\" must be a string or a whole number");
  }
  message.method = member(document, "method").get<std::string>();
  message.kind = has_id ? McpMessage::Kind::kRequest : McpMessage::Kind::kNotification;
  if (const McpJson& params = member(document, "params"); !params.is_null()) {
    const bool is_object = params.is_object();
    if (!is_object && has_id) {
      return McpRefusal{
          id, kMcpBadParams, {ErrorCode::kWrongType, "\"params\" must be an object", "", ""}};
    }
    if (is_object) message.params = params.dump();
  }
  return message;
}

bool elicits_forms(const McpJson& capabilities) {
  const McpJson& elicitation = member(capabilities, "elicitation");
  // Without a mode, forms are meant.
  return elicitation.is_object() && (elicitation.contains("form") || !elicitation.contains("url"));
}

std::variant<McpContext, McpRefusal> read_mcp_context(const std::string& id, const McpJson& params,
                                                      bool is_open, bool client_elicits) {
  const McpJson& meta = member(params, "_meta");
  const McpJson& version = member(meta, kVersionKey);
  McpContext context;
  if (const McpJson& token = member(meta, kProgressKey); !token.is_null()) {
    if (!token.is_string() && !token.is_number()) {
      return mcp_bad_member(id, meta, kProgressKey, "a string or a number", "/_meta");
    }
    context.progress_token = json_text(token);
  }
  if (version.is_null()) {
    if (is_open) {
      context.has_elicitation = client_elicits;
      return context;
    }
    McpRefusal refusal = mcp_bad_member(id, meta, kVersionKey, "a string", "/_meta");
    refusal.error.hint = "name it in \"_meta\", or open the connection with \"initialize\"";
    return refusal;
  }
  if (!version.is_string()) return mcp_bad_member(id, meta, kVersionKey, "a string", "/_meta");
  if (version != kMcpModern) {
    return refuse(id, kMcpUnsupportedVersion, "Unsupported protocol version",
                  json_text({{"supported", McpJson::array({kMcpModern})}, {"requested", version}}));
  }
  const McpJson& capabilities = member(meta, kCapabilitiesKey);
  if (!capabilities.is_object()) {
    return mcp_bad_member(id, meta, kCapabilitiesKey, "an object", "/_meta");
  }
  context.is_modern = true;
  context.has_elicitation = elicits_forms(capabilities);
  const McpJson& level = member(meta, kLogLevelKey);
  if (level.is_string()) context.log_level = level.get<std::string>();
  return context;
}

std::string mcp_result(const std::string& id, McpJson result, bool is_modern,
                       std::string_view version) {
  if (is_modern) {
    if (!result.contains("resultType")) result["resultType"] = "complete";
    result["_meta"][kServerInfoKey] = server_info(version);
  }
  return answer_text(id, "result", result);
}

std::string mcp_result(const std::string& id, bool is_modern, std::string_view version,
                       const WriteValue& write) {
  return write_result(id, [&](JsonWriter& json) {
    json.begin_object();
    write(json);
    if (is_modern) {
      json.key("resultType");
      json.string("complete");
      json.key("_meta");
      json.verbatim(json_text({{kServerInfoKey, server_info(version)}}));
    }
    json.end_object();
  });
}

// Errors on the wire carry one of our own codes as well.
McpRefusal mcp_refusal(const std::string& id, int code, std::string message, std::string data) {
  const ErrorCode own = code == kMcpParseError       ? ErrorCode::kBadJson
                        : code == kMcpInvalidRequest ? ErrorCode::kBadMessage
                        : code == kMcpUnknownMethod  ? ErrorCode::kUnknownMethod
                                                     : ErrorCode::kBadValue;
  return McpRefusal{id, code, Error{own, std::move(message), "", ""}, std::move(data)};
}

McpRefusal mcp_bad_member(const std::string& id, const McpJson& object, std::string_view key,
                          std::string_view wanted, std::string_view parent) {
  const bool is_absent = member(object, key).is_null();
  Error error{is_absent ? ErrorCode::kMissingField : ErrorCode::kWrongType,
              "\"" + std::string(key) + "\" " +
                  (is_absent ? "is missing" : "must be " + std::string(wanted)),
              std::string(parent), ""};
  append_to_pointer(error.where, key);
  return {id, kMcpBadParams, std::move(error)};
}

McpRefusal mcp_bad_value(const std::string& id, std::string_view key, std::string message) {
  return {id, kMcpBadParams,
          Error{ErrorCode::kBadValue, std::move(message), "/" + std::string(key), ""}};
}

std::string mcp_error(const McpRefusal& refusal) {
  if (refusal.data.empty()) return write_error(refusal.id, refusal.code, refusal.error);
  return answer_text(refusal.id, "error",
                     {{"code", refusal.code},
                      {"message", refusal.error.message},
                      {"data", parse_ordered_json(refusal.data)}});
}

std::string mcp_notification(std::string_view method, const McpJson& params) {
  return json_text({{"jsonrpc", "2.0"}, {"method", method}, {"params", params}});
}

std::string mcp_request(std::string_view id, std::string_view method, const McpJson& params) {
  return json_text({{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", params}});
}

}  // namespace sbx
