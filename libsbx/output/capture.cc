// SPDX-License-Identifier: Apache-2.0
// Head and tail of a stream. The tail is weighted three to one, since a build's last lines say
// what went wrong.
#include "output/capture.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/utf8.h"
#include "json/base64.h"
#include "output/redact.h"

namespace sbx {
namespace {

constexpr std::size_t kHeadShare = 4;  // one part in four

std::size_t as_cap(std::int64_t limit) {
  return static_cast<std::size_t>(std::max<std::int64_t>(limit, 0));
}

constexpr std::size_t kMarkerRoom = 96;

// Appends without std::string's doubling past what the cap and a marker will ever need.
void append_within(std::string& text, std::string_view bytes, std::size_t cap) {
  const std::size_t size = text.size() + bytes.size();
  if (size > text.capacity()) {
    text.reserve(std::max(size, std::min(cap, text.capacity() * 2)) + kMarkerRoom);
  }
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
  if (!limits_.bytes) return;
  cap_ = as_cap(*limits_.bytes);
  head_cap_ = cap_ / kHeadShare;
}

void Capture::append(std::string_view bytes) {
  if (bytes.empty()) return;
  total_ += bytes.size();
  if (limits_.lines) newlines_ += count_newlines(bytes);
  open_line_ = bytes.back() != '\n';
  if (text_.size() < cap_) {
    const std::string_view first = bytes.substr(0, cap_ - text_.size());
    append_within(text_, first, cap_);
    bytes.remove_prefix(first.size());
  }
  if (!bytes.empty() && cap_ > head_cap_) append_to_ring(bytes);
}

// A key without an end is as long as a command likes: what is more than all that is kept is only
// counted.
void Capture::append_hidden(std::uint64_t bytes) {
  static constexpr std::string_view kPiece =
      "****************************************************************";
  const std::uint64_t most = limits_.bytes ? 2 * std::uint64_t{cap_} : bytes;
  std::uint64_t left = std::min(bytes, most);
  total_ += bytes - left;
  open_line_ = true;
  while (left > 0) {
    const std::size_t size = std::min<std::uint64_t>(left, kPiece.size());
    append(kPiece.substr(0, size));
    left -= size;
  }
}

void Capture::hide(std::uint64_t bytes, bool mark) {
  if (bytes == 0) return;
  const std::uint64_t begin = total_;
  append_hidden(bytes);
  if (!mark && !hidden_.empty() && hidden_.back().end == begin) {
    hidden_.back().end = total_;
    return;
  }
  if (hidden_.size() >= most_hidden_) {
    const std::uint64_t tail = total_ - std::min<std::uint64_t>(total_, cap_ - head_cap_);
    std::erase_if(hidden_,
                  [&](const Hidden& one) { return one.begin >= head_cap_ && one.end <= tail; });
    most_hidden_ = std::max(most_hidden_, 2 * hidden_.size());
  }
  hidden_.push_back({begin, total_, mark});
}

// A part of the stream that is kept, from its byte `begin` on, with marks for what is hidden.
std::string Capture::shown(std::string_view part, std::uint64_t begin) const {
  const std::uint64_t end = begin + part.size();
  std::string text;
  std::uint64_t done = begin;
  for (const Hidden& one : hidden_) {
    if (one.end <= begin || one.begin >= end) continue;
    if (one.begin > done) text += part.substr(done - begin, one.begin - done);
    if (one.mark) text += kReplacement;
    done = std::min(one.end, end);
  }
  return text.append(part.substr(done - begin));
}

void Capture::append_to_ring(std::string_view bytes) {
  const std::size_t size = cap_ - head_cap_;
  char* const ring = text_.data() + head_cap_;
  if (bytes.size() >= size) {
    std::memcpy(ring, bytes.data() + bytes.size() - size, size);
    oldest_ = 0;
    return;
  }
  const std::size_t to_end = std::min(bytes.size(), size - oldest_);
  std::memcpy(ring + oldest_, bytes.data(), to_end);
  std::memcpy(ring, bytes.data() + to_end, bytes.size() - to_end);
  oldest_ = (oldest_ + bytes.size()) % size;
}

// Views of text_, whose ring is in order.
Capture::Kept Capture::select() const {
  const std::string_view whole = text_;
  const std::uint64_t lines = newlines_ + (open_line_ ? 1 : 0);
  Kept kept{whole, {}, limits_.lines && lines > as_cap(*limits_.lines)};
  if (whole.size() == total_) {
    if (kept.cut_by_lines) kept.tail = whole;
  } else {
    kept.head = whole.substr(0, head_cap_);
    kept.tail = whole.substr(head_cap_);
    kept.head.remove_suffix(cut_character_suffix(kept.head));
    kept.tail.remove_prefix(cut_character_prefix(kept.tail));
  }
  if (kept.cut_by_lines) {
    const std::size_t head_lines = as_cap(*limits_.lines) / kHeadShare;
    kept.head = first_lines(kept.head, head_lines);
    kept.tail = last_lines(kept.tail, as_cap(*limits_.lines) - head_lines);
  }
  return kept;
}

std::string Capture::marker(const Kept& kept, std::uint64_t left_out) const {
  std::string marker;
  if (!kept.head.empty() && kept.head.back() != '\n') marker += '\n';
  marker += "[... " + std::to_string(left_out) + " bytes";
  if (kept.cut_by_lines) {
    const std::uint64_t here = count_newlines(kept.head) + count_newlines(kept.tail);
    marker += ", " + std::to_string(newlines_ - here) + " lines";
  }
  return marker + " left out ...]\n";
}

CapturedText Capture::finish(bool exact_bytes) {
  CapturedText result;
  result.bytes = total_;
  if (oldest_ != 0) {
    const auto ring = text_.begin() + static_cast<std::ptrdiff_t>(head_cap_);
    std::rotate(ring, ring + static_cast<std::ptrdiff_t>(oldest_), text_.end());
  }
  const Kept kept = select();
  const std::uint64_t left_out = total_ - kept.head.size() - kept.tail.size();
  result.truncated = left_out > 0;
  if (!hidden_.empty()) {
    std::string text = shown(kept.head, 0);
    if (result.truncated) text += marker(kept, left_out);
    text_ = text += shown(kept.tail, total_ - kept.tail.size());
  } else if (result.truncated) {
    const std::size_t gap = text_.size() - kept.head.size() - kept.tail.size();
    text_.replace(kept.head.size(), gap, marker(kept, left_out));
  }
  if (is_valid_utf8(text_)) {
    result.text = std::move(text_);
  } else if (exact_bytes) {
    result.text = base64_encode(text_);
    result.base64 = true;
  } else {
    append_repaired_utf8(result.text, text_);
  }
  return result;
}

}  // namespace sbx
