// SPDX-License-Identifier: Apache-2.0
// The table of tools, and what is the same for all of them: strict decoding, errors, settings.
#include "tools/tool.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "json/check.h"
#include "json/reader.h"
#include "tools/family.h"

namespace sbx {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

const std::array<const Tool*, 7>& tools() {
  static const std::array<const Tool*, 7> kTools = {
      &kBashTool,     &kBashOutputTool,     &kKillShellTool,    &kShellTool,
      &kBashExecTool, &kExecuteCommandTool, &kCodeExecutionTool};
  return kTools;
}

constexpr auto kKnown =
    std::to_array<std::string_view>({"bash", "bash_output", "kill_shell", "shell", "bash_exec",
                                     "execute_command", "code_execution"});

Error unknown_tool(std::string_view name) {
  const auto nearest = nearest_name(name, kKnown);
  std::string known;
  for (const std::string_view tool : kKnown) {
    known += (known.empty() ? "" : ", ") + std::string(tool);
  }
  return Error{ErrorCode::kUnknownMethod,
               "there is no tool \"" + escape_control_bytes(name.substr(0, 100)) + "\"", "/name",
               nearest ? "did you mean " + std::string(*nearest) + "?" : "tools are " + known};
}

// null stands for an absent key, and so does "" where a key may be absent: models write both.
void drop_absent(json& object, const Tool& tool) {
  const auto is_optional = [&](const std::string& key) {
    return std::any_of(tool.fields.begin(), tool.fields.end(), [&](const FieldSpec& field) {
      return field.name == key && !field.required;
    });
  };
  for (auto member = object.begin(); member != object.end();) {
    const bool is_absent = member->is_null() || (*member == "" && is_optional(member.key()));
    member = is_absent ? object.erase(member) : std::next(member);
  }
}

// An unknown key first, since a misspelt one is why another is missing; then in the order of the
// table, whatever the order of the keys.
const Error& first_error(const std::vector<Error>& errors, const Tool& tool) {
  const auto rank = [&](const Error& error) {
    if (error.code == ErrorCode::kUnknownField) return std::ptrdiff_t{-1};
    std::string_view key = error.where;
    key.remove_prefix(std::min<std::size_t>(key.size(), 1));
    key = key.substr(0, key.find('/'));
    return std::find_if(tool.fields.begin(), tool.fields.end(),
                        [&](const FieldSpec& field) { return field.name == key; }) -
           tool.fields.begin();
  };
  return *std::min_element(errors.begin(), errors.end(),
                           [&](const Error& a, const Error& b) { return rank(a) < rank(b); });
}

void rename(const Tool& tool, Error& error) {
  for (const Renamed& pair : tool.renamed) {
    if (error.where != pair.method) continue;
    error.where = pair.tool;
    const std::string from(pair.method.substr(1));
    const std::string to(pair.tool.substr(1));
    if (error.message.starts_with(from)) error.message.replace(0, from.size(), to);
  }
}

ToolAnswer refuse(const Tool& tool, const ToolCall& call, const Reply& reply) {
  ToolAnswer answer;
  answer.refusal = reply.error;
  ordered_json out = tool.nothing(call, reply);
  if (reply.error) out["error"] = error_json(reply.error_name, *reply.error);
  if (!reply.approval.empty()) out["approval"] = parse_json(reply.approval);
  answer.structured = json_text(out);
  if (!tool.answers_text) return answer;
  answer.text = std::string(tool.name) + ": " + reason(reply);
  if (reply.status == "denied" && !call.allowed_commands.empty()) {
    answer.text += "; allowed: " + join(call.allowed_commands, ", ");
  }
  answer.text += "\n";
  return answer;
}

// How a task ended is an ordinary answer to whoever asks for it.
ToolAnswer complete(const Tool& tool, ToolMode mode, const Reply& reply, ToolAnswer answer) {
  answer.is_text = tool.answers_text;
  if (!answer.is_text) answer.text = answer.structured + "\n";
  answer.is_error = mode == ToolMode::kRun ? is_failure(reply) : did_not_run(reply);
  answer.exit_status = tool_exit_status(reply);
  if (reply.status == "needs_approval") answer.approval = reply.approval;
  return answer;
}

}  // namespace

std::span<const std::string_view> tool_names() { return kKnown; }

const Tool* find_tool(std::string_view name) {
  const auto at =
      std::find_if(tools().begin(), tools().end(), [&](const Tool* t) { return t->name == name; });
  return at == tools().end() ? nullptr : *at;
}

std::string_view tool_profile(std::string_view tool) {
  const Tool* found = find_tool(tool);
  return found == nullptr ? std::string_view() : found->profile;
}

void fit_profile(std::string_view tool, Profile& profile) {
  const Tool* found = find_tool(tool);
  if (found != nullptr && !found->shell.empty()) profile.commands.shell = found->shell;
}

ToolSettings tool_settings(const Policy& policy) {
  ToolSettings settings;
  const auto& ceiling = policy.run.ceilings.timeout_ms;
  settings.timeout_ms = policy.run.limits.timeout_ms;
  settings.timeout_ceiling_ms = settings.timeout_ms;
  if (settings.timeout_ceiling_ms && ceiling) {
    settings.timeout_ceiling_ms = std::max(*settings.timeout_ceiling_ms, *ceiling);
  }
  const auto& allowed = policy.sandbox.commands.allow;
  if (allowed) settings.allowed_commands = *allowed;
  return settings;
}

Result<ToolCall> decode_tool_call(std::string_view tool, std::string_view params,
                                  const ToolSettings& settings) {
  const Tool* found = find_tool(tool);
  if (found == nullptr) return unknown_tool(tool);
  SBX_TRY(json document, read_json_strict(params.empty() ? "{}" : params));
  if (document.is_object()) drop_absent(document, *found);
  const std::vector<Error> errors = check_fields(document, ObjectSpec{found->fields}, "");
  if (!errors.empty()) return first_error(errors, *found);
  SBX_TRY(ToolCall call, found->decode(document, settings));
  call.tool = tool;
  if (const auto command = document.find("command"); command != document.end()) {
    call.command = command->get<std::string>();
  }
  return call;
}

ToolAnswer tool_answer(const ToolCall& call, const Result<std::string>& result, int cancelled_by) {
  const Tool& tool = *find_tool(call.tool);
  Reply reply = read_reply(result);
  reply.cancelled_by = cancelled_by;
  if (reply.error) rename(tool, *reply.error);
  ToolAnswer answer = did_not_run(reply) ? refuse(tool, call, reply) : tool.answer(call, reply);
  if (!result.ok()) answer.mistake = reply.error;
  return complete(tool, call.mode, reply, std::move(answer));
}

std::optional<Error> tool_error(std::string_view structured) {
  const ordered_json body = parse_json(structured);
  return body.is_object() && body.contains("error") ? read_error(body["error"]) : std::nullopt;
}

ToolAnswer tool_refusal(std::string_view tool, const Error& error) {
  const Tool* found = find_tool(tool);
  const Reply reply = read_reply(error);
  ToolAnswer answer;
  if (found != nullptr) {
    answer = refuse(*found, ToolCall{}, reply);
    answer.mistake = error;
    return complete(*found, ToolMode::kRun, reply, std::move(answer));
  }
  answer.mistake = error;
  answer.refusal = error;
  answer.is_text = true;
  answer.text = "tool: " + reason(reply) + "\n";
  answer.structured = json_text({{"error", error_json(reply.error_name, error)}});
  answer.is_error = true;
  answer.exit_status = exit_number(reply);
  return answer;
}

}  // namespace sbx
