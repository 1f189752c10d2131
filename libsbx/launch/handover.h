// SPDX-License-Identifier: Apache-2.0
// The command of a sandbox that waits for one: handed over in a page range that is shared with the
// child since the clone, so at the same addresses, and one message with its three descriptors.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "launch/spawn.h"

namespace sbx {

struct CommandSlot {
  std::atomic<std::uint32_t> is_waiting;  // 1 once everything is in force
  const char* cwd;
  char** argv;  // argv[-1] is a spare place, as in ChildContext
  char** envp;
  char** executables;
};

// Bytes of the shared range, slot and strings together; paid for as they are touched.
inline constexpr std::size_t kHandoverSize = std::size_t{1} << 20;

// Whether the plan's command is small enough to be handed over.
bool fits_handover(const LaunchPlan& plan);

// Hands the plan's argv, environment, executables and cwd over, with descriptors that become 0, 1
// and 2. Once a sandbox. Errors: kTooLarge when they do not fit; kSetupFailed when the child no
// longer waits.
Status hand_over(Spawned& spawned, const LaunchPlan& plan, const int (&standard)[3]);

// In the child: waits for the message, makes its descriptors 0, 1 and 2. Returns 0 or an errno;
// ends the process when the supervisor has gone.
int await_command(CommandSlot& slot, int control) noexcept;

}  // namespace sbx
