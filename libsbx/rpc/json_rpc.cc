// SPDX-License-Identifier: Apache-2.0
// The members of a message, and what each must be.
#include "rpc/json_rpc.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/text.h"
#include "base/utf8.h"
#include "json/reader.h"
#include "json/scan.h"
#include "json/writer.h"
#include "rpc/framing.h"

namespace sbx {
namespace {

constexpr std::size_t kMaxIdBytes = 1024;  // it is held as long as the call runs, and echoed

Error bad_json(std::string why, std::size_t byte) {
  return Error{ErrorCode::kBadJson,
               "not valid JSON: " + std::move(why) + " (byte " + std::to_string(byte + 1) + ")", "",
               "send one JSON object a line, in UTF-8"};
}

Error bad_message(std::string message, std::string where, std::string hint) {
  return Error{ErrorCode::kBadMessage, std::move(message), std::move(where), std::move(hint)};
}

// A well-formed JSON string without its quotes and escapes.
std::string plain(std::string_view text) {
  const std::string_view inner = text.substr(1, text.size() - 2);
  if (inner.find('\\') == std::string_view::npos) return std::string(inner);
  const auto value = read_json_strict(text, {text.size(), 1});
  return value.ok() ? value.value().get<std::string>() : std::string(inner);
}

class MessageReader {
 public:
  explicit MessageReader(const std::vector<RawMember>& members) : members_(members) {}

  std::variant<RpcMessage, RpcRefusal> read() {
    RpcMessage message;
    if (auto error = read_id(message)) return RpcRefusal{"null", kRpcInvalidRequest, *error};
    if (auto error = read_rest(message)) {
      // The id of a response is of its reader's own call.
      const bool is_response =
          find("method") == nullptr && (find("result") != nullptr || find("error") != nullptr);
      return RpcRefusal{message.id.empty() || is_response ? "null" : message.id, refusal_code_,
                        *error};
    }
    return message;
  }

 private:
  const RawMember* find(std::string_view key) const {
    for (const RawMember& member : members_) {
      if (member.key == key) return &member;
    }
    return nullptr;
  }

  std::optional<Error> read_id(RpcMessage& message) const {
    const RawMember* id = find("id");
    if (id == nullptr) return std::nullopt;
    const char first = id->value.front();
    if (first == '{' || first == '[' || first == 't' || first == 'f') {
      return bad_message("an id is a string, a number or null", "/id", "");
    }
    if (id->value.size() > kMaxIdBytes) {
      return Error{ErrorCode::kTooLarge, "an id is at most 1024 bytes long", "/id", ""};
    }
    message.id = id->value;
    return std::nullopt;
  }

  std::optional<Error> read_rest(RpcMessage& message) {
    static constexpr std::array<std::string_view, 6> kKnown = {"jsonrpc", "id",     "method",
                                                               "params",  "result", "error"};
    for (const RawMember& member : members_) {
      if (std::find(kKnown.begin(), kKnown.end(), member.key) != kKnown.end()) continue;
      const auto nearest = nearest_name(member.key, kKnown);
      std::string where;
      append_to_pointer(where, member.key);
      return Error{ErrorCode::kUnknownField, "no message has a member '" + member.key + "'",
                   std::move(where), nearest ? "did you mean " + std::string(*nearest) + "?" : ""};
    }
    const RawMember* version = find("jsonrpc");
    if (version == nullptr || version->value.front() != '"' || plain(version->value) != "2.0") {
      return bad_message("not a JSON-RPC 2.0 message", "/jsonrpc", "add \"jsonrpc\": \"2.0\"");
    }
    return find("method") != nullptr ? read_call(message) : read_response(message);
  }

  std::optional<Error> read_call(RpcMessage& message) {
    const RawMember* method = find("method");
    if (method->value.front() != '"') return bad_message("a method is a string", "/method", "");
    message.method = plain(method->value);
    if (message.method.empty()) return bad_message("a method has a name", "/method", "");
    if (find("result") != nullptr || find("error") != nullptr) {
      return bad_message("a message is a request or a response, not both", "", "");
    }
    message.params = "{}";
    const RawMember* params = find("params");
    if (params == nullptr || params->value == "null") return std::nullopt;
    // A notification's are for its method to refuse: nobody is answered (JSON-RPC 2.0,
    // section 4.1).
    if (params->value.front() != '{' && !message.id.empty()) {
      refusal_code_ = kRpcBadParams;
      return Error{ErrorCode::kWrongType, "params must be an object", "", "name each parameter"};
    }
    message.params = params->value;
    return std::nullopt;
  }

  std::optional<Error> read_response(RpcMessage& message) const {
    const RawMember* result = find("result");
    const RawMember* error = find("error");
    if ((result == nullptr) == (error == nullptr) || message.id.empty() ||
        find("params") != nullptr) {
      return bad_message("neither a request nor a response", "/method", "name a method");
    }
    (result != nullptr ? message.result : message.error) =
        result != nullptr ? result->value : error->value;
    return std::nullopt;
  }

