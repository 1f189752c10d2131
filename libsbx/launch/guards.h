// SPDX-License-Identifier: Apache-2.0
// Placements that the host can uncover, guarded by PID 1: the kernel takes a mount away when the
// host renames over the file below it, or unlinks it (__detach_mounts). The directories on the way
// are watched; a change wakes PID 1, which looks whether each placement is still the mount that it
// was, and puts it back or ends the run. Where a name is empty, as between the two steps of a save,
// all processes inside are stopped until something is there again. No heap, no exceptions.
// What op::PrepareGuards, op::Watch and op::Guard have left is what PID 1 looks at here.
#pragma once

#include <signal.h>

#include "launch/child.h"

namespace sbx {

// From here on changes wake the caller where it lets kGuardSignals through.
void hear_changes() noexcept;
// Whether look_at_guards() has something to look at: told by a signal, blocked ones included, or by
// the inotify descriptor.
bool has_heard_changes(const ChildContext& context) noexcept;
// Looks, and puts back what was uncovered. False: the run must end.
bool look_at_guards(ChildContext& context) noexcept;

// Of watched directories: the first for those that the caller can change.
inline constexpr int kGuardSignals[] = {SIGIO, SIGURG};
// None that PID 1 keeps has a higher number.
inline constexpr int kMostDescriptors = 1 << 15;

}  // namespace sbx
