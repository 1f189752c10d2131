// SPDX-License-Identifier: Apache-2.0
// The launcher's side: joins, clone, --info-fd and --json-status-fd, the wait.
#include "bwrap/run.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "base/files.h"
#include "bwrap/inside.h"
#include "launch/spawn.h"
#include "sys/calls.h"

namespace sbx::bwrap {
namespace {

constexpr std::size_t kMaxDataBytes = std::size_t{64} << 20;

Error words(std::string message, int error = 0) {
  if (error != 0) message += std::string(": ") + std::strerror(error);
  return Error{ErrorCode::kSetupFailed, std::move(message), "", "", error};
}

int exit_status(int wait_status) {
  if (WIFEXITED(wait_status)) return WEXITSTATUS(wait_status);
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : 255;
}

Status tell(int fd, std::string_view text) {
  return write_all(fd, text) ? Status() : words("Write to info_fd", errno);
}

// The command does not get what was meant for the launcher.
void keep_from_command(const Options& options) {
  const auto mark = [](int fd) {
    if (fd >= 0) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  };
  for (const int fd :
       {options.info_fd, options.json_status_fd, options.block_fd, options.userns_block_fd,
        options.userns_fd, options.userns2_fd, options.pidns_fd}) {
    mark(fd);
  }
  if (!options.as_pid_1) mark(options.sync_fd);
  for (const Action& action : options.actions) mark(action.fd);
}

void close_all_but(std::vector<int> kept) {
  std::sort(kept.begin(), kept.end());
  unsigned next = 3;
  for (const int fd : kept) {
    const auto number = static_cast<unsigned>(fd);
    if (fd < 3) continue;
    if (number > next) sys::close_range(next, number - 1, 0);
    next = number + 1;
  }
  sys::close_range(next, ~0U, 0);
}

Status die_with_parent() {
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0) return words("prctl", errno);
  return {};
}

// A pipe that nobody writes to: it tells a child, which closes its copy of the write end, that this
// process has ended.
struct Lifeline {
  OwnedFd read_end;
  OwnedFd write_end;
};
Result<Lifeline> open_lifeline() {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return words("pipe2", errno);
  return Lifeline{OwnedFd(ends[0]), OwnedFd(ends[1])};
}

Status join_user(int fd) {
  if (fd < 0 || ::setns(fd, CLONE_NEWUSER) == 0) return {};
  if (errno == EINVAL) {
    return words(
        "Joining the specified user namespace failed, it might not be a descendant of the current "
        "user namespace.");
  }
  return words("Joining specified user namespace failed", errno);
}

int wait_for(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return exit_status(status);
}

Error clone_error(const Options& options, int error) {
  if (options.unshare_user && error == EINVAL) {
    return words(
        "Creating new namespace failed, likely because the kernel does not support user "
        "namespaces.  bwrap must be installed setuid on such systems.");
  }
  if (options.unshare_user && error == EPERM) {
    return words(
        "No permissions to create a new namespace, likely because the kernel does not allow "
        "non-privileged user namespaces. On e.g. debian this can be enabled with 'sysctl "
        "kernel.unprivileged_userns_clone=1'.");
  }
  if (error == ENOSPC) {
    return words(
        "Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces exceeded "
        "(ENOSPC)");
  }
  return words("Creating new namespace failed", error);
}

// As the caller's procfs counts, whatever pid namespace this process forks into.
pid_t pid_outside(const Spawned& spawned) {
  const std::string path = "/proc/self/fdinfo/" + std::to_string(spawned.pidfd.get());
  const Result<std::string> text = read_file(path, 4096);
  const std::size_t at = text.ok() ? text.value().find("\nPid:") : std::string::npos;
  return at == std::string::npos ? spawned.pid : std::atoi(text.value().c_str() + at + 5);
}

// `separator` stands in front of each entry.
std::string namespace_list(const Options& options, pid_t pid, const char* separator) {
  const struct {
    const char* name;
    bool made;
  } namespaces[] = {{"cgroup", options.unshare_cgroup},
                    {"ipc", options.unshare_ipc},
                    {"mnt", true},
                    {"net", options.unshare_net},
                    {"pid", options.unshare_pid},
                    {"uts", options.unshare_uts}};
  std::string out;
  for (const auto& entry : namespaces) {
    struct stat info {};
    const std::string path = "/proc/" + std::to_string(pid) + "/ns/" + entry.name;
    if (!entry.made || ::stat(path.c_str(), &info) != 0) continue;
    out += std::string(",") + separator + "\"" + entry.name +
           "-namespace\": " + std::to_string(info.st_ino);
  }
  return out;
}

Status tell_start(const Options& options, const Spawned& spawned) {
  const pid_t pid = pid_outside(spawned);
  if (options.info_fd >= 0) {
    SBX_CHECK_OK(tell(options.info_fd, "{\n    \"child-pid\": " + std::to_string(pid) +
                                           namespace_list(options, pid, "\n    ") + "\n}\n"));
    ::close(options.info_fd);
  }
  if (options.json_status_fd >= 0) {
    SBX_CHECK_OK(tell(options.json_status_fd, "{ \"child-pid\": " + std::to_string(pid) +
                                                  namespace_list(options, pid, " ") + " }\n"));
  }
  if (options.userns_block_fd >= 0) {
    char byte = 0;
    while (::read(options.userns_block_fd, &byte, 1) < 0 && errno == EINTR) {
    }
  }
  ::send(spawned.control.get(), "", 1, MSG_NOSIGNAL);  // a child that has gone has said why
  return {};
}

// Until the command has ended, by PID 1's word or as the child itself.
int await_end(const Spawned& spawned) {
  struct pollfd waiting[2] = {{spawned.pidfd.get(), POLLIN, 0}, {spawned.control.get(), 0, 0}};
  for (;;) {
    if (::poll(waiting, 2, -1) < 0) continue;  // EINTR
    if (spawned.state->ended.load() != 0) return exit_status(spawned.state->wait_status);
    // The socket ends at the exec where there is no PID 1 beside the command.
    if (waiting[1].revents != 0) waiting[1].fd = -1;
    if (waiting[0].revents == 0) continue;
    const int status = wait_for(spawned.pid);
    return spawned.state->ended.load() != 0 ? exit_status(spawned.state->wait_status) : status;
  }
}

// In a way that the command cannot write: the shared page is in the memory of PID 1, which it can
// trace; where there is none, nobody inside has it any more.
bool has_executed(const Options& options, const Spawned& spawned) {
  char byte = 0;
  return options.has_init() ? ::recv(spawned.control.get(), &byte, 1, MSG_DONTWAIT) == 1
                            : spawned.state->executed.load() != 0;
}

Result<int> supervise(const Options& options, const LaunchPlan& plan) {
  Kept kept;
  SBX_TRY(const Lifeline lifeline, open_lifeline());
  kept.launcher[0] = lifeline.read_end.get();
  kept.launcher[1] = lifeline.write_end.get();
  kept.sync_fd = options.sync_fd;
  SpawnRequest request{plan, 0, 1, 2};
  request.keeper = run_reaper;
  request.own = &kept;
  auto started = spawn(request);
  if (!started.ok()) {
    if (started.error().code == ErrorCode::kLayerUnavailable) {
      return clone_error(options, started.error().sys_errno);
    }
    return words(started.error().message);
  }
  const Spawned& spawned = started.value();
  if (options.starts_after_go()) SBX_CHECK_OK(tell_start(options, spawned));
  keep_capabilities(0, false);  // nothing is left to do that needs any
  close_all_but({spawned.pidfd.get(), spawned.control.get(), spawned.lifeline.get(),
                 lifeline.write_end.get(), options.json_status_fd});
  const int status = await_end(spawned);
  const bool is_executed = has_executed(options, spawned);
  const SharedState& state = *spawned.state;
  const std::uint32_t step = state.failed_step.load();
  if (!is_executed && step != 0 && step <= plan.ops.size()) {
    const std::string detail(state.detail, ::strnlen(state.detail, sizeof state.detail));
    return words(
        failure_words(plan, plan.ops[step - 1], state.failed_errno.load(), detail.c_str()));
  }
  if (options.json_status_fd >= 0 && is_executed) {
    // Nobody may listen any more; the exit status stands all the same.
    const Status told =
        tell(options.json_status_fd, "{ \"exit-code\": " + std::to_string(status) + " }\n");
    static_cast<void>(told.ok());
  }
  return status;
}

}  // namespace

