// SPDX-License-Identifier: Apache-2.0
// tool: params on stdin, the tool's own answer on stdout.
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "flags.h"
#include "json/reader.h"
#include "loop.h"
#include "session_client.h"
#include "session_verbs.h"
#include "tool_policy.h"
#include "tools/json_text.h"
#include "tools/tool_runner.h"
#include "verbs.h"

namespace sbx {
namespace {

constexpr const char* kCallId = "tool";
constexpr std::chrono::seconds kAfterSignal{5};  // the tree is killed at once: this never passes

// What is left to do with an answer, whoever made it.
struct Printed {
  std::string text;
  int exit_status = 0;
  std::optional<Error> refusal{};  // for a person's eyes
};

Printed printed(const ToolAnswer& answer) {
  return {answer.own_text(), answer.exit_status, answer.refusal};
}

int print(const Printed& answer, int signal_fd) {
  if (answer.refusal) complain(*answer.refusal);
  const int written = write_answer(STDOUT_FILENO, answer.text, signal_fd);
  if (written == 0) return answer.exit_status;
  return written > 0 ? 128 + written : stdout_unwritable();
}

// Tasks end with the process that holds them.
Status check_background(const ToolCall& call) {
  if (call.mode == ToolMode::kRun) return {};
  return Error{ErrorCode::kSessionFailed, "a background command needs a session that holds it",
               call.mode == ToolMode::kBackground ? "/run_in_background" : "",
               "sbx-run tool --session NAME " + call.tool};
}

// One call, to its end; `signal` is what ended it before.
Printed run_call(Service& service, ToolRunner& runner, ToolCall call, int signal_fd, int& signal) {
  std::optional<Printed> answer;
  const ClientId client = service.add_client({});
  const std::string tool = call.tool;
  runner.run({client, kCallId}, std::move(call),
             [&](const ToolAnswer& done) { answer = printed(done); });
  auto give_up = PollTurn::Clock::time_point::max();
  while (!answer && PollTurn::Clock::now() < give_up && !service.wants_shutdown()) {
    PollTurn loop;
    loop.read(service.poll_fd());
    if (signal == 0) loop.read(signal_fd);
    loop.until(service.deadline());
    loop.wait();
    if (signal == 0 && loop.is_ready(signal_fd)) {
      signal = read_signal(signal_fd);
      if (signal != 0) {
        runner.ended_by(signal);
        service.cancel(client, kCallId);
        give_up = PollTurn::Clock::now() + kAfterSignal;
      }
    }
    service.step();
  }
  if (answer) return std::move(*answer);
  return printed(tool_refusal(tool, Error{ErrorCode::kCancelled, "ended with its caller", "", ""}));
}

// `params` are read into what whoever refuses the call has as well.
Result<int> call_in_process(const RunOptions& options, const Invocation& invocation,
                            std::string& params) {
  SBX_TRY(const OwnedFd owner, owner_descriptor(options.owner_pid));
  // Before signals are ours: while it waits for its params they end it.
  SBX_TRY(params, read_params_text(options.params_file));
  SBX_CHECK_OK(check_owner(owner));
  SBX_TRY(const OwnedFd signals, signal_descriptor(false));
  const int signal_fd = signals.get();
  SBX_TRY(SessionOptions session, prepare_tool(options, invocation, options.name));
  session.owner_pidfd = owner.get();
  Service service(std::move(session));
  ToolRunner runner(
      service, [&](std::string_view) -> Result<SharedPolicy> { return service.options().policy; });
  Result<ToolCall> call = runner.decode(options.name, params);
  if (!call.ok()) {
    return print(
        printed(tool_refusal(options.name, call.error(), runner.refused_command(), params)),
        signal_fd);
  }
  SBX_CHECK_OK(check_background(call.value()));
  int signal = 0;
  const Printed answer = run_call(service, runner, std::move(call).value(), signal_fd, signal);
  const int status = print(answer, signal_fd);
  return signal == 0 ? status : 128 + signal;
}

// What a task that is streamed tells, as JSON lines, until it ends.
class Stream {
 public:
  explicit Stream(std::string task) : task_(std::move(task)) {}

