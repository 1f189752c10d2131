// SPDX-License-Identifier: Apache-2.0
// fork(2), and a pipe for the answer.
#include "trace/apart.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <new>
#include <utility>

#include "sys/calls.h"

namespace sbx {
namespace {

constexpr std::size_t kLongestAnswer = 4096;  // a pipe takes it at once

// Killed, and not seen to end yet.
std::vector<OwnedFd>& graves() {
  static std::vector<OwnedFd> processes;
  return processes;
}

bool is_reaped(const OwnedFd& process) {
  siginfo_t info{};
  const auto id = static_cast<id_t>(process.get());
  return waitid(P_PIDFD, id, &info, WEXITED | WNOHANG) != 0 || info.si_pid != 0;
}

void keep_only(std::vector<int> kept) {
  std::sort(kept.begin(), kept.end());
  unsigned next = 0;
  for (const int fd : kept) {
    if (fd < 0) continue;
    const auto number = static_cast<unsigned>(fd);
    if (number > next) sys::close_range(next, number - 1, 0);
    next = number + 1;
  }
  sys::close_range(next, ~0U, 0);
}

}  // namespace

std::unique_ptr<Apart> Apart::start(std::vector<int> kept,
                                    const std::function<std::string(Note&)>& work) {
  std::erase_if(graves(), is_reaped);
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return nullptr;
  std::unique_ptr<Apart> made(new Apart());
  made->answer_.reset(ends[0]);
  OwnedFd told(ends[1]);
  void* const page =
      mmap(nullptr, sizeof(Note), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return nullptr;
  made->note_ = new (page) Note(false);
  const pid_t parent = sys::getpid_raw();
  const pid_t pid = fork();
  if (pid < 0) return nullptr;
  if (pid > 0) {
    made->process_.reset(sys::pidfd_open(pid, 0));
    if (made->process_.is_open()) return made;
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);  // it has touched nothing yet that may make it wait
    return nullptr;
  }
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_DUMPABLE, 0);
  if (getppid() != parent) _exit(0);  // set too late when the parent has died before
  kept.push_back(told.get());
  keep_only(std::move(kept));
  const std::string answer = work(*made->note_);
  [[maybe_unused]] const ssize_t written =
      write(told.get(), answer.data(), std::min(answer.size(), kLongestAnswer));
  _exit(0);
}

Apart::~Apart() {
  if (note_ != nullptr) munmap(note_, sizeof(Note));
  if (!process_.is_open()) return;
  sys::pidfd_send_signal(process_.get(), SIGKILL);
  // At once, but on a busy machine, or where a file system does not answer.
  constexpr int kLongestMs = 100;
  struct pollfd ended {
    process_.get(), POLLIN, 0
  };
  poll(&ended, 1, kLongestMs);
  if (!is_reaped(process_)) graves().push_back(std::move(process_));
}

bool Apart::has_ended(std::string& answer) {
  std::array<char, kLongestAnswer> text{};
  const ssize_t size = read(answer_.get(), text.data(), text.size());
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  answer.assign(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  return true;
}

}  // namespace sbx
