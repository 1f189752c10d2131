// SPDX-License-Identifier: Apache-2.0
// Outcome → line → file.
#include "report/audit_log.h"

#include "report/audit.h"

namespace sbx {

Result<Audit> Audit::open(const Policy& policy, std::string session) {
  Audit audit;
  audit.session_ = std::move(session);
  if (policy.run.audit.file.empty()) return audit;
  SBX_TRY(audit.file_, AppendFile::open(policy.run.audit.file, "audit.file"));
  audit.profile_sha256_ = policy.run.profile_sha256;
  return audit;
}

void Audit::record(Outcome& outcome) {
  if (!file_) return;
  const Status status = file_->append_line(audit_line({session_, profile_sha256_}, outcome));
  if (!status.ok() && !outcome.error) outcome.error = status.error();
}

}  // namespace sbx
