// SPDX-License-Identifier: Apache-2.0
// What the service gave → each tool's own answer.
#include <gtest/gtest.h>
#include <signal.h>

#include <nlohmann/json.hpp>
#include <tuple>

#include "tools/tool.h"

namespace sbx {
namespace {

using nlohmann::json;

ToolCall decode(std::string_view tool, std::string_view params) {
  ToolSettings settings;
  settings.timeout_ms = 120'000;
  if (tool == "bash_exec") settings.allowed_commands = {"ls", "cat"};
  Result<ToolCall> call = decode_tool_call(tool, params, settings);
  EXPECT_TRUE(call.ok());
  return std::move(call).value();
}

ToolAnswer answer(std::string_view tool, std::string_view params, ToolResult result) {
  return tool_answer(decode(tool, params), std::move(result));
}

// Of a command that ended so, in 3.2 ms, in /w.
Outcome ended(RunStatus status, std::string out = "", std::string err = "") {
  Outcome outcome;
  outcome.status = status;
  outcome.out.text = std::move(out);
  outcome.err.text = std::move(err);
  outcome.duration_ms = 3.2;
  outcome.cwd = "/w";
  return outcome;
}
Outcome exited(int code, std::string out = "", std::string err = "") {
  Outcome outcome = ended(RunStatus::kExited, std::move(out), std::move(err));
  outcome.exit_code = code;
  return outcome;
}
Outcome signaled(RunStatus status, int signal) {
  Outcome outcome = ended(status);
  outcome.signal = signal;
  return outcome;
}
Outcome refused(RunStatus status, const Error& error) {
  Outcome outcome = ended(status);
  outcome.error = error;
  return outcome;
}
ToolResult of(Outcome outcome) {
  ToolResult result;
  result.outcome = std::make_shared<const Outcome>(std::move(outcome));
  return result;
}
ToolResult task(TaskOutput::Text output, std::optional<Outcome> outcome = std::nullopt) {
  ToolResult result;
  if (outcome) result = of(std::move(*outcome));
  result.task_id = "t";
  result.pid = 7;
  result.uptime_ms = 1500;
  result.output = std::move(output);
  return result;
}
ToolAnswer answer(std::string_view tool, std::string_view params, Outcome outcome) {
  return answer(tool, params, of(std::move(outcome)));
}

constexpr std::string_view kBash = R"({"command":"npm run build","description":"d"})";

TEST(AnswerBash, EndsWithTheExitNumberOfEveryFailure) {
  EXPECT_EQ(answer("bash", kBash, exited(0, "hi")).own_text(), "hi");
  EXPECT_EQ(answer("bash", kBash, exited(0)).own_text(), "");
  EXPECT_EQ(answer("bash", kBash, exited(3, "hi")).own_text(), "hi\nexit: 3\n");
  EXPECT_EQ(answer("bash", kBash, exited(3, "hi\n")).own_text(), "hi\nexit: 3\n");
  const ToolAnswer crashed = answer("bash", kBash, signaled(RunStatus::kSignaled, SIGSEGV));
  EXPECT_EQ(crashed.own_text(), "exit: 139\n");
  EXPECT_FALSE(crashed.is_error);
  EXPECT_EQ(crashed.exit_status, 0);
}

// With the page's example.
TEST(AnswerBash, SaysThatTheTimeIsUp) {
  const ToolAnswer out =
      answer("bash", R"({"command":"c","description":"d","timeout":2})",
             ended(RunStatus::kTimedOut, "some stdout\nsome stderr interleaved\n"));
  EXPECT_EQ(out.own_text(),
            "some stdout\nsome stderr interleaved\nbash: timed out after 2s\nexit: 124\n");
  EXPECT_TRUE(out.is_error);
  EXPECT_EQ(answer("bash", R"({"command":"c","description":"d","timeout":0.25})",
                   ended(RunStatus::kTimedOut))
                .own_text(),
            "bash: timed out after 0.25s\nexit: 124\n");
  EXPECT_EQ(answer("bash", kBash, ended(RunStatus::kTimedOut)).own_text(),
            "bash: timed out after 120s\nexit: 124\n");
}

TEST(AnswerBash, NamesTheBackgroundShell) {
  ToolResult started = task({});
  started.task_id = "2b1d94c0";
  const ToolAnswer out =
      answer("bash", R"({"command":"npm run build","description":"d","run_in_background":true})",
             std::move(started));
  EXPECT_EQ(out.own_text(), "shell_id: 2b1d94c0\nstarted in background: npm run build\n");
  EXPECT_EQ(json::parse(out.structured()),
            json::parse(R"({"output":"","status":"running","exit_code":null,
                            "shell_id":"2b1d94c0"})"));
}

// A text tool answers `NAME: message`.
TEST(AnswerBash, RefusesInOneLine) {
  const ToolAnswer out = answer(
      "bash", kBash,
      refused(RunStatus::kDenied, Error{ErrorCode::kDenied, "sudo is refused", "", "remove it"}));
  EXPECT_EQ(out.own_text(), "bash: sudo is refused (remove it)\n");
  EXPECT_TRUE(out.is_error);
  EXPECT_EQ(out.exit_status, 126);
  EXPECT_EQ(json::parse(out.structured()).at("error").at("code"), "denied");
}

TEST(AnswerBashOutput, GivesTheStateWhatIsNewAndTheEnd) {
  const auto poll = [](ToolResult result) {
    return answer("bash_output", R"({"shell_id":"x"})", std::move(result)).own_text();
  };
  EXPECT_EQ(poll(task({"a\n", ""})), "status: running\na\n");
  EXPECT_EQ(poll(task({"", "b"}, exited(0))), "status: exited\nb\nexit: 0\n");
  EXPECT_EQ(poll(task({"a", "b"}, signaled(RunStatus::kKilled, SIGKILL))),
            "status: killed\na\nb\nexit: 137\n");
  EXPECT_EQ(poll(task({"a\n", "", 20, 18})), "status: running\n[18 bytes dropped]\na\n");
}

// The page's fields, by their names.
TEST(AnswerShell, HasThePagesFields) {
  Outcome outcome = exited(0, "ok");
  outcome.duration_ms = 1420.4;
  outcome.command = "pytest -v";  // redacted
  const ToolAnswer out = answer("shell", R"({"command":"pytest -v"})", std::move(outcome));
  EXPECT_EQ(json::parse(out.own_text()),
            json::parse(R"({"stdout":"ok","stderr":"","exit_code":0,"duration":1.42,
                            "cwd":"/w","command":"pytest -v"})"));
  EXPECT_EQ(out.own_text(), out.structured() + "\n");
}

TEST(AnswerShell, HasTheFieldsOfItsOtherModes) {
  EXPECT_EQ(
      json::parse(
          answer("shell", R"({"command":"c","run_in_background":true})", task({})).own_text()),
      json::parse(R"({"task_id":"t","pid":7,"started_at":"1970-01-01T00:00:00.000Z"})"));
  EXPECT_EQ(json::parse(answer("shell", R"({"task_id":"t"})", task({"o", "e"})).own_text()),
            json::parse(R"({"stdout":"o","stderr":"e","exit_code":null,"uptime_seconds":1.5,
                            "is_running":true})"));
}

TEST(AnswerShell, SaysWhatIsLost) {
  for (const auto& [tool, params] : {std::pair{"shell", R"({"task_id":"t"})"},
                                     std::pair{"bash_output", R"({"shell_id":"t"})"}}) {
    const ToolAnswer out = answer(tool, params, task({"o", "", 20, 18}));
    EXPECT_EQ(json::parse(out.structured()).at("dropped"), 18) << tool;
  }
}

// Null only while it runs.
TEST(AnswerShell, ATaskThatHasEndedHasANumber) {
  const auto number = [](Outcome outcome) {
    const ToolAnswer out = answer("shell", R"({"task_id":"t"})", task({}, std::move(outcome)));
    return json::parse(out.own_text()).at("exit_code");
  };
  EXPECT_EQ(number(signaled(RunStatus::kKilled, SIGTERM)), 143);
  EXPECT_EQ(number(signaled(RunStatus::kKilled, SIGKILL)), 137);
  EXPECT_EQ(number(ended(RunStatus::kTimedOut)), 124);
  EXPECT_EQ(number(exited(0)), 0);
}

TEST(AnswerShell, ADeclinedCallIsARefusal) {
  const ToolAnswer out = tool_refusal("shell", Error{ErrorCode::kDenied, "declined", "", ""});
  EXPECT_EQ(json::parse(out.own_text()).at("exit_code"), 126);
  EXPECT_EQ(out.exit_status, 126);
}

TEST(AnswerShell, AnErrorKeepsTheShape) {
  const ToolAnswer out =
      tool_refusal("shell", Error{ErrorCode::kOutOfRange, "too much", "/timeout", ""});
  const json body = json::parse(out.own_text());
  EXPECT_EQ(body.at("error").at("code"), "out_of_range");
  EXPECT_EQ(body.at("error").at("where"), "/timeout");
  EXPECT_EQ(body.at("exit_code"), 125);
  EXPECT_EQ(out.exit_status, 125);
  EXPECT_TRUE(out.is_error);
}

// A word of the request that the tool has under another name is the caller's own here.
TEST(Refusals, PointAtTheCallersOwnKey) {
  for (const auto& [tool, params, where] :
       {std::tuple{"bash", R"({"command":"ls","timeout_ms":5000})", "/timeout_ms"},
        std::tuple{"bash_exec", R"({"command":"ls","output_kb":1})", "/output_kb"},
        std::tuple{"bash_exec", R"({"command":"ls","network":true})", "/network"},
        std::tuple{"shell", R"({"task_id":"t","text":"x"})", "/text"},
        std::tuple{"kill_shell", R"({"task_id":5})", "/task_id"}}) {
    const Result<ToolCall> call = decode_tool_call(tool, params, {});
    ASSERT_FALSE(call.ok()) << params;
    EXPECT_EQ(tool_refusal(tool, call.error(), "", params).refusal->where, where);
  }
}

// In the shape of the mode, as every other error of a task.
TEST(Refusals, NameTheTaskThatTheCallIsAbout) {
  for (const auto& [tool, params, name] :
       {std::tuple{"shell",
                   R"({"task_id":"0b5c3b1e-6a0e-4b0e-8f0a-1c2d3e4f5a6b","wait":true,"kill":true})",
                   "task_id"},
        std::tuple{"bash_output", R"({"shell_id":"0b5c3b1e-6a0e-4b0e-8f0a-1c2d3e4f5a6b","x":1})",
                   "shell_id"}}) {
    const Result<ToolCall> call = decode_tool_call(tool, params, {});
    ASSERT_FALSE(call.ok()) << params;
    const json body = json::parse(tool_refusal(tool, call.error(), "", params).structured());
    EXPECT_EQ(body.value(name, ""), "0b5c3b1e-6a0e-4b0e-8f0a-1c2d3e4f5a6b") << body;
    EXPECT_FALSE(body.contains("exit_code")) << body;
  }
}

// With the page's example.
TEST(AnswerBashExec, ParsesTheResultLine) {
  Outcome outcome = exited(0, "x");
  outcome.result_json = R"({"status":"ok","count":3})";
  EXPECT_EQ(json::parse(answer("bash_exec", R"({"command":"c"})", std::move(outcome)).own_text()),
            json::parse(R"({"stdout":"x","stderr":"","exit_code":0,
                                  "result_json":{"status":"ok","count":3}})"));
}

TEST(AnswerBashExec, ARefusalListsWhatIsAllowed) {
  const ToolAnswer out =
      answer("bash_exec", R"({"command":"gcc"})",
             refused(RunStatus::kDenied, Error{ErrorCode::kDenied, "gcc", "", ""}));
  EXPECT_EQ(json::parse(out.own_text()).at("allowed"), json({"ls", "cat"}));
  EXPECT_EQ(out.exit_status, 126);
}

TEST(AnswerBashExec, NamesAWeakerSandbox) {
  Outcome outcome = exited(0);
  outcome.sandbox.degraded = {{"user", "r"}};
  const json body =
      json::parse(answer("bash_exec", R"({"command":"c"})", std::move(outcome)).own_text());
  EXPECT_EQ(body.at("degraded").at(0).at("what"), "user");
}

TEST(AnswerBashExec, PointsAtTheToolsOwnParams) {
  ToolResult result;
  result.error =
      Error{ErrorCode::kAboveCeiling, "output_kb 9 is above the ceiling of 8", "/output_kb", ""};
  const ToolAnswer out = answer("bash_exec", R"({"command":"c"})", std::move(result));
  const json error = json::parse(out.own_text()).at("error");
  EXPECT_EQ(error.at("where"), "/max_output_kb");
  EXPECT_EQ(error.at("message"), "max_output_kb 9 is above the ceiling of 8");
  ASSERT_TRUE(out.mistake);
  EXPECT_EQ(out.mistake->where, "/max_output_kb");
  const ToolAnswer denied =
      answer("bash_exec", R"({"command":"c","allow_network":true})",
             refused(RunStatus::kDenied, Error{ErrorCode::kNotGranted, "none", "/network", ""}));
  EXPECT_EQ(json::parse(denied.own_text()).at("error").at("where"), "/allow_network");
  EXPECT_FALSE(denied.mistake);
}

// With the page's format.
TEST(AnswerExecuteCommand, IsThePagesText) {
  const auto text = [](Outcome outcome) {
    return answer("execute_command", R"({"command":"c"})", std::move(outcome)).own_text();
  };
  EXPECT_EQ(text(exited(0, "o\n", "e")), "Exit code: 0\nstdout:\no\nstderr:\ne\n");
  EXPECT_EQ(text(exited(2)), "Exit code: 2\nstdout:\nstderr:\n");
  EXPECT_EQ(text(ended(RunStatus::kCancelled, "part")),
            "Exit code: 130\nstdout:\npart\nstderr:\nexecute_command: cancelled\n");
}

TEST(AnswerExecuteCommand, SaysWhatEndedItOutsideOfTheText) {
  const auto structured = [](Outcome outcome) {
    return json::parse(
        answer("execute_command", R"({"command":"c"})", std::move(outcome)).structured());
  };
  EXPECT_EQ(structured(ended(RunStatus::kTimedOut)).at("timed_out"), true);
  EXPECT_FALSE(structured(exited(124)).contains("timed_out"));
}

TEST(AnswerExecuteCommand, NamesTheSignalThatEndedItsCaller) {
  ToolResult result = of(ended(RunStatus::kCancelled));
  result.cancelled_by = SIGTERM;
  const ToolAnswer out = answer("execute_command", R"({"command":"c"})", std::move(result));
  EXPECT_TRUE(out.own_text().starts_with("Exit code: 143\n")) << out.own_text();
}

TEST(AnswerExecuteCommand, SaysWhyTheKernelCannotEnforceReadMode) {
  const ToolAnswer out = answer(
      "execute_command", R"({"command":"c"})",
      refused(RunStatus::kError, Error{ErrorCode::kLayerUnavailable, "landlock is not available",
                                       "landlock", "boot with it"}));
  EXPECT_EQ(out.own_text(), "execute_command: landlock is not available (boot with it)\n");
  EXPECT_EQ(out.exit_status, 125);
}

TEST(AnswerCodeExecution, HandsAnApprovalBack) {
  Outcome outcome = refused(RunStatus::kNeedsApproval,
                            Error{ErrorCode::kNeedsApproval, "a person has to decide", "", ""});
  Finding finding;
  finding.reason = "removes";
  outcome.approval = Approval{"abc", {finding}};
  const ToolAnswer out =
      answer("code_execution", R"({"command":"rm -rf /data/work/old"})", std::move(outcome));
  const json body = json::parse(out.own_text());
  EXPECT_EQ(body.at("type"), "hitl_request");
  EXPECT_EQ(body.at("approval").at("digest"), "abc");
  EXPECT_EQ(body.at("exit_code"), nullptr);
  EXPECT_EQ(out.exit_status, 3);
  ASSERT_NE(out.approval(), nullptr);
  EXPECT_EQ(out.approval()->digest, "abc");
}

TEST(AnswerCodeExecution, HasNoTypeInAnOrdinaryAnswer) {
  EXPECT_EQ(
      json::parse(answer("code_execution", R"({"command":"c"})", exited(1, "", "e")).own_text()),
      json::parse(R"({"stdout":"","stderr":"e","exit_code":1})"));
}

TEST(Answers, MoveNoTerminal) {
  const std::string text = "\x1b\x7f\xc2\x9b\xe2\x80\xa8é";
  const ToolAnswer out = answer("shell", R"({"command":"c"})", exited(0, text));
  EXPECT_NE(out.own_text().find(R"("\u001b\u007f\u009b\u2028é")"), std::string::npos)
      << out.own_text();
  Outcome outcome = exited(0);
  outcome.result_json = "{\"a\":\"\x7f\xc2\x9b\xe2\x80\xa8é\"}";
  const ToolAnswer parsed = answer("bash_exec", R"({"command":"c"})", std::move(outcome));
  EXPECT_NE(parsed.own_text().find(R"("\u007f\u009b\u2028é")"), std::string::npos)
      << parsed.own_text();
}

}  // namespace
}  // namespace sbx
