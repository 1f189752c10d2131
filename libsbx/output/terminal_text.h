// SPDX-License-Identifier: Apache-2.0
// What a command wrote → what a terminal may be sent of it: text and colours. Nothing that moves
// the cursor, asks the terminal something, changes its modes or its title, or that could pass for
// our own account. A program that has the whole screen may do what strings are not needed for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/utf8.h"

namespace sbx {

// With which each line of the account begins. What a command writes never holds it.
inline constexpr std::string_view kAccountMark = "¶";

class TerminalText {
 public:
  enum class Kind : std::uint8_t {
    kText,     // a terminal, without colours
    kColours,  // a terminal, with those that the command sets
    kBytes,    // no terminal: as it is, but for the mark
    kScreen,   // a terminal that is the program's own: all but strings (OSC, DCS, APC, PM, SOS)
  };
  explicit TerminalText(Kind kind) : kind_(kind) {}

  std::string append(std::string_view bytes);
  // What was held back, and an end to colours that were left on.
  std::string finish();
  // Whether what comes next stands at the start of a line.
  bool is_fresh_line() const { return is_fresh_line_; }

 private:
  enum class State : std::uint8_t { kGround, kEscape, kSequence, kTitle, kString, kStringEscape };

  void take(std::string_view character, std::string& out);
  void take_ground(std::string_view character, std::uint32_t code, std::string& out);
  void take_escape(std::string_view character, std::uint32_t code, std::string& out);
  void take_sequence(std::uint32_t code, std::string& out);
  void take_string(std::uint32_t code);
  void begin(std::uint32_t introducer);

  Kind kind_;
  State state_ = State::kGround;
  Utf8Stream utf8_;
  std::string held_;  // kBytes: the beginning of what may become the mark
  std::string parameters_;
  bool is_fresh_line_ = true;
  bool is_coloured_ = false;
};

}  // namespace sbx
