// SPDX-License-Identifier: Apache-2.0
// Where this machine keeps what opens other doors. Reads the host.
#pragma once

#include <sys/types.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace sbx::learn {

struct SecretPlace {
  std::string path;  // absolute
  std::string why;
};

// HOME (empty: not known), and the home that the file of accounts has for this user.
std::vector<std::string> own_homes(const std::string& named);

// The places of these homes, those that are there in the homes of other accounts, what of /etc is
// private, and what each of them leads to. Errors: kPathRefused where /etc cannot be known.
Result<std::vector<SecretPlace>> secret_places(const std::vector<std::string>& homes);

using FileIds = std::set<std::pair<dev_t, ino_t>>;

// The files of these places that have other names as well: hard links. Looks at so many at the
// most, the first places first.
FileIds linked_files(const std::vector<SecretPlace>& places);

bool is_one_of(const FileIds& files, const std::string& path);

// Whether a .env file, or one of `linked`, lies below the directory; also where there is too much
// to tell: `looks_left` is below 0 then.
bool holds_secret(const std::string& directory, const FileIds& linked, int& looks_left);

}  // namespace sbx::learn
