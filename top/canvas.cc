// SPDX-License-Identifier: Apache-2.0
// ncurses keeps what is on the screen, and writes only what differs.
#include "canvas.h"

#define NCURSES_NOMACROS 1
#define NCURSES_WIDECHAR 1
#include <curses.h>
#include <term.h>
#include <unistd.h>
#undef columns  // of term.h

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace sbx {
namespace {

constexpr short kAlarmPair = 1;

Error no_terminal(std::string message) {
  return Error{ErrorCode::kSetupFailed, std::move(message), "top",
               "run it on a terminal; sbx-run list says the same as JSON"};
}

}  // namespace

Status Canvas::open(bool colours) {
  if (isatty(STDIN_FILENO) == 0 || isatty(STDOUT_FILENO) == 0) {
    return no_terminal("stdin and stdout are no terminal");
  }
  const char* const name = getenv("TERM");
  int why = 0;
  if (setupterm(name, STDOUT_FILENO, &why) == ERR || tigetstr("cup") == nullptr ||
      tigetstr("clear") == nullptr) {
    return no_terminal("a terminal of type '" + std::string(name == nullptr ? "" : name) +
                       "' cannot be drawn on");
  }
  screen_ = newterm(nullptr, stdout, stdin);
  if (screen_ == nullptr) return no_terminal("ncurses cannot use this terminal");
  cbreak();
  noecho();
  nonl();
  nodelay(stdscr, TRUE);
  keypad(stdscr, TRUE);
  set_escdelay(25);
  // Whichever mode the terminal's keypad is in.
  for (const auto& [text, key] : {std::pair("\x1b[A", KEY_UP),
                                  {"\x1b[B", KEY_DOWN},
                                  {"\x1b[D", KEY_LEFT},
                                  {"\x1b[H", KEY_HOME},
                                  {"\x1b[F", KEY_END},
                                  {"\x1bOA", KEY_UP},
                                  {"\x1bOB", KEY_DOWN},
                                  {"\x1bOD", KEY_LEFT},
                                  {"\x1bOH", KEY_HOME},
                                  {"\x1bOF", KEY_END}}) {
    define_key(text, key);
  }
  curs_set(0);
  has_colours_ = colours && has_colors();
  if (has_colours_) {
    start_color();
    use_default_colors();
    init_pair(kAlarmPair, COLOR_RED, -1);
  }
  return {};
}

void Canvas::close() {
  if (screen_ == nullptr) return;
  endwin();
  delscreen(static_cast<SCREEN*>(screen_));
  screen_ = nullptr;
}

int Canvas::columns() const { return getmaxx(stdscr); }
int Canvas::rows() const { return getmaxy(stdscr); }
void Canvas::clear() { werase(stdscr); }

void Canvas::put(int row, int column, const std::wstring& cells, unsigned look) {
  if (row < 0 || row >= rows() || column >= columns()) return;
  attr_t attributes = A_NORMAL;
  if ((look & kBold) != 0) attributes |= A_BOLD;
  if ((look & kReverse) != 0) attributes |= A_REVERSE;
  if ((look & kDim) != 0) attributes |= A_DIM;
  if ((look & kAlarm) != 0) attributes |= A_BOLD;
  const bool is_red = (look & kAlarm) != 0 && has_colours_;
  wattr_set(stdscr, attributes, is_red ? kAlarmPair : short{0}, nullptr);
  wmove(stdscr, row, column);
  waddnwstr(stdscr, cells.data(), static_cast<int>(cells.size()));
}

// A terminal that knows synchronized updates shows a drawing whole; others pass over the words.
void Canvas::show() {
  constexpr std::string_view kBeginUpdate = "\x1b[?2026h";
  constexpr std::string_view kEndUpdate = "\x1b[?2026l";
  (void)!write(STDOUT_FILENO, kBeginUpdate.data(), kBeginUpdate.size());
  wrefresh(stdscr);
  (void)!write(STDOUT_FILENO, kEndUpdate.data(), kEndUpdate.size());
}

int Canvas::key() {
  wint_t key = 0;
  const int kind = wget_wch(stdscr, &key);
  if (kind == ERR) return kNone;
  if (kind != KEY_CODE_YES) {
    if (key == L'\r' || key == L'\n') return kEnter;
    return key == 0x1b ? kBack : static_cast<int>(std::min<wint_t>(key, kUp - 1));
  }
  switch (key) {
    case KEY_UP:
      return kUp;
    case KEY_DOWN:
      return kDown;
    case KEY_PPAGE:
      return kPageUp;
    case KEY_NPAGE:
      return kPageDown;
    case KEY_HOME:
      return kHome;
    case KEY_END:
      return kEnd;
    case KEY_ENTER:
      return kEnter;
    case KEY_BACKSPACE:
    case KEY_LEFT:
      return kBack;
    case KEY_RESIZE:
      return kResize;
    default:
      return '\0';
  }
}

}  // namespace sbx
