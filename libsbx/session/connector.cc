// SPDX-License-Identifier: Apache-2.0
// One clone(2) a connect: no page tables and no descriptors are copied, and the exit status is the
// errno.
#include "session/connector.h"

#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "sys/calls.h"

namespace sbx {
namespace {

constexpr std::size_t kStackSize = std::size_t{16} << 10;

}  // namespace

Result<std::unique_ptr<Connector>> Connector::create() {
  std::unique_ptr<Connector> made(new Connector());
  made->epoll_.reset(epoll_create1(EPOLL_CLOEXEC));
  if (!made->epoll_.is_open()) {
    return Error{ErrorCode::kSetupFailed, "epoll_create1: " + errno_text(errno), "epoll_create1",
                 "raise the limit of open files (ulimit -n)", errno};
  }
  void* const stacks = mmap(nullptr, kSlots * kStackSize, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (stacks == MAP_FAILED) {
    return Error{ErrorCode::kSetupFailed, "mmap(stacks): " + errno_text(errno), "mmap",
                 "raise the limit of memory (ulimit -v)", errno};
  }
  made->stacks_ = static_cast<char*>(stacks);
  for (std::size_t i = 0; i < kSlots; ++i) {
    made->slots_[i].stack = made->stacks_ + (i + 1) * kStackSize;
  }
  return made;
}

Connector::~Connector() {
  end_all_but([](std::uint64_t) { return false; });
  if (stacks_ != nullptr) munmap(stacks_, kSlots * kStackSize);
}

// In the process of its own: nothing here may touch what the other one uses, errno included.
int Connector::run(void* argument) {
  const Slot& slot = *static_cast<const Slot*>(argument);
  sys::call_without_errno(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
  // Set too late when the parent has died before.
  if (sys::call_without_errno(SYS_getppid) != slot.parent) return ESRCH;
  const long result =
      sys::call_without_errno(SYS_connect, slot.job.socket.get(),
                              reinterpret_cast<long>(&slot.job.address), slot.job.length);
  return static_cast<int>(-result);
}

bool Connector::has_room() const {
  return std::any_of(slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.pid < 0; });
}

int Connector::start(Job job) {
  Slot* free = nullptr;
  for (Slot& slot : slots_) {
    if (slot.pid < 0) free = &slot;
  }
  if (free == nullptr) return EAGAIN;
  free->job = std::move(job);
  free->parent = sys::getpid_raw();
  int pidfd = -1;
  // No signal at its end: it is nobody else's to wait for.
  const pid_t pid =
      clone(&Connector::run, free->stack, CLONE_VM | CLONE_FILES | CLONE_PIDFD, free, &pidfd);
  if (pid < 0) {
    const int error = errno;
    free->job = Job{};
    return error;
  }
  free->pid = pid;
  free->pidfd.reset(pidfd);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = free;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, pidfd, &event) == 0) return 0;
  const int error = errno;
  kill(pid, SIGKILL);
  reap(*free);
  return error;
}

void Connector::reap(Slot& slot) {
  while (waitpid(slot.pid, nullptr, __WALL) < 0 && errno == EINTR) {
  }
  free_slot(slot);
}

// A copy of the descriptor in a child that is being set up would keep it in the set.
void Connector::free_slot(Slot& slot) {
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, slot.pidfd.get(), nullptr);
  slot.pidfd.reset();
  slot.pid = -1;
  slot.job = Job{};
}

void Connector::step(const std::function<void(std::uint64_t, int)>& done) {
  std::array<epoll_event, kSlots> events{};
  const int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < count; ++i) {
    Slot& slot = *static_cast<Slot*>(events[static_cast<std::size_t>(i)].data.ptr);
    int status = 0;
    if (waitpid(slot.pid, &status, __WALL | WNOHANG) != slot.pid) continue;
    const std::uint64_t id = slot.job.id;
    free_slot(slot);
    done(id, WIFEXITED(status) ? WEXITSTATUS(status) : EINTR);
  }
}

void Connector::end_all_but(const std::function<bool(std::uint64_t)>& is_waited_for) {
  for (Slot& slot : slots_) {
    if (slot.pid < 0 || is_waited_for(slot.job.id)) continue;
    kill(slot.pid, SIGKILL);
    reap(slot);
  }
}

}  // namespace sbx
