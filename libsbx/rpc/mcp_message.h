// SPDX-License-Identifier: Apache-2.0
// The messages of the Model Context Protocol: lines ↔ values. Two eras in one place: requests that
// carry their revision and capabilities in _meta (2026-07-28), and those of a connection that was
// opened with `initialize` (2025-11-25, 2025-06-18). Values only.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <variant>

#include "rpc/json_rpc.h"

namespace sbx {

inline constexpr std::string_view kMcpModern = "2026-07-28";
inline constexpr std::string_view kMcpLegacy = "2025-11-25";
inline constexpr std::string_view kMcpOldest = "2025-06-18";

inline constexpr int kMcpParseError = -32700;
inline constexpr int kMcpInvalidRequest = -32600;
inline constexpr int kMcpUnknownMethod = -32601;
inline constexpr int kMcpBadParams = -32602;
inline constexpr int kMcpUnsupportedVersion = -32022;

using McpJson = nlohmann::ordered_json;

struct McpMessage {
  enum class Kind : std::uint8_t { kRequest, kNotification, kResponse };
  Kind kind = Kind::kRequest;
  std::string id;  // JSON text; "null" of a notification
  std::string method;
  std::string params = "{}";    // JSON text of an object; a notification's bad ones are left out
  std::string result = "null";  // of a response, JSON text; "null" where it is an error
};

struct McpRefusal {
  std::string id = "null";  // JSON text
  int code = kMcpInvalidRequest;
  Error error;
  std::string data = {};  // JSON text; empty: what the error says
};
McpRefusal mcp_refusal(const std::string& id, int code, std::string message, std::string data = "");
// Of the member `key` of params, or of the object in them that `parent` points to: it is absent, or
// not what it must be, such as "a string".
McpRefusal mcp_bad_member(const std::string& id, const McpJson& object, std::string_view key,
                          std::string_view wanted, std::string_view parent = "");
// One that has that type, and no good value.
McpRefusal mcp_bad_value(const std::string& id, std::string_view key, std::string message);

std::variant<McpMessage, McpRefusal> read_mcp_message(std::string_view line);

// What a request says of itself in _meta.
struct McpContext {
  bool is_modern = false;
  bool has_elicitation = false;  // forms
  std::string progress_token;    // JSON text; empty: no progress is wanted
  std::string log_level;         // empty: no messages are wanted
};
// `params` are the message's. `is_open`: there was an `initialize`, which said `client_elicits`.
std::variant<McpContext, McpRefusal> read_mcp_context(const std::string& id, const McpJson& params,
                                                      bool is_open, bool client_elicits);

// Whether these client capabilities have elicitation by forms.
bool elicits_forms(const McpJson& capabilities);

// One line each.
// `write` writes the members of a result that is complete.
std::string mcp_result(const std::string& id, bool is_modern, std::string_view version,
                       const WriteValue& write);
std::string mcp_result(const std::string& id, McpJson result, bool is_modern,
                       std::string_view version);
std::string mcp_error(const McpRefusal& refusal);
std::string mcp_notification(std::string_view method, const McpJson& params);
std::string mcp_request(std::string_view id, std::string_view method, const McpJson& params);

}  // namespace sbx
