// SPDX-License-Identifier: Apache-2.0
// bash_exec: listed programs only, in a directory of its own, with bounds that a call may move.
// JSON answers. Values only.
#include <array>
#include <nlohmann/json.hpp>

#include "policy/params.h"
#include "report/json_parts.h"
#include "tools/family.h"
#include "tools/params.h"

namespace sbx {
namespace {

using nlohmann::json;

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
    kApprovalField,
});

constexpr auto kRenamed = std::to_array<Renamed>({{"/output_kb", "/max_output_kb"},
                                                  {"/file_kb", "/max_file_kb"},
                                                  {"/network", "/allow_network"}});

Result<ToolCall> decode(json& params, const ToolSettings& settings) {
  json request = take_request(params, {{"timeout_ms", "timeout_ms"},
                                       {"max_output_kb", "output_kb"},
                                       {"max_file_kb", "file_kb"},
                                       {"env", "env"},
                                       {"files", "files"}});
  request["network"] = flag_param(params, "allow_network");
  ToolCall call;
  SBX_TRY(call.request, decode_request(request));
  call.allowed_commands = settings.allowed_commands;
  return call;
}

void write(JsonWriter& out, const ToolCall& call, const ToolResult& result) {
  write_texts(out, result);
  write_exit_code(out, true, result);
  if (result.outcome != nullptr && result.outcome->result_json) {
    out.key("result_json");
    out.foreign(*result.outcome->result_json);
  }
  write_exceptions(out, result);
  if (status_of(result) == RunStatus::kDenied && !call.allowed_commands.empty()) {
    write_strings(out, "allowed", call.allowed_commands);
  }
}

constexpr std::string_view kOutputSchema = R"({"type":"object","properties":{
"stdout":{"type":"string"},"stderr":{"type":"string"},"exit_code":{"type":"integer"},
"result_json":{"description":"from the last __RESULT__:{...} line of stdout"},
"allowed":{"type":"array","items":{"type":"string"},"description":"the commands that are allowed"},
)" SBX_EXCEPTIONS_SCHEMA R"(},
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
    .write = write,
};

}  // namespace sbx
