// SPDX-License-Identifier: Apache-2.0
// Placements that the host can uncover, guarded by PID 1: the kernel takes a mount away when the
// host renames over the file below it, or unlinks it (__detach_mounts). The directories on the way
// are watched; a change wakes PID 1, which looks whether each placement is still the mount that it
// was, and puts it back or ends the run. Where a name is empty, as between the two steps of a save,
// all processes inside are stopped until something is there again. No heap, no exceptions.
#pragma once

#include <signal.h>

#include "launch/child.h"

namespace sbx {

// --- while the sandbox is made ---

// kPrepareGuards: keeps hold of what covers files and directories.
int prepare_guards(ChildContext& context, const Op& op) noexcept;
// kWatch: one that is not there is watched once it is. A directory that may not be listed is not
// the caller's own, and left alone.
int watch_directory(ChildContext& context, Op& op) noexcept;
// kGuard: remembers which mount stands there. ESTALE when none does any more.
int guard_placement(const ChildContext& context, Op& op) noexcept;

// --- before the exec of a command that has waited ---

// kCheckGuards: ESTALE when a placement is no longer what it was, or was not for a while.
int check_guards(const ChildContext& context) noexcept;

// --- PID 1 ---

// From here on changes wake the caller where it lets kGuardSignals through.
void hear_changes() noexcept;
// Whether look_at_guards() has something to look at: told by a signal, blocked ones included, or by
// the inotify descriptor.
bool has_heard_changes(const ChildContext& context) noexcept;
// Looks, and puts back what was uncovered. False: the run must end.
bool look_at_guards(ChildContext& context) noexcept;

// Of watched directories: the first for those that the caller can change.
inline constexpr int kGuardSignals[] = {SIGIO, SIGURG};

}  // namespace sbx
