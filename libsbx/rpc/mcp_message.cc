// SPDX-License-Identifier: Apache-2.0
// Strict about what the protocol says, silent about members that it does not know.
#include "rpc/mcp_message.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "profile/json_reader.h"
#include "tools/json_text.h"

namespace sbx {
namespace {

constexpr std::string_view kVersionKey = "io.modelcontextprotocol/protocolVersion";
constexpr std::string_view kCapabilitiesKey = "io.modelcontextprotocol/clientCapabilities";
constexpr std::string_view kLogLevelKey = "io.modelcontextprotocol/logLevel";
constexpr std::string_view kServerInfoKey = "io.modelcontextprotocol/serverInfo";
constexpr std::string_view kProgressKey = "progressToken";

bool is_id(const McpJson& value) { return value.is_string() || value.is_number_integer(); }

McpRefusal refuse(const std::string& id, int code, std::string message, std::string data = "") {
  return McpRefusal{id, code, std::move(message), std::move(data)};
}

// Null where it is absent.
const McpJson& member(const McpJson& object, std::string_view key) {
  static const McpJson kNull;
  const auto at = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && at != object.end() ? *at : kNull;
}

std::variant<McpMessage, McpRefusal> read_response(McpMessage message, const McpJson& document) {
  message.kind = McpMessage::Kind::kResponse;
  message.result = member(document, "result").dump();
  const bool is_response = document.contains("result") != document.contains("error");
  if (is_response && message.id != "null") return message;
  return refuse("null", kMcpInvalidRequest, "a message has a method, or a result, or an error");
}

// Contract 11: errors on the wire carry one of our own codes as well.
McpJson own_data(const McpRefusal& refusal) {
  const ErrorCode code = refusal.code == kMcpParseError       ? ErrorCode::kBadJson
                         : refusal.code == kMcpInvalidRequest ? ErrorCode::kBadMessage
                         : refusal.code == kMcpUnknownMethod  ? ErrorCode::kUnknownMethod
                                                              : ErrorCode::kBadValue;
  return {{"code", error_name(code)},
          {"message", refusal.message},
          {"where", nullptr},
          {"hint", nullptr}};
}

}  // namespace

std::variant<McpMessage, McpRefusal> read_mcp_message(std::string_view line) {
  const Result<nlohmann::json> strict = read_json_strict(line);
  if (!strict.ok()) {
    return refuse("null", kMcpParseError, "not readable as JSON: " + strict.error().message);
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
  if (is_good_id) message.id = json_text(member(document, "id"));
  if (!is_good_id) message.id = "null";
  const std::string& id = message.id;
  if (member(document, "jsonrpc") != "2.0") {
    return refuse(id, kMcpInvalidRequest, "\"jsonrpc\" must be \"2.0\"");
  }
  if (!document.contains("method")) return read_response(std::move(message), document);
  if (!member(document, "method").is_string()) {
    return refuse(id, kMcpInvalidRequest, "\"method\" must be a string");
  }
  if (has_id && !is_good_id) {
    return refuse("null", kMcpInvalidRequest, "\"id\" must be a string or a whole number");
  }
  message.method = member(document, "method").get<std::string>();
  message.kind = has_id ? McpMessage::Kind::kRequest : McpMessage::Kind::kNotification;
  if (const McpJson& params = member(document, "params"); !params.is_null()) {
    if (!params.is_object()) return refuse(id, kMcpBadParams, "\"params\" must be an object");
    message.params = params.dump();
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
      return refuse(id, kMcpBadParams, "\"progressToken\" must be a string or a number");
    }
    context.progress_token = json_text(token);
  }
  if (version.is_null()) {
    if (is_open) {
      context.has_elicitation = client_elicits;
      return context;
    }
    return refuse(id, kMcpBadParams,
                  "\"_meta\" must name the protocol version under \"" + std::string(kVersionKey) +
                      "\", or the connection be opened with \"initialize\"");
  }
  if (!version.is_string()) {
    return refuse(id, kMcpBadParams, "the protocol version must be a string");
  }
  if (version != kMcpModern) {
    return refuse(id, kMcpUnsupportedVersion, "Unsupported protocol version",
                  json_text({{"supported", McpJson::array({kMcpModern})}, {"requested", version}}));
  }
  const McpJson& capabilities = member(meta, kCapabilitiesKey);
  if (!capabilities.is_object()) {
    return refuse(id, kMcpBadParams,
                  "\"_meta\" must hold an object under \"" + std::string(kCapabilitiesKey) + "\"");
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
    result["_meta"][kServerInfoKey] = {{"name", "sbx"}, {"version", version}};
  }
  return json_text({{"jsonrpc", "2.0"}, {"id", McpJson::parse(id)}, {"result", std::move(result)}});
}

std::string mcp_error(const McpRefusal& refusal) {
  McpJson error = {{"code", refusal.code}, {"message", refusal.message}};
  error["data"] = refusal.data.empty() ? own_data(refusal) : McpJson::parse(refusal.data);
  return json_text(
      {{"jsonrpc", "2.0"}, {"id", McpJson::parse(refusal.id)}, {"error", std::move(error)}});
}

std::string mcp_notification(std::string_view method, const McpJson& params) {
  return json_text({{"jsonrpc", "2.0"}, {"method", method}, {"params", params}});
}

std::string mcp_request(std::string_view id, std::string_view method, const McpJson& params) {
  return json_text({{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", params}});
}

}  // namespace sbx
