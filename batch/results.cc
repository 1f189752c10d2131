// SPDX-License-Identifier: Apache-2.0
// One write(2) with O_APPEND a line; a line that a full disk cut short is taken back.
#include "results.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <vector>

#include "base/files.h"

namespace sbx::batch {
namespace {

constexpr std::size_t kMostHeld = 65'536;
constexpr std::size_t kMostHeldBytes = std::size_t{1} << 30;
constexpr std::size_t kMostQueuedBytes = std::size_t{8} << 20;
constexpr std::string_view kLineBegins = "{\"id\":";

Error unwritable(const std::string& path, const std::string& why, std::string hint, int error = 0) {
  return Error{ErrorCode::kOutputUnwritable, "the results cannot be written: " + path + ": " + why,
               "--results", std::move(hint), error};
}
Error unwritable(const std::string& path, int error) {
  return unwritable(path, errno_text(error), "name a file in a directory that can be written",
                    error);
}

Status lock(const OwnedFd& file, const std::string& path) {
  if (flock(file.get(), LOCK_EX | LOCK_NB) == 0) return {};
  return unwritable(path, "another batch writes it", "wait for that, or name another");
}

Result<OwnedFd> open_regular(const std::string& path, int flags) {
  OwnedFd file(
      ::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY | flags, 0600));
  if (!file.is_open() && errno == EEXIST) {
    return unwritable(path, "it exists", "--resume goes on with it; or name another", EEXIST);
  }
  if (!file.is_open()) return unwritable(path, errno);
  struct stat info {};
  if (fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return unwritable(path, "not a regular file", "name a regular file");
  }
  // By another of its names a task could write it.
  if (info.st_nlink > 1) {
    return unwritable(path, "it has several names (hard links)", "remove the others, or copy it");
  }
  SBX_CHECK_OK(lock(file, path));
  return file;
}

off_t size_of(int fd) {
  struct stat info {};
  return fstat(fd, &info) == 0 ? info.st_size : 0;
}

// Where the last whole line ends.
off_t end_of_lines(int fd) {
  std::array<char, 65536> chunk;  // filled by pread
  for (off_t end = size_of(fd); end > 0;) {
    const off_t begin = std::max<off_t>(0, end - static_cast<off_t>(chunk.size()));
    const ssize_t size = pread(fd, chunk.data(), static_cast<std::size_t>(end - begin), begin);
    if (size <= 0) return 0;
    const std::size_t newline =
        std::string_view(chunk.data(), static_cast<std::size_t>(size)).rfind('\n');
    if (newline != std::string_view::npos) return begin + static_cast<off_t>(newline) + 1;
    end = begin;
  }
  return 0;
}

// A torn line is one that we began.
bool is_ours(int fd, off_t begin) {
  std::array<char, kLineBegins.size()> head;  // filled by pread
  const ssize_t size = pread(fd, head.data(), head.size(), begin);
  return size >= 0 &&
         kLineBegins.starts_with(std::string_view(head.data(), static_cast<std::size_t>(size)));
}

// Each whole line, with where it begins and how long it is.
using Visit = std::function<Status(const std::string& text, const ResultLine& line, off_t begin)>;

Status visit_lines(int fd, off_t end, const std::string& path, const Visit& visit) {
  std::string buffer;
  std::array<char, 65536> chunk;  // filled by pread
  off_t begin = 0;                // of the line in the buffer
  std::uint64_t number = 0;
  for (off_t at = 0; at < end;) {
    const auto wanted = std::min<std::size_t>(chunk.size(), static_cast<std::size_t>(end - at));
    const ssize_t size = pread(fd, chunk.data(), wanted, at);
    if (size <= 0) return unwritable(path, errno);
    at += size;
    std::string_view rest(chunk.data(), static_cast<std::size_t>(size));
    for (std::size_t newline = rest.find('\n'); newline != std::string_view::npos;
         newline = rest.find('\n')) {
      buffer += rest.substr(0, newline);
      rest.remove_prefix(newline + 1);
      ++number;
      const Result<ResultLine> line = read_result_line(buffer);
      if (!line.ok()) {
        return unwritable(path, "line " + std::to_string(number) + " is no result",
                          "name a file that sbx-run batch wrote");
      }
      SBX_CHECK_OK(visit(buffer, line.value(), begin));
      begin += static_cast<off_t>(buffer.size()) + 1;
      buffer.clear();
    }
    buffer += rest;
    if (buffer.size() > kMostAnswerBytes) {
      return unwritable(path, "it has a line that does not end",
                        "name a file that sbx-run batch wrote");
    }
  }
  return {};
}

// Whole, or nothing of it.
Status append(int fd, std::string_view line, const std::string& path) {
  std::string text(line);
  text += '\n';
  std::size_t done = 0;
  ssize_t size = 0;
  // What cut it short, the next write(2) says.
  do {
    size = write(fd, text.data() + done, text.size() - done);
    if (size > 0) done += static_cast<std::size_t>(size);
  } while (size > 0 && done < text.size());
  if (done == text.size()) return {};
  const int error = size < 0 ? errno : ENOSPC;
  if (done > 0) (void)!ftruncate(fd, lseek(fd, 0, SEEK_CUR) - static_cast<off_t>(done));
  return unwritable(path, errno_text(error),
                    error == EFBIG ? "raise ulimit -f, then --resume" : "make room, then --resume",
                    error);
}

// By its name there is the file that we write.
bool is_in_place(const std::string& path, int fd) {
  struct stat ours {};
  struct stat named {};
  return fstat(fd, &ours) == 0 && lstat(path.c_str(), &named) == 0 && named.st_dev == ours.st_dev &&
         named.st_ino == ours.st_ino;
}

std::string beside(const std::string& path) { return path + ".held"; }

}  // namespace

