// SPDX-License-Identifier: Apache-2.0
// PID 1 as bubblewrap's: tells how the command ended as soon as it has, reaps, and stays until
// nothing is left inside. Holds the lock files and the descriptor that say so outside. No heap.
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "bwrap/inside.h"
#include "sys/calls.h"

namespace sbx::bwrap {
namespace {

// Everything but the control socket, the locks and sync_fd: a pipe of the command's that PID 1 kept
// would not end with the command.
void close_others(ChildContext& context) {
  const Kept& own = kept_of(context);
  int kept[kMaxLocks + 2];
  int count = 0;
  const auto insert = [&](int fd) {
    if (fd < 0) return;
    int at = count++;
    for (; at > 0 && kept[at - 1] > fd; --at) kept[at] = kept[at - 1];
    kept[at] = fd;
  };
  insert(context.control);
  insert(own.sync_fd);
  for (int i = 0; i < own.lock_count; ++i) insert(own.locks[i]);
  unsigned next = 0;
  for (int i = 0; i < count; ++i) {
    const auto fd = static_cast<unsigned>(kept[i]);
    if (fd > next) sys::close_range(next, fd - 1, 0);
    next = fd + 1;
  }
  sys::close_range(next, ~0U, 0);
}

// It is dumpable, as bubblewrap's, so that its own user can open its namespaces in /proc. The
// command may then trace it, and must find no process there that is freer than itself: not before
// the filters are loaded. Nor before the launcher has been told what it believes for good.
bool load_programs(ChildContext& context) {
  for (std::uint32_t i = 0; i < context.op_count; ++i) {
    Op& op = context.ops[i];
    if (op.is<op::SeccompProgram>() && op.execute(context) != 0) return false;
  }
  ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);  // refused by a filter, it stays as it is
  return true;
}

}  // namespace

void run_reaper(ChildContext& context, pid_t command) noexcept {
  // What the shared page says can be the command's own words from now on.
  if (context.state->executed.load() != 0) ::send(context.control, "", 1, MSG_NOSIGNAL);
  keep_capabilities(0, false);  // it needs none; a container that refuses even that loses nothing
  close_others(context);
  if (!load_programs(context)) ::_exit(1);
  int exit_status = 1;
  for (;;) {
    int status = 0;
    struct rusage usage {};
    const pid_t pid = ::wait4(-1, &status, 0, &usage);
    if (pid < 0 && errno == EINTR) continue;
    if (pid < 0) break;
    if (pid != command) continue;
    exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    context.state->wait_status = status;
    context.state->usage = usage;
    context.state->ended.store(1);
    ::close(context.control);  // its end wakes the supervisor
  }
  ::_exit(exit_status);
}

}  // namespace sbx::bwrap
