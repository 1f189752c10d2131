// SPDX-License-Identifier: Apache-2.0
// The parent's side: shared page, control socket, lifeline, the clone; and the words for a failed
// step.
#include "launch/spawn.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/pointers.h"
#include "launch/child.h"
#include "launch/descriptors.h"
#include "launch/handover.h"
#include "launch/mounts.h"
#include "sys/calls.h"

namespace sbx {
namespace {

constexpr std::size_t kStackSize = std::size_t{64} << 10;

Error system_error(ErrorCode code, const char* call, const char* hint = "") {
  return call_failed(code, call, call, hint);
}

// `fd` itself or a copy at 3 or above: 0, 1 and 2 are about to be replaced in the child.
Result<int> above_standard(int fd, OwnedFd& copy) {
  if (fd > STDERR_FILENO) return fd;
  copy.reset(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
  if (!copy.is_open()) {
    return system_error(ErrorCode::kSetupFailed, "fcntl(F_DUPFD_CLOEXEC)",
                        "raise the limit of open files (ulimit -n)");
  }
  return copy.get();
}

// In the child: whatever else the supervisor has open. Not for the command, whose exec closes it,
// but the set-up needs descriptors of its own under a small limit, and the lifeline must end with
// the supervisor.
void close_all_but(std::vector<int>& kept) {
  std::sort(kept.begin(), kept.end());
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const unsigned first = static_cast<unsigned>(kept[i]) + 1;
    const unsigned end = i + 1 < kept.size() ? static_cast<unsigned>(kept[i + 1]) : ~0U;
    if (first < end) sys::close_range(first, end == ~0U ? end : end - 1, 0);
  }
}

// In the order of plan.mapped_trees.
Result<std::vector<OwnedFd>> mapped_trees(const LaunchPlan& plan) {
  std::vector<OwnedFd> trees;
  for (const MappedTree& wanted : plan.mapped_trees) {
    const Node& source = wanted.source;
    const OwnedFd file(open_plain(source.path.c_str()));
    const int error = file.is_open() ? expect_file(file.get(), {source.dev, source.ino}) : errno;
    if (error != 0) {
      return call_failed(ErrorCode::kSetupFailed, source.path, source.path,
                         "the path was replaced while the sandbox was built: run again", error);
    }
    SBX_TRY(OwnedFd tree, wanted.ids.tree(file.get(), wanted.attributes));
    trees.push_back(std::move(tree));
  }
  return trees;
}

std::uint32_t bit(Layer layer) { return 1U << static_cast<unsigned>(layer); }

// These are in force as soon as the clone has succeeded; the others confirm a step of their own.
std::uint32_t confirmed_by_clone(const LaunchPlan& plan) {
  std::uint32_t bits = 0;
  if ((plan.clone_flags & CLONE_NEWPID) != 0) bits |= bit(Layer::kPid);
  if ((plan.clone_flags & CLONE_NEWIPC) != 0) bits |= bit(Layer::kIpc);
  if ((plan.clone_flags & CLONE_NEWCGROUP) != 0) bits |= bit(Layer::kCgroup);
  return bits;
}

// The slot, where there is one, lies behind the page of the state.
constexpr std::size_t kStateSize = 4096;
static_assert(sizeof(SharedState) <= kStateSize);

std::size_t shared_size(bool has_slot) { return kStateSize + (has_slot ? kHandoverSize : 0); }

long clone_child(const SpawnRequest& request, int* pidfd) {
  const LaunchPlan& plan = request.plan;
  const std::uint64_t flags = (plan.clone_flags & ~plan.made_by_steps) | CLONE_PIDFD;
  if (!request.use_clone3) return sys::clone_like_fork(flags | SIGCHLD, pidfd);
  sys::CloneArgs args{};
  args.flags = flags;
  args.pidfd = reinterpret_cast<std::uintptr_t>(pidfd);
  args.exit_signal = SIGCHLD;
  if (request.cgroup_fd >= 0) {
    args.flags |= sys::kCloneIntoCgroup;
    args.cgroup = static_cast<std::uint64_t>(request.cgroup_fd);
  }
  const long pid = sys::clone3(args);
  // A container's filter cannot look into clone3 and answers ENOSYS; clone(2) serves as well.
  if (pid < 0 && errno == ENOSYS) return sys::clone_like_fork(flags | SIGCHLD, pidfd);
  return pid;
}

// What the child reads, in memory of its own from the clone on; it must not allocate.
struct ChildMemory {
  explicit ChildMemory(const LaunchPlan& plan)
      : argv(pointers(plan.argv, 1)),
        envp(pointers(plan.environment)),
        executables(pointers(plan.executables)),
        stack(new char[kStackSize]) {}

