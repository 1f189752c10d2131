// SPDX-License-Identifier: Apache-2.0
// The properties of the output room, stated without its inner workings.
#include "properties.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "output/capture.h"
#include "output/redact.h"
#include "output/result_line.h"
#include "output/terminal_text.h"

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

std::string terminal_text(TerminalText::Kind kind, std::string_view stream, std::size_t chunk) {
  TerminalText text(kind);
  std::string out;
  for (std::size_t at = 0; at < stream.size(); at += chunk) {
    out += text.append(stream.substr(at, chunk));
  }
  return out + text.finish();
}

// ESC [ digits ; : m, and no other control character but what moves along a line.
bool is_text_and_colours(std::string_view text, bool colours) {
  if (!is_valid_utf8(text)) return false;
  bool is_coloured = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::uint8_t byte = byte_at(text, at);
    if (byte == 0xc2 && byte_at(text, at + 1) < 0xa0) return false;  // C1
    if (byte == 0x1b) {
      const std::size_t end = text.find_first_not_of("0123456789;:", at + 2);
      if (!colours || text[at + 1] != '[' || end == std::string_view::npos || text[end] != 'm') {
        return false;
      }
      const std::string_view parameters = text.substr(at + 2, end - at - 2);
      is_coloured = !parameters.empty() && parameters != "0";
      at = end;
    } else if ((byte < 0x20 && std::string_view("\n\r\t\b").find(text[at]) == std::string::npos) ||
               byte == 0x7f) {
      return false;
    }
  }
  return !is_coloured;
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

namespace {

struct Redacted {
  std::string text;
  std::uint64_t count = 0;
  bool is_exact = true;  // each piece that was given out stands in the stream where it says
};

// Without patterns of a profile, beside which no unfinished line is shown.
enum class Lines : unsigned char { kWithPatterns, kWhole, kShown };

// Chunks of `first` and `second` bytes in turn.
Redacted redact_in_chunks(std::string_view stream, const std::vector<std::string>& exact,
                          std::size_t first, std::size_t second,
                          Lines lines = Lines::kWithPatterns) {
  static const std::shared_ptr<const RuleSet> rules = RuleSet::make({"ab+c|[0-9]{9}"}).value();
  static const std::shared_ptr<const RuleSet> none = RuleSet::make({}).value();
  Redactor redactor(lines == Lines::kWithPatterns ? rules : none, exact);
  Redacted result;
  const Redactor::Sink sink = [&](std::string_view bytes) {
    result.text += bytes;
    const std::uint64_t end = redactor.given();
    const bool is_mark = bytes == kReplacement;
    result.is_exact &= is_mark || (end >= bytes.size() && end <= stream.size() &&
                                   stream.substr(end - bytes.size(), bytes.size()) == bytes);
  };
  for (std::size_t at = 0; at < stream.size(); std::swap(first, second)) {
    redactor.append(stream.substr(at, first), sink);
    at += first;
    if (lines == Lines::kShown) redactor.show(sink);
  }
  redactor.finish(sink);
  result.count = redactor.count();
  result.is_exact &= redactor.given() == stream.size();
  return result;
}

constexpr std::string_view kMark = "[REDACTED]";

// Whether `shown` is `redacted`, but for at most 7 bytes before or in the place of each mark.
bool shows_no_more(std::string_view redacted, std::string_view shown) {
  constexpr std::size_t kMostShown = 7;
  std::set<std::size_t> ends = {0};
  for (bool is_first = true;; is_first = false) {
    const std::size_t size = std::min(redacted.find(kMark), redacted.size());
    const std::string_view part = redacted.substr(0, size);
    std::set<std::size_t> next;
    const auto go_on = [&](std::size_t at) {
      if (shown.substr(std::min(at, shown.size())).starts_with(part)) next.insert(at + size);
    };
    for (const std::size_t end : ends) {
      if (is_first) go_on(end);
      for (std::size_t more = 0; !is_first && more <= kMostShown; ++more) {
        const std::size_t at = std::min(end + more, shown.size());
        if (shown.substr(at).starts_with(kMark)) go_on(at + kMark.size());
        if (more > 0 && end + more <= shown.size()) go_on(at);
      }
    }
    if (size == redacted.size()) return next.contains(shown.size());
    redacted.remove_prefix(size + kMark.size());
    ends = std::move(next);
  }
}

}  // namespace

bool redactor_holds(std::string_view input) {
  if (input.size() < 3) return true;
  constexpr std::size_t kMostPieces = 1024;  // each is looked at with all of a line that is open
  const std::size_t first =
      std::max<std::size_t>(byte_at(input, 0) % 50 + 1, input.size() / kMostPieces);
  const std::size_t second = byte_at(input, 1) * 300U + 1;
  const std::size_t exact_size = byte_at(input, 2) % 24;
  const std::string exact(input.substr(3, exact_size));
  const std::string_view stream = input.substr(std::min(input.size(), 3 + exact_size));
  std::vector<std::string> values;
  if (exact.find('\n') == std::string::npos) values.push_back(exact);

  const Redacted whole =
      redact_in_chunks(stream, values, std::max<std::size_t>(stream.size(), 1), 1);
  const Redacted chunked = redact_in_chunks(stream, values, first, second);
  if (whole.text != chunked.text || whole.count != chunked.count) return false;
  if (!whole.is_exact || !chunked.is_exact) return false;
  const Redacted plain = redact_in_chunks(stream, values, first, second, Lines::kWhole);
  const Redacted shown = redact_in_chunks(stream, values, first, second, Lines::kShown);
  if (!shown.is_exact || shown.count != plain.count || !shows_no_more(plain.text, shown.text))
    return false;
  if (whole.count == 0) return whole.text == stream;
  if (whole.text.find(kMark) == std::string::npos) return false;
  const bool looked_for = !values.empty() && exact.size() >= 8;
  // A value that the mark itself, or the text around marks, spells is no leak.
  return !looked_for || exact.find_first_of("[]RECADT") != std::string::npos ||
         whole.text.find(exact) == std::string::npos;
}

bool result_line_holds(std::string_view input) {
  if (input.empty()) return true;
  const std::size_t chunk = byte_at(input, 0) % 40 + 1;
  const std::string_view stream = input.substr(1);
  ResultLine whole;
  whole.append(stream);
  whole.finish();
  ResultLine chunked;
  for (std::size_t at = 0; at < stream.size(); at += chunk)
    chunked.append(stream.substr(at, chunk));
  chunked.finish();
  if (whole.json() != chunked.json() || whole.invalid_lines() != chunked.invalid_lines()) {
    return false;
  }
  if (!whole.json()) return true;
  return json_object_problem(*whole.json(), ResultLine::kDeepest).empty() &&
         stream.find("__RESULT__:" + *whole.json()) != std::string_view::npos;
}

bool terminal_text_holds(std::string_view input) {
  if (input.empty()) return true;
  const std::size_t chunk = byte_at(input, 0) / 3 % 40 + 1;
  const auto kind = static_cast<TerminalText::Kind>(byte_at(input, 0) % 3);
  const std::string_view stream = input.substr(1, kMostStreamBytes);
  const std::string whole = terminal_text(kind, stream, stream.size() + 1);
  if (whole != terminal_text(kind, stream, chunk)) return false;
  if (whole.find(kAccountMark) != std::string::npos) return false;
  return kind == TerminalText::Kind::kBytes ||
         is_text_and_colours(whole, kind == TerminalText::Kind::kColours);
}

}  // namespace sbx
