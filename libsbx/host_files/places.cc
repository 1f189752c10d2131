// SPDX-License-Identifier: Apache-2.0
// The XDG base directories, without their defaults for a missing HOME.
#include "host_files/places.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include "base/files.h"
#include "base/paths.h"

namespace sbx {
namespace {

std::string absolute(const Environment& environment, std::string_view name) {
  const auto found = environment.find(name);
  return found != environment.end() && found->second.starts_with('/') ? found->second : "";
}

// VARIABLE/sbx or HOME/FALLBACK/sbx; empty without either.
std::string own_directory(const Environment& environment, std::string_view variable,
                          std::string_view fallback) {
  const std::string own = absolute(environment, variable);
  if (!own.empty()) return own + "/sbx";
  const std::string home = absolute(environment, "HOME");
  return home.empty() ? "" : (home + "/").append(fallback) + "/sbx";
}

// Whether that can be made without making a home that is not there.
bool has_place(const Environment& environment, std::string_view variable) {
  const std::string own = absolute(environment, variable);
  const std::string home = absolute(environment, "HOME");
  const bool is_in_home = own.empty() || (!home.empty() && is_below(own, home));
  const std::string above = is_in_home ? home : std::string(parent_of(own));
  return !above.empty() && access(above.c_str(), F_OK) == 0;
}

// VARIABLE/sbx/NAME or HOME/FALLBACK/sbx/NAME, then TMPDIR/sbx-NAME-UID, then /tmp/sbx-NAME-UID:
// in a directory that all may write the name must be one that nobody else would use.
std::vector<std::string> places(const Environment& environment, std::string_view variable,
                                const std::string& fallback, const std::string& name) {
  std::vector<std::string> out;
  if (has_place(environment, variable)) {
    out.push_back(own_directory(environment, variable, fallback) + "/" + name);
  }
  const std::string shared = "/sbx-" + name + "-" + std::to_string(geteuid());
  const std::string tmp = absolute(environment, "TMPDIR");
  if (!tmp.empty()) out.push_back(tmp + shared);
  out.push_back("/tmp" + shared);
  return out;
}

// Whose what is made is.
enum class Owns : std::uint8_t { kCaller, kOwnerAbove };

bool is_writable_inside(const std::string& path, const Policy& policy) {
  const Root* const deepest = deepest_at(policy.sandbox.filesystem.roots, path, &Root::path);
  return deepest != nullptr && deepest->access == Access::kReadWrite;
}

// What root makes in another user's directory is that user's, who could not get into root's.
// Nothing is given away but an empty one: in a directory of theirs they may put one in another's
// place.
void give_to_owner(const OwnedFd& above, const char* name) {
  struct stat owner {};
  struct stat info {};
  if (geteuid() != 0 || fstat(above.get(), &owner) != 0) return;
  if (owner.st_uid == 0 || (owner.st_mode & S_IWOTH) != 0) return;
  Listing made(above.get(), name, O_NOFOLLOW);
  const bool is_ours = made.is_open() && fstat(made.fd(), &info) == 0 && info.st_uid == 0;
  if (is_ours && made.next() == nullptr && errno == 0) {
    (void)!fchown(made.fd(), owner.st_uid, owner.st_gid);
  }
}

// Made with mode 0700, or there already; else errno says why not.
bool make_directory(const std::string& path, Owns owns) {
  const OwnedFd above(open(std::string(parent_of(path)).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const std::string name = path.substr(path.rfind('/') + 1);
  if (!above.is_open()) return false;
  if (mkdirat(above.get(), name.c_str(), 0700) != 0) return errno == EEXIST;
  if (owns == Owns::kOwnerAbove) give_to_owner(above, name.c_str());
  return true;
}

}  // namespace

std::vector<std::string> workspace_places(const Environment& environment) {
  return places(environment, "XDG_CACHE_HOME", ".cache", "workspaces");
}

std::string state_directory(const Environment& environment) {
  return own_directory(environment, "XDG_STATE_HOME", ".local/state");
}

std::string layers_directory(const Environment& environment) {
  const std::string state = state_directory(environment);
  return state.empty() ? state : state + "/layers";
}

std::vector<std::string> log_places(const Environment& environment, const Policy& policy) {
  std::vector<std::string> out = places(environment, "XDG_STATE_HOME", ".local/state", "logs");
  std::stable_partition(out.begin(), out.end(),
                        [&](const std::string& path) { return !is_writable_inside(path, policy); });
  return out;
}

std::vector<std::string> approval_places(const Environment& environment) {
  return places(environment, "XDG_STATE_HOME", ".local/state", "approvals");
}

Result<std::string> cache_place(const Environment& environment) {
  const std::string state = state_directory(environment);
  if (state.empty()) return state;
  const std::string path = state + "/caches";
  struct stat info {};
  if (lstat(path.c_str(), &info) == 0) {
    SBX_TRY(const OwnedFd known, open_private_directory(path));
  }
  return real_start(path);
}

Status make_caches(const SandboxPolicy& policy) {
  for (const auto& [name, cache] : policy.caches) {
    // A command may have closed it to all others, or opened it.
    struct stat info {};
    const char* const path = cache.source.c_str();
    if (lstat(path, &info) == 0 && S_ISDIR(info.st_mode) && (info.st_mode & 0777) != 0700) {
      chmod(path, 0700);
    }
    SBX_TRY(const OwnedFd made, open_private_directory(cache.source));
  }
  return {};
}

void make_directories(const std::string& path) {
  for (std::size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1)) {
    make_directory(path.substr(0, at), Owns::kOwnerAbove);
  }
  make_directory(path, Owns::kOwnerAbove);
}

Result<OwnedFd> open_private_directory(const std::string& path) {
  const auto failed = [&](const std::string& why, int error) {
    const bool is_in_the_way = error == 0 || error == ENOTDIR || error == ELOOP;
    return Error{ErrorCode::kSetupFailed, "the directory " + path + " cannot be used: " + why, path,
                 std::string(is_in_the_way ? "remove it" : "make it writable") +
                     ", or set XDG_STATE_HOME and XDG_CACHE_HOME to directories of your own",
                 error};
  };
  int first = 0;  // why the first that could not be made was not: what is below it is only missing
  for (std::size_t at = path.find('/', 1);; at = path.find('/', at + 1)) {
    const bool is_last = at == std::string::npos;
    const bool is_made =
        make_directory(path.substr(0, at), is_last ? Owns::kCaller : Owns::kOwnerAbove);
    if (!is_made && first == 0) first = errno;
    if (!is_last) continue;
    const int why = errno == ENOENT ? first : errno;
    if (!is_made) return failed(errno_text(why), why);
    break;
  }
  OwnedFd dir(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info {};
  if (!dir.is_open() || fstat(dir.get(), &info) != 0) return failed(errno_text(errno), errno);
  if (info.st_uid != geteuid()) return failed("it belongs to another user", 0);
  if ((info.st_mode & 022) != 0) return failed("others may write in it", 0);
  return dir;
}

}  // namespace sbx
