// SPDX-License-Identifier: Apache-2.0
// One clone(2) with CLONE_VM and descriptors of its own.
#include "host_files/watchdog.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cerrno>
#include <string>

#include "base/files.h"
#include "launch/descriptors.h"
#include "sys/calls.h"

namespace sbx {
namespace {

constexpr std::size_t kStackSize = std::size_t{32} << 10;
constexpr std::size_t kMostTold = std::size_t{1} << 20;

template <typename T>
long word(T* pointer) {
  return reinterpret_cast<long>(pointer);
}

Error failed(const char* call) {
  const int error = errno;
  return Error{ErrorCode::kSetupFailed, std::string(call) + ": " + errno_text(error), call, "",
               error};
}

}  // namespace

Watchdog::~Watchdog() {
  ours_.reset();
  wait();
}

void Watchdog::dismiss() {
  if (pid_ > 0 && ours_.is_open()) kill(pid_, SIGKILL);
  ours_.reset();
}

void Watchdog::hand_over(int fd) {
  char byte = ' ';  // that has no end: nothing is told
  FdMessage<1> message(&byte, sizeof byte);
  message.send(ours_.get(), &fd, 1, MSG_DONTWAIT);  // else it is closed here
}

void Watchdog::wait() {
  if (pid_ < 0) return;
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  munmap(stack_, kStackSize);
}

Status Watchdog::tell(Left kind, const std::vector<std::string>& texts) {
  if (texts.empty()) return {};
  if (!is_started()) SBX_CHECK_OK(start());
  std::string told;
  for (const std::string& text : texts) {
    told += static_cast<char>(kind);
    told += text;
    told += '\0';
  }
  return send_all(told);
}

AllLeft Watchdog::read_told(int fd) {
  AllLeft told;
  const Result<std::string> all = read_up_to(fd, kMostTold);
  if (!all.ok()) return told;
  const std::string& text = all.value();
  // What has no end was not told whole, and not made.
  for (std::size_t at = 0, end = 0; (end = text.find('\0', at)) != std::string::npos;
       at = end + 1) {
    told[static_cast<Left>(text[at])].push_back(text.substr(at + 1, end - at - 1));
  }
  return told;
}

Status Watchdog::send_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = send(ours_.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) {
      Error error = failed("send(watchdog)");
      error.hint = "leave the processes named sbx-watchdog alone";
      return error;
    }
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
  return {};
}

Status Watchdog::start() {
  int ends[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return failed("socketpair");
  const OwnedFd theirs(ends[0]);
  ours_.reset(ends[1]);
  stack_ = mmap(nullptr, kStackSize, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (stack_ == MAP_FAILED) return failed("mmap");
  *static_cast<int*>(stack_) = theirs.get();  // where its stack never gets to
  // No signal of the terminal ends it; it is never to run a handler of this process.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  pid_ =
      clone(&Watchdog::watch, static_cast<char*>(stack_) + kStackSize, CLONE_VM | SIGCHLD, stack_);
  const int error = errno;
  sigprocmask(SIG_SETMASK, &before, nullptr);
  if (pid_ > 0) return {};
  errno = error;
  Status status = failed("clone");
  munmap(stack_, kStackSize);
  return status;
}

// In the process of its own: nothing here may touch what the other one uses, errno included.
int Watchdog::watch(void* theirs) {
  const int end = *static_cast<const int*>(theirs);
  static const char name[] = "sbx-watchdog";
  sys::call_without_errno(SYS_prctl, PR_SET_NAME, word(name));
  sys::call_without_errno(SYS_setsid);
  if (end > 0) sys::call_without_errno(SYS_close_range, 0, end - 1, 0);
  sys::call_without_errno(SYS_close_range, end + 1, ~0U, 0);
  // What was told waits in the socket for whoever is executed below.
  struct pollfd hung_up {
    end, 0, 0
  };
  while ((hung_up.revents & POLLHUP) == 0) {
    sys::call_without_errno(SYS_ppoll, word(&hung_up), 1, 0, 0, 0);
  }
  const bool is_standard = end == 0;
  sys::call_without_errno(is_standard ? SYS_fcntl : SYS_dup3, end, is_standard ? F_SETFD : 0, 0);
  const char* const argv[] = {name, nullptr};
  const char* const envp[] = {nullptr};
  static const char program[] = "/proc/self/exe";
  sys::call_without_errno(SYS_execve, word(program), word(argv), word(envp));
  return 1;
}

}  // namespace sbx
