// SPDX-License-Identifier: Apache-2.0
// The states of ECMA-48, as far as it takes to find the end of what is left out.
#include "output/terminal_text.h"

#include <utility>

namespace sbx {
namespace {

constexpr std::uint32_t kCancel = 0x18;
constexpr std::uint32_t kSubstitute = 0x1a;
constexpr std::uint32_t kEscapeByte = 0x1b;
constexpr std::uint32_t kBell = 0x07;
constexpr std::uint32_t kEnd = 0x9c;  // ST as one character
constexpr std::size_t kLongestParameters = 64;

// Well-formed: Utf8Stream gave it.
std::uint32_t decode(std::string_view character) {
  const auto at = [&](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(character[i]));
  };
  switch (character.size()) {
    case 1:
      return at(0);
    case 2:
      return (at(0) & 0x1f) << 6 | (at(1) & 0x3f);
    default:
      return 0x10000;  // beyond everything that is looked for
  }
}

std::size_t length_of(char lead) {
  const auto byte = static_cast<unsigned char>(lead);
  if (byte < 0x80) return 1;
  return byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}

}  // namespace

std::string TerminalText::append(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  if (kind_ != Kind::kBytes) {
    const std::string text = utf8_.append(bytes);
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t size = length_of(text[at]);
      take(std::string_view(text).substr(at, size), out);
      at += size;
    }
    return out;
  }
  for (const char byte : bytes) {
    if (held_.empty() ? byte == kAccountMark[0] : byte == kAccountMark[1]) {
      held_ += byte;
      if (held_ == kAccountMark) held_ = "?";
      if (held_[0] != '?') continue;
      out += std::exchange(held_, {});
    } else {
      out += std::exchange(held_, {});
      if (byte == kAccountMark[0]) {
        held_ = byte;
      } else {
        out += byte;
      }
    }
  }
  if (!out.empty()) is_fresh_line_ = out.back() == '\n';
  if (!held_.empty()) is_fresh_line_ = false;
  return out;
}

std::string TerminalText::finish() {
  std::string out = std::exchange(held_, {});
  if (kind_ != Kind::kBytes) {
    if (!utf8_.finish().empty() && state_ == State::kGround) {
      out += "\xef\xbf\xbd";
      is_fresh_line_ = false;
    }
    if (is_coloured_) out += "\x1b[0m";
  }
  is_coloured_ = false;
  state_ = State::kGround;
  return out;
}

void TerminalText::take(std::string_view character, std::string& out) {
  const std::uint32_t code = decode(character);
  // What begins anew, or gives up, does so within anything.
  if (code == kEscapeByte && state_ != State::kString && state_ != State::kTitle) {
    state_ = State::kEscape;
    return;
  }
  if (code == kCancel || code == kSubstitute) {
    state_ = State::kGround;
    if (kind_ == Kind::kScreen) out += character;
    return;
  }
  switch (state_) {
    case State::kGround:
      return take_ground(character, code, out);
    case State::kEscape:
      if (code >= 0x20) return take_escape(character, code, out);
      // Within an escape a control character counts, and leaves it as it is.
      if (kind_ != Kind::kScreen) state_ = State::kGround;
      return take_ground(character, code, out);
    case State::kSequence:
      if (code >= 0x20 && code < 0x7f) return take_sequence(code, out);
      state_ = State::kGround;
      return take_ground(character, code, out);
    case State::kTitle:
      if (code == '\n') {
        state_ = State::kGround;
        return take_ground(character, code, out);
      }
      return take_string(code);
    case State::kString:
      return take_string(code);
    case State::kStringEscape:
      // Only ESC \ ends it as it should; another escape does, too.
      state_ = code == '\\' ? State::kGround : State::kEscape;
      if (state_ == State::kEscape) take(character, out);
      return;
  }
}

void TerminalText::begin(std::uint32_t introducer) {
  parameters_.clear();
  switch (introducer) {
    case '[':
      state_ = State::kSequence;
      break;
    case ']':
      state_ = State::kTitle;
      break;
    case 'P':
    case 'X':
    case '^':
    case '_':
      state_ = State::kString;
      break;
    default:
      state_ = State::kGround;
  }
}

void TerminalText::take_ground(std::string_view character, std::uint32_t code, std::string& out) {
  const bool is_line = code == '\n' || code == '\r' || code == '\t' || code == '\b';
  if (code < 0x20 && !is_line && kind_ != Kind::kScreen) return;
  if (code == 0x7f) return;
  // C1: as ESC and the character 0x40 below.
  if (code >= 0x80 && code < 0xa0) {
    const std::uint32_t as_escape = code - 0x40;
    const char second = static_cast<char>(as_escape);
    return take_escape({&second, 1}, as_escape, out);
  }
  if (character == kAccountMark && kind_ != Kind::kScreen) {
    out += '?';
  } else {
    out += character;
  }
  is_fresh_line_ = code == '\n';
}

void TerminalText::take_escape(std::string_view character, std::uint32_t code, std::string& out) {
  // An intermediate character: the final one follows.
  if (code >= 0x30) begin(code);
  if (kind_ != Kind::kScreen || state_ == State::kTitle || state_ == State::kString) return;
  // What a sequence or an escape goes on with is as text.
  state_ = State::kGround;
  if (code < 0x7f) (out += '\x1b') += character;
}

void TerminalText::take_sequence(std::uint32_t code, std::string& out) {
  if (code < 0x40) {
    if (parameters_.size() < kLongestParameters) parameters_ += static_cast<char>(code);
    return;
  }
  state_ = State::kGround;
  const bool is_plain = parameters_.size() < kLongestParameters &&
                        parameters_.find_first_not_of("0123456789;:") == std::string::npos;
  if (kind_ != Kind::kColours || code != 'm' || !is_plain) return;
  out += "\x1b[" + parameters_ + "m";
  is_coloured_ = !parameters_.empty() && parameters_ != "0";
}

void TerminalText::take_string(std::uint32_t code) {
  if (code == kEscapeByte) {
    state_ = State::kStringEscape;
  } else if (code == kBell || code == kEnd) {
    state_ = State::kGround;
  }
}

}  // namespace sbx
