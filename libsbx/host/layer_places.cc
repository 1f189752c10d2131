// SPDX-License-Identifier: Apache-2.0
#include "host/layer_places.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/files.h"
#include "base/paths.h"
#include "base/text.h"
#include "policy/policy.h"

namespace sbx {
namespace {

// The beginnings of their file systems' names.
constexpr auto kServed =
    std::to_array<std::string_view>({"fuse", "nfs", "9p", "cifs", "smb3", "ceph", "afs", "autofs"});

}  // namespace

std::string layers_beside(std::string_view top) {
  return join_path(top, std::string(kLayersBeside) + std::to_string(geteuid()));
}

std::vector<std::string> mount_points(bool also_served) {
  std::vector<std::string> out;
  const Result<std::string> mounts = read_file("/proc/self/mountinfo", std::size_t{4} << 20);
  if (!mounts.ok()) return out;
  for (const std::string_view line : split(mounts.value(), '\n')) {
    const std::string_view type = line.substr(std::min(line.find(" - ") + 3, line.size()));
    const auto begins = [&](std::string_view name) { return type.starts_with(name); };
    if (!also_served && std::any_of(kServed.begin(), kServed.end(), begins)) continue;
    std::size_t at = 0;  // of the fifth field
    for (int i = 0; i < 4; ++i) at = line.find(' ', at) + 1;
    if (at > 0) out.push_back(unescape_octal(line.substr(at, line.find(' ', at) - at)));
  }
  return out;
}

std::string mount_below(const std::string& directory) {
  const Result<std::string> real = real_path(directory);
  if (!real.ok()) return "";
  for (std::string& point : mount_points(true)) {
    if (point != real.value() && is_below(point, real.value())) return std::move(point);
  }
  return "";
}

}  // namespace sbx
