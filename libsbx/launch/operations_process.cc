// SPDX-License-Identifier: Apache-2.0
// The steps about the process itself, executed: PID 1's and the command's. No heap, no exceptions.
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/files.h"
#include "launch/child.h"
#include "launch/descriptors.h"
#include "launch/handover.h"
#include "launch/mounts.h"
#include "plan/filter.h"
#include "sys/calls.h"

namespace sbx::op {
namespace {

int clear_bounding_set(bool is_allowed) {
  for (int cap = 0; cap < 64; ++cap) {
    if (::prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0) continue;
    // Above the last one that this kernel knows: then it cannot be asked about either.
    if (errno == EINVAL && ::prctl(PR_CAPBSET_READ, cap, 0, 0, 0) < 0) break;
    // Without the capability the set only bounds what no_new_privs refuses already.
    if (errno != EPERM || is_allowed) return failure();
    break;
  }
  return 0;
}

void open_signals() {
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

// The fourth argument is for the filter alone.
int exec(const ChildContext& context, const char* path, char* const* argv) {
  ::syscall(SYS_execve, path, argv, context.envp, kOwnExec);
  return errno;
}

// A script without #!: the shell runs it.
void exec_by_shell(const ChildContext& context, const char* script) {
  char* const program = context.argv[0];
  context.argv[0] = const_cast<char*>(script);
  context.argv[-1] = const_cast<char*>("/bin/sh");
  exec(context, "/bin/sh", context.argv - 1);
  context.argv[0] = program;
}

// Tries each path in turn, as execvp(3) does. Only returns when none could be executed.
int exec_first(const ChildContext& context) {
  int result = ENOENT;
  for (const char* const* path = context.executables; *path != nullptr; ++path) {
    const int error = exec(context, *path, context.argv);
    if (error == ENOEXEC) exec_by_shell(context, *path);
    if (error == EACCES) result = EACCES;
    if (!is_missing(error) && error != EACCES) return error;
  }
  return result;
}

}  // namespace

int SetHostname::execute(ChildContext& context) const noexcept {
  const char* const text = context.text(name);
  return checked(::sethostname(text, std::strlen(text)));
}

int NotDumpable::execute(ChildContext& /*context*/) const noexcept {
  return checked(::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0));
}

int DieWithParent::execute(ChildContext& context) const noexcept {
  // Without a pid namespace, descendants outlive a killed PID 1: it must live to end them.
  const bool kill = context.has_pid_namespace || context.passes_through;
  if (!kill && ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) return failure();
  if (::prctl(PR_SET_PDEATHSIG, kill ? SIGKILL : SIGTERM, 0, 0, 0) != 0) return failure();
  // The parent may have died before that: its end of the lifeline is closed then.
  struct pollfd lifeline {
    context.lifeline, 0, 0
  };
  if (::poll(&lifeline, 1, 0) < 0) return failure();
  return (lifeline.revents & (POLLHUP | POLLERR)) != 0 ? EPIPE : 0;
}

int ForkCommand::execute(ChildContext& /*context*/) const noexcept {
  return 0;
}  // the walker's own

int NewSession::execute(ChildContext& /*context*/) const noexcept {
  return ::setsid() >= 0 ? 0 : failure();
}

int OpenPty::execute(ChildContext& context) const noexcept {
  const ScopedFd master{::open(context.text(path), O_RDWR | O_NOCTTY | O_CLOEXEC)};
  if (master.fd < 0) return failure();
  int unlock = 0;
  if (::ioctl(master.fd, TIOCSPTLCK, &unlock) != 0) return failure();
  const int slave = ::ioctl(master.fd, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (slave < 0) return failure();
  const struct winsize size { rows, columns, 0, 0 };
  if (::ioctl(slave, TIOCSWINSZ, &size) != 0 || ::ioctl(slave, TIOCSCTTY, 0) != 0) return failure();
  context.pty_slave = slave;
  return report_fd(context, ReportTag::kPty, ::fcntl(master.fd, F_DUPFD_CLOEXEC, 3));
}

int TakePty::execute(ChildContext& context) const noexcept {
  const ScopedFd slave{context.pty_slave};
  context.pty_slave = -1;
  context.tells_stops = is_job;
  if (is_job) {
    const pid_t group = ::getpid();
    sigset_t background;  // it is not in the foreground yet: SIGTTOU would stop it
    sigset_t before;
    ::sigemptyset(&background);
    ::sigaddset(&background, SIGTTOU);
    ::sigprocmask(SIG_BLOCK, &background, &before);
    if (::setpgid(0, 0) != 0 || ::ioctl(slave.fd, TIOCSPGRP, &group) != 0) return failure();
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
  }
  for (int fd = 0; fd < 3; ++fd) {
    if (::dup2(slave.fd, fd) < 0) return failure();
  }
  return 0;
}

int SetLimit::execute(ChildContext& /*context*/) const noexcept {
  // Never above what the caller has; only a privileged one could raise it.
  const auto number = static_cast<__rlimit_resource>(resource);
  struct rlimit limit {};
  if (::getrlimit(number, &limit) != 0) return failure();
  limit.rlim_max = hard < limit.rlim_max ? hard : limit.rlim_max;
  limit.rlim_cur = soft < limit.rlim_max ? soft : limit.rlim_max;
  return checked(::setrlimit(number, &limit));
}

int ChangeDir::execute(ChildContext& context) const noexcept {
  return checked(::chdir(context.slot == nullptr ? context.text(path) : context.slot->cwd));
}

int NoNewPrivs::execute(ChildContext& /*context*/) const noexcept {
  return checked(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
}

int LandlockCreate::execute(ChildContext& context) const noexcept {
  const sys::LandlockRulesetAttr attr{files, network, scopes};
  context.landlock_fd = sys::landlock_create_ruleset(attr);
  return context.landlock_fd >= 0 ? 0 : failure();
}

int LandlockAllow::execute(ChildContext& context) const noexcept {
  const sys::OpenHow how{O_PATH | O_CLOEXEC, 0, file.ino == 0 ? 0 : sys::kResolveNoSymlinks};
  const ScopedFd target{sys::openat2(AT_FDCWD, context.text(path), how)};
  if (target.fd < 0) return failure();
  const int error = expect_file(target.fd, file);
  if (error != 0) return error;
  const sys::LandlockPathBeneathAttr attr{rights, target.fd};
  return checked(sys::landlock_add_path(context.landlock_fd, attr));
}

// What the descriptor itself gives, and no more. Who opens anew what is appended to would write
// over it.
int LandlockAllowHeld::execute(ChildContext& context) const noexcept {
  for (int fd = 0; fd < 3; ++fd) {
    struct stat info {};
    const int flags = ::fcntl(fd, F_GETFL);
    if (flags < 0 || ::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) continue;
    const int mode = flags & (O_ACCMODE | O_PATH);
    const bool is_read = mode == O_RDONLY || mode == O_RDWR;
    const bool is_written = (mode == O_WRONLY || mode == O_RDWR) && (flags & O_APPEND) == 0;
    const sys::LandlockPathBeneathAttr attr{(is_read ? read : 0) | (is_written ? write : 0), fd};
    if (attr.allowed_access == 0) continue;
    // EBADFD: a file in memory, which no rule holds.
    if (sys::landlock_add_path(context.landlock_fd, attr) != 0 && errno != EBADFD) return failure();
  }
  return 0;
}

int LandlockRestrict::execute(ChildContext& context) const noexcept {
  const ScopedFd ruleset{context.landlock_fd};
  context.landlock_fd = -1;
  return checked(sys::landlock_restrict_self(ruleset.fd));
}

int DropCapabilities::execute(ChildContext& /*context*/) const noexcept {
  struct __user_cap_header_struct header {
    _LINUX_CAPABILITY_VERSION_3, 0
  };
  struct __user_cap_data_struct data[2] = {};
  if (::syscall(SYS_capget, &header, data) != 0) return failure();
  const int error = clear_bounding_set((data[0].effective & (1U << CAP_SETPCAP)) != 0);
  if (error != 0) return error;
  if (::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0) return failure();
  std::memset(data, 0, sizeof data);
  header = {_LINUX_CAPABILITY_VERSION_3, 0};
  if (::syscall(SYS_capset, &header, data) != 0) return failure();
  if (::syscall(SYS_capget, &header, data) != 0) return failure();
  for (const auto& half : data) {
    if ((half.effective | half.permitted | half.inheritable) != 0) return EPERM;
  }
  return 0;
}

int CloseDescriptors::execute(ChildContext& /*context*/) const noexcept {
  return checked(sys::close_range(3, ~0U, sys::kCloseRangeCloexec));
}

int Seccomp::execute(ChildContext& context) const noexcept {
  struct sock_fprog program {
    context.filter_size, const_cast<sock_filter*>(context.filter)
  };
  const unsigned flags = notifies ? sys::kSeccompFilterFlagNewListener : 0;
  const int answer = sys::seccomp(sys::kSeccompSetModeFilter, flags, &program);
  if (answer < 0) return failure();
  if (!notifies) return 0;
  context.send_before_exec = may_send;
  int error = report_fd(context, ReportTag::kListener, answer);
  if (error != 0 || open_files == 0) return error;
  error = send_reports(context);
  return error != 0 ? error : SetLimit{RLIMIT_NOFILE, open_files, open_files}.execute(context);
}

int AwaitCommand::execute(ChildContext& context) const noexcept {
  if (context.send_before_exec) {
    const int error = send_reports(context);
    if (error != 0) return error;
  }
  const int error = await_command(*context.slot, context.control);
  if (error != 0) return error;
  context.argv = context.slot->argv;
  context.envp = context.slot->envp;
  context.executables = context.slot->executables;
  return 0;
}

int Execute::execute(ChildContext& context) const noexcept {
  // In one message: one wake-up of the supervisor. PID 1 sends what the filter keeps us from.
  if (context.send_before_exec) {
    const int error = send_reports(context);
    if (error != 0) return error;
  }
  if (context.passes_through) {
    ::umask(context.caller_umask);
  } else {
    ::umask(022);
    open_signals();
  }
  context.state->executed.store(1);
  const int error = exec_first(context);
  context.state->executed.store(0);
  return error;
}

}  // namespace sbx::op