Result<std::string> read_all(int fd) {
  Result<std::string> data = read_up_to(fd, kMaxDataBytes + 1);
  if (!data.ok()) {
    const int error = data.error().sys_errno;
    return Error{ErrorCode::kBadDescriptor, std::strerror(error), "", "", error};
  }
  if (data.value().size() > kMaxDataBytes) {
    return Error{ErrorCode::kTooLarge, std::strerror(EFBIG), "", "", EFBIG};
  }
  ::close(fd);
  return data;
}

Result<std::vector<FilterProgram>> read_programs(const Options& options) {
  std::vector<int> fds = options.add_seccomp_fds;
  if (options.seccomp_fd >= 0) fds.push_back(options.seccomp_fd);
  std::vector<FilterProgram> programs;
  for (const int fd : fds) {
    auto data = read_all(fd);
    if (!data.ok()) return words("Can't read seccomp data: " + data.error().message);
    const std::string& bytes = data.value();
    if (bytes.size() % sizeof(sock_filter) != 0) {
      return words("Invalid seccomp data, must be multiple of 8");
    }
    FilterProgram program(bytes.size() / sizeof(sock_filter));
    // The kernel takes fewer; a longer one would be cut to 16 bits.
    if (program.size() > BPF_MAXINSNS) return words("prctl(PR_SET_SECCOMP)", EINVAL);
    if (!program.empty()) std::memcpy(program.data(), bytes.data(), bytes.size());
    programs.push_back(std::move(program));
  }
  return programs;
}

Result<int> run_sandbox(const Options& options, const LaunchPlan& plan) {
  const pid_t parent = ::getppid();
  keep_from_command(options);
  SBX_CHECK_OK(join_user(options.userns_fd));
  if (options.die_with_parent) {
    SBX_CHECK_OK(die_with_parent());
    if (::getppid() != parent) ::raise(SIGKILL);  // it died a moment ago
  }
  if (options.pidns_fd < 0) return supervise(options, plan);

  if (::setns(options.pidns_fd, CLONE_NEWPID) != 0) return words("Setting pidns failed", errno);
  // clone(2): a process that forks into another pid namespace cannot make one below it; its child
  // can.
  SBX_TRY(Lifeline lifeline, open_lifeline());
  const pid_t child = ::fork();
  if (child < 0) return words("Can't fork for pidns", errno);
  if (child > 0) {
    close_all_but({lifeline.write_end.get()});
    return wait_for(child);
  }
  lifeline.write_end.reset();
  if (options.die_with_parent) {
    SBX_CHECK_OK(die_with_parent());
    if (is_ready(lifeline.read_end.get(), 0)) ::raise(SIGKILL);
  }
  return supervise(options, plan);
}

}  // namespace sbx::bwrap
