// SPDX-License-Identifier: Apache-2.0
// The schema of a profile, indented. Defaults are what the shipped profile `default` says.
#pragma once

#include <string>

namespace sbx {

std::string profile_schema_json();

}  // namespace sbx
