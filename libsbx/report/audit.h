// SPDX-License-Identifier: Apache-2.0
// Outcome → one line of the audit log (docs/audit.md). Pure; the outcome is redacted already.
#pragma once

#include <string>
#include <string_view>

#include "model/outcome.h"

namespace sbx {

struct AuditFacts {
  std::string_view session;         // empty: none
  std::string_view profile_sha256;  // of the resolved profile, in hex
};

// A JSON object without a newline in it, with exactly the keys of the contract. `verdict` is what
// the command policy said: allow, deny or ask; null where nothing came so far.
std::string audit_line(const AuditFacts& facts, const Outcome& outcome);

}  // namespace sbx
