// SPDX-License-Identifier: Apache-2.0
// pread at an offset of its own: a log that grows or shrinks meanwhile only ends earlier.
#include "line_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace sbx::page {

Result<LineReader> LineReader::open(const std::string& path) {
  const auto failed = [&](ErrorCode code, const std::string& why, int error) {
    return Error{code, "the audit log cannot be read: " + path + ": " + why, "AUDIT.jsonl",
                 "name the file that --audit, or audit.file of the profile, names", error};
  };
  OwnedFd file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file.is_open()) {
    const ErrorCode code = errno == ENOENT ? ErrorCode::kPathNotFound : ErrorCode::kPathRefused;
    return failed(code, errno_text(errno), errno);
  }
  struct stat info {};
  if (fstat(file.get(), &info) != 0) {
    return failed(ErrorCode::kPathRefused, errno_text(errno), errno);
  }
  if (!S_ISREG(info.st_mode)) return failed(ErrorCode::kPathRefused, "not a regular file", 0);
  return LineReader(std::move(file), static_cast<std::uint64_t>(info.st_size));
}

bool LineReader::fill() {
  constexpr std::size_t kPiece = 256 << 10;
  const std::size_t wanted = std::min<std::uint64_t>(kPiece, size_ - offset_);
  buffer_.resize(wanted);
  at_ = 0;
  if (wanted == 0) return false;
  ssize_t size = 0;
  do {
    size = pread(file_.get(), buffer_.data(), wanted, static_cast<off_t>(offset_));
  } while (size < 0 && errno == EINTR);
  if (size < 0) failure_ = errno;
  buffer_.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  offset_ += buffer_.size();
  return size > 0;
}

bool LineReader::next() {
  line_.clear();
  is_too_long_ = false;
  bool has_any = false;
  while (at_ < buffer_.size() || fill()) {
    has_any = true;
    const std::size_t end = std::min(buffer_.find('\n', at_), buffer_.size());
    is_too_long_ = is_too_long_ || line_.size() + (end - at_) > kMostLine;
    if (is_too_long_) {
      line_.clear();
    } else {
      line_.append(buffer_, at_, end - at_);
    }
    at_ = std::min(end + 1, buffer_.size());
    if (end < buffer_.size()) break;
  }
  if (has_any) ++number_;
  return has_any;
}

Status LineReader::check_other(const std::string& path) const {
  struct stat own {};
  struct stat other {};
  if (fstat(file_.get(), &own) != 0 || lstat(path.c_str(), &other) != 0) return {};
  if (own.st_dev != other.st_dev || own.st_ino != other.st_ino) return {};
  return Error{ErrorCode::kBadFlag, path + " is the audit log itself", "--out",
               "name another file"};
}

void LineReader::rewind() {
  buffer_.clear();
  at_ = 0;
  offset_ = 0;
  number_ = 0;
}

}  // namespace sbx::page
