// SPDX-License-Identifier: Apache-2.0
// JSON-RPC 2.0: one line ↔ one message. The line is checked whole (grammar, UTF-8) without building
// it: ids and params stay the bytes that came, so that an id is echoed exactly, whatever its size,
// and params are decoded once, by the method that knows them. Does no I/O.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace sbx {

class JsonWriter;

constexpr int kRpcParseError = -32700;
constexpr int kRpcInvalidRequest = -32600;
constexpr int kRpcUnknownMethod = -32601;
constexpr int kRpcBadParams = -32602;
constexpr int kRpcInternal = -32603;
constexpr int kRpcFailed = -32000;  // well-formed, and could not be done

// A request, a notification (no id), or a response (no method).
struct RpcMessage {
  std::string id;      // JSON text: a number, a string or null; empty: none
  std::string method;  // empty in a response
  std::string params;  // JSON text of an object, or anything of a notification; "{}" for none
  std::string result;  // JSON text; of a response
  std::string error;   // JSON text; of a response
};

struct RpcRefusal {
  std::string id;  // "null" where it cannot be told
  int code = kRpcInvalidRequest;
  Error error;
};

// Batches are refused: one message a line.
std::variant<RpcMessage, RpcRefusal> read_message(std::string_view line);

// The refusal of a line that was too long to be read.
RpcRefusal refuse_long_line();

struct RawMember {
  std::string key;         // without escapes
  std::string_view value;  // JSON text, within the text given
};
// The members of one JSON object, whose values are checked and left as text. Errors: kBadJson,
// kWrongType for another JSON type, kDuplicateKey for one of these members (not deeper).
Result<std::vector<RawMember>> read_members(std::string_view text);

// -32601, -32602, -32603 or -32000, by the error's code and where it points.
int rpc_code(const Error& error);

// Writes one value into the line that is made of it.
using WriteValue = std::function<void(JsonWriter& json)>;

// One line each, without its end. `id` is JSON text; `params` and `result` too.
std::string write_request(std::string_view id, std::string_view method, std::string_view params);
std::string write_notification(std::string_view method, const WriteValue& params);
std::string write_notification(std::string_view method, std::string_view params);
std::string write_result(std::string_view id, const WriteValue& result);
std::string write_result(std::string_view id, std::string_view result);
std::string write_error(std::string_view id, int code, const Error& error);
std::string write_refusal(const RpcRefusal& refusal);

}  // namespace sbx
