// SPDX-License-Identifier: Apache-2.0
#include "host/looks.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <utility>

#include "base/files.h"
#include "base/owned_fd.h"

namespace sbx {

NodeKind node_kind(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFDIR:
      return NodeKind::kDirectory;
    case S_IFREG:
      return NodeKind::kFile;
    case S_IFCHR:
    case S_IFBLK:
      return NodeKind::kDevice;
    case S_IFLNK:
      return NodeKind::kLink;
    case S_IFSOCK:
      return NodeKind::kSocket;
    default:
      return NodeKind::kOther;
  }
}

Node node_at(const std::string& path) {
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0) return {path, NodeKind::kMissing, 0, 0};
  return {path, node_kind(info.st_mode), info.st_dev, info.st_ino};
}

bool lies_on_noexec(const std::string& path) {
  struct statvfs info {};
  return statvfs(path.c_str(), &info) == 0 && (info.f_flag & ST_NOEXEC) != 0;
}

Error look_failed(const char* call, const std::string& path, int error) {
  return call_failed(ErrorCode::kPathRefused, std::string(call) + "(" + path + ")", path,
                     "what is to be hidden or held there is not known: run again", error);
}

void Looks::fail(const char* call, const std::string& path, int error) {
  if (failure_.ok()) failure_ = look_failed(call, path, error);
}

Node Looks::at(const std::string& path) {
  errno = 0;
  Node node = node_at(path);
  if (node.kind == NodeKind::kMissing && !is_missing(errno) && errno != EACCES) {
    fail("lstat", path, errno);
  }
  return node;
}

std::string Looks::link(const std::string& path) {
  std::array<char, PATH_MAX> target;  // NOLINT(cppcoreguidelines-pro-type-member-init): readlink
  const ssize_t size = readlink(path.c_str(), target.data(), target.size());
  if (size < 0 && !is_missing(errno)) fail("readlink", path, errno);
  return {target.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
}

std::string Looks::with_real_parent(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string parent = slash == 0 ? "/" : path.substr(0, slash);
  const Result<std::string> real = real_path(parent);
  if (!real.ok()) {
    const int error = real.error().sys_errno;
    if (!is_missing(error) && error != EACCES) fail("realpath", parent, error);
    return path;
  }
  return (real.value() == "/" ? "" : real.value()) + path.substr(slash);
}

std::optional<std::string> read_small_file(const std::string& path, std::size_t max) {
  const OwnedFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info {};
  if (!fd.is_open() || fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  if (info.st_size < 0 || static_cast<std::size_t>(info.st_size) > max) return std::nullopt;
  Result<std::string> content = read_up_to(fd.get(), max);
  return content.ok() ? std::optional(std::move(content).value()) : std::nullopt;
}

}  // namespace sbx