  void take(const std::string& method, const std::string& params) {
    nlohmann::ordered_json event = parse_ordered_json(params);
    if (!event.is_object() || !event.contains("task_id") || event["task_id"] != task_) return;
    if (method == "task.exit") has_ended_ = true;
    if (method != "task.match" && method != "task.output") return;
    nlohmann::ordered_json line = {{"event", method.substr(5)}};
    line.update(event);
    write_all(STDOUT_FILENO, json_text(line) + "\n");
  }
  bool has_ended() const { return has_ended_; }

 private:
  std::string task_;
  bool has_ended_ = false;
};

// The server decodes the params; errors point into them again.
Error own_error(Error error) {
  constexpr std::string_view kPrefix = "/params";
  if (error.where.starts_with(kPrefix)) error.where.erase(0, kPrefix.size());
  return error;
}

// What the server wrote for the method `tool`: its text, or else its members but for `tool`.
Printed read_answer(std::string_view json) {
  nlohmann::ordered_json body = parse_ordered_json(json);
  if (!body.is_object() || !body.contains("tool")) {
    return printed(
        tool_refusal("", Error{ErrorCode::kBadMessage, "the server's answer is no tool's", "",
                               "use the same version of sbx-run on both sides"}));
  }
  Printed out;
  out.exit_status = body["tool"].value("exit_status", 0);
  if (out.exit_status != 0 && body.contains("error"))
    out.refusal = read_error(body["error"], ErrorCode::kSessionFailed);
  body.erase("tool");
  out.text = body.contains("text") ? body["text"].get<std::string>() : json_text(body) + "\n";
  return out;
}

Result<int> call_in_session(const RunOptions& options, const Invocation& invocation,
                            std::string& text) {
  SBX_TRY(text, read_params_text(options.params_file));
  SBX_TRY(const ToolCall decoded, decode_tool_call(options.name, text, {}));
  SBX_TRY(const SessionClient::Wanted wanted, wanted_session(options, invocation));
  SBX_TRY(SessionClient client, SessionClient::open(wanted, invocation.environment));
  SBX_TRY(const OwnedFd signals, signal_descriptor(false));
  client.heed_signals(signals.get());
  const nlohmann::ordered_json params = parse_ordered_json(text);
  Stream stream(decoded.task_id);
  const auto notify = [&](const std::string& method, const std::string& event) {
    if (decoded.mode == ToolMode::kStream) stream.take(method, event);
  };
  const auto call = [&](const nlohmann::ordered_json& of_tool) {
    return client.call("tool", json_text({{"name", options.name}, {"params", of_tool}}), notify);
  };
  Result<std::string> result = call(params);
  if (!result.ok()) return own_error(result.error());
  if (decoded.mode == ToolMode::kStream) {
    while (!stream.has_ended()) SBX_CHECK_OK(client.next(notify));
    result = call({{"task_id", decoded.task_id}});
    if (!result.ok()) return own_error(result.error());
  }
  const int status = print(read_answer(result.value()), -1);
  return client.signal() == 0 ? status : 128 + client.signal();
}

}  // namespace

int verb_tool(const Invocation& invocation) {
  RunOptions options;
  Result<ParseOutcome> parsed = parse_flags(invocation, options);
  if (parsed.ok() && parsed.value().help) {
    return say(*parsed.value().help);
  }
  std::string params;
  const auto refuse = [&](const Error& error) {
    return print(printed(tool_refusal(options.name, error, "", params)), -1);
  };
  if (!parsed.ok()) return refuse(parsed.error());
  const auto call = options.session.empty() ? call_in_process : call_in_session;
  const Result<int> status = call(options, invocation, params);
  return status.ok() ? status.value() : refuse(status.error());
}

}  // namespace sbx
