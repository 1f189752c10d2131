// SPDX-License-Identifier: Apache-2.0
// Text only.
#include "model/grant.h"

#include <algorithm>

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
  return append_grant("filesystem.roots", out);
}

std::string append_grant(std::string_view setting, std::string_view entries) {
  std::string out(setting);
  out += " += [";
  out += entries;
  return out + "]";
}

GrantParts grant_parts(std::string_view grant) {
  if (grant.starts_with(kWithItsMode)) grant.remove_prefix(kWithItsMode.size());
  const std::size_t end = std::min(grant.find(' '), grant.size());
  for (const std::string_view sign : {" += ", " = "}) {
    const std::string_view rest = grant.substr(end);
    if (rest.starts_with(sign)) {
      return {grant.substr(0, end), sign.size() == 4, rest.substr(sign.size())};
    }
  }
  return {};
}

}  // namespace sbx
