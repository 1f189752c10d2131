// SPDX-License-Identifier: Apache-2.0
// Html: one page, written as it is made. Markup is what stands in this program's own source, all
// else is text, and every text is somebody else's: it is escaped, and what moves a cursor or turns
// the direction of reading is shown as \xNN.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sbx::page {

// Only a literal can become one.
class Markup {
 public:
  consteval Markup(const char* literal) : text_(literal) {}
  std::string_view text() const { return text_; }

 private:
  std::string_view text_;
};

class Html {
 public:
  // The descriptor stays the caller's.
  explicit Html(int fd) : fd_(fd) {}

  // Everything up to the first thing that a reader sees: title, colours, and a policy that lets
  // nothing run but the script of end().
  void begin(std::string_view title);
  // The script, the last bytes. False where something could not be written; errno says why.
  bool end();

  Html& operator<<(Markup markup) {
    add(markup.text());
    return *this;
  }
  // In an element or between double quotes of an attribute. At most `most` bytes of it; a cut is
  // marked.
  Html& text(std::string_view text, std::size_t most = kMostText);
  // The same, with its own line breaks.
  Html& lines(std::string_view text, std::size_t most = kMostText);
  Html& count(std::uint64_t number);
  Html& decimal(double number);       // 12.50: for attributes
  Html& duration(double ms);          // 1.2 ms, 3.4 s, 2 min 5 s
  Html& bytes(std::uint64_t number);  // 1.2 KiB

  static constexpr std::size_t kMostText = 4096;

 private:
  void add(std::string_view bytes);
  void flush();

  int fd_;
  std::string buffer_;
  int error_ = 0;
};

// As Html::duration and Html::bytes write it.
std::string duration_text(double ms);
std::string bytes_text(std::uint64_t number);

}  // namespace sbx::page
