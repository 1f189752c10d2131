// SPDX-License-Identifier: Apache-2.0
// What a command has done to the modes of a terminal that it writes to → the escapes that undo it,
// and those that do it again.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sbx {

class TerminalModes {
 public:
  // In any chunks.
  void append(std::string_view bytes);
  // Empty where everything is as it was at first.
  std::string undo() const;
  std::string redo() const;
  // The cursor keys are to be sent in their other form.
  bool has_application_cursor() const { return (changed_ & 1U) != 0; }

 private:
  enum class State : std::uint8_t { kGround, kEscape, kCharset, kSequence, kTitle, kString };

  void take(char byte);
  void take_sequence(char last);
  void set_modes(bool on);
  void take_title();

  State state_ = State::kGround;
  std::string parameters_;
  std::uint32_t changed_ = 0;  // bits of the table of modes
  std::uint32_t colours_ = 0;  // bits of the table of colours
  bool is_coloured_ = false;
  bool has_keypad_ = false;
  bool has_graphics_ = false;
  bool has_region_ = false;
  bool has_shape_ = false;
  bool is_inserting_ = false;
  bool has_new_lines_ = false;
  bool has_other_keys_ = false;   // xterm's modifyOtherKeys
  bool has_other_flags_ = false;  // kitty's, set
  int pushed_keys_ = 0;           // … and pushed
};

}  // namespace sbx
