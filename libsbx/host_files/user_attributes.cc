// SPDX-License-Identifier: Apache-2.0
#include "host_files/user_attributes.h"

#include <sys/xattr.h>

#include <algorithm>
#include <string_view>

#include "base/text.h"

namespace sbx {

std::vector<std::string> user_attributes(int fd) {
  const ssize_t size = flistxattr(fd, nullptr, 0);
  if (size <= 0) return {};
  std::string names(static_cast<std::size_t>(size), '\0');
  const ssize_t taken = flistxattr(fd, names.data(), names.size());
  if (taken <= 0) return {};
  names.resize(static_cast<std::size_t>(taken));
  std::vector<std::string> out;
  for (const std::string_view name : split(names, '\0')) {
    if (name.starts_with("user.") && !name.starts_with("user.overlay.")) out.emplace_back(name);
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::string user_attribute(int fd, const std::string& name) {
  std::string value(65536, '\0');
  const ssize_t size = fgetxattr(fd, name.c_str(), value.data(), value.size());
  value.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
  return value;
}

bool have_same_user_attributes(int a, int b) {
  const std::vector<std::string> names = user_attributes(a);
  return names == user_attributes(b) &&
         std::all_of(names.begin(), names.end(), [&](const std::string& name) {
           return user_attribute(a, name) == user_attribute(b, name);
         });
}

void copy_user_attributes(int from, int to) {
  const std::vector<std::string> wanted = user_attributes(from);
  for (const std::string& name : user_attributes(to)) {
    if (!std::binary_search(wanted.begin(), wanted.end(), name)) {
      (void)!fremovexattr(to, name.c_str());
    }
  }
  for (const std::string& name : wanted) {
    const std::string value = user_attribute(from, name);
    (void)!fsetxattr(to, name.c_str(), value.data(), value.size(), 0);
  }
}

}  // namespace sbx
