// SPDX-License-Identifier: Apache-2.0
// unix_diag by sock_diag(7): a dump of a namespace's Unix sockets with the inodes of their paths;
// and, for who holds one, the descriptors that /proc lists.
#include "session/unix_peers.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <utility>

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

// What is in the namespace of the diag socket.
Found find_socket(int diag, const Wanted& wanted) {
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
  if (send(diag, &message, sizeof message, MSG_DONTWAIT) < 0) return {Answer::kUnknown, 0};
  static std::array<char, std::size_t{32} << 10> buffer;
  Found found;
  // The answer is written while it is read: nothing here waits. Read to its end, whatever it says,
  // so that the next question does not meet the rest.
  for (;;) {
    const ssize_t size = recv(diag, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return {Answer::kUnknown, 0};
    if (scan(buffer.data(), static_cast<std::size_t>(size), wanted, found)) return found;
  }
}

Answer is_bound_there(int diag, const VfsNode& node) {
  return find_socket(diag, {node, {}}).answer;
}

// The device of the mount that `path` was opened through: some file systems (btrfs) give stat(2)
// another number for each subvolume. 0 when it cannot be found.
std::uint32_t mount_device(int path, pid_t inside) {
  std::ifstream info("/proc/self/fdinfo/" + std::to_string(path));
  std::string word;
  std::string mount;
  while (info >> word) {
    if (word == "mnt_id:") info >> mount;
  }
  std::ifstream mounts("/proc/" + std::to_string(inside) + "/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    if (!line.starts_with(mount + ' ')) continue;
    unsigned major_number = 0;
    unsigned minor_number = 0;
    if (std::sscanf(line.c_str(), "%*u %*u %u:%u", &major_number, &minor_number) == 2) {
      return kernel_device(major_number, minor_number);
    }
  }
  return 0;
}

OwnedFd open_diag() {
  return OwnedFd(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG));
}

bool same_pid_namespace(pid_t first, pid_t second) {
  struct stat a {};
  struct stat b {};
  const auto look = [](pid_t pid, struct stat& info) {
    return stat(("/proc/" + std::to_string(pid) + "/ns/pid").c_str(), &info) == 0;
  };
  return look(first, a) && look(second, b) && a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

bool holds_socket(const std::string& process, std::uint32_t socket) {
  const std::string wanted = "socket:[" + std::to_string(socket) + "]";
  DIR* const directory = opendir((process + "/fd").c_str());
  if (directory == nullptr) return false;
  bool holds = false;
  while (const dirent* const entry = readdir(directory)) {
    std::array<char, 64> target{};
    const ssize_t size = readlinkat(dirfd(directory), entry->d_name, target.data(), target.size());
    if (size < 0 || wanted != std::string_view(target.data(), static_cast<std::size_t>(size))) {
      continue;
    }
    holds = true;
    break;
  }
  closedir(directory);
  return holds;
}

constexpr std::uint32_t kListening = 1U << TCP_LISTEN;  // Unix sockets use TCP's states

bool is_held_inside(const Wanted& wanted, pid_t inside) {
  const OwnedFd diag = open_diag();
  const Found found = find_socket(diag.get(), wanted);
  if (found.answer != Answer::kYes) return false;
  DIR* const processes = opendir("/proc");
  if (processes == nullptr) return false;
  bool held = false;
  while (const dirent* const entry = readdir(processes)) {
    const auto pid = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
    if (pid <= 0 || !same_pid_namespace(pid, inside)) continue;
    held = holds_socket(std::string("/proc/") + entry->d_name, found.socket);
    if (held) break;
  }
  closedir(processes);
  return held;
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

bool UnixPeers::is_own_or_listed(const struct stat& info, Owner& owner) const {
  if (has_scratch_ && info.st_dev == scratch_) {
    owner = Owner::kInside;
    return true;
  }
  for (const Listed& entry : listed_) {
    dev_t dev = entry.dev;
    ino_t ino = entry.ino;
    struct stat now {};
    if (!entry.is_pinned && stat(entry.path.c_str(), &now) == 0) {
      dev = now.st_dev;
      ino = now.st_ino;
    }
    if (ino == 0 || ino != info.st_ino || dev != info.st_dev) continue;
    owner = Owner::kListed;
    return true;
  }
  return false;
}

std::optional<UnixPeers::Owner> UnixPeers::owner_by_namespace(int path, const struct stat& info,
                                                              pid_t inside) {
  VfsNode node{static_cast<std::uint32_t>(info.st_ino),
               kernel_device(major(info.st_dev), minor(info.st_dev))};
  Answer answer = is_bound_there(diag_.get(), node);
  if (answer == Answer::kNo) {
    const std::uint32_t device = mount_device(path, inside);
    if (device != 0 && device != node.dev) {
      node.dev = device;
      answer = is_bound_there(diag_.get(), node);
    }
  }
  if (answer == Answer::kUnknown) return std::nullopt;
  if (answer == Answer::kYes) return Owner::kInside;
  // A file that no socket of the host is bound to was left behind by one that is gone.
  if (!own_diag_.is_open()) own_diag_ = open_diag();
  return is_bound_there(own_diag_.get(), node) == Answer::kNo ? Owner::kNobody : Owner::kHost;
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
