// SPDX-License-Identifier: Apache-2.0
// Paths as texts, absolute ones but where it is said; nothing is looked at.
#pragma once

#include <string>
#include <string_view>

namespace sbx {

// "/" of what lies in it, and of itself.
inline std::string_view parent_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 || slash == std::string_view::npos ? "/" : path.substr(0, slash);
}

// What stands before the last slash of a path of any kind, and behind it: "" and all of it where
// there is none.
constexpr std::string_view directory_part(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}
constexpr std::string_view name_part(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

inline std::string join_path(std::string_view directory, std::string_view name) {
  std::string path(directory == "/" ? "" : directory);
  (path += '/') += name;
  return path;
}

// Whether `path` is `ancestor` or lies below it; both are normal paths.
inline bool is_below(std::string_view path, std::string_view ancestor) {
  const std::size_t size = ancestor.size();
  if (size == 1 && ancestor[0] == '/') return true;
  return path.size() >= size && (path.size() == size || path[size] == '/') &&
         std::char_traits<char>::compare(path.data(), ancestor.data(), size) == 0;
}

}  // namespace sbx
