// SPDX-License-Identifier: Apache-2.0
// A process → the time that it and those that it waited for have used so far, by the kernel's
// clock ticks; and what of that is new.
#pragma once

#include <sys/types.h>

#include "model/outcome.h"

namespace sbx {

// All 0 where the process has gone. The resident set is the largest of the process itself.
Usage usage_so_far(pid_t pid);

Usage usage_since(const Usage& before, Usage now);

}  // namespace sbx
