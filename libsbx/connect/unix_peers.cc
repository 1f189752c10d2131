// SPDX-License-Identifier: Apache-2.0
// unix_diag by sock_diag(7): a dump of a namespace's Unix sockets with the inodes of their paths;
// and, for who holds one, the descriptors that /proc lists.
#include "connect/unix_peers.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

#include "base/ascii.h"
#include "connect/bare.h"
#include "policy/policy.h"

namespace sbx {
namespace {

// The kernel's own number of a device in netlink, which is not that of stat(2).
std::uint32_t kernel_device(unsigned major_number, unsigned minor_number) {
  return (major_number << 20) | minor_number;
}

struct VfsNode {
  std::uint32_t ino;  // its low 32 bits
  std::uint32_t dev;
};

constexpr std::string_view kServices[] = {
    "/run/docker.sock",
    "/run/podman/podman.sock",
    "/run/containerd/containerd.sock",
    "/run/dbus/system_bus_socket",
    "/run/mysqld/mysqld.sock",
    "/run/postgresql/.s.PGSQL.5432",
    "/tmp/.X11-unix/X0",
};

enum class Answer : std::uint8_t { kNo, kYes, kUnknown };

// What is looked for in a dump: a file, or else an abstract name.
struct Wanted {
  VfsNode node{};
  std::string_view name;
  std::uint32_t states = ~0U;
};

struct Found {
  Answer answer = Answer::kNo;
  std::uint32_t socket = 0;  // the inode of the socket itself
};

bool is_match(const rtattr& attribute, const Wanted& wanted) {
  const auto size = static_cast<std::size_t>(RTA_PAYLOAD(&attribute));
  const auto* const data = static_cast<const char*>(RTA_DATA(&attribute));
  if (!wanted.name.empty()) {
    return attribute.rta_type == UNIX_DIAG_NAME && std::string_view(data, size) == wanted.name;
  }
  if (attribute.rta_type != UNIX_DIAG_VFS || size < sizeof(VfsNode)) return false;
  VfsNode node{};
  std::memcpy(&node, data, sizeof node);
  return node.ino == wanted.node.ino && node.dev == wanted.node.dev;
}

// Looks through one datagram of the answer. True at its end.
bool scan(const char* data, std::size_t size, const Wanted& wanted, Found& found) {
  int left = static_cast<int>(size);
  for (auto* header = reinterpret_cast<const nlmsghdr*>(data);
       NLMSG_OK(header, static_cast<unsigned>(left)); header = NLMSG_NEXT(header, left)) {
    if (header->nlmsg_type == NLMSG_ERROR) found.answer = Answer::kUnknown;
    if (header->nlmsg_type == NLMSG_DONE || header->nlmsg_type == NLMSG_ERROR) return true;
    if (header->nlmsg_len < NLMSG_LENGTH(sizeof(unix_diag_msg))) continue;
    const char* const body = static_cast<const char*>(NLMSG_DATA(header));
    unix_diag_msg message{};
    std::memcpy(&message, body, sizeof message);
    auto* attribute = reinterpret_cast<const rtattr*>(body + NLMSG_ALIGN(sizeof message));
    auto rest = static_cast<int>(header->nlmsg_len - NLMSG_LENGTH(sizeof message));
    for (; RTA_OK(attribute, rest); attribute = RTA_NEXT(attribute, rest)) {
      if (is_match(*attribute, wanted)) found = {Answer::kYes, message.udiag_ino};
    }
  }
  return false;
}

using Buffer = std::array<char, std::size_t{32} << 10>;

long receive(long diag, Buffer& buffer) {
  return bare::call(SYS_recvfrom, diag, bare::at(buffer.data()), buffer.size(), MSG_DONTWAIT, 0, 0);
}

// What is in the namespace of the diag socket.
Found find_socket(long diag, const Wanted& wanted) {
  struct {
    nlmsghdr header;
    unix_diag_req request;
  } message{};
  message.header.nlmsg_len = sizeof message;
  message.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  message.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  message.request.sdiag_family = AF_UNIX;
  message.request.udiag_states = wanted.states;
  message.request.udiag_show = wanted.name.empty() ? UDIAG_SHOW_VFS : UDIAG_SHOW_NAME;
  Buffer buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  // One who was ended while it asked has left the rest of its answer.
  while (receive(diag, buffer) > 0) {
  }
  if (bare::call(SYS_sendto, diag, bare::at(&message), sizeof message, MSG_DONTWAIT, 0, 0) < 0) {
    return {Answer::kUnknown, 0};
  }
  Found found;
  // The answer is written while it is read: nothing here waits. Read to its end, whatever it says,
  // so that the next question does not meet the rest.
  for (;;) {
    const long size = receive(diag, buffer);
    if (size == -EINTR) continue;
    if (size <= 0) return {Answer::kUnknown, 0};
    if (scan(buffer.data(), static_cast<std::size_t>(size), wanted, found)) return found;
  }
}

Answer is_bound_there(long diag, const VfsNode& node) {
  return find_socket(diag, {node, {}}).answer;
}

// The device of the mount that `path` was opened through: some file systems (btrfs) give stat(2)
// another number for each subvolume. 0 when it cannot be found.
std::uint32_t mount_device(int path, pid_t inside) {
  struct statx info {};
  if (bare::call(SYS_statx, path, bare::at(""), AT_EMPTY_PATH, STATX_MNT_ID, bare::at(&info)) !=
      0) {
    return 0;
  }
  const bare::ProcPath name(inside, "/mountinfo");
  const bare::Fd mounts(
      bare::call(SYS_openat, AT_FDCWD, bare::at(name.text()), O_RDONLY | O_CLOEXEC));
  std::array<char, 4096> part{};
  // ID PARENT MAJOR:MINOR …, a line a mount, which may be cut anywhere.
  std::array<std::uint64_t, 4> numbers{};
  std::size_t field = 0;
  for (;;) {
    const long size = bare::call(SYS_read, mounts.fd, bare::at(part.data()), part.size());
    if (size <= 0) return 0;
    for (const char c : std::string_view(part.data(), static_cast<std::size_t>(size))) {
      if (c == '\n') {
        if (numbers[0] == info.stx_mnt_id) {
          return kernel_device(static_cast<unsigned>(numbers[2]),
                               static_cast<unsigned>(numbers[3]));
        }
        numbers = {};
        field = 0;
      } else if (field < numbers.size() && is_digit(c)) {
        numbers[field] = numbers[field] * 10 + static_cast<unsigned>(c - '0');
      } else {
        ++field;
      }
    }
  }
}

// Of this process's own namespace.
long open_diag() {
  return bare::call(SYS_socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK,
                    NETLINK_SOCK_DIAG);
}

bool same_pid_namespace(pid_t first, pid_t second) {
  struct stat a {};
  struct stat b {};
  const auto look = [](pid_t pid, struct stat& info) {
    const bare::ProcPath path(pid, "/ns/pid");
    return bare::call(SYS_newfstatat, AT_FDCWD, bare::at(path.text()), bare::at(&info), 0) == 0;
  };
  return look(first, a) && look(second, b) && a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

// Calls `is_it(directory, name)` for each entry whose name begins with a digit, until it says yes.
template <typename Is>
bool any_numbered_entry(const char* path, const Is& is_it) {
  const bare::Fd directory(
      bare::call(SYS_openat, AT_FDCWD, bare::at(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init)
  alignas(dirent64) std::array<char, 4096> entries;
  for (;;) {
    const long size =
        bare::call(SYS_getdents64, directory.fd, bare::at(entries.data()), entries.size());
    if (size <= 0) return false;
    for (long next = 0; next < size;) {
      const auto* const entry = reinterpret_cast<const dirent64*>(entries.data() + next);
      next += entry->d_reclen;
      const bool has_number = is_digit(entry->d_name[0]);
      if (has_number && is_it(directory.fd, entry->d_name)) return true;
    }
  }
}

bool holds_socket(pid_t process, std::uint32_t socket) {
  const bare::Text<64> wanted("socket:[", socket, "]");
  return any_numbered_entry(
      bare::ProcPath(process, "/fd").text(), [&](long directory, const char* name) {
        std::array<char, 64> target{};
        const long size = bare::call(SYS_readlinkat, directory, bare::at(name),
                                     bare::at(target.data()), target.size());
        return size > 0 &&
               wanted.view() == std::string_view(target.data(), static_cast<std::size_t>(size));
      });
}

constexpr std::uint32_t kListening = 1U << TCP_LISTEN;  // Unix sockets use TCP's states

bool is_held_inside(const Wanted& wanted, pid_t inside) {
  const bare::Fd diag(open_diag());
  const Found found = find_socket(diag.fd, wanted);
  if (found.answer != Answer::kYes) return false;
  return any_numbered_entry("/proc", [&](long, const char* name) {
    const auto pid = static_cast<pid_t>(bare::number(name));
    return pid > 0 && same_pid_namespace(pid, inside) && holds_socket(pid, found.socket);
  });
}

}  // namespace

UnixPeers::UnixPeers(std::vector<std::string> listed,
                     const std::vector<std::string>& writable_roots) {
  for (std::string& path : listed) {
    Listed entry{std::move(path)};
    entry.is_pinned =
        std::any_of(writable_roots.begin(), writable_roots.end(),
                    [&](const std::string& root) { return is_below(entry.path, root); });
    struct stat info {};
    if (stat(entry.path.c_str(), &info) == 0) {
      entry.dev = info.st_dev;
      entry.ino = info.st_ino;
    }
    listed_.push_back(std::move(entry));
  }
}

void UnixPeers::set_scratch(int fd) {
  struct stat info {};
  if (fstat(fd, &info) != 0) return;
  has_scratch_ = true;
  scratch_ = info.st_dev;
}

bool UnixPeers::may_tell(std::string_view path) const {
  if (!path.starts_with('/')) return false;
  if (told_.all || told_.text.find(path) != path.npos) return true;
  constexpr std::string_view kOldRun = "/var/run/";
  if (path.starts_with(kOldRun)) path.remove_prefix(std::string_view("/var").size());
  return std::find(std::begin(kServices), std::end(kServices), path) != std::end(kServices);
}

std::optional<UnixPeers::Owner> UnixPeers::own_or_listed(const struct stat& info) const {
  if (has_scratch_ && info.st_dev == scratch_) return Owner::kInside;
  for (const Listed& entry : listed_) {
    dev_t dev = entry.dev;
    ino_t ino = entry.ino;
    struct stat now {};
    if (!entry.is_pinned && bare::call(SYS_newfstatat, AT_FDCWD, bare::at(entry.path.c_str()),
                                       bare::at(&now), 0) == 0) {
      dev = now.st_dev;
      ino = now.st_ino;
    }
    if (ino != 0 && ino == info.st_ino && dev == info.st_dev) return Owner::kListed;
  }
  return std::nullopt;
}

std::optional<UnixPeers::Owner> UnixPeers::owner_by_namespace(int diag, int path,
                                                              const struct stat& info,
                                                              pid_t inside) {
  VfsNode node{static_cast<std::uint32_t>(info.st_ino),
               kernel_device(major(info.st_dev), minor(info.st_dev))};
  Answer answer = is_bound_there(diag, node);
  if (answer == Answer::kNo) {
    const std::uint32_t device = mount_device(path, inside);
    if (device != 0 && device != node.dev) {
      node.dev = device;
      answer = is_bound_there(diag, node);
    }
  }
  if (answer == Answer::kUnknown) return std::nullopt;
  if (answer == Answer::kYes) return Owner::kInside;
  // A file that no socket of the host is bound to was left behind by one that is gone.
  const bare::Fd own(open_diag());
  return is_bound_there(own.fd, node) == Answer::kNo ? Owner::kNobody : Owner::kHost;
}

bool listens_inside(const struct stat& path, pid_t inside) {
  const VfsNode node{static_cast<std::uint32_t>(path.st_ino),
                     kernel_device(major(path.st_dev), minor(path.st_dev))};
  return is_held_inside({node, {}, kListening}, inside);
}

bool listens_inside(std::string_view abstract_name, pid_t inside) {
  return is_held_inside({{}, abstract_name, kListening}, inside);
}

}  // namespace sbx