Result<Results> Results::open(const Options& options, IdSet& ids) {
  Results out;
  out.in_order_ = options.in_order;
  if (options.results != "-") {
    out.path_ = options.results;
    SBX_CHECK_OK(out.open_file(options, ids));
  } else if (options.in_order) {
    FILE* const file = tmpfile();
    if (file == nullptr) return unwritable("a temporary file", errno);
    out.held_file_.reset(fcntl(fileno(file), F_DUPFD_CLOEXEC, 3));
    fclose(file);
  }
  return out;
}

void Results::remove_empty() const {
  if (file_.is_open() && size_of(file_.get()) == 0) unlink(path_.c_str());
  if (!path_.empty() && held_file_.is_open() && size_of(held_file_.get()) == 0) {
    unlink(beside(path_).c_str());
  }
}

Status Results::open_file(const Options& options, IdSet& ids) {
  const int flags = O_APPEND | O_CREAT | (options.resume ? 0 : O_EXCL);
  SBX_TRY(file_, open_regular(path_, flags));
  off_t failed_at = -1;
  if (options.resume) {
    SBX_TRY(failed_at, read_recorded(options, ids));
  }
  if (failed_at >= 0 && !in_order_) SBX_CHECK_OK(without_failed());
  SBX_CHECK_OK(open_held(options.resume, options.resume_failed, ids));
  return failed_at >= 0 && in_order_ ? hold_rest(failed_at) : Status();
}

Result<off_t> Results::read_recorded(const Options& options, IdSet& ids) {
  const off_t end = end_of_lines(file_.get());
  off_t failed_at = -1;
  const auto record = [&](const std::string&, const ResultLine& line, off_t begin) -> Status {
    const bool failed = line.ending != Ending::kDone;
    const bool is_again = failed && options.resume_failed;
    if (is_again && failed_at < 0) failed_at = begin;
    if (is_again || (failed_at >= 0 && in_order_)) return {};
    const unsigned marks = kRecorded | (failed ? kFailed : 0U);
    if (line.id) ids.mark(*line.id, marks);
    if (!line.id && line.line) ids.mark(line_key(*line.line), marks);
    return {};
  };
  SBX_CHECK_OK(visit_lines(file_.get(), end, path_, record));
  if (end != size_of(file_.get()) && !is_ours(file_.get(), end)) {
    return unwritable(path_, "its last line is no result", "name a file that sbx-run batch wrote");
  }
  if (end != size_of(file_.get()) && ftruncate(file_.get(), end) != 0) {
    return unwritable(path_, errno);
  }
  return failed_at;
}

