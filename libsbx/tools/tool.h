// SPDX-License-Identifier: Apache-2.0
// The tools that frameworks offer a model: a call's params → what the service is asked for, and
// what it gave → the tool's own answer.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/outcome.h"
#include "policy/policy.h"
#include "profile/store.h"
#include "session/task_output.h"

namespace sbx {

class JsonWriter;

// bash, bash_output, kill_shell, shell, bash_exec, execute_command, code_execution.
std::span<const std::string_view> tool_names();
// The shipped profile that the tool runs under unless the operator names another; empty for a name
// that is no tool.
std::string_view tool_profile(std::string_view tool);
// What the tool's page fixes whatever profile is named: which shell runs the command, and the time
// that it has where no profile of the operator's own says.
void fit_profile(std::string_view tool, LoadedProfile& loaded);

// What a tool knows of the operator's policy.
struct ToolSettings {
  std::optional<std::int64_t> timeout_ms;          // of a call that names none
  std::optional<std::int64_t> timeout_ceiling_ms;  // nullopt: none
  std::vector<std::string> allowed_commands;       // empty: every command
};
ToolSettings tool_settings(const Policy& policy);

enum class ToolMode : std::uint8_t {
  kRun,
  kBackground,
  kPoll,  // what a task has written since the last poll
  kStatus,
  kKill,
  kStdin,
  kWait,
  kStream,
};

// What a call of a tool asks the service for.
struct ToolCall {
  std::string tool;
  ToolMode mode = ToolMode::kRun;
  Request request{};                          // of kRun and kBackground
  std::string task_id;                        // of the others
  std::string text;                           // of kStdin
  std::optional<std::int64_t> timeout_ms;     // in force for a foreground run; of kWait
  std::string match;                          // of kStream: a regular expression; empty: every line
  std::vector<std::string> allowed_commands;  // of the settings
};

// Strict: errors have a JSON pointer into `params` in `where`. `null` is absent.
// Errors: kUnknownMethod for a name that is no tool; those of check.h and of a request; kBadJson.
Result<ToolCall> decode_tool_call(std::string_view tool, std::string_view params,
                                  const ToolSettings& settings);
// The same for a document that read_json_strict() has made.
Result<ToolCall> decode_tool_params(std::string_view tool, nlohmann::json params,
                                    const ToolSettings& settings);

// What the service gave for it.
struct ToolResult {
  std::optional<Error> error{};              // nothing was done
  std::shared_ptr<const Outcome> outcome{};  // null while a task runs
  int cancelled_by = 0;                      // the signal that the caller was ended by; 0: none
  // Of a task:
  std::string task_id{};
  pid_t pid = -1;
  std::int64_t started_at_ms = 0;
  std::int64_t uptime_ms = 0;
  std::optional<TaskOutput::Text> output{};  // nullopt: what there is is in the outcome
};

// A tool's answer, written down where it is wanted.
struct ToolAnswer {
  ToolCall call;
  ToolResult result;
  bool is_text = false;   // what own_text() is
  bool is_error = false;  // refused, declined, timed out or failed to start
  int exit_status = 0;    // of `sbx-run tool`
  // The call itself was wrong, with a pointer into the tool's params: an error of the protocol
  // where there is one.
  std::optional<Error> mistake{};
  // Why nothing ran, whoever's mistake it was: for a person's eyes.
  std::optional<Error> refusal{};

  // The tool's own answer: text, or the JSON object on one line with its end.
  std::string own_text() const;
  // The JSON object that the tool's output schema describes, and its members alone.
  std::string structured() const;
  void write_members(JsonWriter& json) const;
  // What a person must decide about; null: nothing.
  const Approval* approval() const;
};

ToolAnswer tool_answer(ToolCall call, ToolResult result);

// The answer to a call that was not made. `params`, good or bad, may name a task.
ToolAnswer tool_refusal(std::string_view tool, const Error& error, std::string command = {},
                        std::string_view params = {});

enum class ToolFormat : std::uint8_t { kAnthropic, kOpenai, kMcp };

// The definition to hand to a model, as JSON; hidden params are left out. Errors: kUnknownMethod.
Result<std::string> tool_definition(std::string_view tool, ToolFormat format);

}  // namespace sbx
