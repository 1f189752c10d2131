// SPDX-License-Identifier: Apache-2.0
// UTF-8 by Unicode 15, table 3-7: the second byte's range depends on the first, and that alone
// shuts out overlongs, surrogates and what lies above U+10FFFF.
#include "base/utf8.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

namespace sbx {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// One character that is not ASCII, or the maximal subpart of one.
struct Sequence {
  std::size_t length;
  bool valid;
  bool at_end;  // ill-formed only because the bytes end here
};

Sequence read_sequence(const char* text, std::size_t left) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  unsigned low = 0x80;
  unsigned high = 0xBF;
  std::size_t length = 0;
  if (lead >= 0xC2 && lead <= 0xDF) {
    length = 2;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    length = 3;
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    length = 4;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
  } else {
    return {1, false, false};
  }
  for (std::size_t i = 1; i < length; ++i) {
    if (i == left) return {i, false, true};
    if (byte(i) < low || byte(i) > high) return {i, false, false};
    low = 0x80;
    high = 0xBF;
  }
  return {length, true, false};
}

// The first byte at or after `at` that is not ASCII.
std::size_t skip_ascii(std::string_view bytes, std::size_t at) {
  constexpr std::uint64_t kHighBits = 0x8080808080808080U;
  for (; at + 32 <= bytes.size(); at += 32) {
    std::uint64_t words[4];
    std::memcpy(words, bytes.data() + at, sizeof words);
    if (((words[0] | words[1] | words[2] | words[3]) & kHighBits) != 0) break;
  }
  for (; at + 8 <= bytes.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, sizeof word);
    if ((word & kHighBits) != 0) break;
  }
  while (at < bytes.size() && static_cast<unsigned char>(bytes[at]) < 0x80) ++at;
  return at;
}

}  // namespace

std::size_t valid_utf8_prefix(std::string_view bytes) {
  std::size_t at = 0;
  while ((at = skip_ascii(bytes, at)) < bytes.size()) {
    do {
      const Sequence next = read_sequence(bytes.data() + at, bytes.size() - at);
      if (!next.valid) return at;
      at += next.length;
    } while (at < bytes.size() && static_cast<unsigned char>(bytes[at]) >= 0x80);
  }
  return at;
}

void append_repaired_utf8(std::string& out, std::string_view bytes) {
  for (;;) {
    const std::size_t valid = valid_utf8_prefix(bytes);
    out.append(bytes.substr(0, valid));
    if (valid == bytes.size()) return;
    bytes.remove_prefix(valid);
    out.append(kReplacement);
    bytes.remove_prefix(read_sequence(bytes.data(), bytes.size()).length);
  }
}

std::string repair_utf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  append_repaired_utf8(out, bytes);
  return out;
}

std::size_t cut_character_suffix(std::string_view bytes) {
  const std::size_t most = std::min<std::size_t>(3, bytes.size());
  for (std::size_t length = 1; length <= most; ++length) {
    const char* start = bytes.data() + bytes.size() - length;
    if (static_cast<unsigned char>(*start) < 0xC2) continue;  // ASCII or a continuation byte
    return read_sequence(start, length).at_end ? length : 0;
  }
  return 0;
}

std::size_t cut_character_prefix(std::string_view bytes) {
  const std::size_t most = std::min<std::size_t>(3, bytes.size());
  std::size_t count = 0;
  while (count < most && (static_cast<unsigned char>(bytes[count]) & 0xC0) == 0x80) ++count;
  return count;
}

std::string Utf8Stream::append(std::string_view bytes) {
  std::string joined;
  if (!held_.empty()) {
    joined = held_ + std::string(bytes);
    bytes = joined;
  }
  const std::size_t cut = cut_character_suffix(bytes);
  held_.assign(bytes.substr(bytes.size() - cut));
  return repair_utf8(bytes.substr(0, bytes.size() - cut));
}

std::string Utf8Stream::finish() { return repair_utf8(std::exchange(held_, {})); }

}  // namespace sbx
