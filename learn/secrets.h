// SPDX-License-Identifier: Apache-2.0
// Where this machine keeps what opens other doors. Reads the host.
#pragma once

#include <string>
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

}  // namespace sbx::learn
