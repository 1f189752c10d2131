// SPDX-License-Identifier: Apache-2.0
// Ends every descendant of a subreaper, where no pid namespace does it. Async-signal-safe.
#pragma once

#include <cstdint>

namespace sbx {

std::int64_t now_ms() noexcept;  // by a clock that nobody sets

// SIGKILL to each child that /proc/self/task/*/children names, and to what is reparented to us
// when they die, until none is left or `max_ms` have passed. True when none is left. The caller
// must be a child subreaper and have no other children.
bool kill_descendants(int max_ms) noexcept;

// SIGTERM to everything else in the caller's pid namespace, of which it is PID 1; without one, to
// its children and the process groups that they lead.
void ask_descendants_to_end(bool has_pid_namespace) noexcept;

}  // namespace sbx
