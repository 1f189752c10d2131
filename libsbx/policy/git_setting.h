// SPDX-License-Identifier: Apache-2.0
// One setting of git's, and whether a command may have it: it says who the user is or how git is to
// look and behave, holds no secret, runs no program and leads to no other file. Values only.
#pragma once

#include <optional>
#include <string>

namespace sbx {

// Names in lower case, but the subsection.
struct GitSetting {
  std::string section;
  std::string subsection;
  std::string key;
  std::optional<std::string> value;  // nullopt: there is no "=", which means true
  friend bool operator==(const GitSetting&, const GitSetting&) = default;
};

// Whether it may be shown inside: on the list of such keys, and with a value that looks like no
// secret (names and addresses of people aside) and, of an alias, runs no program.
bool is_shareable(const GitSetting& setting);

}  // namespace sbx
