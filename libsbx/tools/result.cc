// SPDX-License-Identifier: Apache-2.0
// An outcome, or an error in its place, read as every tool reads it.
#include "tools/result.h"

#include "model/exit_status.h"
#include "report/json_parts.h"

namespace sbx {

RunStatus status_of(const ToolResult& result) {
  if (result.error) {
    return result.error->code == ErrorCode::kDenied ? RunStatus::kDenied : RunStatus::kError;
  }
  return result.outcome == nullptr ? RunStatus::kRunning : result.outcome->status;
}

std::string_view out_of(const ToolResult& result) {
  if (result.output) return result.output->out;
  return result.outcome == nullptr ? std::string_view() : result.outcome->out.text;
}

std::string_view err_of(const ToolResult& result) {
  if (result.output) return result.output->err;
  return result.outcome == nullptr ? std::string_view() : result.outcome->err.text;
}

std::string_view limit_of(const ToolResult& result) {
  if (result.outcome == nullptr || !result.outcome->limit) return {};
  return limit_row(*result.outcome->limit).ended;
}

double duration_ms_of(const ToolResult& result) {
  return result.outcome == nullptr ? 0 : result.outcome->duration_ms;
}

const Error* error_of(const ToolResult& result) {
  if (result.error) return &*result.error;
  const Outcome* const outcome = result.outcome.get();
  return outcome != nullptr && outcome->error ? &*outcome->error : nullptr;
}

bool did_not_run(const ToolResult& result) {
  const RunStatus status = status_of(result);
  return status == RunStatus::kError || status == RunStatus::kDenied ||
         status == RunStatus::kNeedsApproval;
}

int exit_number(const ToolResult& result) {
  End end;
  end.status = run_status_name(status_of(result));
  if (result.outcome != nullptr) {
    end.exit_code = result.outcome->exit_code;
    if (result.outcome->signal != 0) end.signal = result.outcome->signal;
  }
  if (const Error* error = error_of(result)) end.error = error->code;
  if (result.cancelled_by != 0) end.cancelled_by = result.cancelled_by;
  return exit_status(end);
}

std::string reason(const ToolResult& result, const std::optional<Error>& error) {
  if (status_of(result) == RunStatus::kNeedsApproval && result.outcome->approval) {
    const Approval& approval = *result.outcome->approval;
    std::string text = "needs approval";
    if (!approval.rules.empty()) text += ": " + approval.rules.front().reason;
    return text + " (the operator grants it with --approve " + approval.digest + ")";
  }
  if (!error) return std::string(run_status_name(status_of(result)));
  std::string text = error->message;
  // A place in the params, or a flag; the name of a rule or of a step tells a reader nothing.
  if (error->where.starts_with('/') || error->where.starts_with('-')) text += " at " + error->where;
  if (!error->hint.empty()) text += " (" + error->hint + ")";
  return text;
}

int tool_exit_status(const ToolResult& result) {
  return did_not_run(result) ? exit_number(result) : 0;
}

bool is_failure(const ToolResult& result) {
  const RunStatus status = status_of(result);
  return did_not_run(result) || status == RunStatus::kTimedOut || status == RunStatus::kCancelled ||
         status == RunStatus::kLimit;
}

void write_exit_code(JsonWriter& json, bool is_known, const ToolResult& result) {
  json.key("exit_code");
  if (is_known) {
    json.integer(exit_number(result));
  } else {
    json.null();
  }
}

void write_texts(JsonWriter& json, const ToolResult& result) {
  write_member(json, "stdout", out_of(result));
  write_member(json, "stderr", err_of(result));
  if (result.output && result.output->dropped != 0) {
    json.key("dropped");
    json.count(result.output->dropped);
  }
}

void write_exceptions(JsonWriter& json, const ToolResult& result) {
  if (status_of(result) == RunStatus::kTimedOut) {
    json.key("timed_out");
    json.boolean(true);
  }
  if (!limit_of(result).empty()) write_member(json, "limit", limit_of(result));
  if (result.outcome != nullptr && !result.outcome->sandbox.degraded.empty()) {
    write_degraded(json, result.outcome->sandbox.degraded);
  }
}

void end_line(std::string& text) {
  if (!text.empty() && text.back() != '\n') text += '\n';
}

}  // namespace sbx
