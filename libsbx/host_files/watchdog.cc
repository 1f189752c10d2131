// SPDX-License-Identifier: Apache-2.0
// One clone(2) with CLONE_VM and descriptors of its own, by which it is handed those that it holds.
#include "host_files/watchdog.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <string>
#include <utility>

#include "base/files.h"
#include "launch/descriptors.h"
#include "sys/calls.h"

namespace sbx {
namespace {

constexpr std::size_t kStackSize = std::size_t{32} << 10;
constexpr std::size_t kMostTold = std::size_t{1} << 20;  // by one watchdog
constexpr int kFirstSlot = 3;                            // below it is the control socket
constexpr int kPatienceMs = 2000;                        // with a process that is held up

template <typename T>
long word(T* pointer) {
  return reinterpret_cast<long>(pointer);
}

Error failed(const char* call) {
  const int error = errno;
  return Error{ErrorCode::kSetupFailed, std::string(call) + ": " + errno_text(error), call, "",
               error};
}

// In the process of its own: nothing here may touch what the other one uses, errno included. Each
// message names a slot: with a descriptor, which is to be there, or without one: it is closed.
int watch(void* stack) {
  const int control = *static_cast<const int*>(stack);
  static const char name[] = "sbx-watchdog";
  sys::call_without_errno(SYS_prctl, PR_SET_NAME, word(name));
  sys::call_without_errno(SYS_setsid);
  if (control != 0) sys::call_without_errno(SYS_dup3, control, 0, 0);
  for (const int standard : {1, 2}) sys::call_without_errno(SYS_dup3, 0, standard, 0);
  sys::call_without_errno(SYS_close_range, kFirstSlot, ~0U, 0);
  struct rlimit files {};
  if (sys::call_without_errno(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, word(&files)) == 0) {
    files.rlim_cur = files.rlim_max;  // as the other one's may come to be
    sys::call_without_errno(SYS_prlimit64, 0, RLIMIT_NOFILE, word(&files), 0);
  }
  for (;;) {
    int slot = -1;
    struct iovec data {
      &slot, sizeof slot
    };
    alignas(struct cmsghdr) char space[CMSG_SPACE(sizeof(int))];
    struct msghdr message {};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = space;
    message.msg_controllen = sizeof space;
    const long got = sys::call_without_errno(SYS_recvmsg, 0, word(&message), 0);
    if (got == -EINTR) continue;
    if (got != sizeof slot) break;
    const struct cmsghdr* const rights = CMSG_FIRSTHDR(&message);
    if (rights == nullptr) {
      sys::call_without_errno(SYS_close, slot);
      continue;
    }
    const int fd = *reinterpret_cast<const int*>(CMSG_DATA(rights));
    if (fd == slot) continue;
    sys::call_without_errno(SYS_dup3, fd, slot, 0);
    sys::call_without_errno(SYS_close, fd);
  }
  sys::call_without_errno(SYS_fcntl, 0, F_SETFD, 0);  // where it was 0 from the start
  const char* const argv[] = {name, nullptr};
  const char* const envp[] = {nullptr};
  static const char program[] = "/proc/self/exe";
  sys::call_without_errno(SYS_execve, word(program), word(argv), word(envp));
  return 1;
}

// The process of all watchdogs of this one: there while one of them needs it.
class Watcher {
 public:
  // Answers the slot in which it holds `theirs`. Errors: kSetupFailed.
  Result<int> hold(int theirs) {
    end_if_unneeded();
    const std::size_t at = static_cast<std::size_t>(
        std::find(is_taken_.begin(), is_taken_.end(), false) - is_taken_.begin());
    const int slot = kFirstSlot + static_cast<int>(at);
    bool is_sent = pid_ > 0 && send(slot, theirs);
    if (pid_ < 0 || (!is_sent && (errno == EPIPE || errno == ECONNRESET))) {
      reap();  // somebody has killed it
      SBX_CHECK_OK(start());
      is_sent = send(slot, theirs);
    }
    if (!is_sent) return failed("sendmsg(watchdog)");
    if (at == is_taken_.size()) is_taken_.push_back(false);
    is_taken_[at] = true;
    return slot;
  }
  // There is nothing to do about it. Where that holds for all of them the process ends.
  void let_go(int slot) {
    // What it does not hear of stays there: removing what is gone already does no harm.
    (void)send(slot, -1);
    is_taken_[static_cast<std::size_t>(slot - kFirstSlot)] = false;
    if (pid_ > 0 && count_taken() == 0) kill(pid_, SIGKILL);
  }
  // It is to be done, as soon as nothing else is in the way.
  void leave(OwnedFd ours) { left_.push_back(std::move(ours)); }
  // Waits for it.
  void end_if_unneeded() {
    if (pid_ < 0 || count_taken() > left_.size()) return;
    control_.reset();
    reap();
    left_.clear();
    is_taken_.clear();
  }

