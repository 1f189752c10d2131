// SPDX-License-Identifier: Apache-2.0
// The table of tools, and what is the same for all of them: strict decoding, refusals, settings.
#include "tools/tool.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "json/check.h"
#include "json/reader.h"
#include "json/text_at.h"
#include "report/json_parts.h"
#include "tools/family.h"

namespace sbx {
namespace {

using nlohmann::json;

// The table of tools: a row is its file's.
constexpr std::array kTools = {&kBashTool,         &kBashOutputTool, &kKillShellTool,
                               &kShellTool,        &kBashExecTool,   &kExecuteCommandTool,
                               &kCodeExecutionTool};

const std::array<std::string_view, kTools.size()>& names() {
  static const auto kKnown = [] {
    std::array<std::string_view, kTools.size()> all;
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = kTools[i]->name;
    return all;
  }();
  return kKnown;
}

Error unknown_tool(std::string_view name) {
  const auto nearest = nearest_name(name, names());
  const std::vector<std::string> known(names().begin(), names().end());
  return Error{
      ErrorCode::kUnknownMethod,
      "there is no tool \"" + escape_control_bytes(name.substr(0, 100)) + "\"", "/name",
      nearest ? "did you mean " + std::string(*nearest) + "?" : "tools are " + join(known, ", ")};
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

bool has_field(const Tool& tool, std::string_view pointer) {
  return std::any_of(tool.fields.begin(), tool.fields.end(), [&](const FieldSpec& field) {
    return !pointer.empty() && field.name == pointer.substr(1);
  });
}

void rename(const Tool& tool, Error& error) {
  for (const Renamed& pair : tool.renamed) {
    if (error.where != pair.request) continue;
    error.where = pair.tool;
    const std::string from(pair.request.substr(1));
    const std::string to(pair.tool.substr(1));
    if (error.message.starts_with(from)) error.message.replace(0, from.size(), to);
  }
}

// Under either name, and nothing else that a caller may have written there.
std::string named_task(std::string_view params) {
  constexpr std::size_t kIdSize = 36;
  const Result<json> given = read_json_strict(params);
  for (const char* key : {"task_id", "shell_id"}) {
    std::string id = given.ok() ? text_at(given.value(), key) : "";
    if (id.size() == kIdSize && id.find_first_not_of("0123456789abcdef-") == id.npos) return id;
  }
  return {};
}

}  // namespace

std::span<const std::string_view> tool_names() { return names(); }

const Tool* find_tool(std::string_view name) {
  const auto at = std::find_if(kTools.begin(), kTools.end(),
                               [&](const Tool* tool) { return tool->name == name; });
  return at == kTools.end() ? nullptr : *at;
}

std::string_view tool_profile(std::string_view tool) {
  const Tool* found = find_tool(tool);
  return found == nullptr ? std::string_view() : found->profile;
}

void fit_profile(std::string_view tool, LoadedProfile& loaded) {
  const Tool* found = find_tool(tool);
  if (found == nullptr) return;
  Profile& profile = loaded.profile;
  if (!found->shell.empty()) profile.commands.shell = found->shell;
  if (!found->keeps_times || profile.name == found->profile) return;
  const Result<LoadedProfile> own = load_profile(found->profile, {});
  if (!own.ok()) return;  // shipped: it loads
  if (!loaded.sets_timeout) profile.limits.timeout_ms = own.value().profile.limits.timeout_ms;
  if (loaded.files.empty()) profile.ceilings.timeout_ms = own.value().profile.ceilings.timeout_ms;
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
  if (find_tool(tool) == nullptr) return unknown_tool(tool);
  SBX_TRY(json document, read_json_strict(params.empty() ? "{}" : params));
  return decode_tool_params(tool, std::move(document), settings);
}

Result<ToolCall> decode_tool_params(std::string_view tool, json params,
                                    const ToolSettings& settings) {
  const Tool* found = find_tool(tool);
  if (found == nullptr) return unknown_tool(tool);
  if (params.is_object()) drop_absent(params, *found);
  const std::vector<Error> errors = check_fields(params, ObjectSpec{found->fields}, "");
  if (!errors.empty()) return first_error(errors, *found);
  Result<ToolCall> call = found->decode(params, settings);
  if (call.ok()) {
    call.value().tool = tool;
  } else if (!has_field(*found, call.error().where)) {
    rename(*found, call.error());  // a request's word
  }
  return call;
}

// How a task ended is an ordinary answer to whoever asks for it.
ToolAnswer tool_answer(ToolCall call, ToolResult result) {
  ToolAnswer answer;
  const Tool* const tool = find_tool(call.tool);
  if (const Error* error = error_of(result); error != nullptr && did_not_run(result)) {
    answer.refusal = *error;
    if (tool != nullptr) rename(*tool, *answer.refusal);
  }
  if (result.error) answer.mistake = answer.refusal;
  answer.is_text = tool == nullptr || tool->text != nullptr;
  answer.is_error = call.mode == ToolMode::kRun ? is_failure(result) : did_not_run(result);
  answer.exit_status = tool_exit_status(result);
  answer.call = std::move(call);
  answer.result = std::move(result);
  return answer;
}

ToolAnswer tool_refusal(std::string_view tool, const Error& error, std::string command,
                        std::string_view params) {
  ToolCall call;
  call.tool = tool;
  call.request.command = std::move(command);
  call.task_id = named_task(params);
  ToolResult result;
  result.error = error;
  ToolAnswer answer = tool_answer(std::move(call), std::move(result));
  answer.refusal = answer.mistake = error;  // in the params' own words
  return answer;
}

const Approval* ToolAnswer::approval() const {
  const bool is_asked = status_of(result) == RunStatus::kNeedsApproval && result.outcome->approval;
  return is_asked ? &*result.outcome->approval : nullptr;
}

void ToolAnswer::write_members(JsonWriter& json) const {
  const Tool* const tool = find_tool(call.tool);
  if (tool != nullptr) tool->write(json, call, result);
  if (refusal) write_error(json, refusal);
  if (const Approval* asked = approval()) write_approval(json, *asked);
}

std::string ToolAnswer::structured() const {
  std::string text;
  JsonWriter json(text);
  json.reserve(out_of(result).size() + err_of(result).size());
  json.begin_object();
  write_members(json);
  json.end_object();
  return text;
}

std::string ToolAnswer::own_text() const {
  if (!is_text) return structured() + "\n";
  const Tool* const tool = find_tool(call.tool);
  if (tool != nullptr && !did_not_run(result)) return tool->text(call, result);
  std::string text = std::string(tool == nullptr ? "tool" : tool->name) + ": " +
                     escape_control_bytes(reason(result, refusal));
  if (status_of(result) == RunStatus::kDenied && !call.allowed_commands.empty()) {
    text += "; allowed: " + join(call.allowed_commands, ", ");
  }
  return text + "\n";
}

}  // namespace sbx
