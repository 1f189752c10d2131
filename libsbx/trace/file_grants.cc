// SPDX-License-Identifier: Apache-2.0
#include "trace/file_grants.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/files.h"
#include "base/paths.h"
#include "model/grant.h"

namespace sbx {
namespace {

// Whether the caller may, outside: what is refused there no root lets pass. Of what is to be made,
// in the nearest directory that there is; of its own, the mode is its own to change.
bool may_itself(std::string path, bool to_write) {
  struct stat info {};
  while (stat(path.c_str(), &info) != 0) {
    if (!is_missing(errno) || path == "/") return false;
    if (!to_write) return true;
    path = parent_of(path);
  }
  const auto may = [&](int how) { return faccessat(AT_FDCWD, path.c_str(), how, AT_EACCESS) == 0; };
  const bool is_directory = S_ISDIR(info.st_mode);
  if (to_write ? may(is_directory ? W_OK | X_OK : W_OK)
               : may(R_OK) || (is_directory && may(X_OK))) {
    return true;
  }
  return errno == EACCES && info.st_uid == geteuid();
}

}  // namespace

std::string shown_as(const LaunchPlan& plan, const std::string& path) {
  const auto* const deepest = deepest_at(
      plan.shown, path, [](const auto& shown) -> std::string_view { return shown.first; });
  return deepest == nullptr ? "" : deepest->second;
}

bool is_protected_by_name(const Policy& policy, const std::string& path) {
  const FilesystemProfile& files = policy.sandbox.filesystem;
  return std::any_of(files.roots.begin(), files.roots.end(), [&](const Root& root) {
    return root.access == Access::kReadWrite && root.path != path && is_below(path, root.path) &&
           std::any_of(files.protect.begin(), files.protect.end(), [&](const Protect& protect) {
             const std::string whole = root.path + "/" + protect.path;
             return is_below(path, whole) || is_below(whole, path);
           });
  });
}

std::string file_grant(const LaunchPlan& plan, const Policy& policy, const std::string& path,
                       bool to_write) {
  const std::string shown = shown_as(plan, path);
  if (to_write && is_always_protected(policy, path)) return "";
  // What sbx keeps for the user is nothing to work with.
  const auto& kept = policy.run.own_places;
  const auto holds = [&](const std::string& place) { return is_below(path, place); };
  if (std::any_of(kept.begin(), kept.end(), holds)) return "";
  if (to_write && (shown == "protected" || is_protected_by_name(policy, path))) {
    return "remove it from filesystem.protect";
  }
  const bool is_ours =
      shown == "empty" || is_below(path, "/dev/shm") || (shown.empty() && is_below(path, "/tmp"));
  if (to_write && is_ours && !has_scratch(policy.sandbox)) return "limits.tmp_mb = 256";
  // Where a secret comes from is hidden, whatever roots there are.
  const auto& roots = policy.sandbox.filesystem.roots;
  const auto is_source = [&](const Root& root) {
    if (!is_secret_source(root.where)) return false;
    const Result<std::string> real = real_path(root.path);
    return root.path == path || (real.ok() && real.value() == path);
  };
  if (std::any_of(roots.begin(), roots.end(), is_source)) return "";
  // Nothing that could be added lets a root's own place be moved or removed.
  const auto is_it = [&](const Root& root) { return root.path == path; };
  const auto last = std::find_if(roots.rbegin(), roots.rend(), is_it);
  if (last != roots.rend() && last->access == Access::kReadWrite) return "";
  if (!may_itself(path, to_write)) return "";
  const std::string access = to_write ? "rw" : "ro";
  return root_grant({&path, 1}, access);
}

}  // namespace sbx
