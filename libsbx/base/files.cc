// SPDX-License-Identifier: Apache-2.0
// read(2) and getdents64(2), with their errors told apart from the end.
#include "base/files.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "base/paths.h"

namespace sbx {

static constexpr std::size_t kEntriesSize = std::size_t{16} << 10;

Result<std::string> real_path(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(realpath(path.c_str(), nullptr),
                                                         &std::free);
  if (real != nullptr) return std::string(real.get());
  return call_failed(ErrorCode::kPathNotFound, "realpath(" + path + ")");
}

std::string real_destination(const std::string& path) {
  static constexpr int kMostLinks = 40;  // the kernel's own bound
  std::string there = path;
  std::vector<std::string> missing;  // behind it, the last one first
  for (int links = 0; links < kMostLinks;) {
    Result<std::string> real = real_path(there);
    if (real.ok()) {
      std::string out = std::move(real).value();
      for (auto part = missing.rbegin(); part != missing.rend(); ++part) {
        out = *part == ".." ? std::string(parent_of(out)) : join_path(out, *part);
      }
      return out;
    }
    if (!is_missing(real.error().sys_errno)) return "";
    std::array<char, PATH_MAX> target{};
    const ssize_t size = readlink(there.c_str(), target.data(), target.size());
    if (size > 0) {
      ++links;
      const std::string text(target.data(), static_cast<std::size_t>(size));
      there = text.front() == '/' ? text : join_path(parent_of(there), text);
      continue;
    }
    const std::string_view name = name_part(there);
    if (!name.empty() && name != ".") missing.emplace_back(name);
    there = parent_of(there);
  }
  return "";
}

std::string real_start(const std::string& path) {
  for (std::size_t end = path.size(); end != 0 && end != std::string::npos;
       end = path.rfind('/', end - 1)) {
    Result<std::string> real = real_path(path.substr(0, end));
    if (real.ok()) return std::move(real).value() + path.substr(end);
  }
  return path;
}

Result<std::string> companion(const std::string& name) {
  auto self = real_path("/proc/self/exe");
  if (!self.ok()) return self;
  std::string path = self.value().substr(0, self.value().rfind('/') + 1) + name;
  if (access(path.c_str(), X_OK) == 0) return path;
  return call_failed(ErrorCode::kPathNotFound, "access(" + path + ", X_OK)", "",
                     "install " + name + " beside " + self.value());
}

Result<std::string> read_up_to(int fd, std::size_t most) {
  constexpr std::size_t kFirst = 4096;
  std::string text;
  for (std::size_t size = 0;;) {
    if (size == text.size()) text.resize(std::min(most, std::max(kFirst, 2 * size)));
    const ssize_t got = size == most ? 0 : read(fd, text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return call_failed(ErrorCode::kPathRefused, "read");
    size += static_cast<std::size_t>(got);
    if (got > 0) continue;
    text.resize(size);
    return text;
  }
}

Result<std::string> read_file_at(int dirfd, const char* path, std::size_t most) {
  const OwnedFd file(openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.is_open()) return read_up_to(file.get(), most);
  return call_failed(ErrorCode::kPathRefused, std::string("open(") + path + ")");
}

bool write_at_once(const std::string& path, std::string_view text) {
  const OwnedFd fd(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return fd.is_open() &&
         write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

bool is_there(const std::string& path) {
  struct stat info {};
  return lstat(path.c_str(), &info) == 0;
}

bool is_ready(int fd, short events) {
  struct pollfd ready {
    fd, events, 0
  };
  return poll(&ready, 1, 0) > 0 && (ready.revents & POLLNVAL) == 0;
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t size = write(fd, text.data(), text.size());
    if (size > 0) {
      text.remove_prefix(static_cast<std::size_t>(size));
    } else if (size == 0) {
      errno = ENOSPC;
      return false;
    } else if (errno == EAGAIN) {
      struct pollfd ready {
        fd, POLLOUT, 0
      };
      poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

Listing::Listing(int dirfd, const char* path, int flags)
    : directory_(openat(dirfd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags)) {
  if (directory_.is_open()) entries_ = std::make_unique_for_overwrite<char[]>(kEntriesSize);
}

// getdents64(2) itself: readdir(3) asks three things more of a descriptor before it begins.
const dirent* Listing::next() {
  static_assert(sizeof(dirent) == sizeof(dirent64) &&
                offsetof(dirent, d_name) == offsetof(dirent64, d_name));
  if (!is_open()) return nullptr;
  for (;;) {
    errno = 0;
    if (at_ == end_) {
      const ssize_t got = getdents64(fd(), entries_.get(), kEntriesSize);
      if (got < 0 && errno == ENOENT) errno = 0;  // removed meanwhile: nothing is left of it
      if (got <= 0) return nullptr;
      at_ = 0;
      end_ = static_cast<std::size_t>(got);
    }
    const auto* const entry = reinterpret_cast<const dirent*>(entries_.get() + at_);
    at_ += entry->d_reclen;
    const char* const name = entry->d_name;
    if (name[0] != '.' || (name[1] != '\0' && (name[1] != '.' || name[2] != '\0'))) return entry;
  }
}

}  // namespace sbx
