// SPDX-License-Identifier: Apache-2.0
// Walks a protected path one component at a time, never through a symlink.
#include "host/protect.h"

#include <sys/stat.h>

#include "base/text.h"

namespace sbx {
namespace {

Node look(const std::string& path) {
  struct stat info {};
  Node node{path, NodeKind::kMissing, 0, 0};
  if (lstat(path.c_str(), &info) != 0) return node;
  node.dev = info.st_dev;
  node.ino = info.st_ino;
  node.kind = S_ISDIR(info.st_mode)   ? NodeKind::kDirectory
              : S_ISREG(info.st_mode) ? NodeKind::kFile
                                      : NodeKind::kOther;
  return node;
}

}  // namespace

Status resolve_protect(const Node& root, const Protect& protect, std::vector<ViewProtect>& out) {
  SBX_TRY(const std::string path, normal_path("/" + protect.path, "/", protect.where));
  ViewProtect found;
  found.root = root.path;
  found.report_missing = protect.report_missing;
  std::string at = root.path == "/" ? "" : root.path;
  for (const std::string_view part : split(std::string_view(path).substr(1), '/')) {
    if (found.node.kind != NodeKind::kMissing) found.parents.push_back(found.node);
    at += "/" + std::string(part);
    found.node = look(at);
    if (found.node.kind != NodeKind::kDirectory) break;
  }
  if (found.node.kind == NodeKind::kOther) return {};
  out.push_back(std::move(found));
  return {};
}

}  // namespace sbx