// The same file without what has failed, put in its place in one step. A task may have taken any
// name that it could foresee.
Status Results::without_failed() {
  std::string path = path_ + ".XXXXXX";
  OwnedFd file(mkostemp(path.data(), O_APPEND | O_CLOEXEC));
  if (!file.is_open()) return unwritable(path, errno);
  const auto fill = [&]() -> Status {
    SBX_CHECK_OK(lock(file, path));
    struct stat info {};
    if (fstat(file_.get(), &info) == 0) (void)!fchmod(file.get(), info.st_mode & 0777);
    const auto keep = [&](const std::string& text, const ResultLine& line, off_t) {
      return line.ending == Ending::kDone ? append(file.get(), text, path) : Status();
    };
    SBX_CHECK_OK(visit_lines(file_.get(), size_of(file_.get()), path_, keep));
    if (fsync(file.get()) == 0 && rename(path.c_str(), path_.c_str()) == 0) return {};
    return unwritable(path, errno);
  };
  Status filled = fill();
  if (filled.ok()) {
    file_ = std::move(file);
  } else {
    unlink(path.c_str());
  }
  return filled;
}

// In the order of the input what follows the first that has failed waits for its turn again.
Status Results::hold_rest(off_t begin) {
  const auto keep = [&](const std::string& text, const ResultLine& line, off_t at) -> Status {
    if (at < begin || !line.id || line.ending != Ending::kDone) return {};
    SBX_TRY(earlier_[*line.id], write_held(text));
    return {};
  };
  SBX_CHECK_OK(visit_lines(file_.get(), size_of(file_.get()), path_, keep));
  // Killed before the cut, they are in both: the next one goes by the results.
  if (fsync(held_file_.get()) == 0 && ftruncate(file_.get(), begin) == 0) return {};
  return unwritable(path_, errno);
}

Status Results::open_held(bool is_resumed, bool drops_failed, const IdSet& ids) {
  const std::string path = beside(path_);
  struct stat info {};
  const bool is_there = lstat(path.c_str(), &info) == 0;
  if (is_there && !is_resumed && info.st_size > 0) {
    return unwritable(path, "it exists", "--resume goes on with it; or name another", EEXIST);
  }
  // Also where nothing will be held: what a task could make by that name would be taken up.
  SBX_TRY(held_file_, open_regular(path, O_CREAT));
  return is_there ? read_held(drops_failed, ids) : Status();
}

Status Results::read_held(bool drops_failed, const IdSet& ids) {
  held_end_ = end_of_lines(held_file_.get());
  return visit_lines(held_file_.get(), held_end_, beside(path_),
                     [&](const std::string& text, const ResultLine& line, off_t begin) -> Status {
                       // What was no request is found out again.
                       if (!line.id || (ids.marks(*line.id) & kRecorded) != 0) return {};
                       if (drops_failed && line.ending != Ending::kDone) return {};
                       earlier_[*line.id] = {begin, text.size()};
                       return {};
                     });
}

Result<std::string> Results::read_span(const Span& span) const {
  std::string text(span.size, '\0');
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t size = pread(held_file_.get(), text.data() + at, text.size() - at,
                               span.offset + static_cast<off_t>(at));
    if (size <= 0) return unwritable(beside(path_), size < 0 ? errno : EIO);
    at += static_cast<std::size_t>(size);
  }
  return text;
}

