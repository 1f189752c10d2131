// SPDX-License-Identifier: Apache-2.0
// A pattern of paths below a directory → the paths that match now. `*` and `?` stand within one
// component, `**` for any directories. No symlink is followed. Reads only, bounded.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sbx {

inline constexpr std::size_t kMaxGlobMatches = 4096;
inline constexpr std::size_t kMaxGlobEntries = 1'000'000;

inline bool is_glob(std::string_view path) { return path.find('*') != std::string_view::npos; }

// Whether somebody else's directory keeps it from being looked at: the caller cannot open that up.
bool is_closed_to_us(const std::string& path);

// What a directory that cannot be listed, or lies too deep, may hold: nothing that matters, or
// something that a pattern which takes away would miss.
enum class Unlisted : std::uint8_t { kPassedOver, kRefused };

// Relative to `base`, sorted. Errors: kPathRefused over the bounds, and where a directory cannot be
// listed that the command might look into all the same; with `where`.
Result<std::vector<std::string>> expand_glob(const std::string& base, std::string_view pattern,
                                             const std::string& where, Unlisted unlisted);

}  // namespace sbx
