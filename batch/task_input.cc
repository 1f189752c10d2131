// SPDX-License-Identifier: Apache-2.0
// Reading tasks.
#include "task_input.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>

namespace sbx::batch {

Result<TaskInput> TaskInput::open(const std::string& path) {
  TaskInput out;
  // A FIFO without a writer is waited for by poll(2), where a signal is heard.
  out.file_.reset(path == "-" ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                              : ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  struct stat info {};
  if (!out.file_.is_open() || fstat(out.file_.get(), &info) != 0) {
    return call_failed(ErrorCode::kPathNotFound, "the tasks cannot be read: " + path, "TASKS",
                       "name a file that can be read, or - for standard input");
  }
  if (!S_ISDIR(info.st_mode)) return out;
  return Error{ErrorCode::kPathRefused, "the tasks cannot be read: " + path + " is a directory",
               "TASKS", "name a file with one JSON object a line"};
}

std::optional<Line> TaskInput::next() {
  if (auto line = reader_.next()) return line;
  if (!is_ended_ || !has_rest_) return std::nullopt;
  auto line = reader_.rest();
  has_rest_ = line.has_value();
  return line;
}

void TaskInput::read() {
  if (!is_ended_) is_ended_ = read_some(file_.get(), reader_) == IoState::kClosed;
}

std::optional<std::uint64_t> TaskInput::count(std::uint64_t shard, std::uint64_t shards) const {
  struct stat info {};
  if (fstat(file_.get(), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  std::array<char, 65536> chunk;  // filled by pread
  std::uint64_t number = 1;
  std::uint64_t counted = 0;
  bool is_blank = true;
  off_t at = 0;
  const auto end_line = [&] {
    if (!is_blank && is_in_shard(number, shard, shards)) ++counted;
    is_blank = true;
    ++number;
  };
  for (ssize_t size = 0; (size = pread(file_.get(), chunk.data(), chunk.size(), at)) > 0;
       at += size) {
    for (const char byte : std::string_view(chunk.data(), static_cast<std::size_t>(size))) {
      if (byte == '\n') {
        end_line();
      } else if (byte != ' ' && byte != '\t' && byte != '\r') {
        is_blank = false;
      }
    }
  }
  end_line();
  return counted;
}

}  // namespace sbx::batch
