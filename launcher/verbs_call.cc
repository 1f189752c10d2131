// SPDX-License-Identifier: Apache-2.0
// call: any method, by name, in a session or without one.
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "json/reader.h"
#include "json/writer.h"
#include "loop.h"
#include "prepare.h"
#include "report/json.h"
#include "rpc/dispatcher.h"
#include "rpc/framing.h"
#include "rpc/methods.h"
#include "session_client.h"
#include "session_verbs.h"
#include "tool_policy.h"
#include "verbs.h"

namespace sbx {

using nlohmann::json;

namespace {

// One call on a session of its own, which ends with it.
class LocalCall {
 public:
  LocalCall(SessionOptions options, ToolRunner::FindPolicy tools, int signal_fd, int owner_fd)
      : service_(std::move(options)),
        tools_(service_, std::move(tools)),
        dispatcher_(service_, &tools_),
        signal_fd_(signal_fd),
        owner_fd_(owner_fd) {}

  // The answer, and the signal that came meanwhile.
  std::pair<Result<std::string>, int> call(const std::string& method, const std::string& params) {
    std::optional<Result<std::string>> answer;
    dispatcher_.call(client_, true, "1", method, params, [&](const Result<WriteValue>& result) {
      Result<std::string> text = result.ok() ? Result<std::string>("") : result.error();
      if (result.ok()) {
        JsonWriter writer(text.value());
        result.value()(writer);
      }
      answer.emplace(std::move(text));
    });
    while (!answer) {
      wait();
      service_.step();
    }
    service_.remove_client(client_);
    return {*std::move(answer), signal_};
  }

 private:
  void wait() {
    PollTurn turn;
    turn.read(service_.poll_fd());
    turn.read(signal_fd_);
    turn.read(owner_fd_);
    turn.until(service_.deadline());
    turn.wait();
    if (turn.is_ready(signal_fd_)) {
      if (const int number = read_signal(signal_fd_); number != 0) signal_ = number;
      service_.cancel(client_, "1");
      service_.end_all();
    }
    if (turn.is_ready(owner_fd_)) {
      owner_fd_ = -1;
      service_.end_all();
    }
  }

  Service service_;
  ToolRunner tools_;
  Dispatcher dispatcher_;
  ClientId client_ = service_.add_client({});
  int signal_fd_;
  int owner_fd_;
  int signal_ = 0;
};

struct CallAnswer {
  std::string text;
  int signal = 0;
};

Result<CallAnswer> call_here(const RunOptions& options, const Invocation& invocation,
                             const std::string& method, const std::string& params,
                             const OwnedFd& owner) {
  SBX_CHECK_OK(check_owner(owner));
  SBX_TRY(const OwnedFd signals, signal_descriptor(false));
  SBX_TRY(SessionOptions session, prepare_session(options, invocation));
  session.owner_pidfd = owner.get();
  auto [answer, number] =
      LocalCall(std::move(session), tool_policies(options, invocation), signals.get(), owner.get())
          .call(method, params);
  if (!answer.ok()) return answer.error();
  return CallAnswer{std::move(answer).value(), number};
}

Result<CallAnswer> call_session(const RunOptions& options, const Invocation& invocation,
                                const std::string& method, const std::string& params) {
  SBX_TRY(SessionClient::Wanted wanted, wanted_session(options, invocation));
  wanted.as_operator = true;
  SBX_TRY(SessionClient client, SessionClient::open(wanted, invocation.environment));
  SBX_TRY(const OwnedFd signals, signal_descriptor(false));
  client.heed_signals(signals.get());
  SBX_TRY(std::string answer, client.call(method, params));
  return CallAnswer{std::move(answer), client.signal()};
}

}  // namespace

int verb_call(const Invocation& invocation) {
  RunOptions options;
  options.params_file = "-";
  if (const auto status = parse_verb(invocation, options)) return *status;
  const std::string& method = options.what;
  const auto call = [&]() -> Result<CallAnswer> {
    // Before anybody waits for its params. The greeting is the connection's own.
    const auto known = find_method(methods(), method);
    if (!known.ok() && (method != "hello" || options.session.empty())) return known.error();
    OwnedFd owner;
    if (options.session.empty()) {
      SBX_TRY(owner, owner_descriptor(options.owner_pid));
    }
    SBX_TRY(std::string params, read_source(options.params_file, "--params", kMaxLineBytes));
    if (params.find_first_not_of(" \t\r\n") == std::string::npos) params = "{}";
    // One line on the wire, however it is laid out in the file.
    if (options.session.empty()) return call_here(options, invocation, method, params, owner);
    SBX_TRY(const json document, read_json_strict(params));
    return call_session(options, invocation, method, document.dump());
  };
  const Result<CallAnswer> answer = call();
  if (!answer.ok()) {
    complain(answer.error());
    const std::string outcome = outcome_to_json(error_outcome(answer.error()));
    // A bad flag is the verb's own affair, whatever the method would have answered.
    const bool is_of_flag = answer.error().where.starts_with("--");
    print(is_of_flag ? outcome : foreign_json(json{{"error", parsed(outcome)["error"]}}.dump()));
    return 125;
  }
  const bool is_result = method == "run" || method == "start" || method == "wait";
  const json result = is_result ? parsed(answer.value().text) : json();
  if (const auto error = error_of(result)) complain(*error);
  const int status = print(answer.value().text) ? status_of(result) : 125;
  return answer.value().signal != 0 && status != 125 ? 128 + answer.value().signal : status;
}

}  // namespace sbx
