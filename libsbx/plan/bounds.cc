// SPDX-License-Identifier: Apache-2.0
// What the sandbox may take of things that the kernel counts for a whole user, or for the machine:
// settings of its own namespaces, which count for what is below them, and rlimits.
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <string>

#include "base/text.h"
#include "plan/builder.h"

namespace sbx {
namespace {

// pid(2)s below it are given out once: RESERVED_PIDS in the kernel.
constexpr std::int64_t kReservedPids = 300;
constexpr std::int64_t kMostPids = 4'194'304;

// Before 6.14 there was one kernel.pid_max, that of the machine, which root would change from
// within its own namespaces.
bool has_own_pid_max(std::string_view release) {
  const auto parts = split(release, '.');
  if (parts.size() < 2) return false;
  const std::size_t end = parts[1].find_first_not_of("0123456789");
  const auto major = parse_count(parts[0], 1000);
  const auto minor = parse_count(parts[1].substr(0, end), 1000);
  return major && minor && (*major > 6 || (*major == 6 && *minor >= 14));
}

struct Halved {
  std::string_view own;      // of the user namespace, below sys/user/
  std::string_view machine;  // what a user of the host gets, below sys/fs/
};
constexpr std::array kHalved = {
    Halved{"max_inotify_instances", "inotify/max_user_instances"},
    Halved{"max_inotify_watches", "inotify/max_user_watches"},
    Halved{"max_fanotify_groups", "fanotify/max_user_groups"},
    Halved{"max_fanotify_marks", "fanotify/max_user_marks"},
};

struct Ceiling {
  int resource;
  std::uint64_t soft;
  std::uint64_t hard;
};
// Below what a user of the host has by default, so that something is left of what is counted for
// all of the user's processes.
constexpr std::array kCeilings = {
    Ceiling{RLIMIT_SIGPENDING, 4096, 4096},
    Ceiling{RLIMIT_MSGQUEUE, 400 << 10, 400 << 10},
    Ceiling{RLIMIT_MEMLOCK, 4 << 20, 4 << 20},
    Ceiling{RLIMIT_NICE, 0, 0},
    Ceiling{RLIMIT_RTPRIO, 0, 0},                 // no scheduling class above the ordinary one, and
    Ceiling{RLIMIT_RTTIME, 1'000'000, 2'000'000}  // little of one that the caller already had
};

}  // namespace

void add_user_bounds(PlanBuilder& builder, Layer layer, std::string_view proc) {
  for (const Halved& halved : kHalved) {
    const op::Text own = builder.text(std::string(proc) + "/sys/user/" + std::string(halved.own));
    const op::Text machine =
        builder.text(std::string(proc) + "/sys/fs/" + std::string(halved.machine));
    builder.add(op::Halve{own, machine}, layer);
  }
}

void add_pid_bound(PlanBuilder& builder, const PlanInput& input, Layer layer,
                   std::string_view proc) {
  const auto& pids = input.policy.sandbox.limits.pids;
  if (!pids || !has_own_pid_max(input.facts.kernel_release)) return;
  // Process groups and sessions keep the ids of processes that have ended.
  const std::int64_t most = std::min(kReservedPids + 2 * (*pids + 1), kMostPids);
  builder.write_file(layer, std::string(proc) + "/sys/kernel/pid_max", std::to_string(most));
}

void add_ceilings(PlanBuilder& builder) {
  for (const Ceiling& ceiling : kCeilings) {
    builder.add(op::SetLimit{ceiling.resource, ceiling.soft, ceiling.hard});
  }
}

}  // namespace sbx
