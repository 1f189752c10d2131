// SPDX-License-Identifier: Apache-2.0
// StdinQueue: texts → the standard input of a command, at the speed at which it reads. What waits
// is bounded. The process must ignore SIGPIPE.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <utility>

#include "base/owned_fd.h"
#include "base/result.h"

namespace sbx {

class StdinQueue {
 public:
  // Bytes that may wait. The text that a request itself brings may be longer.
  static constexpr std::size_t kMostBytes = std::size_t{1} << 20;
  // Ok when all of the text is in the pipe. Called from within write() and end().
  using Done = std::function<void(Status)>;

  // Makes the pipe; the reader's end is what becomes the command's descriptor 0.
  // Errors: kSetupFailed.
  Result<OwnedFd> open();

  // Instead: what is written goes to a terminal, whose end of file is a key. Texts wait until it is
  // there.
  void expect_terminal() { is_terminal_ = true; }
  void take_terminal(OwnedFd master) { pipe_ = std::move(master); }

  // `close`: end of file follows the text. Without `done` it is the request's own. Errors, and
  // `done` is not called then: kBadValue when the input is closed, kTooMany when too much would
  // wait.
  Status push(std::string text, bool close, Done done);
  // As much as the pipe takes. Never blocks.
  void write();
  // Nothing can be written any more; what waits is told `error`.
  void end(const Error& error);

  int fd() const { return pipe_.get(); }  // -1 when closed
  bool is_waiting() const { return pipe_.is_open() && !texts_.empty(); }
  bool is_closed() const { return is_terminal_ ? has_ended_ : !pipe_.is_open() || closing_; }

 private:
  struct Text {
    std::string bytes;
    Done done;
  };
  OwnedFd pipe_;
  std::deque<Text> texts_;
  std::size_t waiting_ = 0;  // bytes in texts_, of the first one what is left
  std::size_t written_ = 0;  // of the first text
  bool closing_ = false;
  bool is_terminal_ = false;
  bool has_ended_ = false;
};

}  // namespace sbx
