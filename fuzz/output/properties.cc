// SPDX-License-Identifier: Apache-2.0
// The properties of the output room, stated without its inner workings.
#include "properties.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "output/capture.h"
#include "output/utf8.h"

namespace sbx {
namespace {

constexpr std::size_t kControlBytes = 4;
constexpr std::size_t kMostStreamBytes = 4096;

std::uint8_t byte_at(std::string_view text, std::size_t at) {
  return static_cast<std::uint8_t>(text[at]);
}

CapturedText capture_in_chunks(CaptureLimits limits, std::string_view stream, std::size_t chunk) {
  Capture capture(limits);
  for (std::size_t at = 0; at < stream.size(); at += chunk)
    capture.append(stream.substr(at, chunk));
  return capture.finish(false);
}

std::int64_t lines_of(std::string_view text) {
  const auto newlines = std::count(text.begin(), text.end(), '\n');
  return newlines + (!text.empty() && text.back() != '\n' ? 1 : 0);
}

// Takes `prefix` off the front of `text`.
bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

bool take_count(std::string_view& text, std::uint64_t& count) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  if (digits == 0 || digits > 10) return false;
  count = std::strtoull(std::string(text.substr(0, digits)).c_str(), nullptr, 10);
  text.remove_prefix(digits);
  return true;
}

// Whether `text` is the first `head` bytes of the stream, a marker, and the stream's end, with the
// marker counting exactly what is between.
bool explains(std::string_view stream, std::string_view text, std::size_t head,
              const CaptureLimits& limits) {
  const std::string_view first = stream.substr(0, head);
  if (!take(text, repair_utf8(first))) return false;
  if (head > 0 && first.back() != '\n' && !take(text, "\n")) return false;
  std::uint64_t left_out = 0;
  if (!take(text, "[... ") || !take_count(text, left_out) || !take(text, " bytes")) return false;
  std::uint64_t lines = 0;
  if (take(text, ", ") && !(take_count(text, lines) && take(text, " lines"))) return false;
  if (!take(text, " left out ...]\n") || left_out == 0 || left_out + head > stream.size()) {
    return false;
  }
  const std::string_view last = stream.substr(head + left_out);
  const auto kept = static_cast<std::int64_t>(head + last.size());
  if (limits.bytes && kept > *limits.bytes) return false;
  // A line that only the byte limit cut stands for two: its beginning and its end.
  const std::int64_t cut_line = lines_of(stream) > limits.lines.value_or(0) ? 0 : 1;
  if (limits.lines && lines_of(first) + lines_of(last) > *limits.lines + cut_line) return false;
  return text == repair_utf8(last);
}

bool whole_is_kept(std::string_view stream, const CaptureLimits& limits) {
  const auto size = static_cast<std::int64_t>(stream.size());
  return (!limits.bytes || size <= *limits.bytes) &&
         (!limits.lines || lines_of(stream) <= *limits.lines);
}

}  // namespace

bool utf8_repair_holds(std::string_view input) {
  const std::string repaired = repair_utf8(input);
  const std::size_t valid = valid_utf8_prefix(input);
  if (!is_valid_utf8(repaired) || repair_utf8(repaired) != repaired) return false;
  if (valid > input.size() || repaired.substr(0, valid) != input.substr(0, valid)) return false;
  if (valid == input.size()) return repaired == input;
  const std::size_t cut = cut_character_suffix(input);
  return cut <= 3 && cut <= input.size() && repaired.substr(valid, 3) == "\xEF\xBF\xBD" &&
         (cut == 0 ||
          repaired == repair_utf8(input.substr(0, input.size() - cut)) + "\xEF\xBF\xBD");
}

bool capture_holds(std::string_view input) {
  if (input.size() < kControlBytes) return true;
  CaptureLimits limits;
  if (byte_at(input, 0) != 0xff) limits.bytes = byte_at(input, 0) * 3;
  if (byte_at(input, 1) < 0x40) limits.lines = byte_at(input, 1);
  const std::size_t chunk = byte_at(input, 2) % 97 + 1;
  const bool nothing_first = byte_at(input, 3) % 2 == 1;
  const std::string_view stream = input.substr(kControlBytes, kMostStreamBytes);

  Capture whole(limits);
  if (nothing_first) whole.append({});
  whole.append(stream);
  const CapturedText result = whole.finish(false);
  const CapturedText chunked = capture_in_chunks(limits, stream, chunk);
  if (chunked.text != result.text || chunked.truncated != result.truncated) return false;
  if (result.bytes != stream.size() || result.base64 || !is_valid_utf8(result.text)) return false;
  if (result.truncated == whole_is_kept(stream, limits)) return false;
  if (!result.truncated) return result.text == repair_utf8(stream);
  for (std::size_t head = 0; head <= stream.size(); ++head) {
    if (explains(stream, result.text, head, limits)) return true;
  }
  return false;
}

}  // namespace sbx
