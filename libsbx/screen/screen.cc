// SPDX-License-Identifier: Apache-2.0
// libvterm keeps the cells; they are read one by one.
#include "screen/screen.h"

#include <algorithm>
#include <utility>

#include "base/ascii.h"

namespace sbx {
namespace {

constexpr std::size_t kMostReplies = std::size_t{4} << 10;
// Of libvterm 0.1.4 to 0.3: the second half of a wide character is written behind the only column.
constexpr int kLeastColumns = 2;
constexpr std::uint32_t kSecondHalf = ~0U;  // of a wide character

bool is_control(std::uint32_t code) { return code < 0x20 || (code >= 0x7f && code < 0xa0); }

void append_utf8(std::string& to, std::uint32_t code) {
  const auto tail = [&](int shift) { to += static_cast<char>(0x80U | ((code >> shift) & 0x3fU)); };
  if (is_control(code)) code = ' ';
  if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) code = 0xfffd;
  if (code < 0x80) {
    to += static_cast<char>(code);
  } else if (code < 0x800) {
    to += static_cast<char>(0xc0U | (code >> 6));
    tail(0);
  } else if (code < 0x10000) {
    to += static_cast<char>(0xe0U | (code >> 12));
    tail(6);
    tail(0);
  } else {
    to += static_cast<char>(0xf0U | (code >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

void append_cell(std::string& to, const VTermScreenCell& cell) {
  if (cell.chars[0] == 0) {
    to += ' ';
    return;
  }
  for (const std::uint32_t code : cell.chars) {
    if (code == 0) break;
    append_utf8(to, code);
  }
}

void append_colour(std::string& to, const VTermColor& colour, bool is_ground) {
  const std::string first = is_ground ? ";48;" : ";38;";
  if (VTERM_COLOR_IS_DEFAULT_FG(&colour) || VTERM_COLOR_IS_DEFAULT_BG(&colour)) return;
  if (VTERM_COLOR_IS_INDEXED(&colour)) {
    to += first + "5;" + std::to_string(colour.indexed.idx);
  } else {
    to += first + "2;" + std::to_string(colour.rgb.red) + ";" + std::to_string(colour.rgb.green) +
          ";" + std::to_string(colour.rgb.blue);
  }
}

std::string rendition(const VTermScreenCell& cell) {
  std::string out = "\x1b[0";
  if (cell.attrs.bold != 0) out += ";1";
  if (cell.attrs.italic != 0) out += ";3";
  if (cell.attrs.underline != 0) out += ";4";
  if (cell.attrs.blink != 0) out += ";5";
  if (cell.attrs.reverse != 0) out += ";7";
  if (cell.attrs.strike != 0) out += ";9";
  append_colour(out, cell.fg, false);
  append_colour(out, cell.bg, true);
  return out + "m";
}

}  // namespace

Screen::Screen(TerminalSize size)
    : terminal_(vterm_new(size.rows, std::max(size.columns, kLeastColumns))),
      screen_(vterm_obtain_screen(terminal_.get())),
      size_(size) {
  static constexpr VTermScreenCallbacks kCallbacks = {nullptr, nullptr, moved,   changed,
                                                      nullptr, nullptr, nullptr, nullptr};
  vterm_set_utf8(terminal_.get(), 1);
  vterm_output_set_callback(terminal_.get(), replied, this);
  vterm_screen_set_callbacks(screen_, &kCallbacks, this);
  vterm_screen_enable_altscreen(screen_, 1);
  vterm_screen_reset(screen_, 1);
}

int Screen::moved(VTermPos position, VTermPos /*before*/, int /*visible*/, void* self) {
  static_cast<Screen*>(self)->cursor_ = position;
  return 1;
}

int Screen::changed(VTermProp property, VTermValue* value, void* self) {
  if (property == VTERM_PROP_CURSORVISIBLE) {
    static_cast<Screen*>(self)->is_cursor_visible_ = value->boolean != 0;
  }
  return 1;
}

void Screen::replied(const char* bytes, std::size_t size, void* self) {
  std::string& replies = static_cast<Screen*>(self)->replies_;
  if (replies.size() + size <= kMostReplies) replies.append(bytes, size);
}

void Screen::end_escape(std::string& out, char last) {
  state_ = State::kText;
  if (last != 'b') {
    out += "\x1b[" + numbers_ + last;
    return;
  }
  int count = 0;
  for (const char digit : numbers_) {
    if (digit < '0' || digit > '9') return;
    count = count * 10 + (digit - '0');
  }
  for (int i = 0; i < std::clamp(count, 1, TerminalSize::kMostColumns); ++i) out += last_;
}

std::string Screen::bounded(std::string_view bytes) {
  constexpr int kMostDigits = 4;
  constexpr int kMostArguments = 16;  // libvterm writes more, behind its array
  constexpr std::size_t kMostNumbers = 128;
  std::string out;
  for (const char byte : bytes) {
    const auto code = static_cast<unsigned char>(byte);
    // What libvterm skips without leaving an escape: the escape goes on after it here too.
    const bool is_begun = state_ == State::kEscape || state_ == State::kHash;
    if (code == 0x7f || (is_begun && code >= 0x80)) continue;
    if (state_ == State::kNumbers && code >= 0x20) {
      digits_ = is_digit(byte) ? digits_ + 1 : 0;
      if (byte == ';' || byte == ':') ++separators_;
      const bool fits = digits_ <= kMostDigits && separators_ < kMostArguments;
      if (code >= 0x40) {
        end_escape(out, byte);
      } else if (fits && numbers_.size() < kMostNumbers) {
        numbers_ += byte;
      }
    } else if (state_ == State::kEscape && byte == '[') {
      state_ = State::kNumbers;
      numbers_.clear();
      set_.clear();
      digits_ = 0;
      separators_ = 0;
    } else if (state_ != State::kText && code < 0x20 && byte != '\x1b' && byte != '\x18' &&
               byte != '\x1a') {
      out += byte;  // a control within an escape is done at once
    } else if (state_ == State::kEscape && byte == '#') {
      state_ = State::kHash;
    } else if (state_ == State::kEscape && code >= 0x20 && code < 0x30) {
      // Of a character set; to libvterm even a '[' behind it begins numbers.
      if (set_.size() < kMostNumbers) set_ += byte;
    } else if (state_ == State::kHash && code >= 0x20) {
      state_ = code < 0x30 ? State::kHash : State::kText;
    } else {
      const bool is_text = state_ == State::kText && byte != '\x1b';
      // One that another escape follows is none: libvterm would go on from it.
      if (state_ == State::kEscape && byte != '\x1b') (out += '\x1b') += set_;
      set_.clear();
      state_ = byte == '\x1b' ? State::kEscape : State::kText;
      if (state_ == State::kText) out += byte;
      if (is_text && (code & 0xc0U) != 0x80) last_.clear();
      if (is_text && code >= 0x20 && code != 0x7f && last_.size() < 4) last_ += byte;
    }
  }
  return out;
}

void Screen::write(std::string_view bytes) {
  const std::string text = bounded(bytes);
  vterm_input_write(terminal_.get(), text.data(), text.size());
  vterm_screen_flush_damage(screen_);
}

void Screen::resize(TerminalSize size) {
  const TerminalSize before = size_;
  size_.rows = std::clamp(size.rows, 1, TerminalSize::kMostRows);
  size_.columns = std::clamp(size.columns, 1, TerminalSize::kMostColumns);
  vterm_set_size(terminal_.get(), size_.rows, std::max(size_.columns, kLeastColumns));
  // Rows that go off the top may take the cursor along, above the first one.
  const bool is_off = cursor_.row < 0 || cursor_.row >= size_.rows || cursor_.col < 0;
  if (is_off || size_.rows < before.rows || size_.columns < before.columns) {
    // libvterm keeps margins that lie outside by now, and moves what is between them. They are
    // those of the whole screen again, as xterm has it; the cursor stays.
    const int row = is_off ? 0 : cursor_.row;
    const int column = is_off ? 0 : std::min(cursor_.col, size_.columns - 1);
    const std::string home =
        "\x1b[?69l\x1b[r\x1b[" + std::to_string(row + 1) + ";" + std::to_string(column + 1) + "H";
    vterm_input_write(terminal_.get(), home.data(), home.size());
  }
  vterm_screen_flush_damage(screen_);
}

std::string Screen::text() const {
  std::string out;
  const TerminalSize area = size_;
  for (int row = 0; row < area.rows; ++row) {
    const std::size_t begin = out.size();
    for (int column = 0; column < area.columns; ++column) {
      VTermScreenCell cell{};
      vterm_screen_get_cell(screen_, {row, column}, &cell);
      if (cell.chars[0] != kSecondHalf) append_cell(out, cell);
    }
    while (out.size() > begin && out.back() == ' ') out.pop_back();
    out += '\n';
  }
  return out;
}

std::string Screen::repaint() const {
  std::string out = "\x1b[0m\x1b[H\x1b[2J";
  std::string drawn = "\x1b[0m";
  const TerminalSize area = size_;
  for (int row = 0; row < area.rows; ++row) {
    out += "\x1b[" + std::to_string(row + 1) + ";1H";
    for (int column = 0; column < area.columns; ++column) {
      VTermScreenCell cell{};
      vterm_screen_get_cell(screen_, {row, column}, &cell);
      if (cell.chars[0] == kSecondHalf) continue;
      std::string wanted = rendition(cell);
      if (wanted != drawn) out += wanted;
      drawn = std::move(wanted);
      append_cell(out, cell);
    }
  }
  return out + "\x1b[0m\x1b[" + std::to_string(cursor_.row + 1) + ";" +
         std::to_string(cursor_.col + 1) + "H";
}

std::string Screen::take_replies() { return std::exchange(replies_, {}); }

}  // namespace sbx
