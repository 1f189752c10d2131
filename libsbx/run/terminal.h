// SPDX-License-Identifier: Apache-2.0
// Terminal: relays the caller's terminal and the pty inside, for `exec`. The caller's terminal is
// made raw and restored; nothing that the command does can push input into it (its own terminal is
// the pty). Buffers are bounded: a slow reader stops the other side. At the end, and while it is
// suspended (^Z), the caller's screen is in the modes in which it was.
#pragma once

#include <cstdint>
#include <string>

#include "base/loop.h"
#include "base/owned_fd.h"
#include "run/caller_terminal.h"

namespace sbx {

class Terminal {
 public:
  // Takes the pty's master. `loop` must outlive this.
  Terminal(OwnedFd master, Loop& loop);
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // The caller's window has another size.
  void resize();
  // Puts the caller's terminal back as it was. Idempotent.
  void restore();
  // The command has been stopped (^Z): so is this process, with its group, until somebody lets it
  // go on.
  void suspend();
  // Whether something may still have to be relayed.
  bool is_open() const { return !is_hung_up_ || !to_caller_.empty(); }

 private:
  // Moves what can be moved without blocking.
  void relay();
  void update_interest();
  void want(Loop::Watch& watch, int fd, std::uint32_t events);

  OwnedFd master_;
  Loop& loop_;
  CallerTerminal caller_;
  std::string to_command_;
  std::string to_caller_;
  bool input_ended_ = false;
  bool is_hung_up_ = false;  // every slave is closed
  Loop::Watch pty_watch_;
  Loop::Watch in_watch_;
  Loop::Watch out_watch_;
};

}  // namespace sbx
