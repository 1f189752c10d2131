// SPDX-License-Identifier: Apache-2.0
// Framing: bytes ↔ lines. One message a line in both directions, with a bound on each line that is
// read and a count of what waits to be written. Knows nothing of JSON; shared by serve, mcp and the
// clients.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

namespace sbx {

constexpr std::size_t kMaxLineBytes = std::size_t{16} << 20;
// Of the server's own lines: a result holds two streams of a command, and the server gives up on a
// client for which half of that waits.
constexpr std::size_t kMostAnswerBytes = std::size_t{256} << 20;

struct Line {
  std::string text;          // without its end ("\n" or "\r\n")
  bool too_long = false;     // over the bound: `text` is empty, the rest of the line is thrown away
  std::uint64_t number = 0;  // counted from 1, with those that are blank
  std::string head = {};     // the first 4 KiB of one that is too long
};

// Bytes in, whole lines out. Blank lines are left out. Holds at most one line and what was fed.
class LineReader {
 public:
  explicit LineReader(std::size_t max_line_bytes = kMaxLineBytes) : max_(max_line_bytes) {}

  void feed(std::string_view bytes);
  // The next line that is complete, or known to be too long (said once, as soon as it is known).
  std::optional<Line> next();
  // The last line where it has no end, at end of file.
  std::optional<Line> rest();
  std::size_t held_bytes() const { return buffer_.capacity(); }

 private:
  std::size_t max_;
  std::string buffer_;
  std::size_t begin_ = 0;    // of the first line that has not been taken
  std::size_t scanned_ = 0;  // no line ends between begin_ and here
  std::uint64_t taken_ = 0;  // lines before begin_
  bool skipping_ = false;    // within a line that is too long
};

enum class IoState : std::uint8_t {
  kOpen,     // may go on
  kBlocked,  // nothing more at the moment
  kClosed,   // end of file, or the other side has gone
};

// Reads once into `reader`, from a descriptor that does not block or that can be read.
IoState read_some(int fd, LineReader& reader);

// Lines on their way out.
class LineQueue {
 public:
  void push(std::string line);  // the end of the line is added
  // Writes what goes. kOpen: all is written; kBlocked: poll for writing; kClosed: nobody reads.
  // A descriptor that may block (standard output, whose flags are shared with others) is asked
  // before each write, which then takes what pipe(7) promises not to block.
  IoState flush(int fd, bool may_block = false);
  std::size_t bytes() const { return bytes_; }
  bool empty() const { return bytes_ == 0; }

 private:
  ssize_t write_some(int fd, bool may_block) const;

  std::deque<std::string> lines_;
  std::size_t written_ = 0;  // of the first
  std::size_t bytes_ = 0;
};

}  // namespace sbx
