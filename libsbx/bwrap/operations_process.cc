// SPDX-License-Identifier: Apache-2.0
// The operations about the process itself, executed: waits, users, capabilities, filters. No heap,
// no exceptions.
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "bwrap/inside.h"
#include "launch/descriptors.h"
#include "launch/mounts.h"

namespace sbx::bwrap {
namespace {

// A container's filter may refuse capset to root, who has what is kept.
int set_capabilities(std::uint64_t kept) {
  struct __user_cap_header_struct header {
    _LINUX_CAPABILITY_VERSION_3, 0
  };
  struct __user_cap_data_struct data[2] = {};
  for (int half = 0; half < 2; ++half) {
    const auto bits = static_cast<std::uint32_t>(kept >> (32 * half));
    data[half] = {bits, bits, bits};
  }
  const bool is_set = ::syscall(SYS_capset, &header, data) == 0;
  return is_set || (errno == EPERM && ::getuid() == 0) ? 0 : failure();
}

// One prctl(2) for each capability of the set. Unknown ones, and where it may not, are passed over:
// no_new_privs is in force.
int for_each_capability(std::uint64_t set, int option, unsigned long argument) {
  for (unsigned long cap = 0; cap < 64; ++cap) {
    if ((set >> cap & 1) == 0) continue;
    const int answer =
        argument == 0 ? ::prctl(option, cap, 0, 0, 0) : ::prctl(option, argument, cap, 0, 0);
    if (answer != 0 && errno != EINVAL && errno != EPERM) return failure();
  }
  return 0;
}

// The read end of the pipe that ends with the launcher, once this process has closed its own copy
// of the other.
int launcher_of(ChildContext& context) {
  int& copy = kept_of(context).launcher[1];
  if (copy >= 0) ::close(copy);
  copy = -1;
  return kept_of(context).launcher[0];
}

}  // namespace

int keep_capabilities(std::uint64_t kept, bool only_ambient) noexcept {
  const int error = only_ambient ? 0 : set_capabilities(kept);
  return error != 0 ? error : for_each_capability(kept, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE);
}

namespace op {

int AwaitGo::execute(ChildContext& context) const noexcept {
  struct pollfd waiting[2] = {{context.control, POLLIN, 0}, {launcher_of(context), 0, 0}};
  while (::poll(waiting, 2, -1) < 0) {
    if (errno != EINTR) return failure();
  }
  char byte = 0;
  if (::recv(context.control, &byte, 1, 0) != 1) ::_exit(1);  // nobody wants it any more
  return 0;
}

int DieWithLauncher::execute(ChildContext& context) const noexcept {
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0) return failure();
  // Its descriptors are closed before its children get the signal: no moment lies between.
  struct pollfd launcher {
    launcher_of(context), 0, 0
  };
  const int ended = ::poll(&launcher, 1, 0);
  if (ended > 0) ::_exit(1);
  return ended == 0 ? 0 : failure();
}

int AwaitFd::execute(ChildContext& /*context*/) const noexcept {
  char byte = 0;
  while (::read(fd, &byte, 1) < 0 && errno == EINTR) {
  }
  ::close(fd);
  return 0;  // bubblewrap goes on whatever the answer
}

int OpenProc::execute(ChildContext& context) const noexcept {
  int& proc = kept_of(context).proc_fd;
  proc = ::open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
  return proc >= 0 ? 0 : failure();
}

int WriteProc::execute(ChildContext& context) const noexcept {
  const int proc = kept_of(context).proc_fd;
  const ScopedFd file{::openat(proc, context.text(path), O_WRONLY | O_CLOEXEC)};
  return write_whole(file.fd, context.text(content.text), content.size, EIO);
}

int SetIds::execute(ChildContext& /*context*/) const noexcept {
  if (::getgid() != gid && ::setgid(gid) != 0) return failure();
  return ::getuid() == uid ? 0 : checked(::setuid(uid));
}

int JoinUser::execute(ChildContext& /*context*/) const noexcept {
  return checked(::setns(fd, CLONE_NEWUSER));
}

int UnshareUser::execute(ChildContext& /*context*/) const noexcept {
  return checked(::unshare(CLONE_NEWUSER));
}

int RefuseUser::execute(ChildContext& /*context*/) const noexcept {
  return ::unshare(CLONE_NEWUSER) == 0 ? EEXIST : 0;
}

int BoundCapabilities::execute(ChildContext& /*context*/) const noexcept {
  return for_each_capability(~kept, PR_CAPBSET_DROP, 0);
}

int KeepCapabilities::execute(ChildContext& /*context*/) const noexcept {
  return keep_capabilities(kept, only_ambient);
}

int SeccompProgram::execute(ChildContext& context) const noexcept {
  struct sock_fprog program {
    static_cast<unsigned short>(count), const_cast<sock_filter*>(context.filter + first)
  };
  return checked(::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
}

}  // namespace op
}  // namespace sbx::bwrap
