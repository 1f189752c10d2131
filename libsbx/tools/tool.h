// SPDX-License-Identifier: Apache-2.0
// The tools that frameworks offer a model: a call's params → method calls,
// and their results → the tool's own answer. Values and JSON text only: nothing here runs anything.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "policy/policy.h"

namespace sbx {

// bash, bash_output, kill_shell, shell, bash_exec, execute_command, code_execution.
std::span<const std::string_view> tool_names();
// The shipped profile that the tool runs under unless the operator names another; empty for a name
// that is no tool.
std::string_view tool_profile(std::string_view tool);
// What the tool's page fixes whatever the profile says: which shell runs the command.
void fit_profile(std::string_view tool, Profile& profile);

// What a tool knows of the operator's policy.
struct ToolSettings {
  std::optional<std::int64_t> timeout_ms;          // of a call that names none
  std::optional<std::int64_t> timeout_ceiling_ms;  // nullopt: none
  std::vector<std::string> allowed_commands;       // empty: every command
};
ToolSettings tool_settings(const Policy& policy);

struct MethodCall {
  std::string method;
  std::string params;  // a JSON object
  // Read from where the last poll of this task ended; the runner adds `since`.
  bool from_cursor = false;
  std::string task_id;  // of `from_cursor`
};

enum class ToolMode : std::uint8_t { kRun, kBackground, kStatus, kKill, kStdin, kWait, kStream };

struct ToolCall {
  std::string tool;
  ToolMode mode = ToolMode::kRun;
  std::vector<MethodCall> calls;  // one after the other, the last result is the answer's
  std::string command;            // as given; empty where a task is named
  std::string task_id;
  std::optional<std::int64_t> timeout_ms;     // in force for a foreground run
  std::string match;                          // of kStream: a regular expression; empty: every line
  std::vector<std::string> allowed_commands;  // of the settings
};

// Strict: errors have a JSON pointer into `params` in `where`. `null` is absent.
// Errors: kUnknownMethod for a name that is no tool; those of check.h; kBadJson.
Result<ToolCall> decode_tool_call(std::string_view tool, std::string_view params,
                                  const ToolSettings& settings);

struct ToolAnswer {
  std::string text;        // the tool's own answer: text, or a JSON object on one line
  std::string structured;  // a JSON object that the tool's output schema describes
  bool is_text = false;    // what `text` is
  bool is_error = false;   // refused, declined, timed out or failed to start
  int exit_status = 0;     // of `sbx-run tool`
  std::string approval;    // {"digest","rules"} as JSON where a person must decide; else empty
  // The call itself was wrong, with a pointer into the tool's params: an error of the protocol
  // where there is one.
  std::optional<Error> mistake{};
  // Why nothing ran, whoever's mistake it was: for a person's eyes.
  std::optional<Error> refusal{};
};

// `result` is what the last method call gave, or the first error.
// `cancelled_by`: the signal that ended the caller, 0 for none.
ToolAnswer tool_answer(const ToolCall& call, const Result<std::string>& result,
                       int cancelled_by = 0);

// The answer to a call that could not be decoded.
ToolAnswer tool_refusal(std::string_view tool, const Error& error);

// What a structured answer has in `error`; nullopt where it has none.
std::optional<Error> tool_error(std::string_view structured);

enum class ToolFormat : std::uint8_t { kAnthropic, kOpenai, kMcp };

// The definition to hand to a model, as JSON; hidden params are left out. Errors: kUnknownMethod.
Result<std::string> tool_definition(std::string_view tool, ToolFormat format);

}  // namespace sbx
