// SPDX-License-Identifier: Apache-2.0
// Extended attributes of the user namespace, but overlayfs' own: xattr(7).
#pragma once

#include <string>
#include <vector>

namespace sbx {

// Of a file or a directory that is open: the names, sorted; none where they cannot be had.
std::vector<std::string> user_attributes(int fd);
// Empty where it cannot be had.
std::string user_attribute(int fd, const std::string& name);
bool have_same_user_attributes(int a, int b);
// `to` has those of `from` and no others, as far as it takes them.
void copy_user_attributes(int from, int to);

}  // namespace sbx
