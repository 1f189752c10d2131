// SPDX-License-Identifier: Apache-2.0
// bash_exec: listed programs only, in a directory of its own, with bounds that a call may move.
// JSON answers. Values only.
#include <array>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "profile/forms.h"
#include "tools/family.h"
#include "tools/params.h"

namespace sbx {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr ValueSpec kText = {.kind = Kind::kText};
constexpr ValueSpec kCount = {.kind = Kind::kCount, .min = 1, .max = kUnbounded};

constexpr auto kFileFields = std::to_array<FieldSpec>({
    {"path", "Where, below the working directory.", kText, true},
    {"content", "What to write there.", kText, true},
});
constexpr ObjectSpec kFile = {kFileFields};
constexpr ValueSpec kFileValue = {.kind = Kind::kObject, .object = &kFile};
constexpr ValueSpec kVariable = {.kind = Kind::kText};

constexpr auto kFields = std::to_array<FieldSpec>({
    {"command", "Bash command or script to execute.", kText, true},
    {"timeout_ms", "Timeout in milliseconds (default 2000).", kCount},
    {"env", "Optional environment variables.", {.kind = Kind::kMap, .item = &kVariable}},
    {"allow_network", "Allow network commands if enabled by env.", {.kind = Kind::kBool}},
    {"max_output_kb", "Override stdout/stderr limit in KB (bounded).", kCount},
    {"max_file_kb", "Override max file size in KB (bounded).", kCount},
    {"files",
     "Files to write before the command starts.",
     {.kind = Kind::kList, .item = &kFileValue}},
    {"approval", "The digest of an approval that was granted.", kText},
});

constexpr auto kRenamed = std::to_array<Renamed>({{"/output_kb", "/max_output_kb"},
                                                  {"/file_kb", "/max_file_kb"},
                                                  {"/network", "/allow_network"}});

Result<ToolCall> decode(const json& params, const ToolSettings& settings) {
  ordered_json request = run_params(params);
  if (const auto ms = count_param(params, "timeout_ms")) request["timeout_ms"] = *ms;
  if (const auto kb = count_param(params, "max_output_kb")) request["output_kb"] = *kb;
  if (const auto kb = count_param(params, "max_file_kb")) request["file_kb"] = *kb;
  if (params.contains("env")) request["env"] = params["env"];
  if (params.contains("files")) request["files"] = params["files"];
  request["network"] = flag_param(params, "allow_network");
  ToolCall call = one_call("run", request);
  call.allowed_commands = settings.allowed_commands;
  return call;
}

ordered_json finished(const ToolCall& call, const Reply& reply) {
  ordered_json out = {
      {"stdout", reply.out}, {"stderr", reply.err}, {"exit_code", exit_number(reply)}};
  if (!reply.result_json.empty()) out["result_json"] = parse_json(reply.result_json);
  add_exceptions(out, reply);
  if (reply.status == "denied" && !call.allowed_commands.empty()) {
    out["allowed"] = call.allowed_commands;
  }
  return out;
}

ToolAnswer answer(const ToolCall& call, const Reply& reply) {
  ToolAnswer answer;
  answer.structured = json_text(finished(call, reply));
  return answer;
}

constexpr std::string_view kOutputSchema = R"({"type":"object","properties":{
"stdout":{"type":"string"},"stderr":{"type":"string"},"exit_code":{"type":"integer"},
"result_json":{"description":"from the last __RESULT__:{...} line of stdout"},
"timed_out":{"type":"boolean"},"limit":{"type":"string"},
"degraded":{"type":"array","description":"layers and limits that are not in force, with the reason"},
"allowed":{"type":"array","items":{"type":"string"},"description":"the commands that are allowed"},
"error":{"type":"object"},"approval":{"type":"object"}},
"required":["stdout","stderr","exit_code"]})";

}  // namespace

const Tool kBashExecTool = {
    .name = "bash_exec",
    .title = "Bash exec",
    .description =
        "Execute a bash command of allowed programs in a fresh working directory that is removed "
        "afterwards. A line __RESULT__:{...} on stdout comes back parsed, as result_json.",
    .profile = "tool-bash_exec",
    .shell = "",
    .fields = kFields,
    .shown = std::span(kFields).first(7),
    .renamed = kRenamed,
    .defaults = R"({"timeout_ms":2000,"allow_network":false,"max_output_kb":64,"max_file_kb":256})",
    .output_schema = kOutputSchema,
    .decode = decode,
    .answer = answer,
    .nothing = finished,
};

}  // namespace sbx
