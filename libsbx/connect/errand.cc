// SPDX-License-Identifier: Apache-2.0
// Read the arguments, take the socket, look at what a path names, connect. Raw system calls only.
#include "connect/errand.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <iterator>

#include "connect/bare.h"
#include "sys/calls.h"

namespace sbx {
namespace {

constexpr std::size_t kFamily = offsetof(sockaddr_un, sun_path);

int socket_option(int fd, int name) {
  int value = -1;
  socklen_t size = sizeof value;
  return bare::call(SYS_getsockopt, fd, SOL_SOCKET, name, bare::at(&value), bare::at(&size)) == 0
             ? value
             : -1;
}

// A supervisor of root's has rights on everybody's files, which the command inside has not: paths
// are looked up, and sockets at them connected, without.
void set_capabilities(bool on) {
  struct __user_cap_header_struct header {
    _LINUX_CAPABILITY_VERSION_3, 0
  };
  std::array<__user_cap_data_struct, 2> sets{};
  if (bare::call(SYS_capget, bare::at(&header), bare::at(sets.data())) != 0) return;
  for (auto& set : sets) set.effective = on ? set.permitted : 0;
  bare::call(SYS_capset, bare::at(&header), bare::at(sets.data()));
}

// Descriptors are the thread's own where it was made so; before Linux 6.9 only a leader's can be
// had, which shares them with its threads.
int open_process(pid_t tid) {
  long process = bare::call(SYS_pidfd_open, tid, sys::kPidfdThread);
  if (process < 0) process = bare::call(SYS_pidfd_open, tid, 0);
  if (process >= 0) return static_cast<int>(process);
  std::array<char, 512> text{};
  const std::string_view status = bare::read_file(bare::ProcPath(tid, "/status"), text);
  constexpr std::string_view kLeader = "\nTgid:\t";
  const std::size_t leader = status.find(kLeader);
  if (leader == std::string_view::npos) return -1;
  const auto pid = bare::number(status.substr(leader + kLeader.size()));
  return static_cast<int>(bare::call(SYS_pidfd_open, static_cast<long>(pid), 0));
}

int copy_address(Errand& errand) {
  const ConnectCall& call = errand.call;
  if (call.length == 0) return 0;
  const iovec ours{&errand.address, call.length};
  // NOLINTNEXTLINE(performance-no-int-to-ptr): an address of the other process
  const iovec theirs{reinterpret_cast<void*>(call.address), call.length};
  const long size =
      bare::call(SYS_process_vm_readv, call.tid, bare::at(&ours), 1, bare::at(&theirs), 1, 0);
  if (size < 0 && size != -EFAULT) return EACCES;
  return size == call.length ? 0 : EFAULT;
}

// A path that begins with a link of its caller's own below /proc, which leads nowhere for anybody
// else: that link, by its name below the caller's directory there, and the rest. A relative path
// begins at the working directory; an empty link is none.
struct OwnLink {
  std::string_view link;
  std::string_view rest;
};

OwnLink own_link(std::string_view name) {
  if (name.front() != '/') return {"/cwd", name};
  for (const std::string_view front : {"/proc/self", "/proc/thread-self", "/dev"}) {
    if (!name.starts_with(front)) continue;
    const std::string_view inside = name.substr(front.size());
    std::size_t end = std::min(inside.find('/', 1), inside.size());
    const std::string_view link = inside.substr(0, end);
    if (link == "/fd") {
      end = std::min(inside.find('/', end + 1), inside.size());
    } else if (front == "/dev" || (link != "/cwd" && link != "/root")) {
      continue;
    }
    return {inside.substr(0, end), inside.substr(end)};
  }
  return {"", name};
}

// The path as an absolute one inside.
bool make_absolute(Errand& errand) {
  const OwnLink own = own_link(errand.unix_name());
  std::size_t size = 0;
  if (!own.link.empty()) {
    const long length = bare::call(SYS_readlinkat, AT_FDCWD,
                                   bare::at(bare::ProcPath(errand.call.tid, own.link).text()),
                                   bare::at(errand.absolute), PATH_MAX - 1);
    // Not a directory beyond the root, and not what has no path.
    if (length <= 0 || errand.absolute[0] != '/') return false;
    size = static_cast<std::size_t>(length);
    if (!own.rest.empty()) errand.absolute[size++] = '/';
  }
  std::memcpy(errand.absolute + size, own.rest.data(), own.rest.size());
  errand.absolute[size + own.rest.size()] = '\0';
  return true;
}

// What the host has there, with the rights that are in force: `absolute` is then its real path.
bool is_hosts_socket(Errand& errand) {
  const bare::Fd found(
      bare::call(SYS_openat, AT_FDCWD, bare::at(errand.absolute), O_PATH | O_CLOEXEC));
  if (found.fd < 0 || bare::call(SYS_newfstatat, found.fd, bare::at(""), bare::at(&errand.info),
                                 AT_EMPTY_PATH) != 0) {
    return false;
  }
  if (!S_ISSOCK(errand.info.st_mode)) return false;
  const bare::Text<64> link("/proc/self/fd/", static_cast<std::uint64_t>(found.fd), "");
  const long size = bare::call(SYS_readlinkat, AT_FDCWD, bare::at(link.text()),
                               bare::at(errand.absolute), PATH_MAX - 1);
  if (size <= 0 || errand.absolute[0] != '/') return false;
  errand.absolute[size] = '\0';
  return true;
}

// As the caller would find it.
int pin_path(Errand& errand, const UnixPeers& peers) {
  if (!make_absolute(errand)) return ENOENT;
  const long root =
      bare::call(SYS_openat, AT_FDCWD, bare::at(bare::ProcPath(errand.call.tid, "/root").text()),
                 O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (root < 0) return static_cast<int>(-root);
  const sys::OpenHow how{O_PATH | O_CLOEXEC, 0, sys::kResolveInRoot};
  set_capabilities(false);
  long path = -EAGAIN;
  for (int i = 0; i < sys::kMostOpenTries && path == -EAGAIN; ++i) {
    path = bare::call(SYS_openat2, root, bare::at(errand.absolute), bare::at(&how), sizeof how);
  }
  errand.only_outside =
      path == -ENOENT && peers.may_tell(errand.unix_name()) && is_hosts_socket(errand);
  set_capabilities(true);
  // Every other link of /proc that leads to a file itself, which is not followed.
  if (path == -EXDEV) return EACCES;
  if (path < 0) return static_cast<int>(-path);
  errand.path = static_cast<int>(path);
  const long looked =
      bare::call(SYS_newfstatat, path, bare::at(""), bare::at(&errand.info), AT_EMPTY_PATH);
  if (looked != 0) return static_cast<int>(-looked);
  if (!S_ISSOCK(errand.info.st_mode)) return ECONNREFUSED;  // as connect(2) has it
  errand.owner = peers.own_or_listed(errand.info);
  return 0;
}

}  // namespace

bool Errand::has_unix_name() const {
  return domain == AF_UNIX && call.length > kFamily && address.ss_family == AF_UNIX;
}

std::string_view Errand::unix_name() const {
  const char* const text = reinterpret_cast<const char*>(&address) + kFamily;
  const std::size_t size = call.length - kFamily;
  if (text[0] == '\0') return {text, size};
  return {text, strnlen(text, std::min(size, sizeof(sockaddr_un::sun_path)))};
}

int look(Errand& errand, const UnixPeers& peers) {
  if (const int error = copy_address(errand); error != 0) return error;
  const int process = open_process(errand.call.tid);
  if (process < 0) return EACCES;
  const long socket = bare::call(SYS_pidfd_getfd, process, errand.call.fd, 0);
  if (socket < 0) return socket == -EBADF ? EBADF : EACCES;
  errand.socket = static_cast<int>(socket);
  errand.domain = socket_option(errand.socket, SO_DOMAIN);
  if (errand.domain < 0) return ENOTSOCK;
  errand.type = socket_option(errand.socket, SO_TYPE);
  const bool has_path = errand.has_unix_name() && errand.unix_name().front() != '\0';
  return has_path ? pin_path(errand, peers) : 0;
}

int make_pair(const Errand& errand) {
  const ConnectCall& call = errand.call;
  // One of ours would show the command our interfaces, and take abstract names of ours.
  if (call.own_network) {
    const int process = open_process(call.tid);
    if (process < 0) return EACCES;
    bare::call(SYS_setns, process, CLONE_NEWUSER);  // with the right to enter the other one
    const long entered = bare::call(SYS_setns, process, CLONE_NEWNET);
    bare::call(SYS_close, process);
    if (entered != 0) return EACCES;
  }
  int pair[2] = {-1, -1};
  const long made =
      bare::call(SYS_socketpair, AF_UNIX, SOCK_SEQPACKET | (call.fd & SOCK_NONBLOCK) | SOCK_CLOEXEC,
                 0, bare::at(pair));
  if (made != 0) return static_cast<int>(-made);
  int numbers[2] = {-1, -1};
  // NOLINTNEXTLINE(performance-no-int-to-ptr): an address of the other process
  const iovec theirs{reinterpret_cast<void*>(call.address), sizeof numbers};
  const iovec ours{numbers, sizeof numbers};
  const auto tell = [&] {
    const long size =
        bare::call(SYS_process_vm_writev, call.tid, bare::at(&ours), 1, bare::at(&theirs), 1, 0);
    return size == static_cast<long>(sizeof numbers);
  };
  // Nothing is opened for a caller that could not be told of it, or is no longer the one that
  // asked.
  if (!tell()) return EFAULT;
  for (std::size_t i = 0; i < std::size(pair); ++i) {
    sys::SeccompNotifAddFd add{};
    add.id = call.id;
    add.source = static_cast<std::uint32_t>(pair[i]);
    add.new_flags = static_cast<std::uint32_t>(call.fd & SOCK_CLOEXEC);
    const long number =
        bare::call(SYS_ioctl, call.listener, sys::kSeccompIoctlNotifAddFd, bare::at(&add));
    if (number < 0) return static_cast<int>(-number);
    numbers[i] = static_cast<int>(number);
  }
  // Before the answer: an end that the caller closes is closed for the other one.
  for (const int end : pair) bare::call(SYS_close, end);
  return tell() ? 0 : EFAULT;
}

int find_owner(Errand& errand, const UnixPeers& peers, int diag) {
  if (errand.by_namespace) {
    errand.owner = peers.owner_by_namespace(diag, errand.path, errand.info, errand.call.tid);
    // An overlay has inodes of its own, with the number of the file that shows through.
    const auto number = static_cast<std::uint32_t>(errand.info.st_ino);
    if (errand.owner != UnixPeers::Owner::kNobody || errand.path < 0) return 0;
    set_capabilities(false);
    if (is_hosts_socket(errand) && static_cast<std::uint32_t>(errand.info.st_ino) == number) {
      errand.owner = peers.owner_by_namespace(diag, -1, errand.info, errand.call.tid);
    }
    set_capabilities(true);
  } else {
    const bool is_inside = errand.path >= 0 ? listens_inside(errand.info, errand.call.tid)
                                            : listens_inside(errand.unix_name(), errand.call.tid);
    errand.owner = is_inside ? UnixPeers::Owner::kInside : UnixPeers::Owner::kHost;
  }
  return 0;
}

int make_connect(Errand& errand) {
  const void* address = &errand.address;
  socklen_t length = errand.call.length;
  sockaddr_un pinned{};
  if (errand.path >= 0) {
    // To the inode that was looked at, whatever the name leads to by now.
    pinned.sun_family = AF_UNIX;
    const bare::Text<sizeof pinned.sun_path> link("/proc/self/fd/", errand.path, "");
    std::memcpy(pinned.sun_path, link.text(), link.size() + 1);
    address = &pinned;
    length = static_cast<socklen_t>(kFamily + link.size() + 1);
  }
  set_capabilities(false);
  const long result = bare::call(SYS_connect, errand.socket, bare::at(address), length);
  if (result == -ECONNREFUSED || result == -EINPROGRESS) {
    struct tcp_info info {};
    socklen_t length_of_info = sizeof info;
    errand.is_refused = bare::call(SYS_getsockopt, errand.socket, IPPROTO_TCP, TCP_INFO,
                                   bare::at(&info), bare::at(&length_of_info)) == 0 &&
                        info.tcpi_state == TCP_CLOSE;
  }
  if (result != 0) return static_cast<int>(-result);
  socklen_t size = sizeof errand.own;
  bare::call(SYS_getsockname, errand.socket, bare::at(&errand.own), bare::at(&size));
  return 0;
}

}  // namespace sbx
