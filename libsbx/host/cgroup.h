// SPDX-License-Identifier: Apache-2.0
// Cgroup v2 boxes: one directory a sandbox, below a subtree that was delegated to this user, with
// its memory and pids limits. Finding the subtree only reads; making a box writes nothing but the
// box's own files. Used by the session; the paths are parameters so that tests can fake a tree.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/owned_fd.h"
#include "base/result.h"
#include "host/facts.h"

namespace sbx {

// Where find_cgroup() looks.
struct CgroupPlaces {
  std::string mountinfo = "/proc/self/mountinfo";
  std::string self = "/proc/self/cgroup";
  pid_t pid = 0;             // 0: getpid()
  bool check_kernel = true;  // statfs must say cgroup2; false only for a faked tree
};
CgroupFacts find_cgroup_in(const CgroupPlaces& places);

// One box. The directory's descriptor serves CLONE_INTO_CGROUP; the path is for messages. Not
// removed by itself: kill_box and remove_box do that when the sandbox has ended.
struct CgroupBox {
  OwnedFd directory;
  std::string path;
};

// 0 means: no such limit.
struct CgroupLimits {
  std::int64_t memory_bytes = 0;
  std::int64_t pids = 0;
};

// base/sbx-PID-RANDOM: what nobody else makes, nor can expect. So that whoever is to remove it can
// know of it before it is made. Errors: kSetupFailed.
Result<std::string> new_box_path(const CgroupFacts& facts);
// Makes it, with its limits (swap is 0 and the whole box is killed on OOM where a memory limit is
// set). On an error nothing is left behind. `facts.must_move` must have been dealt with by
// enter_leaf(). Errors: kSetupFailed with the file and errno.
Result<CgroupBox> make_box(const std::string& path, const CgroupLimits& limits);
// One that another process has made; its directory is closed where there is none.
CgroupBox open_box(const std::string& path);

// base/sbx-supervisor-PID.
std::string leaf_path(const CgroupFacts& facts);
// For `must_move`: makes the leaf, moves this process and its children there, and enables the
// memory and pids controllers for the children of base (a cgroup with processes may not have
// controllers for its children). facts.must_move is false afterwards. Errors: kSetupFailed.
Status enter_leaf(CgroupFacts& facts);
// The reverse, by whoever is left in it, this process among them or not. False: it stays, since
// another still needs the controllers.
bool leave_leaf(const std::string& leaf);

struct MemoryEvents {
  std::uint64_t oom_kill = 0;  // processes killed for want of memory
  std::uint64_t max = 0;       // times the limit was hit
};
// nullopt: cannot be read.
std::optional<MemoryEvents> read_memory_events(const CgroupBox& box);
// Forks that the pids limit refused.
std::optional<std::uint64_t> read_pids_events(const CgroupBox& box);

// SIGKILL to everything inside, by cgroup.kill (5.14); without it by signalling cgroup.procs until
// it is empty, in a bounded number of rounds.
Status kill_box(const CgroupBox& box);

// Removes the directory: processes that were killed leave it only when they have been reaped, so
// EBUSY is retried for at most `wait_ms`. Directories that the inside made are removed too.
Status remove_box(const CgroupBox& box, int wait_ms = 500);

}  // namespace sbx
