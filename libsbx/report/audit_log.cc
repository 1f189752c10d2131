// SPDX-License-Identifier: Apache-2.0
// Outcome → line → file.
#include "report/audit_log.h"

#include <algorithm>

#include "report/audit.h"

namespace sbx {

AuditPlace audit_place(const Policy& policy, std::string session) {
  AuditPlace place{policy.run.required_audit, std::move(session), policy.run.profile_sha256};
  const std::string& own = policy.run.audit.file;
  if (!own.empty() && std::find(place.files.begin(), place.files.end(), own) == place.files.end()) {
    place.files.push_back(own);
  }
  return place;
}

Outcome layer_outcome(const LayerEvent& event) {
  Outcome outcome;
  outcome.command = "layer";
  for (const std::string& word : event.words) outcome.command += " " + word;
  outcome.cwd = event.workspace;
  outcome.sandbox.profile = event.profile;
  outcome.sandbox.managed = event.managed;
  outcome.status = event.is_done ? RunStatus::kExited : RunStatus::kError;
  if (event.is_done) outcome.exit_code = 0;
  outcome.error = event.error;
  outcome.started_at_ms = event.began_ms;
  outcome.duration_ms = static_cast<double>(event.ended_ms - event.began_ms);
  return outcome;
}

Result<Audit> Audit::open(AuditPlace place) {
  Audit audit;
  for (const std::string& path : place.files) {
    SBX_TRY(AppendFile file, AppendFile::open(path, "audit.file"));
    audit.files_.push_back(std::move(file));
  }
  audit.place_ = std::move(place);
  return audit;
}

Status Audit::check() {
  for (AppendFile& file : files_) SBX_CHECK_OK(file.follow());
  return {};
}

void Audit::record(Outcome& outcome) {
  if (files_.empty()) return;
  const std::string line = audit_line({place_.session, place_.profile_sha256}, outcome);
  for (AppendFile& file : files_) {
    const Status status = file.append_line(line);
    if (!status.ok() && !outcome.error) outcome.error = status.error();
  }
}

}  // namespace sbx
