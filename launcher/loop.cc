// SPDX-License-Identifier: Apache-2.0
// poll(2): the caller's stdin may be a regular file, which epoll(7) does not take.
#include "loop.h"

#include <fcntl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/files.h"
#include "base/loop.h"
#include "base/owned_fd.h"

namespace sbx {
namespace {

constexpr std::size_t kMostBytes = std::size_t{16} << 20;

}  // namespace

void PollTurn::wait() {
  if (poll(fds_.data(), fds_.size(), Loop::wait_ms(until_)) >= 0) return;
  for (pollfd& fd : fds_) fd.revents = 0;  // EINTR: a turn without news
}

bool PollTurn::is_ready(int fd) const {
  return std::any_of(fds_.begin(), fds_.end(),
                     [&](const pollfd& one) { return one.fd == fd && one.revents != 0; });
}

int read_signal(int signal_fd) {
  signalfd_siginfo info{};
  const ssize_t size = ::read(signal_fd, &info, sizeof info);
  return size == sizeof info ? static_cast<int>(info.ssi_signo) : 0;
}

Result<std::string> read_params_text(const std::string& path) {
  OwnedFd file;
  const bool is_stdin = path.empty() || path == "-";
  if (!is_stdin) file.reset(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!is_stdin && !file.is_open()) {
    const int error = errno;
    return Error{error == ENOENT ? ErrorCode::kPathNotFound : ErrorCode::kPathRefused,
                 "cannot read the params: " + path + ": " + errno_text(error), "--params",
                 "name a file with a JSON object", error};
  }
  Result<std::string> text = read_up_to(is_stdin ? STDIN_FILENO : file.get(), kMostBytes + 1);
  if (!text.ok()) {
    const int error = text.error().sys_errno;
    return call_failed(ErrorCode::kPathRefused, "cannot read the params",
                       is_stdin ? "stdin" : "--params", "give a JSON object on stdin", error);
  }
  if (text.value().size() <= kMostBytes) return text;
  return Error{ErrorCode::kTooLarge, "the params are over 16 MiB", "", "send less"};
}

}  // namespace sbx
