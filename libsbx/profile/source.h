// SPDX-License-Identifier: Apache-2.0
// A profile's name or path → its text, and where that came from. The only file of the room that
// touches the file system. Profile files may be symlinks, since operators install them so;
// anything but a regular file of at most 1 MiB is refused without blocking.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sbx {

struct ProfileSearch;

inline constexpr std::size_t kMaxProfileBytes = std::size_t{1} << 20;

struct ProfileSource {
  std::string label;      // "shipped:NAME" or the path
  std::string name;       // the shipped name, or the file's stem
  std::string directory;  // that a relative `extends` starts from; empty: the current one
  std::string identity;   // equal for two ways to one profile
  std::string text;
  bool shipped = false;
  bool is_preset = false;
};

bool is_profile_path(std::string_view name_or_path);

// kProfileNotFound with the nearest known name, kPathRefused or kTooLarge; kBadValue for the name
// of a preset that an installed profile has too: neither may be taken for the other.
Result<ProfileSource> find_profile(std::string_view name_or_path, const ProfileSearch& search);
Result<ProfileSource> read_profile_file(const std::string& path);
ProfileSource profile_from_text(std::string_view text, std::string_view origin);

// Paths of NAME.json below the directories, by name, at most 1000; the first of equal names.
std::vector<std::string> installed_profile_paths(const ProfileSearch& search);

}  // namespace sbx
