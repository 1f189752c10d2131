// SPDX-License-Identifier: Apache-2.0
// The quick facts: ids, names, Landlock ABI, kernel release. On the critical path of a cold launch,
// so a dozen system calls and no probe. May read /etc/passwd and /etc/group; changes nothing.
#include "host/facts.h"

#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <string_view>

#include "base/ascii.h"
#include "base/owned_fd.h"
#include "base/text.h"
#include "sys/calls.h"

namespace sbx {
namespace {

constexpr std::size_t kMaxAccountFile = std::size_t{1} << 20;
constexpr std::size_t kMaxNameLength = 256;

bool is_plain_name(std::string_view name) {
  if (name.empty() || name.size() > kMaxNameLength || name.front() == '-') return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return is_alphanumeric(c) || std::string_view("_.-@+$").find(c) != std::string_view::npos;
  });
}

bool is_plain_home(std::string_view home) {
  if (home.empty() || home.front() != '/' || home.size() >= 4096) return false;
  return std::none_of(home.begin(), home.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f || c == ':';
  });
}

// The text up to the next ':', taken off the front of `line`.
std::string_view take_field(std::string_view& line) {
  const std::string_view field = line.substr(0, line.find(':'));
  line.remove_prefix(std::min(field.size() + 1, line.size()));
  return field;
}

// True when the line is the one of `id`; fills `account` from its plain fields.
bool read_account_line(std::string_view line, unsigned id, Account& account) {
  const std::string_view name = take_field(line);
  take_field(line);  // password
  if (parse_count(take_field(line), 0xffffffffLL) != id) return false;
  if (!is_plain_name(name)) return false;
  account.name = name;
  take_field(line);  // gid in passwd, members in group
  take_field(line);  // gecos
  const std::string_view home = take_field(line);
  if (is_plain_home(home)) account.home = home;
  return true;
}

void read_kernel_facts(HostFacts& facts) {
  struct utsname names = {};
  if (::uname(&names) == 0) {
    facts.kernel_release = names.release;
    facts.architecture = names.machine;
  }
  const int abi = sys::landlock_abi();
  if (abi > 0) {
    facts.landlock_abi = abi;
    return;
  }
  Obstacle& obstacle = facts.obstacles[static_cast<std::size_t>(Layer::kLandlock)];
  obstacle.sys_errno = errno;
  obstacle.reason =
      "landlock_create_ruleset(NULL, 0, LANDLOCK_CREATE_RULESET_VERSION): " + errno_text(errno);
  if (errno == EOPNOTSUPP) {
    obstacle.reason += "; Landlock is built into this kernel but not enabled at boot";
    obstacle.hint =
        "boot with lsm=landlock,… (put landlock first in the list that "
        "/sys/kernel/security/lsm shows)";
  } else {
    obstacle.reason +=
        "; the kernel is older than 5.13, built without Landlock, or a seccomp "
        "filter hides the call";
    obstacle.hint = "run a kernel with CONFIG_SECURITY_LANDLOCK=y and lsm=landlock,… at boot";
  }
}

}  // namespace

std::vector<gid_t> read_groups() {
  std::vector<gid_t> groups;
  const int count = ::getgroups(0, nullptr);
  if (count <= 0) return groups;
  groups.resize(static_cast<std::size_t>(count));
  // Another thread may have changed the list in between: an error then reads as none.
  const int filled = ::getgroups(count, groups.data());
  groups.resize(static_cast<std::size_t>(std::max(filled, 0)));
  return groups;
}

Obstacle proc_obstacle(const HostFacts& facts) {
  if (facts.proc_mountable || facts.obstacle(Layer::kMount).present() ||
      facts.obstacle(Layer::kPid).present()) {
    return {};
  }
  return {
      "mount(proc): " + errno_text(EPERM) +
          "; parts of /proc are covered here, as containers do it, so the kernel gives no new one, "
          "and the old one lists every process outside",
      "docker run --security-opt systempaths=unconfined … (or podman --security-opt unmask=ALL)",
      EPERM};
}

Account read_account(const char* path, unsigned id) {
  Account account;
  const OwnedFd file(::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file.is_open()) return account;
  std::string pending;
  std::string chunk(std::size_t{2} << 10, '\0');
  for (std::size_t total = 0; total < kMaxAccountFile;) {
    const ssize_t got = ::read(file.get(), chunk.data(), chunk.size());
    const bool at_end = got <= 0;
    if (!at_end) pending.append(chunk, 0, static_cast<std::size_t>(got));
    std::string_view rest = pending;
    for (std::size_t end = 0; (end = rest.find('\n')) != std::string_view::npos;) {
      if (read_account_line(rest.substr(0, end), id, account)) return account;
      rest.remove_prefix(end + 1);
    }
    if (at_end) {
      read_account_line(rest, id, account);
      return account;
    }
    pending.erase(0, pending.size() - rest.size());
    total += static_cast<std::size_t>(got);
  }
  return account;
}

HostFacts read_quick_facts(const char* home) {
  HostFacts facts;
  facts.uid = ::getuid();
  facts.gid = ::getgid();
  facts.groups = read_groups();
  Account user = read_account("/etc/passwd", facts.uid);
  Account group = read_account("/etc/group", facts.gid);
  facts.user_name = user.name.empty() ? "user" : std::move(user.name);
  facts.group_name = group.name.empty() ? "group" : std::move(group.name);
  facts.home = home != nullptr && home[0] == '/' ? std::string(home) : std::move(user.home);
  read_kernel_facts(facts);
  return facts;
}

bool rlimit_holds_pids(const HostFacts& facts, bool has_user_namespace) {
  return has_user_namespace && facts.uid != 0;
}

Enforcer limit_enforcer(Limit limit, const HostFacts& facts, bool has_user_namespace,
                        bool has_mount_view) {
  const bool has_cgroup = !facts.cgroup.base.empty();
  switch (limit) {
    case Limit::kMemory:
      return has_cgroup ? Enforcer::kCgroup : Enforcer::kWatch;
    case Limit::kPids:
      if (has_cgroup) return Enforcer::kCgroup;
      return rlimit_holds_pids(facts, has_user_namespace) ? Enforcer::kRlimit : Enforcer::kWatch;
    case Limit::kOpenFiles:
    case Limit::kFile:
      return Enforcer::kRlimit;
    case Limit::kTmp:
      return has_mount_view ? Enforcer::kWatch : Enforcer::kNone;
    case Limit::kTimeout:
    case Limit::kCpu:
    case Limit::kLayer:
    case Limit::kOutput:
      break;
  }
  return Enforcer::kWatch;
}

}  // namespace sbx
