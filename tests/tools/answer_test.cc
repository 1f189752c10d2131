// SPDX-License-Identifier: Apache-2.0
// Results → each tool's own answer.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tools/tool.h"

namespace sbx {
namespace {

using nlohmann::json;

ToolAnswer answer(std::string_view tool, std::string_view params, const json& result) {
  ToolSettings settings;
  settings.timeout_ms = 120'000;
  if (tool == "bash_exec") settings.allowed_commands = {"ls", "cat"};
  Result<ToolCall> call = decode_tool_call(tool, params, settings);
  EXPECT_TRUE(call.ok());
  return tool_answer(call.value(), result.dump());
}

json result(const std::string& status, const json& more) {
  json out = {{"status", status},    {"exit_code", nullptr},  {"signal", nullptr},
              {"stdout", ""},        {"stderr", ""},          {"duration_ms", 3.2},
              {"cwd", "/w"},         {"limit", nullptr},      {"error", nullptr},
              {"approval", nullptr}, {"result_json", nullptr}};
  out.update(more);
  return out;
}

constexpr std::string_view kBash = R"({"command":"npm run build","description":"d"})";

// A5
TEST(AnswerBash, EndsWithTheExitNumberOfEveryFailure) {
  EXPECT_EQ(answer("bash", kBash, result("exited", {{"exit_code", 0}, {"stdout", "hi"}})).text,
            "hi");
  EXPECT_EQ(answer("bash", kBash, result("exited", {{"exit_code", 0}})).text, "");
  EXPECT_EQ(answer("bash", kBash, result("exited", {{"exit_code", 3}, {"stdout", "hi"}})).text,
            "hi\nexit: 3\n");
  EXPECT_EQ(answer("bash", kBash, result("exited", {{"exit_code", 3}, {"stdout", "hi\n"}})).text,
            "hi\nexit: 3\n");
  const ToolAnswer crashed = answer("bash", kBash, result("signaled", {{"signal", "SIGSEGV"}}));
  EXPECT_EQ(crashed.text, "exit: 139\n");
  EXPECT_FALSE(crashed.is_error);
  EXPECT_EQ(crashed.exit_status, 0);
}

// A6, with the page's example.
TEST(AnswerBash, SaysThatTheTimeIsUp) {
  const ToolAnswer out =
      answer("bash", R"({"command":"c","description":"d","timeout":2})",
             result("timed_out", {{"stdout", "some stdout\nsome stderr interleaved\n"}}));
  EXPECT_EQ(out.text,
            "some stdout\nsome stderr interleaved\nbash: timed out after 2s\nexit: 124\n");
  EXPECT_TRUE(out.is_error);
  EXPECT_EQ(answer("bash", R"({"command":"c","description":"d","timeout":0.25})",
                   result("timed_out", json::object()))
                .text,
            "bash: timed out after 0.25s\nexit: 124\n");
  EXPECT_EQ(answer("bash", kBash, result("timed_out", json::object())).text,
            "bash: timed out after 120s\nexit: 124\n");
}

// A7
TEST(AnswerBash, NamesTheBackgroundShell) {
  const ToolAnswer out =
      answer("bash", R"({"command":"npm run build","description":"d","run_in_background":true})",
             {{"task_id", "2b1d94c0"}, {"pid", 7}, {"started_at", "2026-01-31T12:00:00.123Z"}});
  EXPECT_EQ(out.text, "shell_id: 2b1d94c0\nstarted in background: npm run build\n");
  EXPECT_EQ(json::parse(out.structured).at("shell_id"), "2b1d94c0");
}

// A text tool answers `NAME: message`.
TEST(AnswerBash, RefusesInOneLine) {
  const ToolAnswer out = answer("bash", kBash,
                                result("denied", {{"error",
                                                   {{"code", "denied"},
                                                    {"message", "sudo is refused"},
                                                    {"where", ""},
                                                    {"hint", "remove it"}}}}));
  EXPECT_EQ(out.text, "bash: sudo is refused (remove it)\n");
  EXPECT_TRUE(out.is_error);
  EXPECT_EQ(out.exit_status, 126);
  EXPECT_EQ(json::parse(out.structured).at("error").at("code"), "denied");
}

// A8
TEST(AnswerBashOutput, GivesTheStateWhatIsNewAndTheEnd) {
  const auto poll = [](const json& body) {
    return answer("bash_output", R"({"shell_id":"x"})", body).text;
  };
  EXPECT_EQ(poll({{"stdout", "a\n"}, {"stderr", ""}, {"is_running", true}, {"exit_code", nullptr}}),
            "status: running\na\n");
  EXPECT_EQ(poll({{"stdout", ""}, {"stderr", "b"}, {"is_running", false}, {"exit_code", 0}}),
            "status: exited\nb\nexit: 0\n");
  EXPECT_EQ(poll({{"stdout", "a"}, {"stderr", "b"}, {"is_running", false}, {"exit_code", nullptr}}),
            "status: killed\na\nb\nexit: 137\n");
}

// The page's fields, by their names.
TEST(AnswerShell, HasThePagesFields) {
  const ToolAnswer out =
      answer("shell", R"({"command":"pytest -v"})",
             result("exited", {{"exit_code", 0}, {"stdout", "ok"}, {"duration_ms", 1420.4}}));
  EXPECT_EQ(json::parse(out.text),
            json::parse(R"({"stdout":"ok","stderr":"","exit_code":0,"duration":1.42,
                            "cwd":"/w","command":"pytest -v"})"));
  EXPECT_EQ(out.text, out.structured + "\n");
}

// B3, B4
TEST(AnswerShell, HasTheFieldsOfItsOtherModes) {
  EXPECT_EQ(json::parse(answer("shell", R"({"command":"c","run_in_background":true})",
                               {{"task_id", "t"}, {"pid", 7}, {"started_at", "s"}})
                            .text),
            json::parse(R"({"task_id":"t","pid":7,"started_at":"s"})"));
  EXPECT_EQ(json::parse(answer("shell", R"({"task_id":"t"})",
                               {{"stdout", "o"},
                                {"stderr", "e"},
                                {"exit_code", nullptr},
                                {"uptime_seconds", 1.5},
                                {"is_running", true},
                                {"task_id", "t"}})
                            .text),
            json::parse(R"({"stdout":"o","stderr":"e","exit_code":null,"uptime_seconds":1.5,
                            "is_running":true})"));
}

// Null only while it runs.
TEST(AnswerShell, ATaskThatHasEndedHasANumber) {
  const auto number = [](const json& more) {
    json status = result("killed", {{"is_running", false}, {"uptime_seconds", 1.5}});
    status.update(more);
    return json::parse(answer("shell", R"({"task_id":"t"})", status).text).at("exit_code");
  };
  EXPECT_EQ(number({{"signal", "SIGTERM"}}), 143);
  EXPECT_EQ(number({{"signal", "SIGKILL"}}), 137);
  EXPECT_EQ(number({{"status", "timed_out"}}), 124);
  EXPECT_EQ(number({{"status", "exited"}, {"exit_code", 0}}), 0);
}

TEST(AnswerShell, ADeclinedCallIsARefusal) {
  const ToolAnswer out = tool_refusal("shell", Error{ErrorCode::kDenied, "declined", "", ""});
  EXPECT_EQ(json::parse(out.text).at("exit_code"), 126);
  EXPECT_EQ(out.exit_status, 126);
}

TEST(AnswerShell, AnErrorKeepsTheShape) {
  const ToolAnswer out =
      tool_refusal("shell", Error{ErrorCode::kOutOfRange, "too much", "/timeout", ""});
  const json body = json::parse(out.text);
  EXPECT_EQ(body.at("error").at("code"), "out_of_range");
  EXPECT_EQ(body.at("error").at("where"), "/timeout");
  EXPECT_EQ(body.at("exit_code"), 125);
  EXPECT_EQ(out.exit_status, 125);
  EXPECT_TRUE(out.is_error);
}

// C2, with the page's example.
TEST(AnswerBashExec, ParsesTheResultLine) {
  const json body =
      json::parse(answer("bash_exec", R"({"command":"c"})",
                         result("exited", {{"exit_code", 0},
                                           {"stdout", "x"},
                                           {"result_json", {{"status", "ok"}, {"count", 3}}}}))
                      .text);
  EXPECT_EQ(body, json::parse(R"({"stdout":"x","stderr":"","exit_code":0,
                                  "result_json":{"status":"ok","count":3}})"));
}

// C6
TEST(AnswerBashExec, ARefusalListsWhatIsAllowed) {
  const ToolAnswer out =
      answer("bash_exec", R"({"command":"gcc"})",
             result("denied", {{"error", {{"code", "denied"}, {"message", "gcc"}}}}));
  EXPECT_EQ(json::parse(out.text).at("allowed"), json({"ls", "cat"}));
  EXPECT_EQ(out.exit_status, 126);
}

// C8
TEST(AnswerBashExec, NamesAWeakerSandbox) {
  const json body = json::parse(
      answer("bash_exec", R"({"command":"c"})",
             result("exited", {{"exit_code", 0},
                               {"sandbox", {{"degraded", {{{"what", "user"}, {"reason", "r"}}}}}}}))
          .text);
  EXPECT_EQ(body.at("degraded").at(0).at("what"), "user");
}

TEST(AnswerBashExec, PointsAtTheToolsOwnParams) {
  Result<ToolCall> call = decode_tool_call("bash_exec", R"({"command":"c"})", {});
  ASSERT_TRUE(call.ok());
  const ToolAnswer out = tool_answer(
      call.value(),
      Error{ErrorCode::kAboveCeiling, "output_kb 9 is above the ceiling of 8", "/output_kb", ""});
  const json error = json::parse(out.text).at("error");
  EXPECT_EQ(error.at("where"), "/max_output_kb");
  EXPECT_EQ(error.at("message"), "max_output_kb 9 is above the ceiling of 8");
}

// D2, with the page's format.
TEST(AnswerExecuteCommand, IsThePagesText) {
  const auto text = [](const json& more, const std::string& status = "exited") {
    return answer("execute_command", R"({"command":"c"})", result(status, more)).text;
  };
  EXPECT_EQ(text({{"exit_code", 0}, {"stdout", "o\n"}, {"stderr", "e"}}),
            "Exit code: 0\nstdout:\no\nstderr:\ne\n");
  EXPECT_EQ(text({{"exit_code", 2}}), "Exit code: 2\nstdout:\nstderr:\n");
  // D5
  EXPECT_EQ(text({{"stdout", "part"}}, "cancelled"),
            "Exit code: 130\nstdout:\npart\nstderr:\nexecute_command: cancelled\n");
}

// D4
TEST(AnswerExecuteCommand, SaysWhyTheKernelCannotEnforceReadMode) {
  const ToolAnswer out = answer("execute_command", R"({"command":"c"})",
                                result("error", {{"error",
                                                  {{"code", "layer_unavailable"},
                                                   {"message", "landlock is not available"},
                                                   {"where", "landlock"},
                                                   {"hint", "boot with it"}}}}));
  EXPECT_EQ(out.text, "execute_command: landlock is not available (boot with it)\n");
  EXPECT_EQ(out.exit_status, 125);
}

// E4
TEST(AnswerCodeExecution, HandsAnApprovalBack) {
  const ToolAnswer out =
      answer("code_execution", R"({"command":"rm -rf /data/work/old"})",
             result("needs_approval",
                    {{"approval", {{"digest", "abc"}, {"rules", {{{"reason", "removes"}}}}}}}));
  const json body = json::parse(out.text);
  EXPECT_EQ(body.at("type"), "hitl_request");
  EXPECT_EQ(body.at("approval").at("digest"), "abc");
  EXPECT_EQ(body.at("exit_code"), nullptr);
  EXPECT_EQ(out.exit_status, 3);
  EXPECT_EQ(json::parse(out.approval).at("digest"), "abc");
}

TEST(AnswerCodeExecution, HasNoTypeInAnOrdinaryAnswer) {
  EXPECT_EQ(json::parse(answer("code_execution", R"({"command":"c"})",
                               result("exited", {{"exit_code", 1}, {"stderr", "e"}}))
                            .text),
            json::parse(R"({"stdout":"","stderr":"e","exit_code":1})"));
}

TEST(Answers, MoveNoTerminal) {
  const ToolAnswer out =
      answer("shell", R"({"command":"c"})",
             result("exited", {{"exit_code", 0}, {"stdout", "\x1b\x7f\xc2\x9b\xe2\x80\xa8é"}}));
  EXPECT_NE(out.text.find(R"("\u001b\u007f\u009b\u2028é")"), std::string::npos) << out.text;
}

}  // namespace
}  // namespace sbx
