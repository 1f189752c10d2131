// SPDX-License-Identifier: Apache-2.0
// Which approvals are used up, for all processes of a user: one empty file each, named by its
// digest, below the user's state directory.
#pragma once

#include "policy/environment.h"
#include "run/approvals.h"

namespace sbx {

// Records below $XDG_STATE_HOME or ~/.local/state of this environment. Old records are removed in
// passing. Errors: kSetupFailed where that directory cannot be used, or is full.
Approvals::Record approval_record(const Environment& environment);

// A number that no other process is given. Errors: kSetupFailed.
Result<std::uint64_t> approval_nonce();

}  // namespace sbx
