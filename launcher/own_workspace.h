// SPDX-License-Identifier: Apache-2.0
// A session's own workspace: a directory below the user's cache, or below the
// temporary directory where there is none.
#pragma once

#include <string>

#include "base/result.h"
#include "policy/environment.h"

namespace sbx {

// A path without symlinks that nothing has yet, so that a watchdog can know it before it is made
// (by mkdir with mode 0700). Errors: kSetupFailed.
Result<std::string> choose_own_workspace(const Environment& environment);

}  // namespace sbx
