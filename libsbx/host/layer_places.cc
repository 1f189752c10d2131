// SPDX-License-Identifier: Apache-2.0
#include "host/layer_places.h"

#include <unistd.h>

#include <algorithm>

#include "base/files.h"
#include "base/paths.h"
#include "base/text.h"
#include "policy/policy.h"

namespace sbx {

std::string layers_beside(std::string_view top) {
  return join_path(top, std::string(kLayersBeside) + std::to_string(geteuid()));
}

std::vector<std::string> mount_points() {
  std::vector<std::string> out;
  const Result<std::string> mounts = read_file("/proc/self/mountinfo", std::size_t{4} << 20);
  if (!mounts.ok()) return out;
  for (const std::string_view line : split(mounts.value(), '\n')) {
    const std::vector<std::string_view> fields = split(line, ' ');
    if (fields.size() <= 4) continue;
    // What a server answers for may never answer, and holds no layers: no overlay writes there.
    const auto dash = std::find(fields.begin(), fields.end(), "-");
    const std::string_view type = fields.end() - dash > 1 ? dash[1] : "";
    const bool is_served = type.starts_with("fuse") || type.starts_with("nfs") || type == "9p" ||
                           type == "cifs" || type == "smb3" || type == "ceph" || type == "afs";
    if (!is_served || fields[4] == "/") out.push_back(unescape_octal(fields[4]));
  }
  return out;
}

}  // namespace sbx
