// SPDX-License-Identifier: Apache-2.0
// Small files, directories and paths of the host: what is read is bounded, what is open has an
// owner.
#pragma once

#include <dirent.h>
#include <fcntl.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/owned_fd.h"
#include "base/result.h"

namespace sbx {

// With every symlink resolved, as realpath(3). Errors: kPathNotFound with realpath's errno.
Result<std::string> real_path(const std::string& path);
// Where `path` leads, or what would be made by that name: symlinks are followed where they lead to
// nothing yet, too. Empty: that cannot be told.
std::string real_destination(const std::string& path);

// With symlinks resolved as far as it is there.
std::string real_start(const std::string& path);

// Another program of this installation, which lies beside the one that runs. Errors: kPathNotFound,
// where it is not there or is not executable.
Result<std::string> companion(const std::string& name);

// What is left in the descriptor, `most` bytes at the most: whoever must know whether there was
// more asks for one more. Errors: kPathRefused with read's errno.
Result<std::string> read_up_to(int fd, std::size_t most);

// The first `most` bytes of a file, which may be one of procfs; a FIFO is not waited for. Errors:
// kPathRefused with the errno of the call that failed.
Result<std::string> read_file_at(int dirfd, const char* path, std::size_t most);
inline Result<std::string> read_file(const std::string& path, std::size_t most) {
  return read_file_at(AT_FDCWD, path.c_str(), most);
}

// All of the text; a descriptor that does not block is waited for. False: errno says why not.
bool write_all(int fd, std::string_view text);

// One write(2) to a file that is there, as procfs wants it. False: errno says why not.
bool write_at_once(const std::string& path, std::string_view text);

// Whatever it is, a symlink that leads nowhere too.
bool is_there(const std::string& path);

// A time of stat(2)'s or statx(2)'s.
template <typename Time>
std::int64_t nanoseconds(const Time& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// Whether the descriptor has one of poll(2)'s events now, or has come to its end; nothing is waited
// for.
bool is_ready(int fd, short events);

// Whether nothing is there: any other failure of a call must not pass for that.
constexpr bool is_missing(int error) { return error == ENOENT || error == ENOTDIR; }

// The entries of one directory, but for "." and "..". One that is closed has none, and errno says
// why it could not be opened.
class Listing {
 public:
  Listing() = default;
  // `flags` are open(2)'s, O_NOFOLLOW for one. By "." a descriptor is read anew from its first
  // entry.
  explicit Listing(int dirfd, const char* path, int flags = 0);
  explicit Listing(const std::string& path) : Listing(AT_FDCWD, path.c_str()) {}

  bool is_open() const { return directory_.is_open(); }
  int fd() const { return directory_.get(); }
  // Null at the end, with errno 0, and where it cannot be read on. Good until the next one.
  const dirent* next();

 private:
  OwnedFd directory_;
  std::unique_ptr<char[]> entries_;  // as getdents64(2) gave them
  std::size_t at_ = 0;
  std::size_t end_ = 0;
};

}  // namespace sbx