 private:
  std::size_t count_taken() const {
    return static_cast<std::size_t>(std::count(is_taken_.begin(), is_taken_.end(), true));
  }
  bool send(int slot, int fd) {
    FdMessage<1> message(&slot, sizeof slot);
    struct pollfd room {
      control_.get(), POLLOUT, 0
    };
    const auto sent = [&] {
      return message.send(control_.get(), &fd, fd < 0 ? 0 : 1, MSG_DONTWAIT) == sizeof slot;
    };
    return sent() || (errno == EAGAIN && poll(&room, 1, kPatienceMs) > 0 && sent());
  }
  Status start() {
    int ends[2] = {-1, -1};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
      return failed("socketpair");
    }
    const OwnedFd theirs(ends[0]);
    control_.reset(ends[1]);
    stack_ = mmap(nullptr, kStackSize, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stack_ == MAP_FAILED) return failed("mmap");
    *static_cast<int*>(stack_) = theirs.get();  // where its stack never gets to
    // No signal of the terminal ends it; it is never to run a handler of this process.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    pid_ = clone(watch, static_cast<char*>(stack_) + kStackSize, CLONE_VM | SIGCHLD, stack_);
    const int error = errno;
    sigprocmask(SIG_SETMASK, &before, nullptr);
    if (pid_ > 0) return {};
    errno = error;
    Status status = failed("clone");
    munmap(stack_, kStackSize);
    return status;
  }
  void reap() {
    if (pid_ < 0) return;
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    munmap(stack_, kStackSize);
  }

  OwnedFd control_;  // its end of file is what the process waits for
  void* stack_ = nullptr;
  pid_t pid_ = -1;
  std::vector<bool> is_taken_;  // by slot
  std::vector<OwnedFd> left_;
};

Watcher& watcher() {
  static Watcher* const one = new Watcher;  // what it has left is done once this process is gone
  return *one;
}

}  // namespace

Watchdog::~Watchdog() {
  if (is_started()) watcher().leave(std::move(ours_));
  watcher().end_if_unneeded();
}

void Watchdog::dismiss() {
  if (!is_started()) return;
  ours_.reset();
  watcher().let_go(std::exchange(slot_, -1));
}

void Watchdog::hand_over(int fd) {
  char byte = ' ';  // that has no end: nothing is told
  FdMessage<1> message(&byte, sizeof byte);
  message.send(ours_.get(), &fd, 1, MSG_DONTWAIT);  // else it is closed here
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

AllLeft Watchdog::read_told() {
  std::map<Left, std::set<std::string>> told;
  Listing open("/proc/self/fd");
  while (const dirent* const entry = open.next()) {
    const int fd = std::atoi(entry->d_name);
    std::string text;
    char part[4096];
    ssize_t got = 0;
    while (text.size() < kMostTold && (got = recv(fd, part, sizeof part, MSG_DONTWAIT)) > 0) {
      text.append(part, static_cast<std::size_t>(got));
    }
    // What has no end was not told whole, and not made.
    for (std::size_t at = 0, end = 0; (end = text.find('\0', at)) != std::string::npos;
         at = end + 1) {
      told[static_cast<Left>(text[at])].insert(text.substr(at + 1, end - at - 1));
    }
  }
  AllLeft all;
  for (auto& [kind, texts] : told) all[kind].assign(texts.begin(), texts.end());
  return all;
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
  OwnedFd ours(ends[1]);
  SBX_TRY(slot_, watcher().hold(theirs.get()));
  ours_ = std::move(ours);
  return {};
}

}  // namespace sbx