  // Without what only the launch knows: descriptors, and what is shared with the child.
  void fill(const SpawnRequest& request, ChildContext& out) {
    const LaunchPlan& plan = request.plan;
    for (const OwnedFd& tree : trees) tree_fds.push_back(tree.get());
    // The child writes to its own copy only.
    out.ops = const_cast<Op*>(plan.ops.data());
    out.op_count = static_cast<std::uint32_t>(plan.ops.size());
    out.arena = plan.arena.data();
    out.arena_size = plan.arena.size();
    out.trees = tree_fds.data();
    out.has_pid_namespace = plan.has_pid_namespace;
    out.bounds_pids =
        std::any_of(plan.limits.begin(), plan.limits.end(),
                    [](const LimitReport& report) { return report.limit == Limit::kPids; });
    out.has_user_namespace = (plan.clone_flags & CLONE_NEWUSER) != 0;
    out.passes_through = plan.passes_through;
    out.keeper = request.keeper;
    out.own = request.own;
    out.filter = plan.filter.data();
    out.filter_size = static_cast<unsigned short>(plan.filter.size());
    out.argv = argv.data() + 1;
    out.envp = envp.data();
    out.executables = executables.data();
    out.stack = stack.get();
    // The stack grows down from an address that must be 16-byte aligned on aarch64.
    out.stack_size = kStackSize - 16;
  }

