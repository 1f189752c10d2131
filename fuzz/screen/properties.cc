// SPDX-License-Identifier: Apache-2.0
// The first two bytes choose a size.
#include "properties.h"

#include <algorithm>
#include <string>

#include "screen/frames.h"
#include "screen/screen.h"

namespace sbx {

bool screen_holds(std::string_view bytes) {
  if (bytes.size() < 2) return true;
  const TerminalSize size{1 + (bytes[0] & 0x7f), 1 + (bytes[1] & 0x3f)};
  Screen screen(size);
  bytes.remove_prefix(2);
  const std::size_t half = bytes.size() / 2;
  screen.write(bytes.substr(0, half));
  screen.resize({size.rows, size.columns});
  screen.write(bytes.substr(half));
  const std::string text = screen.text();
  if (std::count(text.begin(), text.end(), '\n') != size.columns) return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return c == '\n' || (static_cast<unsigned char>(c) >= ' ' && c != '\x7f');
  });
}

bool frames_hold(std::string_view bytes) {
  constexpr std::size_t kLongest = 64;
  FrameReader reader(kLongest);
  for (const char byte : bytes) {
    reader.append({&byte, 1});
    while (const auto frame = reader.next()) {
      if (frame->text.size() > kLongest) return false;
    }
    if (reader.is_broken()) return true;
  }
  return true;
}

}  // namespace sbx
