// SPDX-License-Identifier: Apache-2.0
// The launcher's own process.
#include "process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "base/files.h"
#include "base/pointers.h"
#include "base/text.h"
#include "session/approval_records.h"
#include "sys/calls.h"

namespace sbx {

bool prepare_process() {
  const bool is_stdin_closed = fcntl(STDIN_FILENO, F_GETFD) < 0;
  for (int fd = 0; fd < 3; ++fd) {
    if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest free descriptor is the one that is closed. An answer for nobody is a failure: what
    // is written to stdout must fail, as it would have.
    if (open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_RDWR) < 0) _exit(125);
  }
  // One that takes the owner's own bits would leave us state that we cannot enter again.
  umask(umask(077) & 077);
  signal(SIGCHLD, SIG_DFL);  // ignored, wait statuses would be lost
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);  // the caller's limit on file sizes is an error of write(2)
  struct rlimit files {};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
  return is_stdin_closed;
}

Environment read_environment(char** environ_block) {
  Environment out;
  for (char** entry = environ_block; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    out.insert_or_assign(std::string(text.substr(0, equals)), std::string(text.substr(equals + 1)));
  }
  return out;
}

Result<OwnedFd> signal_descriptor(bool with_terminal) {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGINT, SIGQUIT, SIGTERM, SIGHUP}) {
    struct sigaction current {};
    // Under nohup, or in a shell's background, the caller wants it ignored.
    if (sigaction(number, nullptr, &current) == 0 && current.sa_handler == SIG_IGN) continue;
    sigaddset(&set, number);
  }
  if (with_terminal) sigaddset(&set, SIGWINCH);
  sigprocmask(SIG_SETMASK, &set, nullptr);
  OwnedFd fd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (fd.is_open()) return fd;
  return call_failed(ErrorCode::kSetupFailed, "signalfd", "signalfd",
                     "raise the limit of open files (ulimit -n)");
}

Result<OwnedFd> owner_descriptor(const std::string& text) {
  pid_t pid = getppid();
  if (!text.empty()) {
    const auto count = parse_count(text, 4'194'304);
    if (!count)
      return Error{ErrorCode::kBadFlag, "bad value for --owner-pid: '" + text + "'", "--owner-pid",
                   "a process id, or 0"};
    pid = static_cast<pid_t>(*count);
  }
  // Process 1 outlives everything; a caller in another pid namespace shows as 0.
  if (pid <= 1) return OwnedFd();
  OwnedFd fd(sys::pidfd_open(pid, 0));
  if (!fd.is_open() && !text.empty()) {
    return call_failed(ErrorCode::kBadFlag, "pidfd_open(" + text + ")", "--owner-pid",
                       "name a process that runs");
  }
  if (!fd.is_open()) {
    const bool gone = errno == ESRCH;
    return Error{gone ? ErrorCode::kCancelled : ErrorCode::kSetupFailed,
                 "pidfd_open(caller): " + errno_text(errno), "pidfd_open",
                 gone ? "the caller has ended" : "--owner-pid 0 runs without an owner", errno};
  }
  return fd;
}

Status check_owner(const OwnedFd& owner) {
  if (!owner.is_open() || !is_ready(owner.get(), POLLIN)) return {};
  return Error{ErrorCode::kCancelled, "the caller has ended", "", ""};
}

// What poll(2) calls writable takes this much at once, even where the descriptor blocks: pipe(7).
static constexpr std::size_t kChunk = 4096;

void write_what_is_taken(int fd, std::string_view text) {
  while (!text.empty()) {
    struct pollfd ready {
      fd, POLLOUT, 0
    };
    if (poll(&ready, 1, 1000) != 1 || (ready.revents & POLLOUT) == 0) return;
    const ssize_t size = write(fd, text.data(), std::min(text.size(), kChunk));
    if (size <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(size));
  }
}

int write_answer(int fd, std::string_view text, int signal_fd) {
  while (!text.empty()) {
    struct pollfd ready[2] = {{fd, POLLOUT, 0}, {signal_fd, POLLIN, 0}};
    if (poll(ready, 2, -1) < 0 && errno != EINTR) return -1;
    if (ready[0].revents != 0) {
      const ssize_t size = write(fd, text.data(), std::min(text.size(), kChunk));
      if (size > 0) text.remove_prefix(static_cast<std::size_t>(size));
      if (size < 0 && errno != EINTR && errno != EAGAIN) return -1;
      continue;
    }
    signalfd_siginfo info{};
    if (ready[1].revents != 0 && read(signal_fd, &info, sizeof info) == sizeof info &&
        info.ssi_signo != SIGWINCH) {
      return static_cast<int>(info.ssi_signo);
    }
  }
  return 0;
}

