// SPDX-License-Identifier: Apache-2.0
// Two clones that share memory until the exec: a host with a heap of gigabytes pays for no copy of
// its page tables. The first ends at once, without a signal, so that the helper is nobody's child:
// no SIGCHLD handler and no wait(2) of the host's ever hears of it.
#include "helper.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

#include "base/pointers.h"

namespace sbx {
namespace {

constexpr std::size_t kStackSize = std::size_t{64} << 10;
constexpr int kHelperFd = 3;
// The grace of the server's tasks is two seconds; beyond this it is stuck.
constexpr int kLongestEndMs = 10'000;
constexpr int kLongestKillMs = 1'000;

struct Start {
  const char* program;
  char** argv;
  int socket;
  char* stack_end;  // of the helper
  int pidfd;        // the rest is written by the children, whose memory this is
  int error;
  bool executes;  // or it fails before
};

// The children's frames never return, on memory that is used again: no sanitizer keeps books of
// them.
#define SBX_IN_CHILD __attribute__((no_sanitize("address"), no_sanitize("thread")))

// In the children memory is the host's: nothing but system calls, and an end that no library of the
// host's (coverage, sanitizers) hears of, since it would take it for its own.
[[noreturn]] SBX_IN_CHILD void leave(int status) {
  for (;;) ::syscall(SYS_exit_group, status);
}

SBX_IN_CHILD int run_helper(void* argument) {
  Start& start = *static_cast<Start*>(argument);
  // Both above the descriptors that are about to be replaced: a host may have closed those.
  const int opened = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  const int null = ::fcntl(opened, F_DUPFD_CLOEXEC, kHelperFd + 1);
  const int socket = ::fcntl(start.socket, F_DUPFD_CLOEXEC, kHelperFd + 1);
  const bool placed = null >= 0 && socket >= 0 && ::dup2(null, 0) == 0 && ::dup2(socket, 1) == 1 &&
                      ::dup2(null, 2) == 2 && ::dup2(socket, kHelperFd) == kHelperFd;
  if (placed) {
    ::syscall(SYS_close_range, kHelperFd + 1, ~0U, 0);
    // A ^C at the host's terminal is the host's to answer.
    ::setsid();
    // A signal to the host's group may be pending here: its handler would run on the host's memory.
    for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    start.executes = true;
    ::syscall(SYS_execve, start.program, start.argv, environ);
  }
  start.error = errno;
  leave(127);
}

// Shares descriptors with the host, so that the pidfd is the host's.
SBX_IN_CHILD int run_between(void* argument) {
  Start& start = *static_cast<Start*>(argument);
  const int pid = ::clone(run_helper, start.stack_end,
                          CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD, &start, &start.pidfd);
  if (pid < 0) start.error = errno;
  leave(0);
}

Error no_room(int error, const std::string& call) {
  const bool lacks_files = error == EMFILE || error == ENFILE;
  return call_failed(ErrorCode::kSetupFailed, call, call,
                     lacks_files ? "raise the limit of open files" : "", error);
}

Error cannot_execute(int error, const std::string& program) {
  const std::string call = "execve(" + program + ")";
  if (error == ENOENT || error == ENOTDIR) {
    return call_failed(ErrorCode::kNotFound, call, call,
                       "install sbx-run, or name it with \"program\"", error);
  }
  if (error != EACCES && error != EPERM && error != ENOEXEC) return no_room(error, call);
  return call_failed(ErrorCode::kNotExecutable, call, call,
                     "let it be executed, or name another with \"program\"", error);
}

// False: not in time.
bool ends_within(int pidfd, int timeout_ms) {
  struct pollfd ended {
    pidfd, POLLIN, 0
  };
  int ready = 0;
  do {
    ready = ::poll(&ended, 1, timeout_ms);
  } while (ready < 0 && errno == EINTR);
  return ready != 0;
}

}  // namespace

bool Helper::has_ended() const { return ends_within(pidfd_.get(), 0); }

void Helper::kill() { ::syscall(SYS_pidfd_send_signal, pidfd_.get(), SIGKILL, nullptr, 0); }

void Helper::abandon() {
  socket_.reset();
  pidfd_.reset();
}

Helper::~Helper() {
  // A fork of the host's holds copies of both, and nothing of the session.
  if (!pidfd_.is_open() || !is_mine()) return;
  hang_up();
  if (!ends_within(pidfd_.get(), kLongestEndMs)) {
    kill();
    ends_within(pidfd_.get(), kLongestKillMs);
  }
  // An orphan's new parent is the host itself where that is PID 1 or a subreaper.
  siginfo_t status{};
  ::waitid(P_PIDFD, pidfd_.get(), &status, WEXITED | WNOHANG);
}

Result<Helper> Helper::start(const std::string& program, std::vector<std::string> argv) {
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return no_room(errno, "socketpair");
  }
  Helper helper;
  helper.owner_ = ::getpid();
  helper.socket_.reset(ends[0]);
  const OwnedFd theirs(ends[1]);
  // Behind the verb: the last of the host's flags may lack its value.
  argv.insert(argv.begin() + 2,
              {"--fd", std::to_string(kHelperFd), "--owner-pid", std::to_string(helper.owner_)});
  std::vector<char*> words = pointers(argv);

