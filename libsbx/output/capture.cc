// SPDX-License-Identifier: Apache-2.0
// Head and tail of a stream. The tail is weighted three to one, since a build's last lines say
// what went wrong.
#include "output/capture.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/utf8.h"
#include "json/base64.h"

namespace sbx {
namespace {

constexpr std::size_t kHeadShare = 4;  // one part in four

std::size_t as_cap(std::int64_t limit) {
  return static_cast<std::size_t>(std::max<std::int64_t>(limit, 0));
}

// Appends without std::string's doubling past what the cap will ever need.
void append_within(std::string& text, std::string_view bytes, std::size_t cap) {
  const std::size_t size = text.size() + bytes.size();
  if (size > text.capacity()) text.reserve(std::max(size, std::min(cap, text.capacity() * 2)));
  text.append(bytes);
}

std::uint64_t count_newlines(std::string_view text) {
  std::uint64_t count = 0;
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string_view::npos; ++at) ++count;
  return count;
}

std::string_view first_lines(std::string_view text, std::size_t lines) {
  std::size_t at = 0;
  for (; lines > 0; --lines) {
    const std::size_t newline = text.find('\n', at);
    if (newline == std::string_view::npos) return text;
    at = newline + 1;
  }
  return text.substr(0, at);
}

std::string_view last_lines(std::string_view text, std::size_t lines) {
  if (lines == 0 || text.empty()) return {};
  std::size_t end = text.size() - 1;  // a newline in the last place ends the last line
  for (;;) {
    const std::size_t newline = text.substr(0, end).rfind('\n');
    if (newline == std::string_view::npos) return text;
    if (--lines == 0) return text.substr(newline + 1);
    end = newline;
  }
}

}  // namespace

struct Capture::Kept {
  std::string_view head;
  std::string_view tail;
  bool cut_by_lines = false;
};

Capture::Capture(CaptureLimits limits) : limits_(limits) {
  if (limits_.bytes) {
    head_cap_ = as_cap(*limits_.bytes) / kHeadShare;
    tail_cap_ = as_cap(*limits_.bytes) - head_cap_;
  } else {
    head_cap_ = std::numeric_limits<std::size_t>::max();
  }
}

void Capture::append(std::string_view bytes) {
  if (bytes.empty()) return;
  total_ += bytes.size();
  if (limits_.lines) newlines_ += count_newlines(bytes);
  open_line_ = bytes.back() != '\n';
  if (head_.size() < head_cap_) {
    const std::string_view first = bytes.substr(0, head_cap_ - head_.size());
    append_within(head_, first, head_cap_);
    bytes.remove_prefix(first.size());
  }
  if (!bytes.empty() && tail_cap_ > 0) append_to_tail(bytes);
}

void Capture::append_to_tail(std::string_view bytes) {
  if (bytes.size() >= tail_cap_) {
    tail_.assign(bytes.substr(bytes.size() - tail_cap_));
    tail_start_ = 0;
    return;
  }
  if (tail_.size() < tail_cap_) {
    const std::string_view first = bytes.substr(0, tail_cap_ - tail_.size());
    append_within(tail_, first, tail_cap_);
    bytes.remove_prefix(first.size());
  }
  const std::size_t to_end = std::min(bytes.size(), tail_cap_ - tail_start_);
  std::memcpy(tail_.data() + tail_start_, bytes.data(), to_end);
  std::memcpy(tail_.data(), bytes.data() + to_end, bytes.size() - to_end);
  tail_start_ = (tail_start_ + bytes.size()) % tail_cap_;
}

// `whole` is storage for the views returned: head and tail as they are kept, one after the other.
Capture::Kept Capture::select(std::string& whole) const {
  whole.reserve(head_.size() + tail_.size());
  whole.append(head_).append(tail_, tail_start_).append(tail_, 0, tail_start_);
  const std::uint64_t lines = newlines_ + (open_line_ ? 1 : 0);
  const bool too_many_lines = limits_.lines && lines > as_cap(*limits_.lines);
  Kept kept;
  kept.cut_by_lines = too_many_lines;
  if (whole.size() == total_) {
    kept.head = whole;
    if (too_many_lines) kept.tail = whole;
  } else {
    kept.head = std::string_view(whole).substr(0, head_.size());
    kept.tail = std::string_view(whole).substr(head_.size());
    kept.head.remove_suffix(cut_character_suffix(kept.head));
    kept.tail.remove_prefix(cut_character_prefix(kept.tail));
  }
  if (too_many_lines) {
    const std::size_t head_lines = as_cap(*limits_.lines) / kHeadShare;
    kept.head = first_lines(kept.head, head_lines);
    kept.tail = last_lines(kept.tail, as_cap(*limits_.lines) - head_lines);
  }
  return kept;
}

CapturedText Capture::finish(bool exact_bytes) const {
  CapturedText result;
  result.bytes = total_;
  if (total_ == 0) return result;
  std::string whole;
  const Kept kept = select(whole);
  const std::uint64_t left_out = total_ - kept.head.size() - kept.tail.size();
  result.truncated = left_out > 0;
  std::string marker;
  if (result.truncated) {
    if (!kept.head.empty() && kept.head.back() != '\n') marker += '\n';
    marker += "[... " + std::to_string(left_out) + " bytes";
    if (kept.cut_by_lines) {
      const std::uint64_t here = count_newlines(kept.head) + count_newlines(kept.tail);
      marker += ", " + std::to_string(newlines_ - here) + " lines";
    }
    marker += " left out ...]\n";
  }
  result.base64 = exact_bytes && !(is_valid_utf8(kept.head) && is_valid_utf8(kept.tail));
  if (result.base64) {
    result.text = base64_encode(std::string(kept.head) + marker + std::string(kept.tail));
    return result;
  }
  result.text.reserve(kept.head.size() + marker.size() + kept.tail.size());
  append_repaired_utf8(result.text, kept.head);
  result.text += marker;
  append_repaired_utf8(result.text, kept.tail);
  return result;
}

}  // namespace sbx
