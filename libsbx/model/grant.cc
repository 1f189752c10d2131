// SPDX-License-Identifier: Apache-2.0
// Text only.
#include "model/grant.h"

#include "json/writer.h"

namespace sbx {

std::string literal_path(std::string_view path) {
  const std::size_t star = path.find('*');
  if (star == std::string_view::npos) return std::string(path);
  // A pattern begins with the name that holds the first star.
  const std::size_t begin = path.rfind('/', star) + 1;
  std::string out(path.substr(0, begin));
  for (const char c : path.substr(begin)) {
    if (std::string_view("*?[\\").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

std::string root_entry(std::string_view path, std::string_view access) {
  std::string out = R"({"path": )" + json_string(literal_path(path)) + R"(, "access": ")";
  out += access;
  return out + R"("})";
}

std::string root_grant(std::span<const std::string> paths, std::string_view access) {
  std::string out;
  for (const std::string& path : paths) out += (out.empty() ? "" : ", ") + root_entry(path, access);
  return "filesystem.roots += [" + out + "]";
}

}  // namespace sbx
