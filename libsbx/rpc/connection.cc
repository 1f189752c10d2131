// SPDX-License-Identifier: Apache-2.0
// What becomes of each line.
#include "rpc/connection.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "json/reader.h"
#include "rpc/task_json.h"

namespace sbx {
namespace {

constexpr int kTokenAttempts = 3;

// The time taken says nothing about where they differ.
bool same_secret(std::string_view a, std::string_view b) {
  if (a.size() != b.size() || b.empty()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  }
  return difference == 0;
}

Error unknown_param(const std::string& key) {
  std::string where;
  append_to_pointer(where, key);
  return Error{ErrorCode::kUnknownField, "no such parameter: '" + key + "'", std::move(where), ""};
}

}  // namespace

Connection::Connection(Ends ends, bool is_operator, Dispatcher& dispatcher,
                       const Greeting& greeting, const ConnectionLimits& limits)
    : ends_(std::move(ends)),
      dispatcher_(dispatcher),
      greeting_(greeting),
      limits_(limits),
      client_(dispatcher.service().add_client(
          {[this](const TaskEvent& event) { send(event_line(event)); },
           [this] { return queue_.bytes(); },
           [this](const std::string& digest, const HttpQuestion& question) {
             if (is_operator_) send(question_line(digest, question));
             return is_operator_;
           }})),
      is_operator_(is_operator),
      reader_(limits.max_line_bytes) {}

Connection::~Connection() { dispatcher_.service().remove_client(client_); }

void Connection::send(std::string line) {
  if (is_gone_ || !has_reader_) return;
  queue_.push(std::move(line));
  if (queue_.bytes() > limits_.drop_bytes) is_gone_ = true;
}

void Connection::read() {
  const IoState state = read_some(ends_.in.get(), reader_);
  if (state == IoState::kOpen) has_lines_ = true;
  if (state != IoState::kClosed) return;
  is_at_end_ = true;
  has_lines_ = true;  // the last line may have no end
}

void Connection::work() {
  const auto until = std::chrono::steady_clock::now() + limits_.turn;
  while (has_lines_ && !is_gone_ && !is_held()) {
    auto line = reader_.next();
    if (!line && is_at_end_) line = reader_.rest();
    if (line) {
      handle(*line);
    } else {
      has_lines_ = false;
    }
    if (std::chrono::steady_clock::now() >= until) return;
  }
}

void Connection::lose_reader() {
  has_reader_ = false;
  queue_ = {};
}

std::size_t Connection::held_bytes() const {
  // Beside its id, a call is a few entries here and in the dispatcher.
  constexpr std::size_t kCallBytes = 512;
  return reader_.held_bytes() + queue_.bytes() + 2 * id_bytes_ +
         calls_in_flight_.size() * kCallBytes;
}

void Connection::flush() {
  if (is_gone_) return;
  if (queue_.flush(out_fd(), ends_.may_block) == IoState::kClosed) is_gone_ = true;
}

void Connection::handle(const Line& line) {
  if (line.too_long) return send(write_refusal(refuse_long_line()));
  auto read = read_message(line.text);
  if (const auto* refusal = std::get_if<RpcRefusal>(&read)) return send(write_refusal(*refusal));
  handle(std::move(std::get<RpcMessage>(read)));
}

void Connection::handle(RpcMessage message) {
  const auto refuse = [&](const Error& error) {
    send(write_error(message.id, kRpcInvalidRequest, error));
  };
  if (message.method.empty()) return;  // a response, and nothing was asked
  const bool is_named = !message.id.empty() && message.id != "null";
  const bool is_used =
      is_named && std::any_of(calls_in_flight_.begin(), calls_in_flight_.end(),
                              [&](const auto& call) { return call.second == message.id; });
  if (is_used) {
    return refuse(Error{ErrorCode::kBadMessage, "a call with this id is not answered yet", "/id",
                        "give each call an id of its own"});
  }
  if (message.method == "hello") {
    const Result<std::string> result = hello(message.params);
    if (message.id.empty()) return;
    return send(result.ok() ? write_result(message.id, result.value())
                            : write_error(message.id, rpc_code(result.error()), result.error()));
  }
  if (calls_in_flight_.size() >= limits_.max_calls && message.method != "cancel") {
    if (message.id.empty()) return;
    const Error error{ErrorCode::kTooMany,
                      std::to_string(limits_.max_calls) + " calls are not answered yet", "",
                      "wait for answers"};
    return send(write_error(message.id, kRpcFailed, error));
  }
  call(std::move(message));
}

void Connection::call(RpcMessage message) {
  const std::uint64_t serial = next_serial_++;
  calls_in_flight_.emplace(serial, message.id);
  id_bytes_ += message.id.size();
  const std::string id = message.id == "null" ? "" : message.id;
  dispatcher_.call(client_, is_operator_, id, message.method, message.params,
                   [this, serial](const Result<WriteValue>& result) { answer(serial, result); });
}

void Connection::answer(std::uint64_t serial, const Result<WriteValue>& result) {
  const auto call = calls_in_flight_.find(serial);
  if (call == calls_in_flight_.end()) return;
  const std::string id = std::move(call->second);
  calls_in_flight_.erase(call);
  id_bytes_ -= id.size();
  if (id.empty()) return;
  send(result.ok() ? write_result(id, result.value())
                   : write_error(id, rpc_code(result.error()), result.error()));
}

Result<std::string> Connection::hello(std::string_view params) {
  SBX_TRY(const std::vector<RawMember> members, read_members(params));
  bool is_lifted = false;
  for (const RawMember& member : members) {
    if (member.key == "above_ceilings") {
      is_lifted = member.value == "true";
      if (is_lifted || member.value == "false") continue;
      return Error{ErrorCode::kWrongType, "must be true or false", "/above_ceilings", ""};
    }
    if (member.key != "token") return unknown_param(member.key);
    SBX_TRY(const nlohmann::json token, read_json_strict(member.value));
    if (token.is_null()) continue;
    const bool is_right = token.is_string() && refused_tokens_ < kTokenAttempts &&
                          same_secret(token.get<std::string>(), greeting_.operator_token);
    if (!is_right) {
      ++refused_tokens_;
      return Error{ErrorCode::kBadValue, "not the operator's token of this server", "/token",
                   "serve prints it when it starts"};
    }
    is_operator_ = true;
  }
  if (is_lifted && !is_operator_) {
    return Error{ErrorCode::kNotGranted, "only the operator's limits are above the ceilings",
                 "/above_ceilings", "show the operator's token with it"};
  }
  if (is_lifted) dispatcher_.service().lift_ceilings(client_);
  return "{" + greeting_.members + (greeting_.members.empty() ? "" : ",") +
         "\"operator\":" + (is_operator_ ? "true" : "false") + "}";
}

}  // namespace sbx
