// SPDX-License-Identifier: Apache-2.0
// Lines in and out.
#include "rpc/framing.h"

#include <limits.h>
#include <poll.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/files.h"

namespace sbx {
namespace {

constexpr std::size_t kHeadOfTooLong = 4096;

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

std::string_view without_return(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

}  // namespace

void LineReader::feed(std::string_view bytes) {
  if (begin_ == buffer_.size()) {
    buffer_.clear();
    begin_ = scanned_ = 0;
    // What one long line needed is not kept for the life of a connection.
    if (buffer_.capacity() > (std::size_t{1} << 20)) buffer_.shrink_to_fit();
  }
  if (skipping_) {
    const std::size_t end = bytes.find('\n');
    if (end == std::string_view::npos) return;
    skipping_ = false;
    bytes.remove_prefix(end + 1);
  }
  buffer_ += bytes;
}

std::optional<Line> LineReader::next() {
  for (;;) {
    const std::size_t end = buffer_.find('\n', scanned_);
    const std::size_t size = (end == std::string::npos ? buffer_.size() : end) - begin_;
    if (size > max_) {
      std::string head = buffer_.substr(begin_, std::min(max_, kHeadOfTooLong));
      skipping_ = end == std::string::npos;
      begin_ = scanned_ = skipping_ ? buffer_.size() : end + 1;
      return Line{{}, true, ++taken_, std::move(head)};
    }
    if (end == std::string::npos) {
      scanned_ = buffer_.size();
      if (begin_ > 0) {
        buffer_.erase(0, begin_);
        scanned_ -= begin_;
        begin_ = 0;
      }
      return std::nullopt;
    }
    const std::string_view line(buffer_.data() + begin_, size);
    begin_ = scanned_ = end + 1;
    ++taken_;
    if (!is_blank(line)) return Line{std::string(without_return(line)), false, taken_};
  }
}

std::optional<Line> LineReader::rest() {
  if (auto line = next()) return line;
  const std::string_view line = std::string_view(buffer_).substr(begin_);
  begin_ = scanned_ = buffer_.size();
  if (is_blank(line)) return std::nullopt;
  return Line{std::string(without_return(line)), false, ++taken_};
}

IoState read_some(int fd, LineReader& reader) {
  std::array<char, 65536> chunk;  // filled by read
  const ssize_t size = read(fd, chunk.data(), chunk.size());
  if (size > 0) {
    reader.feed({chunk.data(), static_cast<std::size_t>(size)});
    return IoState::kOpen;
  }
  if (size == 0) return IoState::kClosed;
  return errno == EAGAIN || errno == EINTR ? IoState::kBlocked : IoState::kClosed;
}

void LineQueue::push(std::string line) {
  line += '\n';
  bytes_ += line.size();
  lines_.push_back(std::move(line));
}

ssize_t LineQueue::write_some(int fd, bool may_block) const {
  std::array<struct iovec, 64> parts;  // filled below
  const std::size_t count = may_block ? 1 : std::min(parts.size(), lines_.size());
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t skip = i == 0 ? written_ : 0;
    parts[i] = {const_cast<char*>(lines_[i].data()) + skip, lines_[i].size() - skip};
  }
  if (may_block) {
    if (!is_ready(fd, POLLOUT)) {
      errno = EAGAIN;
      return -1;
    }
    parts[0].iov_len = std::min<std::size_t>(parts[0].iov_len, PIPE_BUF);
  }
  return writev(fd, parts.data(), static_cast<int>(count));
}

IoState LineQueue::flush(int fd, bool may_block) {
  while (!lines_.empty()) {
    const ssize_t size = write_some(fd, may_block);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return errno == EAGAIN ? IoState::kBlocked : IoState::kClosed;
    bytes_ -= static_cast<std::size_t>(size);
    written_ += static_cast<std::size_t>(size);
    while (!lines_.empty() && written_ >= lines_.front().size()) {
      written_ -= lines_.front().size();
      lines_.pop_front();
    }
  }
  return IoState::kOpen;
}

}  // namespace sbx
