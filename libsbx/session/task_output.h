// SPDX-License-Identifier: Apache-2.0
// TaskOutput: the redacted bytes of a task's two streams → bounded, valid text that any number of
// readers take from offsets of their own. One 64-bit offset covers both streams: it counts every
// byte that was ever kept, in the order of arrival. Memory grows with what is written. Values only.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "output/stream.h"

namespace sbx {

struct TaskOutputLimits {
  std::size_t stream_bytes = std::size_t{1} << 20;  // kept of each stream at the most
  // Kept of both together at the most; a last line without a newline is a line.
  std::optional<std::int64_t> lines;
};

class TaskOutput {
 public:
  explicit TaskOutput(const TaskOutputLimits& limits) : limits_(limits) {}

  // Ill-formed UTF-8 is repaired; a character that is cut off waits for its rest.
  void append(OutputChannel channel, std::string_view bytes);
  // The end of both streams: what waits is all there is.
  void finish();

  struct Text {
    std::string out;
    std::string err;
    std::uint64_t next = 0;     // where to go on reading
    std::uint64_t dropped = 0;  // bytes between `since` and `next` that are no longer kept
  };
  // All that is kept from `since` on, which is at most end().
  Text read(std::uint64_t since) const;

  struct Piece {
    OutputChannel channel = OutputChannel::kOut;
    std::string_view text;      // valid until the next call that is not const; empty at the end
    std::uint64_t offset = 0;   // of its first byte; the next piece begins where it ends, or later
    std::uint64_t dropped = 0;  // bytes between `since` and `offset`
  };
  // The first piece that is kept from `since` on, of one stream, at most 16 KiB.
  Piece next_piece(std::uint64_t since) const;

  std::uint64_t end() const { return end_; }
  std::uint64_t written(OutputChannel channel) const { return stream(channel).written; }
  std::uint64_t dropped() const { return end_ - kept_bytes(); }
  std::size_t kept_bytes() const { return streams_[0].kept + streams_[1].kept; }
  bool has_dropped(OutputChannel channel) const {
    return stream(channel).kept < stream(channel).written;
  }

  // From now on keeps at most this much of each stream, where that is less.
  void lower_limit(std::size_t stream_bytes);

 private:
  static constexpr std::size_t kPieceBytes = std::size_t{16} << 10;
  // Bounds what many small pieces cost beside their text.
  static constexpr std::size_t kMostPieces = std::size_t{1} << 15;

  struct Kept {
    std::uint64_t offset = 0;  // of the text's first byte, dropped or not
    std::string text;
    std::size_t begin = 0;  // bytes at the start that have been dropped
    std::uint64_t first() const { return offset + begin; }
    std::uint64_t last() const { return offset + text.size(); }
  };
  struct Stream {
    std::deque<Kept> pieces;
    std::string cut;  // the beginning of a character
    std::size_t kept = 0;
    std::int64_t lines = 0;  // newlines that are kept
    std::uint64_t written = 0;
    // Lines: a last one without a newline is one.
    std::int64_t count() const {
      return lines + (!pieces.empty() && pieces.back().text.back() != '\n' ? 1 : 0);
    }
  };

  Stream& stream(OutputChannel channel) { return streams_[static_cast<std::size_t>(channel)]; }
  const Stream& stream(OutputChannel channel) const {
    return streams_[static_cast<std::size_t>(channel)];
  }
  void keep(Stream& stream, std::string_view text);
  void enforce(Stream& stream);
  static void drop(Stream& stream, std::size_t bytes);
  void drop_oldest_line();
  // The piece that holds `since`, or the first one behind it.
  static std::deque<Kept>::const_iterator find(const Stream& stream, std::uint64_t since);

  TaskOutputLimits limits_;
  std::array<Stream, 2> streams_;
  std::uint64_t end_ = 0;
};

}  // namespace sbx
