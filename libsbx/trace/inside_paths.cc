// SPDX-License-Identifier: Apache-2.0
// process_vm_readv(2) and the links of /proc/TID.
#include "trace/inside_paths.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstring>

#include "base/by_number.h"
#include "sys/calls.h"

namespace sbx {
namespace {

std::string proc(std::uint32_t tid, const std::string& name) {
  return "/proc/" + std::to_string(tid) + "/" + name;
}

std::optional<std::string> read_link(const std::string& link) {
  std::array<char, PATH_MAX> target{};
  const ssize_t size = readlink(link.c_str(), target.data(), target.size());
  if (size <= 0) return std::nullopt;
  return std::string(target.data(), static_cast<std::size_t>(size));
}

}  // namespace

std::optional<std::string> read_path(std::uint32_t tid, std::uint64_t address) {
  constexpr std::uint64_t kPage = 4096;
  std::array<char, PATH_MAX> text{};
  std::size_t size = 0;
  // A piece a page: the next one may not be there.
  while (size < text.size()) {
    const std::uint64_t at = address + size;
    const std::size_t piece =
        std::min<std::size_t>({kPage - at % kPage, text.size() - size, size == 0 ? 256 : kPage});
    const iovec ours{text.data() + size, piece};
    const iovec theirs{reinterpret_cast<void*>(at), piece};
    const ssize_t got = process_vm_readv(static_cast<pid_t>(tid), &ours, 1, &theirs, 1, 0);
    if (got <= 0) return std::nullopt;
    const void* const end = std::memchr(text.data() + size, 0, static_cast<std::size_t>(got));
    if (end != nullptr) return std::string(text.data());
    size += static_cast<std::size_t>(got);
  }
  return std::nullopt;
}

std::optional<std::uint64_t> read_word(std::uint32_t tid, std::uint64_t address) {
  std::uint64_t word = 0;
  const iovec ours{&word, sizeof word};
  const iovec theirs{reinterpret_cast<void*>(address), sizeof word};
  const ssize_t got = process_vm_readv(static_cast<pid_t>(tid), &ours, 1, &theirs, 1, 0);
  return got == sizeof word ? std::optional(word) : std::nullopt;
}

OwnedFd open_root(std::uint32_t tid) {
  return OwnedFd(open(proc(tid, "root").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

std::optional<std::string> absolute_path(std::uint32_t tid, int dirfd, const std::string& path) {
  if (path.starts_with('/')) return path;
  const std::string link = dirfd == AT_FDCWD ? "cwd" : "fd/" + std::to_string(dirfd);
  std::optional<std::string> base = read_link(proc(tid, link));
  // Not a socket or a pipe, and not a directory beyond the root.
  if (!base || !base->starts_with('/')) return std::nullopt;
  if (!path.empty()) *base += "/" + path;
  return base;
}

OwnedFd open_below(const OwnedFd& root, const std::string& path, std::uint64_t flags,
                   std::uint64_t resolve) {
  return OwnedFd(sys::openat2(root.get(), path.c_str(),
                              {flags | O_CLOEXEC, 0, resolve | sys::kResolveInRoot}));
}

std::optional<std::string> link_target(const OwnedFd& link) {
  std::array<char, PATH_MAX> target{};
  const ssize_t size = readlinkat(link.get(), "", target.data(), target.size());
  if (size <= 0) return std::nullopt;
  return std::string(target.data(), static_cast<std::size_t>(size));
}

std::string path_of(int fd) { return read_link(by_number(fd)).value_or(""); }

}  // namespace sbx
