// SPDX-License-Identifier: Apache-2.0
// A descriptor of this process by its name in procfs, for calls that take a path alone.
#pragma once

#include <string>

namespace sbx {

std::string by_number(int fd);

}  // namespace sbx
