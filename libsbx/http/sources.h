// SPDX-License-Identifier: Apache-2.0
// Sources: where a credential says that its secret comes from → the secret. The one part that reads
// files and runs programs, before the jail.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "profile/profile.h"

namespace sbx::http {

// "NAME=value", the operator's.
using EnvironmentBlock = std::vector<std::string>;
// Empty: not set.
std::string_view value_of(const EnvironmentBlock& environment, std::string_view name);

// Without its final newline. Errors: kBadValue at `where`, which never hold what was read.
Result<std::string> read_secret(const SecretSource& from, const EnvironmentBlock& environment,
                                const std::string& where);
// The same for what has come already.
Result<std::string> check_secret(std::string text, const std::string& from,
                                 const std::string& where);

}  // namespace sbx::http
