// SPDX-License-Identifier: Apache-2.0
// Base64: three bytes become four letters.
#include "output/base64.h"

#include <algorithm>
#include <cstdint>

namespace sbx {

std::string base64_encode(std::string_view bytes) {
  static constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - at);
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      group = group << 8 | (i < count ? static_cast<unsigned char>(bytes[at + i]) : 0U);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      out += i <= count ? kLetters[group >> (18 - 6 * i) & 63U] : '=';
    }
  }
  return out;
}

}  // namespace sbx
