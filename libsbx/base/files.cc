// SPDX-License-Identifier: Apache-2.0
// read(2) and readdir(3), with their errors told apart from the end.
#include "base/files.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

namespace sbx {
namespace {

Error failed(ErrorCode code, const std::string& call) {
  const int error = errno;
  return Error{code, call + ": " + errno_text(error), "", "", error};
}

}  // namespace

Result<std::string> real_path(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(realpath(path.c_str(), nullptr),
                                                         &std::free);
  if (real != nullptr) return std::string(real.get());
  return failed(ErrorCode::kPathNotFound, "realpath(" + path + ")");
}

Result<std::string> companion(const std::string& name) {
  auto self = real_path("/proc/self/exe");
  if (!self.ok()) return self;
  std::string path = self.value().substr(0, self.value().rfind('/') + 1) + name;
  if (access(path.c_str(), X_OK) == 0) return path;
  Error error = failed(ErrorCode::kPathNotFound, "access(" + path + ", X_OK)");
  error.hint = "install " + name + " beside " + self.value();
  return error;
}

Result<std::string> read_up_to(int fd, std::size_t most) {
  constexpr std::size_t kFirst = 4096;
  std::string text;
  for (std::size_t size = 0;;) {
    if (size == text.size()) text.resize(std::min(most, std::max(kFirst, 2 * size)));
    const ssize_t got = size == most ? 0 : read(fd, text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed(ErrorCode::kPathRefused, "read");
    size += static_cast<std::size_t>(got);
    if (got > 0) continue;
    text.resize(size);
    return text;
  }
}

Result<std::string> read_file_at(int dirfd, const char* path, std::size_t most) {
  const OwnedFd file(openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.is_open()) return read_up_to(file.get(), most);
  return failed(ErrorCode::kPathRefused, std::string("open(") + path + ")");
}

Listing::Listing(int dirfd, const char* path, int flags) {
  OwnedFd own(openat(dirfd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags));
  stream_.reset(own.is_open() ? fdopendir(own.get()) : nullptr);
  if (stream_ != nullptr) own.release();
}

const dirent* Listing::next() {
  if (stream_ == nullptr) return nullptr;
  const dirent* entry = nullptr;
  do {
    errno = 0;
    entry = readdir(stream_.get());
  } while (entry != nullptr && entry->d_name[0] == '.' &&
           (entry->d_name[1] == '\0' || (entry->d_name[1] == '.' && entry->d_name[2] == '\0')));
  return entry;
}

}  // namespace sbx
