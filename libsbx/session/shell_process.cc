// SPDX-License-Identifier: Apache-2.0
// By proc(5), and the terminal's own knowledge of its session.
#include "session/shell_process.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/statfs.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <string>
#include <utility>

#include "base/by_number.h"
#include "base/files.h"
#include "base/text.h"
#include "sys/calls.h"

namespace sbx {
namespace {

constexpr std::chrono::milliseconds kAtWork{10};

std::string proc(pid_t pid, const std::string& name) {
  return "/proc/" + std::to_string(pid) + "/" + name;
}

// One without a name. A FIFO may be the host's: the shell that is held to its rules may not write
// to it, and who asks here is held to none.
bool is_pipe(int fd) {
  struct statfs about {};
  return fstatfs(fd, &about) == 0 && about.f_type == PIPEFS_MAGIC;
}

}  // namespace

bool ShellProcess::find(int master) {
  master_ = master;
  pid_ = front();
  if (pid_ <= 0) return false;
  pidfd_.reset(sys::pidfd_open(pid_, 0));
  return pidfd_.is_open();
}

pid_t ShellProcess::front() const { return tcgetpgrp(master_); }

bool ShellProcess::is_inside(pid_t pid) const {
  const pid_t session = tcgetsid(master_);
  return session > 0 && getsid(pid) == session;
}

// Its leader may have ended before the others, as the first of a pipeline does.
bool ShellProcess::is_group_inside(pid_t group) const {
  if (is_inside(group)) return getpgid(group) == group;
  Listing all("/proc");
  while (const dirent* one = all.next()) {
    const auto pid = parse_count(one->d_name, INT_MAX);
    if (!pid) continue;
    const auto number = static_cast<pid_t>(*pid);
    if (getpgid(number) == group && is_inside(number)) return true;
  }
  return false;
}

Result<OwnedFd> ShellProcess::open_pipe(int fd, int flags) const {
  const Error error{ErrorCode::kSetupFailed, "the shell has no such pipe", "shell", ""};
  if (!is_inside(pid_)) return error;
  const OwnedFd place(::open(proc(pid_, "fd/" + std::to_string(fd)).c_str(), O_PATH | O_CLOEXEC));
  if (!place.is_open() || !is_pipe(place.get())) return error;
  // It was the shell's until now, so that its number was nobody else's.
  if (sys::pidfd_send_signal(pidfd_.get(), 0) != 0) return error;
  const std::string path = by_number(place.get());
  OwnedFd pipe(::open(path.c_str(), flags | O_NONBLOCK | O_CLOEXEC));
  if (!pipe.is_open()) return error;
  return pipe;
}

std::string ShellProcess::directory() const {
  const std::string link = "/proc/" + std::to_string(pid_) + "/cwd";
  std::array<char, PATH_MAX> path{};
  const ssize_t size = pid_ > 0 ? readlink(link.c_str(), path.data(), path.size()) : -1;
  return size > 0 && path[0] == '/' ? std::string(path.data(), static_cast<std::size_t>(size)) : "";
}

bool ShellProcess::has_foreground() const { return front() == pid_; }

std::vector<pid_t> ShellProcess::children() const {
  const std::string path = proc(pid_, "task/" + std::to_string(pid_) + "/children");
  const OwnedFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 4096> buffer{};
  const ssize_t size = file.is_open() ? read(file.get(), buffer.data(), buffer.size()) : 0;
  std::string_view text(buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  std::vector<pid_t> children;
  for (std::size_t end = text.find(' '); end != text.npos; end = text.find(' ')) {
    const auto pid = parse_count(text.substr(0, end), INT_MAX);
    if (pid) children.push_back(static_cast<pid_t>(*pid));
    text.remove_prefix(end + 1);
  }
  return children;
}

bool ShellProcess::is_at_prompt() const {
  struct termios modes {};
  return has_foreground() && tcgetattr(master_, &modes) == 0 &&
         (modes.c_lflag & (ICANON | ECHO)) == 0 && (modes.c_iflag & ICRNL) == 0;
}

void ShellProcess::restore_prompt() const {
  struct termios modes {};
  if (tcgetattr(master_, &modes) != 0) return;
  modes.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  modes.c_lflag |= ISIG;
  modes.c_iflag &= ~static_cast<tcflag_t>(ICRNL);
  modes.c_oflag |= OPOST;
  tcsetattr(master_, TCSANOW, &modes);
}

void ShellProcess::press(std::string_view key) const {
  if (is_at_prompt()) (void)!write(master_, key.data(), key.size());
}

void ShellProcess::interrupt() const { ioctl(master_, TIOCSIG, SIGINT); }

void ShellProcess::hang_up() const { sys::pidfd_send_signal(pidfd_.get(), SIGHUP); }

void ShellProcess::kill_front(const std::vector<pid_t>& spared) const {
  const pid_t group = front();
  if (group > 1 && group != pid_ && is_group_inside(group)) ::kill(-group, SIGKILL);
  if (group != pid_) return;
  for (const pid_t child : children()) {
    if (std::find(spared.begin(), spared.end(), child) != spared.end()) continue;
    // Held before it is looked at: its number may be another's by then.
    const OwnedFd process(sys::pidfd_open(child, 0));
    if (!process.is_open() || getpgid(child) != pid_ || !is_inside(child)) continue;
    sys::pidfd_send_signal(process.get(), SIGKILL);
  }
}

bool ShellProcess::has_worked(std::chrono::nanoseconds& until_now) const {
  clockid_t clock{};
  struct timespec time {};
  if (clock_getcpuclockid(pid_, &clock) != 0 || clock_gettime(clock, &time) != 0) return false;
  const auto now = std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
  return now - std::exchange(until_now, now) >= kAtWork;
}

}  // namespace sbx
