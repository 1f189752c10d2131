// SPDX-License-Identifier: Apache-2.0
// One text.
#include "base/by_number.h"

namespace sbx {

std::string by_number(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

}  // namespace sbx
