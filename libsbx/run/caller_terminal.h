// SPDX-License-Identifier: Apache-2.0
// CallerTerminal: the terminal on this process's own descriptors 0 and 1, raw while something
// inside uses it, and given back in the modes in which it was.
#pragma once

#include <sys/ioctl.h>
#include <termios.h>

#include <string>
#include <string_view>

#include "base/owned_fd.h"
#include "run/terminal_modes.h"

namespace sbx {

// At most a few KiB, without blocking. False: there is nothing more to come, or nobody to read.
bool read_some(int fd, std::string& into);
bool write_some(int fd, std::string& from);

class CallerTerminal {
 public:
  CallerTerminal();
  ~CallerTerminal() { restore(true); }
  CallerTerminal(const CallerTerminal&) = delete;
  CallerTerminal& operator=(const CallerTerminal&) = delete;

  int out() const { return out_; }
  // What is about to be written to it.
  void note(std::string_view bytes) { modes_.append(bytes); }
  bool size(struct winsize& size) const;
  void make_raw();
  // As it was; its screen too, where all that was noted has been written. Idempotent.
  void restore(bool all_is_written);
  // Raw again, and the screen as it was inside.
  void resume();

 private:
  OwnedFd own_out_;
  int out_ = -1;
  TerminalModes modes_;
  struct termios saved_ {};
  bool is_raw_ = false;
};

}  // namespace sbx
