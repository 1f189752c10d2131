// SPDX-License-Identifier: Apache-2.0
#include "sys/calls.h"

#include <limits.h>
#include <netinet/in.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

namespace sbx::sys {
namespace {

int failed(int error) noexcept {
  errno = error;
  return -1;
}

bool is_link(int fd) noexcept {
  struct stat info {};
  return ::fstat(fd, &info) != 0 || S_ISLNK(info.st_mode);
}

// One name, no symlink unless it is the last and may be one. `flags` are those of the last.
int open_name(int at, const char* name, std::size_t size, bool is_last, const OpenHow& how) {
  char text[NAME_MAX + 1];
  if (size > NAME_MAX) return failed(ENAMETOOLONG);
  std::memcpy(text, name, size);
  text[size] = '\0';
  if (std::strcmp(text, "..") == 0) return failed(EXDEV);
  const int flags = is_last ? static_cast<int>(how.flags) : O_PATH | O_CLOEXEC;
  const int fd = ::openat(at, size == 0 ? "." : text, flags | O_NOFOLLOW, how.mode);
  constexpr int kLinkItself = O_PATH | O_NOFOLLOW;
  if (fd < 0 || (flags & kLinkItself) == kLinkItself || !is_link(fd)) return fd;
  ::close(fd);
  return failed(ELOOP);
}

}  // namespace

SocketAddress socket_address(bool is_v6, std::uint16_t port, const std::uint8_t* bytes) noexcept {
  SocketAddress result;
  if (is_v6) {
    sockaddr_in6 raw{};
    raw.sin6_family = AF_INET6;
    raw.sin6_port = htons(port);
    std::memcpy(&raw.sin6_addr, bytes, sizeof raw.sin6_addr);
    std::memcpy(&result.storage, &raw, sizeof raw);
    result.length = sizeof raw;
  } else {
    sockaddr_in raw{};
    raw.sin_family = AF_INET;
    raw.sin_port = htons(port);
    std::memcpy(&raw.sin_addr, bytes, sizeof raw.sin_addr);
    std::memcpy(&result.storage, &raw, sizeof raw);
    result.length = sizeof raw;
  }
  return result;
}

int open_by_names(int dirfd, const char* path, const OpenHow& how) noexcept {
  if (how.resolve == 0) return ::openat(dirfd, path, static_cast<int>(how.flags), how.mode);
  constexpr std::uint64_t kAnswered = kResolveNoSymlinks | kResolveNoMagiclinks | kResolveBeneath;
  if ((how.resolve & kResolveNoSymlinks) == 0 || (how.resolve & ~kAnswered) != 0) {
    return failed(ENOSYS);
  }
  if (*path == '\0') return failed(ENOENT);
  int at = dirfd;
  if (*path == '/') {
    if ((how.resolve & kResolveBeneath) != 0) return failed(EXDEV);
    at = ::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    path += std::strspn(path, "/");
  }
  bool is_last = false;
  while (!is_last && (at >= 0 || at == AT_FDCWD)) {
    const std::size_t size = std::strcspn(path, "/");
    const char* const rest = path + size + std::strspn(path + size, "/");
    is_last = *rest == '\0';
    const int next = open_name(at, path, size, is_last, how);
    if (at != dirfd) ::close(at);
    at = next;
    path = rest;
  }
  return at;
}

}  // namespace sbx::sys
