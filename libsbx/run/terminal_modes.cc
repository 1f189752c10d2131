// SPDX-License-Identifier: Apache-2.0
// Only the ends of escape sequences matter here, and only of those that change what stays.
#include "run/terminal_modes.h"

#include <iterator>

namespace sbx {
namespace {

struct Mode {
  std::string_view number;
  bool is_on_at_first = false;
};
// The alternate screens last: what else is undone, is undone on them.
// The cursor keys' first.
constexpr Mode kModes[] = {
    {"1"},    {"5"},    {"6"},    {"69"},   {"7", true}, {"9"},    {"12"},   {"25", true}, {"66"},
    {"1000"}, {"1001"}, {"1002"}, {"1003"}, {"1004"},    {"1005"}, {"1006"}, {"1015"},     {"1016"},
    {"2004"}, {"2026"}, {"2027"}, {"2031"}, {"47"},      {"1047"}, {"1049"}};
constexpr std::size_t kFirstScreen = std::size(kModes) - 3;
constexpr std::string_view kOrigin = "6";
struct Colour {
  std::string_view set;
  std::string_view reset;
};
// By OSC: the palette, and those of the text, the background and the cursor.
constexpr Colour kColours[] = {{"4", "104"}, {"10", "110"}, {"11", "111"}, {"12", "112"}};
constexpr std::size_t kLongestParameters = 64;
constexpr int kMostPushed = 9;

std::string escape_of(const Mode& mode, bool on) {
  return "\x1b[?" + std::string(mode.number) + (on ? "h" : "l");
}

}  // namespace

void TerminalModes::append(std::string_view bytes) {
  for (const char byte : bytes) {
    if (state_ != State::kGround || byte == '\x1b' || byte == '\x0e' || byte == '\x0f') take(byte);
  }
}

void TerminalModes::take(char byte) {
  if (byte == '\x1b') {
    if (state_ == State::kTitle) take_title();
    state_ = State::kEscape;
    return;
  }
  switch (state_) {
    case State::kGround:
      has_graphics_ = byte == '\x0e';
      return;
    case State::kCharset:
      has_graphics_ = byte == '0';
      state_ = State::kGround;
      return;
    case State::kSequence:
      if (byte >= 0x20 && byte < 0x40) {
        if (parameters_.size() < kLongestParameters) parameters_ += byte;
        return;
      }
      state_ = State::kGround;
      if (parameters_.size() < kLongestParameters) take_sequence(byte);
      return;
    case State::kTitle:
      if (byte == '\a') {
        take_title();
        state_ = State::kGround;
      } else if (parameters_.size() < kLongestParameters) {
        parameters_ += byte;
      }
      return;
    case State::kString:
      return;  // ESC and a backslash end it
    case State::kEscape:
      break;
  }
  state_ = byte == '['                                                     ? State::kSequence
           : byte == '('                                                   ? State::kCharset
           : byte == ']'                                                   ? State::kTitle
           : std::string_view("PX^_").find(byte) != std::string_view::npos ? State::kString
                                                                           : State::kGround;
  parameters_.clear();
  if (byte == '=' || byte == '>') has_keypad_ = byte == '=';
  if (byte == 'c') *this = TerminalModes();
}

void TerminalModes::take_sequence(char last) {
  const bool is_private = parameters_.starts_with('?');
  if (is_private && (last == 'h' || last == 'l')) return set_modes(last == 'h');
  if (last == 'm' && parameters_.find_first_not_of("0123456789;:") == std::string::npos) {
    is_coloured_ = !parameters_.empty() && parameters_ != "0";
  }
  if (last == 'm' && parameters_.starts_with(">4")) has_other_keys_ = true;
  if (last == 'u' && parameters_.starts_with('>') && pushed_keys_ < kMostPushed) ++pushed_keys_;
  if (last == 'u' && parameters_.starts_with('=')) has_other_flags_ = true;
  if ((last == 'h' || last == 'l') && parameters_ == "4") is_inserting_ = last == 'h';
  if ((last == 'h' || last == 'l') && parameters_ == "20") has_new_lines_ = last == 'h';
  if (last == 'r' && !is_private) has_region_ = !parameters_.empty();
  if (last == 'q' && parameters_.ends_with(' '))
    has_shape_ = parameters_ != " " && parameters_ != "0 ";
  if (last == 'p' && parameters_ == "!") *this = TerminalModes();
}

void TerminalModes::take_title() {
  const std::string_view number = std::string_view(parameters_).substr(0, parameters_.find(';'));
  if (parameters_.ends_with('?')) return;  // it only asks
  for (std::size_t i = 0; i < std::size(kColours); ++i) {
    if (number == kColours[i].set) colours_ |= 1U << i;
  }
}

void TerminalModes::set_modes(bool on) {
  std::string_view left = std::string_view(parameters_).substr(1);
  while (!left.empty()) {
    const std::string_view number = left.substr(0, left.find(';'));
    left.remove_prefix(number.size() + (number.size() < left.size() ? 1 : 0));
    for (std::size_t i = 0; i < std::size(kModes); ++i) {
      if (kModes[i].number != number) continue;
      changed_ &= ~(1U << i);
      if (on != kModes[i].is_on_at_first) changed_ |= 1U << i;
    }
  }
}

std::string TerminalModes::undo() const {
  std::string out;
  // CAN ends a sequence, ST a string, and neither is shown where there is none.
  if (state_ != State::kGround) out += "\x18\x1b\\";
  if (is_coloured_) out += "\x1b[0m";
  for (std::size_t i = 0; i < std::size(kColours); ++i) {
    if ((colours_ & (1U << i)) != 0) out += "\x1b]" + std::string(kColours[i].reset) + "\a";
  }
  if (is_inserting_) out += "\x1b[4l";
  if (has_new_lines_) out += "\x1b[20l";
  if (has_other_keys_) out += "\x1b[>4;0m";
  if (has_other_flags_) out += "\x1b[=0u";
  if (pushed_keys_ > 0) out += "\x1b[<" + std::to_string(pushed_keys_) + "u";
  if (has_graphics_) out += "\x0f\x1b(B";
  if (has_keypad_) out += "\x1b>";
  if (has_shape_) out += "\x1b[0 q";
  if (has_region_)
    out +=
        "\x1b"
        "7\x1b[r\x1b"
        "8";  // it moves the cursor
  for (std::size_t i = 0; i < std::size(kModes); ++i) {
    if ((changed_ & (1U << i)) == 0) continue;
    out += escape_of(kModes[i], kModes[i].is_on_at_first);
    if (kModes[i].number == kOrigin) out += "\x1b[999H";  // from the first line, where that puts it
  }
  return out;
}

// What a program draws itself, colours and regions too, it draws anew.
std::string TerminalModes::redo() const {
  std::string out;
  for (std::size_t i = std::size(kModes); i-- > 0;) {
    if ((changed_ & (1U << i)) == 0) continue;
    out += escape_of(kModes[i], !kModes[i].is_on_at_first);
    if (i >= kFirstScreen) out += "\x1b[2J";
  }
  if (has_keypad_) out += "\x1b=";
  return out;
}

}  // namespace sbx
