// SPDX-License-Identifier: Apache-2.0
// Screen: the bytes that a program writes to its terminal → what can be seen on it. libvterm
// follows the escapes. What is shown of it holds no control bytes but those made here.
#pragma once

#include <vterm.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "screen/frames.h"

namespace sbx {

class Screen {
 public:
  explicit Screen(TerminalSize size);
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  void write(std::string_view bytes);
  void resize(TerminalSize size);

  TerminalSize size() const { return size_; }
  int cursor_row() const { return cursor_.row; }
  int cursor_column() const { return std::min(cursor_.col, size_.columns - 1); }
  bool is_cursor_visible() const { return is_cursor_visible_; }
  // Every row, without the blanks at its end, and a newline behind each.
  std::string text() const;
  // Escapes that draw it, colours and all, on a terminal of its size or larger.
  std::string repaint() const;
  // What the terminal itself has to say to the program since it was last asked.
  std::string take_replies();

 private:
  struct Free {
    void operator()(VTerm* terminal) const { vterm_free(terminal); }
  };
  static int moved(VTermPos position, VTermPos, int visible, void* self);
  static int changed(VTermProp property, VTermValue* value, void* self);
  static void replied(const char* bytes, std::size_t size, void* self);

  // libvterm does what an escape asks for as often as that says, and REP behind a character without
  // a width for ever: no number keeps more than four digits, and REP is done here. Lines of double
  // size (ESC #) are left out: it looks for those of a row that a resize has taken away.
  std::string bounded(std::string_view bytes);
  void end_escape(std::string& out, char last);

  enum class State : char { kText, kEscape, kHash, kNumbers };
  State state_ = State::kText;
  std::string numbers_;  // of the escape so far
  std::string set_;      // what stands before its last byte
  int digits_ = 0;
  int separators_ = 0;
  std::string last_;  // character that was written
  std::unique_ptr<VTerm, Free> terminal_;
  VTermScreen* screen_;
  TerminalSize size_;
  VTermPos cursor_{};
  bool is_cursor_visible_ = true;
  std::string replies_;
};

}  // namespace sbx
