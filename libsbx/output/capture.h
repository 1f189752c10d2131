// SPDX-License-Identifier: Apache-2.0
// Capture: the bytes of one stream → a bounded head and tail, with exact counts. Memory is bounded
// by the cap, whatever the command writes. Values only: the caller reads the pipe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sbx {

struct CaptureLimits {
  // Raw bytes kept at the most; nullopt keeps everything (the caller has bounded it elsewhere).
  std::optional<std::int64_t> bytes;
  // Lines kept at the most.
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
  // plus a constant.
  void append(std::string_view bytes);

  std::uint64_t bytes() const { return total_; }

  // Head, a marker line with the exact number of bytes left out (and lines, where a line limit
  // cut), tail; cut on character boundaries; each maximal ill-formed sequence of UTF-8 becomes one
  // U+FFFD. With `exact_bytes`, bytes that are not UTF-8 are given as base64 of head + marker +
  // tail.
  CapturedText finish(bool exact_bytes) const;

 private:
  CaptureLimits limits_;
  std::uint64_t total_ = 0;
  std::string head_;
  std::string tail_;  // a ring of capacity tail_cap once full
};

}  // namespace sbx
