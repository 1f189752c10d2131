// SPDX-License-Identifier: Apache-2.0
// A block is shown in many ways: indented, quoted, numbered, as a diff, after a file's name, or in
// one line with \n for its line ends. A line belongs to it while it holds nothing but its text.
#include "output/private_key.h"

#include <algorithm>
#include <utility>

#include "base/ascii.h"
#include "base/text.h"

namespace sbx {
namespace {

constexpr std::string_view kDashes = "-----";
constexpr std::string_view kSsh2Dashes = "---- ";  // ---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----
constexpr std::size_t kLongestHeader = 120;
constexpr std::size_t kLongestPrefix = 256;
constexpr std::size_t kShortestRun = 16;  // less than that may be a word
constexpr std::size_t kNarrowest = 40;    // of a real key's lines
constexpr std::size_t kLongestLine = 4096;
constexpr unsigned kNearLines = 400;

bool is_base64(char c) { return is_alphanumeric(c) || c == '+' || c == '/' || c == '='; }

// Past the line's end that text within text shows: \n, \r\n, quotes, commas, spaces.
std::size_t skip_decoration(std::string_view text, std::size_t at) {
  for (; at < text.size(); ++at) {
    if (text[at] == '\\' && at + 1 < text.size() &&
        std::string_view("nrt\\").find(text[at + 1]) < 4) {
      ++at;
    } else if (std::string_view(" \t\r\"'`,;+>|#*\\").find(text[at]) == std::string_view::npos) {
      return at;
    }
  }
  return at;
}

bool is_header_field(std::string_view text) {
  for (const std::string_view field : {"Proc-Type:", "DEK-Info:", "Comment:", "Subject:",
                                       "Version:", "Charset:", "Hash:", "MessageID:"}) {
    if (text.starts_with(field)) return true;
  }
  return false;
}

// "RSA PRIVATE KEY", "PGP PRIVATE KEY BLOCK", "OpenVPN Static key V1"
bool is_key_title(std::string_view title) {
  const bool plain = std::all_of(title.begin(), title.end(), [](char c) {
    return c == ' ' || (is_base64(c) && c != '+' && c != '/' && c != '=');
  });
  return plain && (title.find("PRIVATE KEY") != std::string_view::npos ||
                   title.find("OpenVPN Static key") != std::string_view::npos);
}

// Neither prose nor a footer.
bool is_one_word(std::string_view text) {
  while (!text.empty() && std::string_view(" \t\r").find(text.back()) != std::string_view::npos) {
    text.remove_suffix(1);
  }
  return !text.starts_with(kDashes) && text.find_first_of(" \t") == std::string_view::npos;
}

// Whether words follow a header in its line: `-----BEGIN PRIVATE KEY----- begins a key`.
bool is_prose(std::string_view text) {
  if (!text.starts_with(' ')) return false;
  text.remove_prefix(1);
  const std::size_t end = text.find_first_of(" \t");
  return end < kShortestRun && text.find(kDashes) == std::string_view::npos;
}

// Where this block ends, or where begin() may be called for another one: in any case of letters, as
// keywords are looked for.
bool is_mark(std::string_view text) {
  const std::string line = lower_case(text);
  for (const char* const mark :
       {"-----end", "---- end", "-----begin", "---- begin", "private-lines:"}) {
    if (line.find(mark) != std::string::npos) return true;
  }
  return false;
}

// Base64 of bytes at random, which neither words, paths nor hashes look like.
bool is_random(std::string_view word) {
  enum Kind { kLower, kUpper, kOther };
  std::size_t count[3] = {};
  std::size_t changes = 0;
  std::size_t slashes = 0;
  Kind before = kOther;
  for (const char c : word) {
    const Kind kind = is_lower(c) ? kLower : is_upper(c) ? kUpper : kOther;
    ++count[kind];
    changes += kind != before ? 1 : 0;
    slashes += c == '/' ? 1 : 0;
    before = kind;
  }
  return count[kLower] > 0 && count[kUpper] > 0 && count[kOther] > 0 &&
         slashes * 8 <= word.size() && changes * 4 >= word.size();
}

// How far base64 with decorated line ends goes on from `at`.
std::size_t skip_body(std::string_view text, std::size_t at) {
  for (;;) {
    at = skip_decoration(text, at);
    const std::size_t run = at;
    while (at < text.size() && is_base64(text[at])) ++at;
    if (at == run) return at;
    // A word of prose is base64 too: it ends the block.
    const std::size_t next = skip_decoration(text, at);
    if (next < text.size() && !is_base64(text[next]) && text.substr(next, 5) != kDashes &&
        at - run < kShortestRun) {
      return run;
    }
  }
}

}  // namespace

// The key's text in `line` from `at` on, with `from` as its beginning; the block stays open where
// the text reaches the line's end.
PrivateKeyBlock::Part PrivateKeyBlock::body(std::string_view line, std::size_t from,
                                            std::size_t at) {
  const std::size_t end = skip_body(line, at);
  open_ = end == line.size();
  const bool footer = line.substr(end, kDashes.size()) == kDashes;
  const bool is_key = end - at >= kShortestRun || (end > at && (open_ || footer));
  note_length(end - at);
  return is_key ? Part{from, end} : Part{};
}

// The last line is shorter than the others. Where already the first is short, the block is none of
// a real key's width (an example, a key wrapped by hand), and its own width counts.
void PrivateKeyBlock::note_length(std::size_t length) {
  if (width_ == 0) width_ = length;
  last_line_seen_ = length < std::min(width_, kShortestRun);
}

PrivateKeyBlock::Part PrivateKeyBlock::begin(std::string_view line, std::size_t at) {
  last_line_seen_ = blank_line_seen_ = false;
  width_ = near_ = 0;
  prefix_ = line.substr(at - std::min(at, kLongestPrefix), std::min(at, kLongestPrefix));
  if (line[at] != '-') {
    const std::size_t count = std::min(line.find(':', at) + 1, line.size());
    open_ = line.find_first_not_of(" 0123456789\r", count) == std::string_view::npos;
    return {};
  }
  const bool ssh2 = line[at + 4] == ' ';
  const std::string_view closing = ssh2 ? kSsh2Dashes.substr(0, 4) : kDashes;
  const std::size_t close = line.substr(0, at + kLongestHeader).find(closing, at + 10);
  if (close == std::string_view::npos) return {};
  const std::string_view title = line.substr(at + 10, close - at - 10);
  if (!is_key_title(title)) return {};
  const std::size_t text = close + closing.size();
  if (is_prose(line.substr(text))) return {};
  open_ = skip_decoration(line, text) == line.size();
  if (open_) near_ = kNearLines;
  return open_ ? Part{} : body(line, text, text);
}

// Its last word, where that is as long as a key's line, or the end of a key that has been seen.
PrivateKeyBlock::Part PrivateKeyBlock::look_again(std::string_view line) {
  --near_;
  if (is_mark(line)) near_ = 0;
  if (near_ == 0 || line.size() > kLongestLine) return {};
  const std::size_t end = line.find_last_not_of(" \t\r\"'`,;\\") + 1;
  std::size_t begin = end;
  while (begin > 0 && is_base64(line[begin - 1])) --begin;
  const std::string_view between = " \t\"'`=:>|,;#*-";
  if (begin > 0 && between.find(line[begin - 1]) == std::string_view::npos) return {};
  while (begin < end && line[begin] == '=') ++begin;
  const std::size_t length = end - begin;
  const bool is_line = length == 64 || length == 70 || length == 72 || length == 76 ||
                       (length == width_ && width_ >= kNarrowest);
  const bool is_last = width_ >= kNarrowest && length >= kShortestRun && length < width_;
  if (!(is_line || is_last) || !is_random(line.substr(begin, length))) return {};
  if (is_line) width_ = length;
  open_ = is_line && line.find_first_not_of(between) == begin;
  last_line_seen_ = blank_line_seen_ = false;
  return {begin, end};
}

PrivateKeyBlock::Part PrivateKeyBlock::continue_line(std::string_view line) {
  open_ = false;
  if (near_ > 0) --near_;
  if (is_mark(line)) near_ = 0;
  std::size_t at = 0;
  // grep shows "name:" before the header and "name-" before the lines that follow.
  const std::string_view name = std::string_view(prefix_).substr(0, prefix_.size() - 1);
  if (prefix_.size() > 1 && line.starts_with(name)) at = prefix_.size();
  at = skip_decoration(line, std::min(at, line.size()));
  std::size_t digits = at;  // cat -n, grep -n
  while (digits < line.size() && is_digit(line[digits])) ++digits;
  if (digits > at && digits < line.size() &&
      std::string_view("\t :-").find(line[digits]) != std::string_view::npos) {
    at = skip_decoration(line, digits + (line[digits] == ':' || line[digits] == '-' ? 1 : 0));
  }
  if (at < line.size() && line[at] == '-' && line.substr(at, 5) != kDashes) {
    at = skip_decoration(line, at + 1);  // a diff's removed line
  }
  if (at == line.size()) {
    open_ = !std::exchange(blank_line_seen_, true);
    return {};
  }
  if (is_header_field(line.substr(at))) {
    open_ = true;
    return {0, line.size()};
  }
  if (last_line_seen_) return {};
  const bool made_up = width_ < kShortestRun && is_one_word(line.substr(at));
  const Part part = body(line, 0, at);
  if (open_ || !made_up) return part;
  // Not base64, but where a key stands: "MIIE...", "not-a-real-key".
  open_ = true;
  note_length(line.size() - at);
  return {0, line.size()};
}

}  // namespace sbx
