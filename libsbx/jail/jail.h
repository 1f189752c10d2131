// SPDX-License-Identifier: Apache-2.0
// Jail: this process, from now on without files, programs, sockets of its own making, capabilities
// or core files. What it has been handed is all that it has.
#pragma once

#include <sys/types.h>

#include <span>

#include "base/result.h"

namespace sbx {

// Before anything secret is read: no core file, no look into its memory, an end with `parent`.
Status close_off(pid_t parent);
// After everything is read: from now on only these system calls, and memory that is no code. Where
// no mount namespace can be had, Landlock and the filter remain. Errors: kSetupFailed.
Status enter_jail(std::span<const int> calls);

}  // namespace sbx