  std::vector<char*> argv;
  std::vector<char*> envp;
  std::vector<char*> executables;
  std::unique_ptr<char[]> stack;  // not cleared: a page is paid for when it is touched
  std::vector<OwnedFd> trees;
  std::vector<int> tree_fds;
};

}  // namespace

Spawned::Spawned(Spawned&& other) noexcept
    : pid(other.pid),
      pidfd(std::move(other.pidfd)),
      control(std::move(other.control)),
      lifeline(std::move(other.lifeline)),
      state(std::exchange(other.state, nullptr)),
      slot(std::exchange(other.slot, nullptr)) {}

Spawned::~Spawned() {
  if (state != nullptr) ::munmap(state, shared_size(slot != nullptr));
}

Result<Spawned> spawn(const SpawnRequest& request) {
  const LaunchPlan& plan = request.plan;
  Spawned spawned;
  void* const page = ::mmap(nullptr, shared_size(plan.awaits_command), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return system_error(ErrorCode::kSetupFailed, "mmap(shared page)");
  spawned.state = new (page) SharedState{};
  spawned.state->tells_begin.store(request.tells_begin ? 1 : 0);
  if (plan.awaits_command) {
    spawned.slot = new (static_cast<char*>(page) + kStateSize) CommandSlot{};
  }

  int control[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, control) != 0) {
    return system_error(ErrorCode::kSetupFailed, "socketpair");
  }
  spawned.control.reset(control[0]);
  const OwnedFd child_control(control[1]);
  int lifeline[2] = {-1, -1};
  if (::pipe2(lifeline, O_CLOEXEC) != 0) return system_error(ErrorCode::kSetupFailed, "pipe2");
  const OwnedFd child_lifeline(lifeline[0]);
  spawned.lifeline.reset(lifeline[1]);

  ChildMemory memory(plan);
  SBX_TRY(memory.trees, mapped_trees(plan));
  ChildContext context;
  memory.fill(request, context);
  context.state = spawned.state;
  context.slot = spawned.slot;
  context.control = child_control.get();
  context.lifeline = child_lifeline.get();
  OwnedFd copies[3];
  const int wanted[3] = {request.stdin_fd, request.stdout_fd, request.stderr_fd};
  for (int i = 0; i < 3 && !plan.passes_through; ++i) {
    SBX_TRY(context.standard[i], above_standard(wanted[i], copies[i]));
  }
  std::vector<int> kept = {0, 1, 2, context.control, context.lifeline};
  kept.insert(kept.end(), std::begin(context.standard), std::end(context.standard));
  kept.insert(kept.end(), memory.tree_fds.begin(), memory.tree_fds.end());

  int pidfd = -1;
  const long pid = clone_child(request, &pidfd);
  if (pid < 0) {
    return system_error(ErrorCode::kLayerUnavailable, "clone3(namespaces)",
                        "sbx-run doctor tells what this machine can enforce");
  }
  if (pid == 0) {
    if (!plan.passes_through) close_all_but(kept);
    run_child(context);
  }
  spawned.pid = static_cast<pid_t>(pid);
  spawned.pidfd.reset(pidfd);
  spawned.state->confirmed.fetch_or(confirmed_by_clone(plan));
  return spawned;
}

int ask_inside(int control, const InsideRequest& request) {
  const ssize_t sent = ::send(control, &request, sizeof request, MSG_NOSIGNAL | MSG_DONTWAIT);
  return sent == static_cast<ssize_t>(sizeof request) ? 0 : errno;
}

void reap_killed(Spawned& spawned, int longest_ms, struct rusage* usage) {
  static std::vector<OwnedFd> left;  // killed, and not seen to end
  std::erase_if(left, [](const OwnedFd& process) {
    siginfo_t info{};
    const auto id = static_cast<id_t>(process.get());
    return waitid(P_PIDFD, id, &info, WEXITED | WNOHANG) != 0 || info.si_pid != 0;
  });
  struct pollfd ended {
    spawned.pidfd.get(), POLLIN, 0
  };
  while (poll(&ended, 1, longest_ms) < 0 && errno == EINTR) {
  }
  const pid_t reaped = wait4(spawned.pid, nullptr, WNOHANG, usage);
  if (reaped == 0) left.push_back(std::move(spawned.pidfd));
}

std::vector<Received> receive_reports(int control) {
  char tags[kMaxReports] = {};
  FdMessage<kMaxReports> message(tags, sizeof tags);
  errno = 0;
  const ssize_t size = message.receive(control);
  std::vector<Received> out;
  if (size <= 0) return out;
  int fds[kMaxReports];
  const std::size_t count = message.take(fds);
  for (std::size_t i = 0; i < count; ++i) {
    out.push_back({static_cast<ReportTag>(tags[i]), OwnedFd(fds[i])});
  }
  // An answer without a descriptor: the tag and an errno.
  if (count == 0 && size == 2 && static_cast<ReportTag>(tags[0]) == ReportTag::kAnswer) {
    out.push_back({ReportTag::kAnswer, OwnedFd(), tags[1]});
    return out;
  }
  const auto first = static_cast<ReportTag>(tags[0]);
  if (count == 0 && size == 1 && (first == ReportTag::kBegun || first == ReportTag::kStopped)) {
    out.push_back({first, OwnedFd()});
    return out;
  }
  if (count != static_cast<std::size_t>(size)) {
    out.clear();
    errno = EBADMSG;  // as when there are no descriptors left to receive them in
  }
  return out;
}

namespace {

// What execve(2) says of a program that is there.
Error exec_error(const std::string& program, int error) {
  Error out{ErrorCode::kNotExecutable, program + " cannot be executed: " + errno_text(error),
            "execve", "", error};
  switch (error) {
    case E2BIG:
      out.message = "the command is longer than the kernel takes at an exec: " + errno_text(error);
      out.hint =
          "one argument or variable has less than 128 KiB, all together a quarter of the stack's "
          "limit (ulimit -s): write a long text to a file, or pass it by standard input";
      break;
    case EACCES:
    case EPERM:
      out.hint =
          "it is a directory or not executable, lies in a noexec root, or the policy does not let "
          "it "
          "be executed";
      break;
    case ENOEXEC:
      out.hint = "a script begins with a line that names its interpreter, such as #!/bin/sh";
      break;
    default:
      break;
  }
  return out;
}

}  // namespace

Error step_error(const LaunchPlan& plan, const SharedState& state) {
  const std::uint32_t step = state.failed_step.load();
  const int error = state.failed_errno.load();
  const Op& op = plan.ops.at(step - 1);
  const std::string what = op.describe(plan);
  if (std::strcmp(state.detail, kSendReports) == 0) {
    return call_failed(ErrorCode::kSetupFailed,
                       "handing descriptors to the supervisor: " + std::string(kSendReports),
                       kSendReports, "raise the limits of open files and memory", error);
  }
  if (const auto* const watch = op.as<op::Watch>()) {
    return call_failed(ErrorCode::kSetupFailed, std::string("watching ") + plan.text(watch->path),
                       "/filesystem/replaced",
                       "raise the limit of open files, and fs.inotify.max_user_instances and "
                       "max_user_watches where the kernel lacks dnotify",
                       error);
  }
  if (op.is<op::Execute>()) {
    const std::string program = plan.argv.empty() ? "" : plan.argv.front();
    if (is_missing(error)) {
      return Error{ErrorCode::kNotFound, "no such program inside the sandbox: " + program, "execve",
                   program.find('/') == std::string::npos
                       ? "show its directory with --ro, or name it by its full path"
                       : "show with --ro what is missing: it, what it leads to, or the "
                         "interpreter that its first line names",
                   error};
    }
    return exec_error(program, error);
  }
  if (op.is<op::ChangeDir>()) {
    return Error{
        ErrorCode::kCwdNotVisible,
        "the command cannot start in " + plan.cwd +
            ", which inside the sandbox is no directory that it may enter: " + errno_text(error),
        "--cwd", "show it with --ro or --rw, or choose another with --cwd", error};
  }
  if (op.is<op::ForkCommand>()) {
    return call_failed(ErrorCode::kSetupFailed, "the command's process", what,
                       "raise the limits of processes and memory (ulimit -u)", error);
  }
  Error out{ErrorCode::kSetupFailed, "set-up step failed: " + what + ": " + errno_text(error), what,
            "sbx-run doctor tells what this machine can enforce", error};
  if (error == EFBIG) {
    out.hint =
        "the caller's limit on the size of files is too small for the sandbox's own: raise it "
        "(ulimit -f), and set limits.file_kb for the command";
  }
  if (error == ENOSPC && op.is<op::MakeFile>()) out.hint = "raise limits.tmp_mb (--tmp-size)";
  const auto* const mounted = op.as<op::Mount>();
  if (error == EINVAL && mounted != nullptr && mounted->type == FileSystem::kOverlay) {
    out.hint =
        "no overlay shows a file system that is mounted below its directory (findmnt lists them): "
        "unmount it, choose another workspace, or run with a new --layer NAME, which takes a copy";
  }
  if (error == ENOENT && op.is<op::BindMask>()) {  // nothing is mounted over what has no name
    out.hint =
        "the file that is mounted there has been deleted outside: unmount it, or mount it anew";
  }
  if (error == ESTALE) out.hint = "the path was replaced while the sandbox was built: run again";
  return out;
}

}  // namespace sbx
