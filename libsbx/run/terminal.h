// SPDX-License-Identifier: Apache-2.0
// Terminal: relays the caller's terminal and the pty inside, for `exec`. The caller's terminal is
// made raw and restored; nothing that the command does can push input into it (its own terminal is
// the pty). Buffers are bounded: a slow reader stops the other side.
#pragma once

#include <termios.h>

#include <cstdint>
#include <string>

#include "base/owned_fd.h"

namespace sbx {

class Terminal {
 public:
  // Takes the pty's master. The three numbers are what epoll reports for each descriptor.
  Terminal(OwnedFd master, int epoll, std::uint32_t pty_source, std::uint32_t in_source,
           std::uint32_t out_source);
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // Moves what can be moved without blocking.
  void handle(std::uint32_t events);
  // The caller's window has another size.
  void resize();
  // Puts the caller's terminal back as it was. Idempotent.
  void restore();
  // Whether something may still have to be relayed.
  bool is_open() const { return master_.is_open() || !to_caller_.empty(); }

 private:
  void update_interest();
  void watch(int fd, std::uint32_t source, std::uint32_t events, std::uint32_t& current);

  OwnedFd master_;
  OwnedFd own_out_;
  int out_ = -1;
  int epoll_;
  std::uint32_t sources_[3];  // pty, in, out
  std::uint32_t interest_[3] = {0, 0, 0};
  std::string to_command_;
  std::string to_caller_;
  struct termios saved_ {};
  bool is_raw_ = false;
  bool input_ended_ = false;
};

}  // namespace sbx
