// SPDX-License-Identifier: Apache-2.0
// Settings that would allow what was refused, as a profile takes them. What they name comes from
// inside: each is written so that it says no more than that.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace sbx {

// `network.allow += ["example.org"]`: `entries` are JSON, with ", " between them.
std::string append_grant(std::string_view setting, std::string_view entries);

// A grant's text read back. An empty setting: it is advice for a person, or a flag.
struct GrantParts {
  std::string_view setting;  // "network.allow"
  bool appends = false;      // "+=", else "="
  std::string_view value;    // JSON
};

// Without the mode that comes with a list of hosts.
GrantParts grant_parts(std::string_view grant);

// Where no host is reached, a list of hosts comes with the mode in which it counts.
inline constexpr std::string_view kWithItsMode = R"(network.mode = "allowlist", )";

// As a profile writes a path that may be a pattern: what is special in a pattern stands for itself.
std::string literal_path(std::string_view path);

// `{"path": "/srv/a", "access": "ro"}`.
std::string root_entry(std::string_view path, std::string_view access);

// `filesystem.roots += [{"path": "/srv/a", "access": "ro"}]`, one for each path.
std::string root_grant(std::span<const std::string> paths, std::string_view access);

}  // namespace sbx
