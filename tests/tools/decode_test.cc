// SPDX-License-Identifier: Apache-2.0
// Params of each tool → what the service is asked for.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "json/codec.h"
#include "policy/fields.h"
#include "session/service.h"
#include "tools/tool.h"

namespace sbx {
namespace {

using nlohmann::json;

ToolSettings settings() {
  ToolSettings out;
  out.timeout_ms = 120'000;
  out.timeout_ceiling_ms = 600'000;
  return out;
}

ToolCall decode(std::string_view tool, std::string_view params) {
  Result<ToolCall> call = decode_tool_call(tool, params, settings());
  EXPECT_TRUE(call.ok()) << (call.ok() ? "" : error_line(call.error()));
  return call.ok() ? call.value() : ToolCall{};
}

// What the request of the call has, by the request's own table.
json request(const ToolCall& call) {
  nlohmann::ordered_json document;
  encode_object(kRequestSpec, &call.request, document);
  json out = json::object();
  for (const auto& [key, value] : document.items()) {
    const bool is_absent = value.is_null() || value == "" || value == false || value.empty();
    if (!is_absent || (key == "network" && value == false)) out[key] = value;
  }
  return out;
}

// CODE at WHERE
std::string refusal(std::string_view tool, std::string_view params) {
  const Result<ToolCall> call = decode_tool_call(tool, params, settings());
  if (call.ok()) return "accepted";
  return std::string(error_name(call.error().code)) + " at " + call.error().where;
}

TEST(DecodeBash, TurnsSecondsIntoMillisecondsAndClampsThemTo600) {
  EXPECT_EQ(request(decode("bash", R"({"command":"a","description":"d","timeout":2})")),
            json::parse(R"({"command":"a","description":"d","merge":true,"timeout_ms":2000})"));
  EXPECT_EQ(request(decode("bash", R"({"command":"a","description":"d","timeout":0.5})"))
                .at("timeout_ms"),
            500);
  EXPECT_EQ(request(decode("bash", R"({"command":"a","description":"d","timeout":601})"))
                .at("timeout_ms"),
            600'000);
  EXPECT_EQ(request(decode("bash", R"({"command":"a","description":"d","timeout":1e12})"))
                .at("timeout_ms"),
            600'000);
  // Without one the profile's limit is in force.
  EXPECT_FALSE(
      request(decode("bash", R"({"command":"a","description":"d"})")).contains("timeout_ms"));
}

TEST(DecodeBash, NeverAsksForMoreThanTheOperatorsCeiling) {
  ToolSettings low = settings();
  low.timeout_ceiling_ms = 30'000;
  const Result<ToolCall> call =
      decode_tool_call("bash", R"({"command":"a","description":"d","timeout":400})", low);
  ASSERT_TRUE(call.ok());
  EXPECT_EQ(call.value().timeout_ms, 30'000);
}

TEST(DecodeTool, NamesAMisspeltKeyBeforeTheOneThatIsMissing) {
  EXPECT_EQ(refusal("bash", R"({"comand":"a","description":"d"})"), "unknown_field at /comand");
  EXPECT_EQ(refusal("kill_shell", R"({"shel_id":"x"})"), "unknown_field at /shel_id");
}

TEST(DecodeTool, TakesAnEmptyOptionalTextForAbsent) {
  EXPECT_EQ(refusal("shell", R"({"command":"a","task_id":"","cwd":"","stdin_text":""})"),
            "accepted");
  EXPECT_EQ(refusal("shell", R"({"task_id":""})"), "missing_field at /command");
  EXPECT_EQ(refusal("bash_output", R"({"shell_id":"","task_id":"t"})"), "accepted");
  EXPECT_EQ(refusal("bash_output", R"({"shell_id":""})"), "missing_field at /shell_id");
}

TEST(DecodeBash, WantsACommandAndRunsWithoutADescription) {
  EXPECT_EQ(refusal("bash", R"({"description":"d"})"), "missing_field at /command");
  EXPECT_EQ(refusal("bash", R"({"command":"a"})"), "accepted");
  EXPECT_EQ(refusal("bash", R"({"command":"a","description":null})"), "accepted");
  EXPECT_EQ(refusal("bash", R"({"command":"a","description":""})"), "accepted");
  EXPECT_EQ(refusal("bash", R"({"command":3,"description":"d"})"), "wrong_type at /command");
  EXPECT_EQ(refusal("bash", R"({"command":"a","description":"d","timeout":0})"),
            "out_of_range at /timeout");
  EXPECT_EQ(refusal("bash", R"({"command":"a","description":"d","timeout":-1})"),
            "out_of_range at /timeout");
  EXPECT_EQ(refusal("bash", R"({"command":"a","description":"d","timeout":"2"})"),
            "wrong_type at /timeout");
  EXPECT_EQ(refusal("bash", R"({"command":"a","description":"d","comand":"b"})"),
            "unknown_field at /comand");
  EXPECT_EQ(refusal("bash", R"({"command":"a","command":"b","description":"d"})"),
            "duplicate_key at /command");
  EXPECT_EQ(refusal("bash", "[]"), "wrong_type at ");
  EXPECT_EQ(refusal("bash", "{"), "bad_json at ");
}

// In the background the timeout is ignored.
TEST(DecodeBash, StartsInTheBackgroundWithoutATimeout) {
  const ToolCall call =
      decode("bash", R"({"command":"a","description":"d","timeout":1,"run_in_background":true})");
  EXPECT_EQ(call.mode, ToolMode::kBackground);
  EXPECT_EQ(request(call), json::parse(R"({"command":"a","description":"d"})"));
}

TEST(DecodeTool, NamesItsOwnParamWhereTheRequestIsWrong) {
  EXPECT_EQ(refusal("bash", R"({"command":"a\u0000b"})"), "bad_value at /command");
  EXPECT_EQ(refusal("bash_exec", R"({"command":"a","max_output_kb":0})"),
            "out_of_range at /max_output_kb");
  EXPECT_EQ(refusal("bash_exec", R"({"command":"a","timeout_ms":0})"),
            "out_of_range at /timeout_ms");
}

TEST(DecodeBash, TakesTheShellIdUnderEitherName) {
  const ToolCall poll = decode("bash_output", R"({"shell_id":"x"})");
  EXPECT_EQ(poll.mode, ToolMode::kPoll);
  EXPECT_EQ(poll.task_id, "x");
  const ToolCall kill = decode("kill_shell", R"({"task_id":"x"})");
  EXPECT_EQ(kill.mode, ToolMode::kKill);
  EXPECT_EQ(kill.task_id, "x");
  EXPECT_EQ(refusal("kill_shell", "{}"), "missing_field at /shell_id");
  EXPECT_EQ(refusal("kill_shell", R"({"shell_id":"x","task_id":"y"})"), "bad_value at /task_id");
}

// The modes by params.
TEST(DecodeShell, PicksTheModeByParams) {
  const auto mode = [](std::string_view params) { return decode("shell", params).mode; };
  EXPECT_EQ(mode(R"({"command":"pytest -v"})"), ToolMode::kRun);
  EXPECT_EQ(mode(R"({"command":"npm run build","run_in_background":true})"), ToolMode::kBackground);
  EXPECT_EQ(mode(R"({"task_id":"t"})"), ToolMode::kStatus);
  EXPECT_EQ(mode(R"({"task_id":"t","kill":true})"), ToolMode::kKill);
  EXPECT_EQ(mode(R"({"task_id":"t","stdin_text":"yes"})"), ToolMode::kStdin);
  EXPECT_EQ(mode(R"({"task_id":"t","wait":true})"), ToolMode::kWait);
  const ToolCall stream =
      decode("shell", R"({"task_id":"t","stream":true,"stream_pattern":"ERROR|WARN"})");
  EXPECT_EQ(stream.mode, ToolMode::kStream);
  EXPECT_EQ(stream.task_id, "t");
  EXPECT_EQ(stream.match, "ERROR|WARN");
}

TEST(DecodeShell, GivesTwoSecondsOfGraceAndEndsStdinWithANewline) {
  EXPECT_EQ(Service::kGrace, std::chrono::milliseconds(2000));
  EXPECT_EQ(decode("shell", R"({"task_id":"t","stdin_text":"yes"})").text, "yes\n");
  EXPECT_EQ(decode("shell", R"({"task_id":"t","wait":true,"timeout":1.5})").timeout_ms, 1500);
}

TEST(DecodeShell, RefusesModesThatContradictEachOther) {
  EXPECT_EQ(refusal("shell", "{}"), "missing_field at /command");
  EXPECT_EQ(refusal("shell", R"({"command":"a","task_id":"t"})"), "bad_value at /command");
  EXPECT_EQ(refusal("shell", R"({"command":"a","kill":true})"), "bad_value at /kill");
  EXPECT_EQ(refusal("shell", R"({"command":"a","stdin_text":"x"})"), "bad_value at /stdin_text");
  EXPECT_EQ(refusal("shell", R"({"task_id":"t","kill":true,"wait":true})"),
            "bad_value at /task_id");
  EXPECT_EQ(refusal("shell", R"({"task_id":"t","stream_pattern":"x"})"),
            "bad_value at /stream_pattern");
}

TEST(DecodeShell, BoundsTheTimeoutAndPassesTheDirectory) {
  EXPECT_EQ(refusal("shell", R"({"command":"a","timeout":0.5})"), "out_of_range at /timeout");
  EXPECT_EQ(refusal("shell", R"({"command":"a","timeout":1801})"), "out_of_range at /timeout");
  EXPECT_EQ(request(decode("shell", R"({"command":"a","timeout":1.5,"cwd":"sub"})")),
            json::parse(R"({"command":"a","timeout_ms":1500,"cwd":"sub"})"));
}

TEST(DecodeBashExec, MapsThePagesNamesOntoARun) {
  EXPECT_EQ(
      request(decode("bash_exec", R"({"command":"c","timeout_ms":5,"env":{"A":"b"},
          "allow_network":true,"max_output_kb":1,"max_file_kb":2,
          "files":[{"path":"a/b","content":"x"}]})")),
      json::parse(R"({"command":"c","timeout_ms":5,"env":{"A":"b"},"network":true,"output_kb":1,
          "file_kb":2,"files":[{"path":"a/b","content":"x","mode":null}]})"));
  // Without the call's word there is no network, whatever the profile says.
  EXPECT_EQ(request(decode("bash_exec", R"({"command":"c"})")).at("network"), false);
}

TEST(DecodeBashExec, RefusesUnknownParamsAndFields) {
  EXPECT_EQ(refusal("bash_exec", R"({"command":"c","cwd":"/"})"), "unknown_field at /cwd");
  EXPECT_EQ(
      refusal("bash_exec", R"({"command":"c","files":[{"path":"a","content":"x","mode":"1"}]})"),
      "unknown_field at /files/0/mode");
  EXPECT_EQ(refusal("bash_exec", R"({"command":"c","files":[{"path":"a"}]})"),
            "missing_field at /files/0/content");
  EXPECT_EQ(refusal("bash_exec", R"({"command":"c","timeout_ms":0})"),
            "out_of_range at /timeout_ms");
  EXPECT_EQ(refusal("bash_exec", R"({"command":"c","timeout_ms":1.5})"),
            "wrong_type at /timeout_ms");
  EXPECT_EQ(refusal("bash_exec", R"({"command":"c","max_output_kb":-1})"),
            "out_of_range at /max_output_kb");
  EXPECT_EQ(refusal("bash_exec", R"({"command":"c","env":{"A":1}})"), "wrong_type at /env/A");
}

// D1, E
TEST(DecodeOthers, TakeACommandAndMilliseconds) {
  EXPECT_EQ(request(decode("execute_command", R"({"command":"c","timeout_ms":7})")),
            json::parse(R"({"command":"c","timeout_ms":7})"));
  EXPECT_EQ(request(decode("code_execution", R"({"command":"c","description":"d"})")),
            json::parse(R"({"command":"c","description":"d"})"));
  EXPECT_EQ(refusal("execute_command", R"({"command":"c","description":"d"})"),
            "unknown_field at /description");
}

TEST(DecodeOthers, AnUnknownToolNamesTheNearest) {
  const Result<ToolCall> call = decode_tool_call("bash_exce", "{}", settings());
  ASSERT_FALSE(call.ok());
  EXPECT_EQ(error_name(call.error().code), "unknown_method");
  EXPECT_EQ(call.error().hint, "did you mean bash_exec?");
}

// The page says sh, whatever profile the operator names.
TEST(FitProfile, SetsTheShellThatThePageNames) {
  LoadedProfile loaded;
  Profile& profile = loaded.profile;
  fit_profile("execute_command", loaded);
  EXPECT_EQ(profile.commands.shell, "sh");
  fit_profile("bash", loaded);
  EXPECT_EQ(profile.commands.shell, "bash");
  profile.commands.shell = "zsh";
  fit_profile("shell", loaded);
  EXPECT_EQ(profile.commands.shell, "zsh");  // its page lets the operator choose
}

// Write mode is the profile unconfined: the page's 30 s count there too, and what a call may ask
// for.
TEST(FitProfile, KeepsThePagesTimeUnlessTheOperatorsOwnProfileSetsOne) {
  using Times = std::pair<std::optional<std::int64_t>, std::optional<std::int64_t>>;
  const auto times = [](std::string_view tool, LoadedProfile loaded) {
    loaded.profile.limits.timeout_ms = 120'000;
    loaded.profile.ceilings.timeout_ms = 600'000;
    fit_profile(tool, loaded);
    return Times(loaded.profile.limits.timeout_ms, loaded.profile.ceilings.timeout_ms);
  };
  EXPECT_EQ(times("execute_command", {}), Times(30'000, 3'600'000));
  LoadedProfile own;
  own.files = {"/own.json"};
  EXPECT_EQ(times("execute_command", own), Times(30'000, 600'000));
  own.sets_timeout = true;
  EXPECT_EQ(times("execute_command", own), Times(120'000, 600'000));
  EXPECT_EQ(times("shell", {}), Times(120'000, 600'000));
}

TEST(ToolSettings, ComeFromThePolicy) {
  Policy policy;
  policy.run.limits.timeout_ms = 2000;
  policy.run.ceilings.timeout_ms = 1000;
  policy.sandbox.commands.allow = {"ls"};
  const ToolSettings out = tool_settings(policy);
  EXPECT_EQ(out.timeout_ms, 2000);
  EXPECT_EQ(out.timeout_ceiling_ms, 2000);
  EXPECT_EQ(out.allowed_commands, std::vector<std::string>{"ls"});
}

}  // namespace
}  // namespace sbx
