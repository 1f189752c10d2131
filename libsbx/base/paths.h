// SPDX-License-Identifier: Apache-2.0
// Absolute paths as texts; nothing is looked at.
#pragma once

#include <string>
#include <string_view>

namespace sbx {

// "/" of what lies in it, and of itself.
inline std::string_view parent_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 || slash == std::string_view::npos ? "/" : path.substr(0, slash);
}

inline std::string join_path(std::string_view directory, std::string_view name) {
  std::string path(directory == "/" ? "" : directory);
  (path += '/') += name;
  return path;
}

}  // namespace sbx
