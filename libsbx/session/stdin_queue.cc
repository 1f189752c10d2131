// SPDX-License-Identifier: Apache-2.0
// A non-blocking pipe behind a bounded queue.
#include "session/stdin_queue.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace sbx {

Result<OwnedFd> StdinQueue::open() {
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return call_failed(ErrorCode::kSetupFailed, "pipe2", "pipe2",
                       "raise the limit of open files (ulimit -n)");
  }
  OwnedFd reader(ends[0]);
  pipe_.reset(ends[1]);
  // Only our end: the command must find an ordinary blocking pipe.
  if (fcntl(pipe_.get(), F_SETFL, O_NONBLOCK) != 0) {
    return call_failed(ErrorCode::kSetupFailed, "fcntl(O_NONBLOCK)", "fcntl");
  }
  return reader;
}

Status StdinQueue::push(std::string text, bool close, Done done) {
  if (is_closed()) {
    return Error{ErrorCode::kBadValue, "the task's standard input is closed", "/text",
                 "start the task without `stdin` to keep its input open"};
  }
  const bool is_requests_own = !done && waiting_ == 0;
  if (!is_requests_own && waiting_ + text.size() > kMostBytes) {
    return Error{ErrorCode::kTooMany,
                 "at most 1 MiB waits for the task to read, and " + std::to_string(waiting_) +
                     " bytes wait already",
                 "/text", "send it in parts, each when the one before has been answered"};
  }
  constexpr char kEndOfFile = '\x04';  // what a terminal makes of it is its own affair
  if (is_terminal_ && close) text += kEndOfFile;
  waiting_ += text.size();
  texts_.push_back({std::move(text), std::move(done)});
  closing_ = close && !is_terminal_;
  return {};
}

void StdinQueue::write() {
  while (is_waiting()) {
    const std::string& bytes = texts_.front().bytes;
    if (written_ < bytes.size()) {
      const ssize_t size = ::write(pipe_.get(), bytes.data() + written_, bytes.size() - written_);
      if (size < 0 && errno == EINTR) continue;
      if (size < 0 && errno == EAGAIN) return;
      if (size < 0) {
        return end(call_failed(ErrorCode::kBadValue, "the task does not read its standard input",
                               "/text"));
      }
      written_ += static_cast<std::size_t>(size);
      waiting_ -= static_cast<std::size_t>(size);
      if (written_ < bytes.size()) continue;
    }
    const Done done = std::move(texts_.front().done);
    texts_.pop_front();
    written_ = 0;
    // Closed before it is said to be.
    if (closing_ && texts_.empty()) pipe_.reset();
    if (done) done({});
  }
}

void StdinQueue::end(const Error& error) {
  // A terminal's master is open elsewhere too: closed here, it would stay in the set that watches
  // it.
  if (!is_terminal_) pipe_.reset();
  has_ended_ = true;
  waiting_ = 0;
  written_ = 0;
  for (const Text& text : std::exchange(texts_, {})) {
    if (text.done) text.done(error);
  }
}

}  // namespace sbx
