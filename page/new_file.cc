// SPDX-License-Identifier: Apache-2.0
// Its directory is opened once; all else is relative to that.
#include "new_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace sbx::page {
namespace {

Error unwritable(const std::string& path, const std::string& why, int error) {
  return Error{
      ErrorCode::kOutputUnwritable, "the page cannot be written: " + path + ": " + why, "--out",
      "name a regular file, or one that does not exist, in a directory that can be written", error};
}

}  // namespace

NewFile::NewFile(OwnedFd directory, OwnedFd file, std::string path, std::string name,
                 std::string staged)
    : directory_(std::move(directory)),
      file_(std::move(file)),
      path_(std::move(path)),
      name_(std::move(name)),
      staged_(std::move(staged)) {}

NewFile::NewFile(NewFile&& other) noexcept
    : directory_(std::move(other.directory_)),
      file_(std::move(other.file_)),
      path_(std::move(other.path_)),
      name_(std::move(other.name_)),
      staged_(std::exchange(other.staged_, {})) {}

NewFile::~NewFile() {
  if (!staged_.empty()) unlinkat(directory_.get(), staged_.c_str(), 0);
}

Result<NewFile> NewFile::make(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string name = slash == path.npos ? path : path.substr(slash + 1);
  const std::string parent = slash == path.npos ? "." : path.substr(0, slash + 1);
  if (name.empty() || name == "." || name == "..") return unwritable(path, "not a file's name", 0);
  OwnedFd directory(open(parent.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory.is_open()) return unwritable(path, errno_text(errno), errno);
  struct stat info {};
  if (fstatat(directory.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0) {
    if (S_ISLNK(info.st_mode)) return unwritable(path, "a symlink, which is not followed", 0);
    if (!S_ISREG(info.st_mode)) return unwritable(path, "not a regular file", 0);
  } else if (errno != ENOENT) {
    return unwritable(path, errno_text(errno), errno);
  }
  std::string staged;
  OwnedFd file;
  for (int i = 0; i < 100 && !file.is_open() && (i == 0 || errno == EEXIST); ++i) {
    staged = ".sbx-report." + std::to_string(getpid()) + "." + std::to_string(i);
    file = OwnedFd(openat(directory.get(), staged.c_str(),
                          O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  }
  if (!file.is_open()) return unwritable(path, errno_text(errno), errno);
  return NewFile(std::move(directory), std::move(file), path, name, staged);
}

Status NewFile::keep() {
  if (fsync(file_.get()) != 0 ||
      renameat(directory_.get(), staged_.c_str(), directory_.get(), name_.c_str()) != 0) {
    return unwritable(path_, errno_text(errno), errno);
  }
  staged_.clear();
  return {};
}

}  // namespace sbx::page
