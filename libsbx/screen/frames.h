// SPDX-License-Identifier: Apache-2.0
// What sbx-run and its sbx-screen say to each other: a letter, four bytes of length (the least
// first), and so many bytes. To sbx-screen: D what was written, R a size, S and P questions. From
// it: the answers to S (a size, a cursor, the text) and P (escapes that draw the screen), in their
// order, and O, what the terminal itself answers to the program. Neither side trusts the other.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace sbx {

struct TerminalSize {
  static constexpr int kMostColumns = 1000;
  static constexpr int kMostRows = 500;
  int columns = 80;
  int rows = 24;
  bool operator==(const TerminalSize&) const = default;
};

struct ScreenFrame {
  char kind = 0;
  std::string text;
};

inline void append_number(std::string& to, std::uint32_t number, int bytes) {
  for (int i = 0; i < bytes; ++i) to += static_cast<char>(number >> (8 * i));
}

inline void append_frame(std::string& to, char kind, std::string_view text) {
  to += kind;
  append_number(to, static_cast<std::uint32_t>(text.size()), 4);
  to += text;
}

// Takes a number from the front; 0 where there is none.
inline std::uint32_t take_number(std::string_view& text, int bytes) {
  std::uint32_t number = 0;
  for (int i = 0; i < bytes && !text.empty(); ++i, text.remove_prefix(1)) {
    number |= std::uint32_t{static_cast<unsigned char>(text.front())} << (8 * i);
  }
  return number;
}

class FrameReader {
 public:
  explicit FrameReader(std::size_t longest) : longest_(longest) {}

  void append(std::string_view bytes) { held_ += bytes; }
  // The next one that is whole.
  std::optional<ScreenFrame> next() {
    constexpr std::size_t kHead = 5;
    if (held_.size() < kHead) return std::nullopt;
    std::string_view size_text = std::string_view(held_).substr(1, 4);
    const std::size_t size = take_number(size_text, 4);
    if (size > longest_) is_broken_ = true;
    if (is_broken_ || held_.size() < kHead + size) return std::nullopt;
    ScreenFrame frame{held_[0], held_.substr(kHead, size)};
    held_.erase(0, kHead + size);
    return frame;
  }
  // One was longer than any is.
  bool is_broken() const { return is_broken_; }

 private:
  std::size_t longest_;
  std::string held_;
  bool is_broken_ = false;
};

}  // namespace sbx