  const std::vector<RawMember>& members_;
  int refusal_code_ = kRpcInvalidRequest;
};

void begin(JsonWriter& json) {
  json.begin_object();
  json.key("jsonrpc");
  json.string("2.0");
}

std::string write_call(std::string_view id, std::string_view method, const WriteValue& params) {
  std::string out;
  JsonWriter json(out);
  begin(json);
  if (!id.empty()) {
    json.key("id");
    json.verbatim(id);
  }
  json.key("method");
  json.string(method);
  json.key("params");
  params(json);
  json.end_object();
  return out;
}

}  // namespace

// One pass, whatever it finds: what is no JSON at all is said before anything else of it.
Result<std::vector<RawMember>> read_members(std::string_view text) {
  const std::size_t valid = valid_utf8_prefix(text);
  if (valid != text.size()) return bad_json("ill-formed UTF-8", valid);
  JsonScan scan(text);
  const auto no_json = [&] {
    return bad_json(scan.at_end() ? "it ends too soon" : "unexpected character", scan.position());
  };
  scan.skip_space();
  if (!scan.take('{')) {
    const bool is_whole = scan.value().has_value() && (scan.skip_space(), scan.at_end());
    if (!is_whole) return no_json();
    return Error{ErrorCode::kWrongType, "not a JSON object", "", ""};
  }
  std::vector<RawMember> members;
  std::optional<Error> error;
  scan.skip_space();
  bool is_last = scan.take('}');
  while (!is_last) {
    scan.skip_space();
    const auto name = scan.string();
    if (!name) return no_json();
    scan.skip_space();
    if (!scan.take(':')) return no_json();
    const auto value = scan.value();
    if (!value) return no_json();
    scan.skip_space();
    is_last = scan.take('}');
    if (!is_last && !scan.take(',')) return no_json();
    if (error) continue;
    std::string key = plain(*name);
    if (std::any_of(members.begin(), members.end(),
                    [&](const RawMember& member) { return member.key == key; })) {
      error = Error{ErrorCode::kDuplicateKey, "the same key stands twice in one object", "",
                    "remove one of the two"};
      append_to_pointer(error->where, key);
    } else if (members.size() >= 64) {
      // The comparisons above are square in the number of members.
      error = bad_message("too many members", "", "");
    } else {
      members.push_back({std::move(key), *value});
    }
  }
  scan.skip_space();
  if (!scan.at_end()) return no_json();
  if (error) return *std::move(error);
  return members;
}

std::variant<RpcMessage, RpcRefusal> read_message(std::string_view line) {
  const auto members = read_members(line);
  if (members.ok()) return MessageReader(members.value()).read();
  const Error& error = members.error();
  if (error.code == ErrorCode::kBadJson) return RpcRefusal{"null", kRpcParseError, error};
  if (error.code != ErrorCode::kWrongType) return RpcRefusal{"null", kRpcInvalidRequest, error};
  const bool is_batch = line[line.find_first_not_of(" \t\r\n")] == '[';
  return RpcRefusal{"null", kRpcInvalidRequest,
                    bad_message(is_batch ? "batches are not supported" : "not a JSON object", "",
                                "send one JSON object a line")};
}

RpcRefusal refuse_long_line() {
  return RpcRefusal{
      "null", kRpcInvalidRequest,
      Error{ErrorCode::kTooLarge,
            "a message of more than " + std::to_string(kMaxLineBytes) + " bytes was not read", "",
            "write large files in parts"}};
}

int rpc_code(const Error& error) {
  switch (error.code) {
    case ErrorCode::kUnknownMethod:  // with a place: of a tool, which params name
      return error.where.empty() ? kRpcUnknownMethod : kRpcBadParams;
    case ErrorCode::kInternal:
      return kRpcInternal;
    case ErrorCode::kBadMessage:
      return kRpcInvalidRequest;
    case ErrorCode::kBadJson:
    case ErrorCode::kUnknownField:
    case ErrorCode::kWrongType:
    case ErrorCode::kOutOfRange:
    case ErrorCode::kBadValue:
    case ErrorCode::kDuplicateKey:
    case ErrorCode::kMissingField:
    case ErrorCode::kTooDeep:
    case ErrorCode::kTooLarge:
    case ErrorCode::kAboveCeiling:
    case ErrorCode::kTaskNotFound:
      return kRpcBadParams;
    default:
      return error.where.starts_with('/') ? kRpcBadParams : kRpcFailed;
  }
}

std::string write_request(std::string_view id, std::string_view method, std::string_view params) {
  return write_call(id, method,
                    [&](JsonWriter& json) { json.verbatim(params.empty() ? "{}" : params); });
}

std::string write_notification(std::string_view method, const WriteValue& params) {
  return write_call("", method, params);
}

std::string write_notification(std::string_view method, std::string_view params) {
  return write_request("", method, params);
}

std::string write_result(std::string_view id, const WriteValue& result) {
  std::string out;
  JsonWriter json(out);
  begin(json);
  json.key("id");
  json.verbatim(id);
  json.key("result");
  result(json);
  json.end_object();
  return out;
}

std::string write_result(std::string_view id, std::string_view result) {
  return write_result(id, [&](JsonWriter& json) { json.verbatim(result); });
}

std::string write_error(std::string_view id, int code, const Error& error) {
  std::string out;
  JsonWriter json(out);
  begin(json);
  json.key("id");
  json.verbatim(id);
  json.key("error");
  json.begin_object();
  json.key("code");
  json.integer(code);
  json.key("message");
  json.string(error.message);
  json.key("data");
  json.begin_object();
  json.key("code");
  json.string(error_name(error.code));
  json.key("message");
  json.string(error.message);
  json.key("where");
  json.string_or_null(error.where);
  json.key("hint");
  json.string_or_null(error.hint);
  json.end_object();
  json.end_object();
  json.end_object();
  return out;
}

std::string write_refusal(const RpcRefusal& refusal) {
  return write_error(refusal.id, refusal.code, refusal.error);
}

}  // namespace sbx
