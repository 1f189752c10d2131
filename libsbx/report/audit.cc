// SPDX-License-Identifier: Apache-2.0
// The keys in the order of the contract.
#include "report/audit.h"

#include "model/exit_status.h"
#include "report/json_parts.h"

namespace sbx {
namespace {

std::string_view verdict_of(const Outcome& outcome) {
  switch (outcome.status) {
    case RunStatus::kDenied:
      return "deny";
    case RunStatus::kNeedsApproval:
      return "ask";
    case RunStatus::kError:
      return "";
    default:
      return "allow";
  }
}

}  // namespace

std::string audit_line(const AuditFacts& facts, const Outcome& outcome) {
  std::string text;
  JsonWriter json(text);
  json.begin_object();
  write_member(json, "time", utc_time(outcome.started_at_ms));
  write_text_or_null(json, "session", facts.session);
  write_text_or_null(json, "profile", outcome.sandbox.profile);
  write_text_or_null(json, "profile_sha256", facts.profile_sha256);
  write_member(json, "command", outcome.command);
  write_text_or_null(json, "description", outcome.description.value_or(""));
  write_text_or_null(json, "cwd", outcome.cwd);
  write_text_or_null(json, "verdict", verdict_of(outcome));
  write_end(json, outcome);
  if (outcome.limit) write_member(json, "limit", limit_row(*outcome.limit).ended);
  json.key("stdout_bytes");
  json.count(outcome.out.bytes);
  json.key("stderr_bytes");
  json.count(outcome.err.bytes);
  json.key("duration_ms");
  json.tenths(outcome.duration_ms);
  write_denials(json, outcome.denials);
  write_redactions(json, outcome.redactions);
  write_error(json, outcome.error);
  write_connections(json, outcome);
  if (!outcome.sandbox.managed.empty()) write_managed(json, outcome.sandbox.managed);
  if (outcome.kept) write_kept(json, outcome.kept);
  json.end_object();
  return text;
}

}  // namespace sbx
