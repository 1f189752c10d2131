// SPDX-License-Identifier: Apache-2.0
// Each bind by itself: what a later one lays over it is looked at in its turn.
#include "bwrap_managed.h"

#include <sys/stat.h>

#include <algorithm>
#include <set>
#include <utility>

#include "policy/policy.h"
#include "profile/fields.h"

namespace sbx::bwrap {
namespace {

Error refused(const std::string& file, const std::string& what, std::string hint) {
  return Error{ErrorCode::kManagedPolicy, "managed policy " + file + ": " + what, file,
               std::move(hint)};
}

bool has_layer(const Options& options, Layer layer) {
  switch (layer) {
    case Layer::kUser:
      return options.unshare_user || options.userns_fd >= 0;
    case Layer::kPid:
      return options.unshare_pid;
    case Layer::kNet:
      return options.unshare_net;
    case Layer::kIpc:
      return options.unshare_ipc;
    case Layer::kUts:
      return options.unshare_uts;
    case Layer::kCgroup:
      return options.unshare_cgroup;
    case Layer::kMount:
    case Layer::kNoNewPrivs:
      return true;
    case Layer::kCapabilities:
      return options.capabilities == 0;
    default:
      return false;
  }
}

Status check_file(const ManagedFile& file, const Options& options) {
  const std::string& path = file.mark.path;
  for (const Layer layer : file.isolation.require) {
    if (has_layer(options, layer)) continue;
    return refused(path, std::string("the layer ") + layer_name(layer) + " is required",
                   "sbx-run has it");
  }
  const bool is_narrow = file.network.allow.has_value() ||
                         file.network.mode.value_or(NetworkMode::kOpen) != NetworkMode::kOpen;
  if (is_narrow && !options.unshare_net) {
    return refused(path, "the host's network is not for commands: --unshare-net", "");
  }
  LimitsProfile none;
  if (!lower_limits(file.limits, none, true).empty()) {
    return refused(path, "it sets limits, which bubblewrap's options have none for: use sbx-run",
                   "");
  }
  if (!file.audit.file.empty()) {
    return refused(path, "every run is to be logged, which sbx-bwrap does not: use sbx-run", "");
  }
  return {};
}

Action over(ActionKind kind, std::string source, std::string dest) {
  Action action;
  action.kind = kind;
  action.source = std::move(source);
  action.dest = std::move(dest);
  action.perms = 0755;
  return action;
}

// What stands in the place of a path that is to be shown as less.
std::vector<Action> cover(const std::string& path, const std::string& dest, Access most) {
  if (most == Access::kReadOnly) return {over(ActionKind::kRoBind, path, dest)};
  struct stat info {};
  const bool is_directory = stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
  if (!is_directory) return {over(ActionKind::kRoBind, "/dev/null", dest)};
  return {over(ActionKind::kTmpfs, "", dest), over(ActionKind::kRemountRo, "", dest)};
}

Status narrow_bind(const std::vector<PathMaximum>& maxima, Action action,
                   std::vector<Action>& out) {
  const std::string source = action.source;
  const std::string dest = action.dest == "/" ? "" : action.dest;
  const auto file_of = [&](const std::string& path) {
    const auto found = std::find_if(maxima.begin(), maxima.end(), [&](const PathMaximum& maximum) {
      return is_below(path, maximum.path) && maximum.access == most_access(maxima, path);
    });
    return found == maxima.end() ? std::string("/etc/sbx/managed.d") : found->file;
  };
  Access shown = action.kind == ActionKind::kRoBind ? Access::kReadOnly : Access::kReadWrite;
  const Access most = most_access(maxima, source);
  if (most == Access::kNone) {
    return refused(file_of(source), source + " is not to be shown", "leave it out");
  }
  if (most < shown) action.kind = ActionKind::kRoBind;
  shown = std::min(shown, most);
  out.push_back(std::move(action));
  std::set<std::string> below;
  for (const PathMaximum& maximum : maxima) {
    if (maximum.path != source && is_below(maximum.path, source)) below.insert(maximum.path);
  }
  for (const std::string& path : below) {
    const Access least = std::min(most_access(maxima, path), Access::kReadWrite);
    if (least >= shown) continue;
    struct stat info {};
    if (lstat(path.c_str(), &info) != 0) {
      if (shown != Access::kReadWrite) continue;
      return refused(file_of(path), path + " is not there, and could be made in " + source,
                     "bind it read-only");
    }
    if (S_ISLNK(info.st_mode)) continue;  // its target has an entry of its own
    const std::string at = dest + (source == "/" ? path : path.substr(source.size()));
    for (Action& one : cover(path, at, least)) out.push_back(std::move(one));
  }
  return {};
}

Status check_overlay(const std::vector<PathMaximum>& maxima, const Action& action) {
  std::vector<std::pair<std::string, Access>> needs;
  for (const std::string& lower : action.lowers) needs.emplace_back(lower, Access::kReadOnly);
  if (action.kind == ActionKind::kOverlay) {
    needs.emplace_back(action.source, Access::kReadWrite);
    needs.emplace_back(action.work, Access::kReadWrite);
  }
  for (const auto& [path, need] : needs) {
    if (most_access_within(maxima, path) >= need) continue;
    return refused("/etc/sbx/managed.d", path + " is not to be shown whole in an overlay", "");
  }
  return {};
}

}  // namespace

Status narrow_options(const Managed& managed, Options& options) {
  std::vector<PathMaximum> maxima;
  for (const ManagedFile& file : managed) {
    SBX_CHECK_OK(check_file(file, options));
    maxima.insert(maxima.end(), file.filesystem.max.begin(), file.filesystem.max.end());
  }
  if (maxima.empty()) return {};
  std::vector<Action> actions;
  for (Action& action : options.actions) {
    switch (action.kind) {
      case ActionKind::kBind:
      case ActionKind::kRoBind:
      case ActionKind::kDevBind:
        SBX_CHECK_OK(narrow_bind(maxima, std::move(action), actions));
        break;
      default:
        SBX_CHECK_OK(check_overlay(maxima, action));
        actions.push_back(std::move(action));
    }
  }
  options.actions = std::move(actions);
  return {};
}

}  // namespace sbx::bwrap