Result<std::string> Results::take_held(std::string_view id) {
  const auto found = earlier_.find(id);
  if (found == earlier_.end()) return std::string();
  const Span span = found->second;
  earlier_.erase(found);
  return read_span(span);
}

bool Results::are_named(std::string_view message) const {
  const std::string path = path_.empty() ? path_ : real_start(path_);
  return !path.empty() &&
         (message.ends_with(": " + path) || message.ends_with(": " + beside(path)));
}

Error Results::gone() const {
  return unwritable(path_, "moved, removed or replaced while the batch ran",
                    "put it back as it was, then --resume; or name another");
}

Status Results::check_in_place() const {
  if (path_.empty()) return {};
  const bool are_ours =
      is_in_place(path_, file_.get()) && is_in_place(beside(path_), held_file_.get());
  return are_ours ? Status() : gone();
}

Status Results::write_line(std::string_view line) {
  if (file_.is_open()) {
    SBX_CHECK_OK(check_in_place());
    return append(file_.get(), line, path_);
  }
  queue_.push(std::string(line));
  return flush();
}

Status Results::flush() {
  if (queue_.flush(STDOUT_FILENO, true) != IoState::kClosed) return {};
  return Error{ErrorCode::kOutputUnwritable, "the results cannot be written to stdout", "stdout",
               "give sbx-run a stdout that is read, or --results FILE"};
}

Result<Results::Span> Results::write_held(std::string_view line) {
  SBX_CHECK_OK(check_in_place());
  std::string text(line);
  text += '\n';
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t size = pwrite(held_file_.get(), text.data() + at, text.size() - at,
                                held_end_ + static_cast<off_t>(at));
    if (size <= 0) return unwritable(beside(path_), size < 0 ? errno : ENOSPC);
    at += static_cast<std::size_t>(size);
  }
  const Span span{held_end_, line.size()};
  held_end_ += static_cast<off_t>(text.size());
  return span;
}

Status Results::hold(std::uint64_t turn, std::string_view line) {
  SBX_TRY(held_[turn], write_held(line));
  held_bytes_ += line.size();
  return {};
}

Status Results::add(std::uint64_t turn, std::string_view line) {
  if (!in_order_) return write_line(line);
  if (turn != next_turn_) return hold(turn, line);
  ++next_turn_;
  SBX_CHECK_OK(write_line(line));
  return give_held();
}

Status Results::give_held() {
  while (!held_.empty() && held_.begin()->first == next_turn_) {
    SBX_TRY(const std::string line, read_span(held_.begin()->second));
    SBX_CHECK_OK(write_line(line));
    held_bytes_ -= line.size();
    held_.erase(held_.begin());
    ++next_turn_;
  }
  if (held_.empty() && earlier_.empty() && held_end_ > 0) {
    held_end_ = 0;
    if (ftruncate(held_file_.get(), 0) != 0) return unwritable(beside(path_), errno);
  }
  return {};
}

bool Results::is_full() const {
  return held_.size() >= kMostHeld || held_bytes_ >= kMostHeldBytes ||
         queue_.bytes() >= kMostQueuedBytes;
}

Status Results::close(bool is_whole) {
  if (is_whole) {
    while (!earlier_.empty()) {
      SBX_TRY(const std::string line, take_held(earlier_.begin()->first));
      SBX_CHECK_OK(write_line(line));
    }
  }
  // Nobody can resume what went to standard output.
  for (auto held = held_.begin(); path_.empty() && held != held_.end(); held = held_.erase(held)) {
    SBX_TRY(const std::string line, read_span(held->second));
    SBX_CHECK_OK(write_line(line));
  }
  SBX_CHECK_OK(check_in_place());
  const bool is_needed = !held_.empty() || !earlier_.empty();
  if (held_file_.is_open() && !path_.empty() && !is_needed) unlink(beside(path_).c_str());
  return {};
}

}  // namespace sbx::batch
