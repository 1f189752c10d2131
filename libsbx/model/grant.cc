// SPDX-License-Identifier: Apache-2.0
// Text only.
#include "model/grant.h"

namespace sbx {

std::string quoted(std::string_view text) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20) {
      out += "\\u00";
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string root_entry(std::string_view path, std::string_view access) {
  std::string out = R"({"path": )" + quoted(path) + R"(, "access": ")";
  out += access;
  return out + R"("})";
}

std::string root_grant(std::span<const std::string> paths, std::string_view access) {
  std::string out;
  for (const std::string& path : paths) out += (out.empty() ? "" : ", ") + root_entry(path, access);
  return "filesystem.roots += [" + out + "]";
}

}  // namespace sbx
