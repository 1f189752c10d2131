// SPDX-License-Identifier: Apache-2.0
// What a denial's `grant` says → a change of a profile's document, which is never narrower then.
// Pure; what is never granted is in never.h.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "profile/profile.h"

namespace sbx::learn {

using Document = nlohmann::ordered_json;

// `filesystem.roots += [{"path": "/srv/a", "access": "ro"}]`, a setting at a time.
struct Grant {
  std::string section;
  std::string key;
  bool appends = true;  // "+=", else "="
  Document value;       // of an "+=": a list
};

// Whether a grant of the setting ("filesystem.roots") adds to a list.
bool is_list(std::string_view setting);

// Errors: kBadValue where the text is advice for a person, or no such setting.
Result<Grant> parse_grant(std::string_view text);

// Whether the profile has no such list at all: with one, it would grant less.
bool is_without_list(const Grant& grant, const Profile& profile);

// What of it the profile, with all that it extends, does not give already; an empty list: nothing.
// `home` is what ${home} stands for; empty: not known.
Grant lacking(Grant grant, const Profile& profile, const std::string& home);

// Adds it to a profile's document, in the list that is there. What is there already stays as it is,
// but for roots that a wider one covers. False: nothing changed.
bool add_grant(const Grant& grant, Document& profile, const std::string& home = "");

// The lines in which the two differ, in the middle of what they share.
std::string difference(const std::string& before, const std::string& after);

}  // namespace sbx::learn
