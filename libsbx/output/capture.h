// SPDX-License-Identifier: Apache-2.0
// Capture: the bytes of one stream → a bounded head and tail, with exact counts. Memory is bounded
// by the cap, whatever the command writes, and nothing is allocated before the first byte. Values
// only: the caller reads the pipe. A merged stream is one Capture fed in the order of arrival.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sbx {

struct CaptureLimits {
  // Bytes of the stream kept at the most; nullopt keeps everything (the caller has bounded it
  // elsewhere).
  std::optional<std::int64_t> bytes;
  // Lines kept at the most; a last line without a newline is a line.
  std::optional<std::int64_t> lines;
};

struct CapturedText {
  std::string text;  // valid UTF-8, or base64 of the raw kept bytes when `base64`
  std::uint64_t bytes = 0;
  bool truncated = false;
  bool base64 = false;
};

class Capture {
 public:
  explicit Capture(CaptureLimits limits);

  // Takes the next bytes of the stream. Amortised O(n); never keeps more than the limits allow
  // plus a constant. The result does not depend on how the stream was cut into calls.
  void append(std::string_view bytes);
  // The next `bytes` of the stream are a secret: they count, and are not kept. With `mark`,
  // [REDACTED] stands for them in each part that holds one of them; without, nothing does, or the
  // mark right before them.
  void hide(std::uint64_t bytes, bool mark);

  std::uint64_t bytes() const { return total_; }

  // The first quarter of the limits, a marker line, the last three quarters; all of it and no
  // marker where nothing was left out. Cut on character boundaries: a character that a cut would
  // split is left out whole and counted. Each maximal ill-formed sequence of UTF-8 becomes one
  // U+FFFD. With `exact_bytes`, kept bytes that are not UTF-8 are given as base64 of head + marker
  // + tail. The marker is `[... N bytes left out ...]`, or `[... N bytes, M lines left out ...]`
  // where the line limit cut; N is exact. Once: what is kept becomes the text, without a copy where
  // it is UTF-8.
  CapturedText finish(bool exact_bytes);

 private:
  struct Kept;
  struct Hidden {
    std::uint64_t begin;
    std::uint64_t end;
    bool mark;
  };

  void append_hidden(std::uint64_t bytes);
  std::string shown(std::string_view part, std::uint64_t begin) const;
  void append_to_ring(std::string_view bytes);
  Kept select() const;
  std::string marker(const Kept& kept, std::uint64_t left_out) const;

  CaptureLimits limits_;
  std::size_t cap_ = std::numeric_limits<std::size_t>::max();
  std::size_t head_cap_ = cap_;
  std::uint64_t total_ = 0;
  std::uint64_t newlines_ = 0;    // counted only under a line limit
  bool open_line_ = false;        // the last byte was not a newline
  std::string text_;              // head, and tail: a ring once there are cap_ bytes
  std::size_t oldest_ = 0;        // of the ring
  std::vector<Hidden> hidden_;    // of what is kept, and some more
  std::size_t most_hidden_ = 64;  // before those that are not kept any more go
};

}  // namespace sbx
