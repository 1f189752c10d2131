// SPDX-License-Identifier: Apache-2.0
// The walk over the operations, one switch; and the command's own process. No heap, no exceptions.
#include "launch/child.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

#include "launch/descriptors.h"
#include "launch/guards.h"
#include "launch/handover.h"
#include "launch/inside.h"
#include "launch/network.h"
#include "plan/filter.h"
#include "sys/calls.h"

namespace sbx {
namespace {

int report(ChildContext& context, ReportTag tag, int fd) {
  if (fd < 0) return failure();
  if (context.report_count == kMaxReports) return E2BIG;
  context.report_fds[context.report_count] = fd;
  context.report_tags[context.report_count++] = static_cast<char>(tag);
  return 0;
}

int write_file(const char* path, const char* text, std::uint32_t size) {
  const ScopedFd file{::open(path, O_WRONLY | O_CLOEXEC)};
  if (file.fd < 0) return failure();
  const ssize_t written = ::write(file.fd, text, size);
  if (written < 0) return failure();
  return static_cast<std::uint32_t>(written) == size ? 0 : EIO;
}

int make_file(const char* path, const char* text, std::uint32_t size, mode_t mode) {
  if (size == 0) return ::mknod(path, S_IFREG | mode, 0) == 0 ? 0 : failure();
  const ScopedFd file{::open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode)};
  if (file.fd < 0) return failure();
  const ssize_t written = ::write(file.fd, text, size);
  if (written < 0) return failure();
  return static_cast<std::uint32_t>(written) == size ? 0 : ENOSPC;
}

// Bytes in `out`, NUL-terminated.
void write_number(std::uint64_t number, char (&out)[24]) {
  char* const end = std::to_chars(out, out + sizeof out - 1, number).ptr;
  *end = '\0';
}

// tmpfs(5): a size of 0 would be none.
int size_tmpfs(const char* path, unsigned long flags, std::uint64_t free_bytes) {
  struct statfs info {};
  if (::statfs(path, &info) != 0) return failure();
  const auto block = static_cast<std::uint64_t>(info.f_bsize);
  const std::uint64_t size = (info.f_blocks - info.f_bfree) * block + free_bytes;
  char options[32] = "size=";
  char number[24];
  write_number(size == 0 ? block : size, number);
  std::memcpy(options + 5, number, sizeof number);
  return ::mount(nullptr, path, nullptr, MS_REMOUNT | flags, options) == 0 ? 0 : failure();
}

// Kernels have or lack each of these.
int halve(const char* own, const char* machine) {
  const ScopedFd from{::open(machine, O_RDONLY | O_CLOEXEC)};
  if (from.fd < 0) return errno == ENOENT ? 0 : failure();
  char text[24] = {};
  const ssize_t size = ::read(from.fd, text, sizeof text - 1);
  if (size < 0) return failure();
  std::uint64_t number = 0;
  if (std::from_chars(text, text + size, number).ec != std::errc{}) return EINVAL;
  write_number(number / 2, text);
  const int error = write_file(own, text, static_cast<std::uint32_t>(std::strlen(text)));
  return error == ENOENT ? 0 : error;
}

// A destination never leads through a symlink: what lies in a bound directory is not trusted. One
// that is itself a symlink is opened as such and can be mounted on.
int open_destination(const char* path) {
  const sys::OpenHow how{O_PATH | O_NOFOLLOW | O_CLOEXEC, 0,
                         sys::kResolveNoSymlinks | sys::kResolveNoMagiclinks};
  return sys::openat2(AT_FDCWD, path, how);
}

// Clones the tree at `source`, gives every mount in it the attributes while nobody can reach it,
// and attaches it. The tree leaves the host's propagation.
int attach_clone(int source, const char* destination, std::uint64_t attributes) {
  const ScopedFd tree{sys::open_tree(
      source, "",
      sys::kOpenTreeClone | sys::kOpenTreeCloexec | sys::kAtEmptyPath | sys::kAtRecursive)};
  if (tree.fd < 0) return failure();
  const sys::MountAttr attr{attributes, 0, MS_PRIVATE, 0};
  if (sys::mount_setattr(tree.fd, "", sys::kAtEmptyPath | sys::kAtRecursive, attr) != 0) {
    return failure();
  }
  const ScopedFd target{open_destination(destination)};
  if (target.fd < 0) return failure();
  if (sys::move_mount(tree.fd, "", target.fd, "",
                      sys::kMoveMountFEmptyPath | sys::kMoveMountTEmptyPath) != 0) {
    return failure();
  }
  return 0;
}

int bind_system(const char* source, const char* destination, std::uint64_t attributes) {
  if (::mount(source, destination, nullptr, MS_BIND | MS_REC, nullptr) != 0) return failure();
  const sys::MountAttr attr{attributes, 0, MS_PRIVATE, 0};
  return sys::mount_setattr(AT_FDCWD, destination, sys::kAtRecursive | sys::kAtSymlinkNofollow,
                            attr) == 0
             ? 0
             : failure();
}

int bind(const char* source, const char* destination, const Op& op) {
  const sys::OpenHow how{O_PATH | O_NOFOLLOW | O_CLOEXEC, 0,
                         sys::kResolveNoSymlinks | sys::kResolveNoMagiclinks};
  const ScopedFd from{sys::openat2(AT_FDCWD, source, how)};
  if (from.fd < 0) return failure();
  if (op.ino != 0) {
    struct stat info;
    if (::fstat(from.fd, &info) != 0) return failure();
    // Swapped between the look and now.
    if (info.st_ino != op.ino || info.st_dev != op.dev) return ESTALE;
  }
  return attach_clone(from.fd, destination, op.flags);
}

// A clone has the attributes of what it was cloned from.
int bind_mask(const char* mask, const char* destination) {
  return ::mount(mask, destination, nullptr, MS_BIND, nullptr) == 0 ? 0 : failure();
}

// mount(2) would follow the symlink; move_mount(2) does not.
int mask_link(const char* mask, const char* destination) {
  const ScopedFd tree{sys::open_tree(AT_FDCWD, mask, sys::kOpenTreeClone | sys::kOpenTreeCloexec)};
  if (tree.fd < 0) return failure();
  return sys::move_mount(tree.fd, "", AT_FDCWD, destination, sys::kMoveMountFEmptyPath) == 0
             ? 0
             : failure();
}

int bind_inside(const char* source, const char* destination, std::uint64_t attributes) {
  const ScopedFd from{open_destination(source)};
  return from.fd < 0 ? failure() : attach_clone(from.fd, destination, attributes);
}

int move_inside(const char* source, const char* destination, std::uint64_t attributes) {
  const ScopedFd from{open_destination(source)};
  if (from.fd < 0) return failure();
  const sys::MountAttr attr{attributes, 0, 0, 0};
  if (sys::mount_setattr(from.fd, "", sys::kAtEmptyPath, attr) != 0) return failure();
  const ScopedFd target{open_destination(destination)};
  if (target.fd < 0) return failure();
  return sys::move_mount(from.fd, "", target.fd, "",
                         sys::kMoveMountFEmptyPath | sys::kMoveMountTEmptyPath) == 0
             ? 0
             : failure();
}

int set_attributes(const char* path, std::uint64_t attributes) {
  const ScopedFd target{open_destination(path)};
  if (target.fd < 0) return failure();
  const sys::MountAttr attr{attributes, 0, 0, 0};
  return sys::mount_setattr(target.fd, "", sys::kAtEmptyPath, attr) == 0 ? 0 : failure();
}

int pivot() {
  // pivot_root(2), NOTES: with both arguments ".", the old root ends up on top of the new one.
  if (sys::pivot_root(".", ".") != 0) return failure();
  if (::umount2(".", MNT_DETACH) != 0) return failure();
  return ::chdir("/") == 0 ? 0 : failure();
}

int loopback_up() {
  const ScopedFd socket{::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
  if (socket.fd < 0) return failure();
  struct ifreq request {};
  std::memcpy(request.ifr_name, "lo", 3);
  request.ifr_flags = IFF_UP;
  return ::ioctl(socket.fd, SIOCSIFFLAGS, &request) == 0 ? 0 : failure();
}

// IPv6 may be switched off; IPv4 is always there.
int report_dns_listeners(ChildContext& context) {
  int error = report(context, ReportTag::kDnsUdp4, listen_for_dns(false, true));
  if (error == 0) error = report(context, ReportTag::kDnsTcp4, listen_for_dns(false, false));
  if (error != 0) return error;
  const int udp = listen_for_dns(true, true);
  if (udp < 0) return errno == EAFNOSUPPORT ? 0 : failure();
  error = report(context, ReportTag::kDnsUdp6, udp);
  return error != 0 ? error : report(context, ReportTag::kDnsTcp6, listen_for_dns(true, false));
}

int die_with_parent(const ChildContext& context) {
  // Without a pid namespace, descendants outlive a killed PID 1: it must live to end them.
  if (!context.has_pid_namespace && !context.passes_through &&
      ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) {
    return failure();
  }
  const bool kill = context.has_pid_namespace || context.passes_through;
  const int signal_number = kill ? SIGKILL : SIGTERM;
  if (::prctl(PR_SET_PDEATHSIG, signal_number, 0, 0, 0) != 0) return failure();
  // The parent may have died before that: its end of the lifeline is closed then.
  struct pollfd lifeline {
    context.lifeline, 0, 0
  };
  if (::poll(&lifeline, 1, 0) < 0) return failure();
  return (lifeline.revents & (POLLHUP | POLLERR)) != 0 ? EPIPE : 0;
}

int open_pty(ChildContext& context, const char* path, const Op& op) {
  const ScopedFd master{::open(path, O_RDWR | O_NOCTTY | O_CLOEXEC)};
  if (master.fd < 0) return failure();
  int unlock = 0;
  if (::ioctl(master.fd, TIOCSPTLCK, &unlock) != 0) return failure();
  const int slave = ::ioctl(master.fd, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (slave < 0) return failure();
  const struct winsize size {
    static_cast<unsigned short>(op.dev), static_cast<unsigned short>(op.ino), 0, 0
  };
  if (::ioctl(slave, TIOCSWINSZ, &size) != 0 || ::ioctl(slave, TIOCSCTTY, 0) != 0) return failure();
  for (int fd = 0; fd < 3; ++fd) {
    if (::dup2(slave, fd) < 0) return failure();
  }
  ::close(slave);
  return report(context, ReportTag::kPty, ::fcntl(master.fd, F_DUPFD_CLOEXEC, 3));
}

int set_limit(const Op& op) {
  // Never above what the caller has; only a privileged one could raise it.
  const auto resource = static_cast<__rlimit_resource>(op.slot);
  struct rlimit limit {};
  if (::getrlimit(resource, &limit) != 0) return failure();
  const rlim_t hard = op.ino < limit.rlim_max ? op.ino : limit.rlim_max;
  const rlim_t soft = op.dev < hard ? op.dev : hard;
  limit = {soft, hard};
  return ::setrlimit(resource, &limit) == 0 ? 0 : failure();
}

int drop_capabilities() {
  struct __user_cap_header_struct header {
    _LINUX_CAPABILITY_VERSION_3, 0
  };
  struct __user_cap_data_struct data[2] = {};
  if (::syscall(SYS_capget, &header, data) != 0) return failure();
  const bool may_bound = (data[0].effective & (1U << CAP_SETPCAP)) != 0;
  for (int cap = 0; cap < 64; ++cap) {
    if (::prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0) continue;
    // Above the last one that this kernel knows: then it cannot be asked about either.
    if (errno == EINVAL && ::prctl(PR_CAPBSET_READ, cap, 0, 0, 0) < 0) break;
    // Without the capability the set only bounds what no_new_privs refuses already.
    if (errno != EPERM || may_bound) return failure();
    break;
  }
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

int landlock_allow(const ChildContext& context, const char* path, const Op& op) {
  const sys::OpenHow how{O_PATH | O_CLOEXEC, 0, op.ino == 0 ? 0 : sys::kResolveNoSymlinks};
  const ScopedFd target{sys::openat2(AT_FDCWD, path, how)};
  if (target.fd < 0) return failure();
  if (op.ino != 0) {
    struct stat info;
    if (::fstat(target.fd, &info) != 0) return failure();
    // Swapped between the look and now.
    if (info.st_ino != op.ino || info.st_dev != op.dev) return ESTALE;
  }
  const sys::LandlockPathBeneathAttr attr{op.flags, target.fd};
  return sys::landlock_add_path(context.landlock_fd, attr) == 0 ? 0 : failure();
}

// flags: 1 with a listener, 2 when the filter lets it be sent out before the command runs.
int load_filter(ChildContext& context, std::uint64_t wanted) {
  const bool notifies = (wanted & 1) != 0;
  struct sock_fprog program {
    context.filter_size, const_cast<sock_filter*>(context.filter)
  };
  const unsigned flags = notifies ? sys::kSeccompFilterFlagNewListener : 0;
  const int answer = sys::seccomp(sys::kSeccompSetModeFilter, flags, &program);
  if (answer < 0) return failure();
  if (!notifies) return 0;
  context.send_before_exec = (wanted & 2) != 0;
  return report(context, ReportTag::kListener, answer);
}

void default_signals() {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number) {
    if (number != SIGKILL && number != SIGSTOP) ::sigaction(number, &action, nullptr);
  }
}

void open_signals() {
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

// Tries each path in turn, as execvp(3) does. Only returns when none could be executed.
int execute(ChildContext& context) {
  // In one message: one wake-up of the supervisor. PID 1 sends what the filter keeps us from.
  if (context.send_before_exec) {
    const int error = send_reports(context);
    if (error != 0) {
      std::strcpy(context.state->detail, kSendReports);
      return error;
    }
  }
  if (context.passes_through) {
    ::umask(context.caller_umask);
  } else {
    ::umask(022);
    open_signals();
  }
  // The fourth argument is for the filter alone.
  const auto exec = [&](const char* path, char* const* argv) {
    ::syscall(SYS_execve, path, argv, context.envp, kOwnExec);
  };
  context.state->executed.store(1);
  int result = ENOENT;
  for (const char* const* path = context.executables; *path != nullptr; ++path) {
    exec(*path, context.argv);
    if (errno == ENOEXEC) {  // a script without #!: the shell runs it
      char* const program = context.argv[0];
      context.argv[0] = const_cast<char*>(*path);
      context.argv[-1] = const_cast<char*>("/bin/sh");
      exec("/bin/sh", context.argv - 1);
      context.argv[0] = program;
      result = ENOEXEC;
      break;
    }
    if (errno == EACCES) result = EACCES;
    if (errno != ENOENT && errno != ENOTDIR && errno != EACCES) {
      result = errno;
      break;
    }
  }
  context.state->executed.store(0);
  return result;
}

int receive_command(ChildContext& context) {
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

// PID 1's command line can be read inside, and would tell the operator's flags and hidden paths.
// proc(5): arguments, environment and the program's name lie in a row.
void forget_arguments() {
  constexpr std::uintptr_t kMaxArguments = 8 << 20;
  char* const begin = program_invocation_name;
  const auto end = static_cast<std::uintptr_t>(::getauxval(AT_EXECFN));
  const auto start = reinterpret_cast<std::uintptr_t>(begin);
  if (end > start && end - start < kMaxArguments) std::memset(begin, 0, end - start);
}

void confirm(ChildContext& context, const Op& op) {
  if (op.confirms != kNoLayer) context.state->confirmed.fetch_or(1U << op.confirms);
}

[[noreturn]] void fail(ChildContext& context, std::uint32_t index, int error) {
  context.state->failed_errno.store(error);
  context.state->failed_step.store(index + 1);
  ::_exit(125);
}

// Walks from `begin` to the fork of the command, or to the end. Returns the index where it stopped.
std::uint32_t walk(ChildContext& context, std::uint32_t begin) {
  for (std::uint32_t i = begin; i < context.op_count; ++i) {
    Op& op = context.ops[i];
    if (op.kind == OpKind::kForkCommand) return i;
    const int error = run_op(context, op);
    if (error != 0) fail(context, i, error);
    confirm(context, op);
  }
  return context.op_count;
}

// The sandbox's own files may be larger than what the caller grants its commands.
void raise_file_size(ChildContext& context) {
  struct rlimit& callers = context.caller_file_size;
  if (::getrlimit(RLIMIT_FSIZE, &callers) != 0 || callers.rlim_cur == callers.rlim_max) return;
  struct rlimit raised {
    callers.rlim_max, callers.rlim_max
  };
  ::setrlimit(RLIMIT_FSIZE, &raised);  // what is too large all the same says so itself
}

int command_process(void* argument) {
  ChildContext& context = *static_cast<ChildContext*>(argument);
  std::uint32_t index = 0;
  while (context.ops[index].kind != OpKind::kForkCommand) ++index;
  const struct rlimit& file_size = context.caller_file_size;
  if (file_size.rlim_cur < file_size.rlim_max && ::setrlimit(RLIMIT_FSIZE, &file_size) != 0) {
    fail(context, index, failure());
  }
  for (int fd = 0; fd < 3 && !context.passes_through; ++fd) {
    if (::dup2(context.standard[fd], fd) < 0) fail(context, index, failure());
  }
  // Now, while no filter looks at each call.
  if (!context.passes_through) default_signals();
  walk(context, index + 1);
  ::_exit(125);
}

}  // namespace

int send_reports(ChildContext& context) noexcept {
  if (context.report_count == 0) return 0;
  const auto count = static_cast<std::size_t>(context.report_count);
  FdMessage<kMaxReports> message(context.report_tags, count);
  if (message.send(context.control, context.report_fds, count) != context.report_count) {
    return failure();
  }
  for (int i = 0; i < context.report_count; ++i) ::close(context.report_fds[i]);
  context.report_count = 0;
  return 0;
}

int run_op(ChildContext& context, Op& op) noexcept {
  const char* const a = context.arena + op.a;
  const char* const b = context.arena + op.b;
  switch (op.kind) {
    case OpKind::kWriteFile:
      return write_file(a, b, op.b_size);
    case OpKind::kPrivateMounts:
      return ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 ? 0 : failure();
    case OpKind::kMountTmpfs:
      return ::mount("tmpfs", a, "tmpfs", op.flags, b) == 0 ? 0 : failure();
    case OpKind::kEnterRoot:
      return ::chdir(a) == 0 ? 0 : failure();
    case OpKind::kChangeDir:
      return ::chdir(context.slot == nullptr ? a : context.slot->cwd) == 0 ? 0 : failure();
    case OpKind::kMakeDir:
      return ::mkdir(a, static_cast<mode_t>(op.flags)) == 0 ? 0 : failure();
    case OpKind::kMakeFile:
      return make_file(a, b, op.b_size, static_cast<mode_t>(op.flags));
    case OpKind::kMakeLink:
      return ::symlink(b, a) == 0 ? 0 : failure();
    case OpKind::kBindSystem:
      return bind_system(b, a, op.flags);
    case OpKind::kBindMask:
      return op.flags == 0 ? bind_mask(b, a) : mask_link(b, a);
    case OpKind::kBind:
      return bind(b, a, op);
    case OpKind::kBindInside:
      return bind_inside(b, a, op.flags);
    case OpKind::kMoveInside:
      return move_inside(b, a, op.flags);
    case OpKind::kMountProc:
      return ::mount("proc", a, "proc", op.flags, nullptr) == 0 ? 0 : failure();
    case OpKind::kMountDevpts:
      return ::mount("devpts", a, "devpts", op.flags, b) == 0 ? 0 : failure();
    case OpKind::kMountMqueue:
      if (::mount("mqueue", a, "mqueue", op.flags, nullptr) == 0) return 0;
      return errno == ENODEV ? 0 : failure();
    case OpKind::kMountOverlay:
      return ::mount("overlay", a, "overlay", op.flags, b) == 0 ? 0 : failure();
    case OpKind::kSetAttributes:
      return set_attributes(a, op.flags);
    case OpKind::kReportFd: {
      const int fd = ::open(a, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
      const int error = report(context, static_cast<ReportTag>(op.slot), fd);
      if (error != 0 || static_cast<ReportTag>(op.slot) != ReportTag::kProc) return error;
      // What it lists belongs to the IPC namespace of whoever opens it. Kernels may lack it.
      const int segments = ::openat(fd, "sysvipc/shm", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
      if (segments >= 0) {
        const int failed = report(context, ReportTag::kSharedMemory, segments);
        if (failed != 0) return failed;
      }
      // So do the sockets that it lists, by their network namespace.
      const int sockets =
          ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG);
      return sockets < 0 ? 0 : report(context, ReportTag::kSocketDiag, sockets);
    }
    case OpKind::kSizeTmpfs:
      return size_tmpfs(a, op.flags, op.ino);
    case OpKind::kHalve:
      return halve(a, b);
    case OpKind::kPivot:
      return pivot();
    case OpKind::kLoopbackUp:
      return loopback_up();
    case OpKind::kTuneNetwork:
      context.has_low_ports = tune_network(op.flags);
      return 0;
    case OpKind::kLocalRoutes:
      return add_local_routes();
    case OpKind::kListenForDns:
      return report_dns_listeners(context);
    case OpKind::kSetHostname:
      return ::sethostname(a, std::strlen(a)) == 0 ? 0 : failure();
    case OpKind::kNotDumpable:
      return ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0 ? 0 : failure();
    case OpKind::kDieWithParent:
      return die_with_parent(context);
    case OpKind::kForkCommand:
      return 0;  // the walker's own
    case OpKind::kNewSession:
      return ::setsid() >= 0 ? 0 : failure();
    case OpKind::kOpenPty:
      return open_pty(context, a, op);
    case OpKind::kSetLimit:
      return set_limit(op);
    case OpKind::kNoNewPrivs:
      return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 ? 0 : failure();
    case OpKind::kLandlockCreate: {
      const sys::LandlockRulesetAttr attr{op.dev, op.ino, op.flags};
      context.landlock_fd = sys::landlock_create_ruleset(attr);
      return context.landlock_fd >= 0 ? 0 : failure();
    }
    case OpKind::kLandlockAllow:
      return landlock_allow(context, a, op);
    case OpKind::kLandlockRestrict: {
      const ScopedFd ruleset{context.landlock_fd};
      context.landlock_fd = -1;
      return sys::landlock_restrict_self(ruleset.fd) == 0 ? 0 : failure();
    }
    case OpKind::kDropCapabilities:
      return drop_capabilities();
    case OpKind::kCloseDescriptors:
      return sys::close_range(3, ~0U, sys::kCloseRangeCloexec) == 0 ? 0 : failure();
    case OpKind::kSeccomp:
      return load_filter(context, op.flags);
    case OpKind::kAwaitCommand:
      return receive_command(context);
    case OpKind::kPrepareGuards:
      return prepare_guards(context, op);
    case OpKind::kWatch:
      return watch_directory(context, op);
    case OpKind::kGuard:
      return guard_placement(context, op);
    case OpKind::kCheckGuards:
      return check_guards(context);
    case OpKind::kExecute:
      return execute(context);
    default:
      return run_inside_op(context, op);
  }
}

void run_child(ChildContext& context) noexcept {
  forget_arguments();
  context.caller_umask = ::umask(0);
  raise_file_size(context);
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  ::sigaction(SIGCHLD, &action, nullptr);  // ignored, it would swallow wait statuses
  // What asks PID 1 to end, or tells it of a change, waits until it has its handlers.
  sigset_t blocked;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, kAskToEnd);
  ::sigaddset(&blocked, SIGTERM);
  for (const int number : kGuardSignals) ::sigaddset(&blocked, number);
  if (!context.passes_through) ::sigprocmask(SIG_BLOCK, &blocked, nullptr);
  const std::uint32_t fork_index = walk(context, 0);
  // The command's process shares memory and descriptors until it execs: no page tables are copied,
  // and the listener that it makes after its filter needs no call that the filter could refuse.
  const int command = ::clone(command_process, context.stack + context.stack_size,
                              CLONE_VM | CLONE_VFORK | CLONE_FILES | SIGCHLD, &context);
  if (command < 0) fail(context, fork_index, failure());
  if (context.passes_through) run_reaper(context, command);
  run_init(context, command);
}

}  // namespace sbx
