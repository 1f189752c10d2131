// SPDX-License-Identifier: Apache-2.0
// O_APPEND places each write(2) at the end, under the inode's lock. A line that a full disk cut
// short is taken back; for that, long lines are written under flock(2). One that a crash cut short
// is ended by the next line's write.
#include "host_files/append_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace sbx {
namespace {

// Whoever can read the file can hold its lock: it is waited for, but not for long.
void lock_for_a_while(int file) {
  for (int i = 0; i < 100 && flock(file, LOCK_EX | LOCK_NB) != 0; ++i) {
    const struct timespec pause { 0, 2'000'000 };
    nanosleep(&pause, nullptr);
  }
}

// Whether a crash left the last line without its end. While another writes a line, its beginning
// looks the same, but not for long.
bool ends_torn(int file) {
  for (int i = 0; i < 20; ++i) {
    const off_t end = lseek(file, 0, SEEK_END);
    char last = '\n';
    if (end <= 0 || pread(file, &last, 1, end - 1) != 1 || last == '\n') return false;
    const struct timespec pause { 0, 2'000'000 };
    nanosleep(&pause, nullptr);
  }
  return true;
}

Error unwritable(const std::string& path, const std::string& where, const std::string& why,
                 int error) {
  return Error{ErrorCode::kOutputUnwritable, "the log cannot be written: " + path + ": " + why,
               where, "name a regular file in a directory that can be written", error};
}

}  // namespace

Result<AppendFile> AppendFile::open(const std::string& path, std::string_view where) {
  const auto open_for = [&](int access) {
    return OwnedFd(
        ::open(path.c_str(),
               access | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY, 0600));
  };
  OwnedFd file = open_for(O_RDWR);
  // One that may not be read: its last line is not looked at.
  if (!file.is_open() && errno == EACCES) file = open_for(O_WRONLY);
  if (!file.is_open()) return unwritable(path, std::string(where), errno_text(errno), errno);
  struct stat info {};
  if (fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return unwritable(path, std::string(where), "not a regular file", 0);
  }
  return AppendFile(std::move(file), path, std::string(where));
}

Status AppendFile::follow() {
  struct stat ours {};
  struct stat there {};
  const bool is_there = fstat(file_.get(), &ours) == 0 && lstat(path_.c_str(), &there) == 0 &&
                        ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
  if (is_there) return {};
  SBX_TRY(AppendFile anew, open(path_, where_));
  file_ = std::move(anew.file_);
  return {};
}

Status AppendFile::append_line(std::string_view line) {
  SBX_CHECK_OK(follow());
  constexpr std::size_t kLong = 4096;
  bool is_torn = ends_torn(file_.get());
  const bool is_locked = is_torn || line.size() >= kLong;
  if (is_locked) lock_for_a_while(file_.get());
  if (is_torn) is_torn = ends_torn(file_.get());  // another may have mended it meanwhile
  std::string text(is_torn ? "\n" : "");
  text += line;
  text += '\n';
  const ssize_t size = write(file_.get(), text.data(), text.size());
  Status status;
  if (size != static_cast<ssize_t>(text.size())) {
    const int error = size < 0 ? errno : ENOSPC;
    if (size > 0) {
      // With O_APPEND the file's offset is where this write ended.
      const off_t end = lseek(file_.get(), 0, SEEK_CUR);
      struct stat info {};
      const bool is_last = fstat(file_.get(), &info) == 0 && info.st_size == end;
      if (is_last) (void)!ftruncate(file_.get(), end - size);
    }
    status = unwritable(path_, where_, errno_text(error), error);
  }
  if (is_locked) flock(file_.get(), LOCK_UN);
  return status;
}

}  // namespace sbx
