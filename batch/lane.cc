// SPDX-License-Identifier: Apache-2.0
// JSON-RPC, one message a line (docs/sessions.md).
#include "lane.h"

#include <fcntl.h>

#include <nlohmann/json.hpp>
#include <utility>
#include <variant>

#include "base/text.h"
#include "json/reader.h"
#include "rpc/json_rpc.h"

namespace sbx::batch {
namespace {

// {"code","message","where","hint"}, alone or as the data of a JSON-RPC error.
Error read_error(std::string_view text) {
  const nlohmann::json whole = parse_json(text);
  const auto data = whole.is_object() ? whole.find("data") : whole.end();
  return sbx::read_error(data != whole.end() ? *data : whole, ErrorCode::kInternal);
}

// A server that does not start prints a result with its error.
std::optional<Error> start_error(std::string_view line) {
  const Result<std::vector<RawMember>> members = read_members(line);
  if (!members.ok()) return std::nullopt;
  std::optional<Error> error;
  for (const RawMember& member : members.value()) {
    if (member.key == "jsonrpc") return std::nullopt;
    if (member.key == "error" && member.value.starts_with('{')) error = read_error(member.value);
  }
  return error;
}

}  // namespace

Result<Lane> Lane::start(const std::string& program, const std::vector<std::string>& flags) {
  std::vector<std::string> argv = {"sbx-run", "serve"};
  argv.insert(argv.end(), flags.begin(), flags.end());
  SBX_TRY(Helper helper, Helper::start(program, std::move(argv)));
  fcntl(helper.socket(), F_SETFL, fcntl(helper.socket(), F_GETFL) | O_NONBLOCK);
  return Lane(std::move(helper));
}

void Lane::call(std::uint64_t id, std::string_view method, std::string_view params) {
  out_.push(write_request(std::to_string(id), method, params));
  write();
}

void Lane::cancel(std::uint64_t id) {
  out_.push(write_notification("cancel", "{\"id\":" + std::to_string(id) + "}"));
  write();
}

void Lane::write() {
  if (out_.flush(fd()) != IoState::kClosed) return;
  // What it said before it went.
  while (read_some(fd(), in_) == IoState::kOpen) continue;
  is_open_ = false;
}

void Lane::read() {
  if (read_some(fd(), in_) == IoState::kClosed) is_open_ = false;
}

std::optional<Answer> Lane::next() {
  while (auto line = in_.next()) {
    if (auto error = start_error(line->text)) return Answer{0, "", std::move(error)};
    auto read = read_message(line->text);
    auto* const message = std::get_if<RpcMessage>(&read);
    if (message == nullptr && !has_spoken_) continue;  // of what starts it on another machine
    const bool is_of_no_call = message == nullptr || message->id == "null";
    if (is_of_no_call) {
      // Whose answer that was is not known: its task would be waited for without end.
      give_up();
      return Answer{0, "",
                    Error{ErrorCode::kSessionFailed, "sbx-run sent a line that cannot be read", "",
                          "install the sbx-run of this version"}};
    }
    has_spoken_ = true;
    if (!message->method.empty()) continue;
    Answer answer;
    answer.call = static_cast<std::uint64_t>(parse_count(message->id, INT64_MAX).value_or(0));
    if (message->error.empty()) {
      answer.result = std::move(message->result);
    } else {
      answer.error = read_error(message->error);
    }
    return answer;
  }
  return std::nullopt;
}

}  // namespace sbx::batch
