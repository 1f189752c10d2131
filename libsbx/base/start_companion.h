// SPDX-License-Identifier: Apache-2.0
// Another program of this installation as a process that serves this one.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"

namespace sbx {

// Has no descriptor but `fd`, as 3, and /dev/null as 0 to 2; no environment, no signal blocked or
// ignored, and a process group of its own: a terminal's ^C is not for it. The caller waits for it.
// Errors: those of companion(), kSetupFailed naming the call.
Result<pid_t> start_companion(const std::string& name, int fd);

}  // namespace sbx
