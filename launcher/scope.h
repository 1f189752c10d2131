// SPDX-License-Identifier: Apache-2.0
// --scope: a cgroup v2 subtree of our own, asked of systemd, for limits that only cgroups hold.
#pragma once

#include "base/result.h"
#include "verbs.h"

namespace sbx {

// Set for the second of the two runs of one command line.
inline constexpr const char* kInScope = "SBX_IN_SCOPE";

// Nothing to do where a subtree is delegated already. Else the whole command line is executed anew
// under systemd-run, in this same process, and this does not come back. Errors: kLayerUnavailable.
Status take_scope(const Invocation& invocation);

}  // namespace sbx
