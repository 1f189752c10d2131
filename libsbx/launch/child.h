// SPDX-License-Identifier: Apache-2.0
// What runs after the clone: no allocation, no exceptions, no formatting, no locks. Everything
// that it needs lies flattened in ChildContext; a failed step is stored and the process ends.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include "launch/spawn.h"

namespace sbx {

inline constexpr int kMaxReports = 64;

struct ChildContext {
  Op* ops =
      nullptr;  // the child's own copy: op::Watch and op::Guard keep what they found in theirs
  std::uint32_t op_count = 0;
  const char* arena = nullptr;
  std::size_t arena_size = 0;
  SharedState* state = nullptr;
  CommandSlot* slot = nullptr;  // where the command comes later
  int standard[3] = {-1, -1, -1};
  int control = -1;
  int lifeline = -1;
  const int* trees = nullptr;  // of op::AttachMapped
  // Of op::MakeNetwork, and what it made, for op::JoinNetwork.
  pid_t network_maker = -1;
  std::atomic<std::uint32_t> network_turn{0};
  int network = -1;
  bool has_pid_namespace = false;
  bool bounds_pids = false;  // there is a limit of them
  bool has_user_namespace = false;
  bool passes_through = false;
  Keeper keeper = run_init;
  void* own = nullptr;  // of SpawnRequest
  unsigned caller_umask = 022;
  struct rlimit caller_file_size {};
  const sock_filter* filter = nullptr;
  unsigned short filter_size = 0;
  char** argv = nullptr;  // argv[-1] is a spare place for "/bin/sh"
  char** envp = nullptr;
  const char* const* executables = nullptr;  // NULL-terminated
  char* stack = nullptr;                     // for the command's process until it execs
  std::size_t stack_size = 0;

  // Handed from the command's process to PID 1, which share memory until the exec.
  // Descriptors to hand to the supervisor.
  int report_fds[kMaxReports] = {};
  char report_tags[kMaxReports] = {};
  int report_count = 0;
  bool send_before_exec = true;
  int landlock_fd = -1;
  int pty_slave = -1;          // between op::OpenPty and op::TakePty
  bool tells_stops = false;    // of the command
  bool is_suspended = false;   // nothing runs until the supervisor lets it go on
  bool has_low_ports = false;  // in the network namespace they need no capability

  // For the guards of PID 1.
  bool has_guards = false;
  ReplacedMode replaced = ReplacedMode::kRestore;
  int mask_file = -1;
  int mask_directory = -1;
  int inotify = -1;

  const char* text(op::Text at) const { return arena + at.offset; }
};

// Walks the operations, leaves PID 1 behind. Never returns.
[[noreturn]] void run_child(ChildContext& context) noexcept;

// Keeps a descriptor for the supervisor; of -1: the errno of what made it. Returns 0 or an errno.
int report_fd(ChildContext& context, ReportTag tag, int fd) noexcept;

// In SharedState::detail when a step failed at that, not at what it is named for.
inline constexpr char kSendReports[] = "sendmsg(control)";
// Sends what was reported over the control socket. Returns 0 or an errno.
int send_reports(ChildContext& context) noexcept;

}  // namespace sbx