namespace {

// What is typed at the terminal, to the end of its line; nullopt where that does not come: `signal`
// is then what did, or 0.
std::optional<std::string> typed_line(int signal_fd, int& signal) {
  constexpr std::size_t kLongest = 64;
  std::string line;
  while (line.size() < kLongest) {
    struct pollfd waits[] = {{STDIN_FILENO, POLLIN, 0}, {signal_fd, POLLIN, 0}};
    if (poll(waits, 2, -1) < 0 && errno != EINTR) return std::nullopt;
    signalfd_siginfo info{};
    if (waits[1].revents != 0 && read(signal_fd, &info, sizeof info) == sizeof info &&
        info.ssi_signo != SIGWINCH) {
      signal = static_cast<int>(info.ssi_signo);
      return std::nullopt;
    }
    if (waits[0].revents == 0) continue;
    char byte = '\0';
    if (read(STDIN_FILENO, &byte, 1) != 1) return std::nullopt;
    if (byte == '\n') return line;
    line += byte;
  }
  return std::nullopt;
}

}  // namespace

PersonSaid ask_at_terminal(const std::string& command, const Approval& approval, int signal_fd) {
  std::string text =
      "sbx-run: this needs your approval:\n  " + escape_control_bytes(command) + "\n";
  for (const Finding& finding : approval.rules) {
    text += "  - " + escape_control_bytes(finding.reason);
    if (!finding.target.empty()) text += ": " + escape_control_bytes(finding.target);
    text += "\n";
  }
  // What was typed before was no answer to this.
  tcflush(STDIN_FILENO, TCIFLUSH);
  if (!write_all(STDERR_FILENO, text + "Let it go on, once? [y/N] ")) return {};
  int signal = 0;
  const std::optional<std::string> answer = typed_line(signal_fd, signal);
  if (!answer) {
    write_all(STDERR_FILENO, "\n");  // what follows begins on a line of its own
    return {false, signal};
  }
  return {is_yes(*answer)};
}

Error become_companion(std::vector<std::string> words) {
  SBX_TRY(const std::string program, companion(words.front()));
  execv(program.c_str(), pointers(words).data());
  return call_failed(ErrorCode::kSetupFailed, "execve(" + program + ")", "execve",
                     "install it anew");
}

void complain(const Error& error) {
  write_all(STDERR_FILENO, "sbx-run: " + error_line(error) + "\n");
}

int stdout_unwritable() {
  complain(Error{ErrorCode::kOutputUnwritable, "the answer cannot be written to stdout", "stdout",
                 "give sbx-run a stdout that is open"});
  return 125;
}

int say(std::string_view text) { return write_all(STDOUT_FILENO, text) ? 0 : stdout_unwritable(); }

void warn(const std::string& text) {
  write_all(STDERR_FILENO, "sbx-run: warning: " + escape_control_bytes(text) + "\n");
}

Result<OwnedFd> open_result_file(const std::string& path) {
  const auto failed = [&](const std::string& why, int error) {
    return Error{ErrorCode::kOutputUnwritable, "the result file cannot be written: " + path + why,
                 "--result-file", "name a regular file in a directory that can be written", error};
  };
  OwnedFd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY,
                  0644));
  if (!fd.is_open()) return failed(": " + errno_text(errno), errno);
  struct stat info {};
  if (fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return failed(": not a regular file", 0);
  }
  if (ftruncate(fd.get(), 0) != 0) return failed(": " + errno_text(errno), errno);
  return fd;
}

Status check_standard_descriptor(int fd) {
  struct stat info {};
  const int flags = fcntl(fd, F_GETFL);
  if (flags < 0 || fstat(fd, &info) != 0) return {};
  if (!S_ISDIR(info.st_mode) && (flags & O_PATH) == 0) return {};
  return Error{ErrorCode::kBadDescriptor,
               "descriptor " + std::to_string(fd) +
                   (S_ISDIR(info.st_mode) ? " is a directory" : " is opened with O_PATH") +
                   ": it would lead out of the sandbox",
               "descriptor " + std::to_string(fd), "give a file, a pipe or /dev/null"};
}

Status check_handed(int fd, NetworkMode mode) {
  const auto option = [fd](int name) {
    int value = -1;
    socklen_t size = sizeof value;
    return getsockopt(fd, SOL_SOCKET, name, &value, &size) == 0 ? value : -1;
  };
  const int domain = option(SO_DOMAIN);
  const bool is_pipe = domain == AF_UNIX && option(SO_TYPE) != SOCK_DGRAM;
  if (domain < 0 || is_pipe || mode == NetworkMode::kOpen) return check_standard_descriptor(fd);
  return Error{ErrorCode::kBadDescriptor,
               "descriptor " + std::to_string(fd) +
                   " is a socket of the host's network: it would lead around network.mode",
               "descriptor " + std::to_string(fd), "hand over what it carries by a pipe"};
}

}  // namespace sbx
