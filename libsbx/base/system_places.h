// SPDX-License-Identifier: Apache-2.0
// Where systems keep programs and libraries, and the devices that need none of their own: each room
// lays what else it means beside these.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "base/paths.h"

namespace sbx {

// The last two are functional package managers', which /usr or PATH point into.
inline constexpr auto kSystemPlaces =
    std::to_array<std::string_view>({"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32",
                                     "/libexec", "/nix/store", "/gnu/store"});

// Every sandbox has these, and /dev/tty besides: only of that, and of those that a profile names,
// the ioctls of a driver are wanted, as a program at a terminal sets its modes.
inline constexpr auto kPlainDevices = std::to_array<std::string_view>(
    {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"});

inline bool is_below_any(std::string_view path, std::span<const std::string_view> places) {
  return std::any_of(places.begin(), places.end(),
                     [&](std::string_view place) { return is_below(path, place); });
}

inline bool is_system_place(std::string_view path) { return is_below_any(path, kSystemPlaces); }

}  // namespace sbx
