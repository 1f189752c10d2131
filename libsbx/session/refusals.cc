// SPDX-License-Identifier: Apache-2.0
// The notification loop of seccomp_unotify(2).
#include "session/refusals.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>

#include "output/utf8.h"
#include "plan/filter.h"
#include "sys/kernel.h"

namespace sbx {
namespace {

std::string program_name(std::uint32_t pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/comm";
  const OwnedFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string name(32, '\0');
  const ssize_t size = fd.is_open() ? read(fd.get(), name.data(), name.size()) : 0;
  name.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  while (!name.empty() && name.back() == '\n') name.pop_back();
  return repair_utf8(name);
}

}  // namespace

bool Refusals::answer() {
  static constexpr int kBurst = 256;
  for (int i = 0; i < kBurst; ++i) {
    // RECV would block, and on 6.1 for ever once the last task has gone: poll first.
    struct pollfd waiting {
      listener_.get(), POLLIN, 0
    };
    if (poll(&waiting, 1, 0) <= 0) return true;
    if ((waiting.revents & POLLIN) == 0) return (waiting.revents & (POLLHUP | POLLERR)) == 0;
    sys::SeccompNotif call{};
    if (ioctl(listener_.get(), sys::kSeccompIoctlNotifRecv, &call) != 0) {
      if (errno == ENOENT || errno == EINTR) continue;  // the caller died meanwhile
      return false;
    }
    auto key = std::pair{call.data.nr, program_name(call.pid)};
    if (counts_.size() >= kMaxEntries && !counts_.contains(key)) key.second.clear();
    if (counts_.size() < 2 * kMaxEntries || counts_.contains(key)) ++counts_[key];
    sys::SeccompNotifResponse response{};
    response.id = call.id;
    response.error = -EPERM;
    ioctl(listener_.get(), sys::kSeccompIoctlNotifSend, &response);
  }
  return true;
}

std::vector<Denial> Refusals::denials() const {
  std::vector<Denial> out;
  for (const auto& [key, count] : counts_) {
    Denial denial;
    denial.layer = "seccomp";
    denial.operation = syscall_name(key.first);
    denial.count = count;
    denial.program = key.second;
    denial.grant = "seccomp.allow += [\"" + denial.operation + "\"]";
    out.push_back(std::move(denial));
  }
  return out;
}

}  // namespace sbx