  void* const stacks = ::mmap(nullptr, 2 * kStackSize, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (stacks == MAP_FAILED) return no_room(errno, "mmap(stack)");
  char* const first_end = static_cast<char*>(stacks) + kStackSize;
  Start start{program.c_str(), words.data(), theirs.get(), first_end + kStackSize, -1, 0, false};
  // No handler of the host's may run in the children, on its memory.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const int pid = ::clone(run_between, first_end, CLONE_VM | CLONE_VFORK | CLONE_FILES, &start);
  if (pid < 0) {
    start.error = errno;
  } else {
    while (::waitpid(pid, nullptr, __WCLONE) < 0 && errno == EINTR) {
    }
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::munmap(stacks, 2 * kStackSize);
  OwnedFd pidfd(start.pidfd);
  if (start.error != 0) {
    if (!start.executes) return no_room(start.error, pidfd.is_open() ? "dup2" : "clone");
    return cannot_execute(start.error, program);
  }
  helper.pidfd_ = std::move(pidfd);
  return helper;
}

namespace {

// A library that was loaded by a relative name is not looked for again in what is the working
// directory now: the kernel knows its file.
std::string absolute_name(const char* name) {
  if (*name == '/') return name;
  const std::unique_ptr<FILE, int (*)(FILE*)> maps(std::fopen("/proc/self/maps", "re"),
                                                   std::fclose);
  if (!maps) return "";
  const auto wanted = reinterpret_cast<std::uintptr_t>(&find_program);
  std::array<char, PATH_MAX + 128> line;  // NOLINT: filled by fgets
  while (std::fgets(line.data(), static_cast<int>(line.size()), maps.get()) != nullptr) {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    if (std::sscanf(line.data(), "%" SCNxPTR "-%" SCNxPTR, &begin, &end) != 2) continue;
    const char* const path = std::strchr(line.data(), '/');
    if (wanted < begin || wanted >= end || path == nullptr) continue;
    return std::string(path, std::strcspn(path, "\n"));
  }
  return "";
}

}  // namespace

Result<std::string> find_program() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&find_program), &info) != 0 &&
      info.dli_fname != nullptr) {
    const std::string library = absolute_name(info.dli_fname);
    const std::string directory = library.substr(0, library.rfind('/'));
    // Beside it (a wheel); PREFIX/lib and PREFIX/lib/TRIPLET to PREFIX/bin.
    for (const char* way : {"/sbx-run", "/../bin/sbx-run", "/../../bin/sbx-run"}) {
      if (library.empty()) break;
      const std::string program = directory + way;
      if (::access(program.c_str(), X_OK) == 0) return program;
    }
  }
  return Error{ErrorCode::kNotFound, "there is no sbx-run beside the library", "/program",
               "install sbx-run, or name it with \"program\"", ENOENT};
}

}  // namespace sbx
