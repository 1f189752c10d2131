// SPDX-License-Identifier: Apache-2.0
// The kept shell's own process, and what is reached through it from outside: its pipes, and what it
// has in the foreground of its terminal. Everything inside is hostile, and numbers outlive what
// they stood for: a terminal still names a group that has gone when another user's process has that
// number. So whatever is opened or signalled is seen to be of the terminal's session first.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string_view>
#include <vector>

#include "base/owned_fd.h"
#include "base/result.h"

namespace sbx {

class ShellProcess {
 public:
  // The one in the terminal's foreground: bash, once that has made itself its own group. `master`
  // must outlive this. False: there is none yet.
  bool find(int master);
  pid_t pid() const { return pid_; }

  // One of its descriptors, opened anew: what it does to its own end does not change ours. Errors:
  // kSetupFailed; it is no pipe, or no longer the shell's.
  Result<OwnedFd> open_pipe(int fd, int flags) const;
  // Its working directory, as the kernel has it; empty where it has gone.
  std::string directory() const;
  bool has_foreground() const;  // itself, not a command
  std::vector<pid_t> children() const;
  bool is_alone() const { return has_foreground() && children().empty(); }
  // Whether it is readline that reads: no program nor `read`, unless with -e, has a terminal so.
  bool is_at_prompt() const;
  void restore_prompt() const;             // where a call has left the terminal otherwise
  void press(std::string_view key) const;  // at its prompt only
  void interrupt() const;                  // ^C
  // It ends whatever it waits for, and runs no more of its words. It ignores SIGTERM.
  void hang_up() const;
  // The command in the foreground; of children in the shell's own group those that are not spared.
  void kill_front(const std::vector<pid_t>& spared) const;
  // Whether it has run itself since the last time, and not only waited for its turn.
  bool has_worked(std::chrono::nanoseconds& until_now) const;

 private:
  pid_t front() const;
  bool is_inside(pid_t pid) const;
  bool is_group_inside(pid_t group) const;

  int master_ = -1;
  pid_t pid_ = -1;
  OwnedFd pidfd_;
};

}  // namespace sbx
