// SPDX-License-Identifier: Apache-2.0
// Source paths → paths without symlinks, and which file stands there. Reads the file system only.
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "base/files.h"
#include "bwrap/plan.h"

namespace sbx::bwrap {
namespace {

Error missing(const std::string& path, int error) {
  return Error{ErrorCode::kPathNotFound,
               "Can't find source path " + path + ": " + std::strerror(error), "", "", error};
}

Status resolve(std::string& path) {
  Result<std::string> real = real_path(path);
  if (!real.ok()) return missing(path, real.error().sys_errno);
  path = std::move(real).value();
  return {};
}

Status resolve_bind(Action& action) {
  const std::string given = action.source;
  SBX_CHECK_OK(resolve(action.source));
  struct stat info {};
  // A descriptor says itself which file is meant; the path that it has now must lead there.
  const int result =
      action.fd >= 0 ? ::fstat(action.fd, &info) : ::stat(action.source.c_str(), &info);
  if (result != 0) return missing(given, errno);
  action.dev = info.st_dev;
  action.ino = info.st_ino;
  action.is_directory = S_ISDIR(info.st_mode);
  return {};
}

Status resolve_action(Action& action) {
  switch (action.kind) {
    case ActionKind::kBind:
    case ActionKind::kRoBind:
    case ActionKind::kDevBind:
      return resolve_bind(action);
    case ActionKind::kOverlay:
      SBX_CHECK_OK(resolve(action.source));
      SBX_CHECK_OK(resolve(action.work));
      [[fallthrough]];
    case ActionKind::kTmpOverlay:
    case ActionKind::kRoOverlay:
      for (std::string& lower : action.lowers) SBX_CHECK_OK(resolve(lower));
      return {};
    default:
      return {};
  }
}

}  // namespace

Status resolve_sources(Options& options) {
  std::vector<Action> kept;
  kept.reserve(options.actions.size());
  for (Action& action : options.actions) {
    Status status = resolve_action(action);
    if (!status.ok()) {
      if (action.optional && status.error().sys_errno == ENOENT) continue;
      return status;
    }
    kept.push_back(std::move(action));
  }
  options.actions = std::move(kept);
  return {};
}

}  // namespace sbx::bwrap
