// SPDX-License-Identifier: Apache-2.0
// Settings that would allow what was refused, as a profile takes them.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace sbx {

// As a JSON string.
std::string quoted(std::string_view text);

// `{"path": "/srv/a", "access": "ro"}`.
std::string root_entry(std::string_view path, std::string_view access);

// `filesystem.roots += [{"path": "/srv/a", "access": "ro"}]`, one for each path.
std::string root_grant(std::span<const std::string> paths, std::string_view access);

}  // namespace sbx
