// SPDX-License-Identifier: Apache-2.0
// What a denial's `grant` says → a change of a profile's document, unless it is of the things that
// no file is given without a person writing it there. The host is asked for one thing: what a
// symlink on the way of a path leads to.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "learn/secrets.h"
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

// Errors: kBadValue where the text is advice for a person, or no such setting.
Result<Grant> parse_grant(std::string_view text);

// What no program gives away.
struct Guarded {
  std::vector<std::string> homes;  // of the user: the first is ${home}
  std::vector<SecretPlace> secrets;
  FileIds linked;                // files of secrets that other names lead to
  std::vector<std::string> own;  // of sbx: the profile itself, the state directory
};

// What is never granted by a program, and why: empty where it may be.
std::string never_granted(const Grant& grant, const Guarded& guarded);

// Whether the profile has no such list at all: with one, it would grant less.
bool is_without_list(const Grant& grant, const Profile& profile);

// Adds it to a profile's document, in the list that is there; what is there already stays as it is.
// False: nothing changed.
bool add_grant(const Grant& grant, Document& profile);

// The lines in which the two differ, in the middle of what they share.
std::string difference(const std::string& before, const std::string& after);

}  // namespace sbx::learn
