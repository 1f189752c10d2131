// SPDX-License-Identifier: Apache-2.0
// Outcome → line → file.
#include "report/audit_log.h"

#include <algorithm>

#include "report/audit.h"

namespace sbx {

Result<Audit> Audit::open(const Policy& policy, std::string session) {
  Audit audit;
  audit.session_ = std::move(session);
  std::vector<std::string> paths = policy.run.required_audit;
  const std::string& own = policy.run.audit.file;
  if (!own.empty() && std::find(paths.begin(), paths.end(), own) == paths.end()) {
    paths.push_back(own);
  }
  for (const std::string& path : paths) {
    SBX_TRY(AppendFile file, AppendFile::open(path, "audit.file"));
    audit.files_.push_back(std::move(file));
  }
  audit.profile_sha256_ = policy.run.profile_sha256;
  return audit;
}

void Audit::record(Outcome& outcome) {
  if (files_.empty()) return;
  const std::string line = audit_line({session_, profile_sha256_}, outcome);
  for (AppendFile& file : files_) {
    const Status status = file.append_line(line);
    if (!status.ok() && !outcome.error) outcome.error = status.error();
  }
}

}  // namespace sbx
