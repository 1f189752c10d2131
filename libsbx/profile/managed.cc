// SPDX-License-Identifier: Apache-2.0
// Reads what is looked at: each file is opened once, and what was checked is what is read.
#include "profile/managed.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/paths.h"
#include "base/sha256.h"
#include "base/text.h"
#include "json/check.h"
#include "json/codec.h"
#include "json/reader.h"
#include "json/schema.h"
#include "profile/fields.h"
#include "profile/source.h"

namespace sbx {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 20;
constexpr std::size_t kMostFiles = 256;

constexpr const char* kReplaced = "the administrator removes or replaces it";

Error wrong(const std::string& path, const std::string& why, std::string hint, int error = 0) {
  return Error{ErrorCode::kManagedPolicy, "the managed policy cannot be used: " + path + ": " + why,
               path, hint.empty() ? kReplaced : std::move(hint), error};
}

// In a user namespace without a user 0, root's files are those of nobody that is known there.
bool is_roots(uid_t owner) {
  static constexpr uid_t kOverflow = 65534;
  if (owner == 0) return true;
  if (owner != kOverflow) return false;
  const Result<std::string> map = read_file("/proc/self/uid_map", 4096);
  if (!map.ok()) return false;
  for (const std::string_view line : split(map.value(), '\n')) {
    const std::size_t first = line.find_first_not_of(' ');
    if (first != line.npos && line.substr(first, 2) == "0 ") return false;
  }
  return true;
}

Status check_owner(int fd, const std::string& path, mode_t kind) {
  struct stat info {};
  if (fstat(fd, &info) != 0) return wrong(path, errno_text(errno), "", errno);
  if ((info.st_mode & S_IFMT) != kind) {
    return wrong(path, kind == S_IFDIR ? "not a directory" : "not a regular file", kReplaced);
  }
  if (!is_roots(info.st_uid)) {
    return wrong(path, "it belongs to user " + std::to_string(info.st_uid) + ", not to root",
                 "as root: chown root:root " + path);
  }
  if ((info.st_mode & 022) != 0) {
    return wrong(path, "others than root may write it", "as root: chmod go-w " + path);
  }
  return {};
}

Result<OwnedFd> open_checked(int at, const std::string& name, const std::string& path,
                             mode_t kind) {
  const int flags = kind == S_IFDIR ? O_DIRECTORY : O_NONBLOCK | O_NOCTTY;
  OwnedFd fd(openat(at, name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | flags));
  if (!fd.is_open()) {
    return wrong(path, errno_text(errno),
                 errno == EACCES ? "as root: chmod a+rX " + path : kReplaced, errno);
  }
  SBX_CHECK_OK(check_owner(fd.get(), path, kind));
  return fd;
}

// What a symlink on the way stands for is meant too, so that either name is held.
void add_real_paths(std::vector<PathMaximum>& maxima) {
  const std::size_t named = maxima.size();
  for (std::size_t i = 0; i < named; ++i) {
    std::string real = real_start(maxima[i].path);
    if (real == maxima[i].path) continue;
    const auto same = [&](const PathMaximum& other) { return other.path == real; };
    const auto known = std::find_if(maxima.begin(), maxima.end(), same);
    if (known != maxima.end()) {
      known->access = std::min(known->access, maxima[i].access);
    } else {
      maxima.push_back({std::move(real), maxima[i].access, maxima[i].file});
    }
  }
}

// The path in the form in which roots are compared with it.
Status settle(ManagedFile& file) {
  std::vector<PathMaximum>& max = file.filesystem.max;
  for (std::size_t i = 0; i < max.size(); ++i) {
    const std::string where = "/filesystem/max/" + std::to_string(i) + "/path: ";
    std::string plain;
    for (const std::string_view part : split(max[i].path, '/')) {
      if (part.empty() || part == ".") continue;
      if (part == ".." || part.find('*') != part.npos) {
        return wrong(file.mark.path, where + "'..' and '*' have no place in it",
                     "name the path itself");
      }
      (plain += '/') += part;
    }
    max[i].path = plain.empty() ? "/" : plain;
    max[i].file = file.mark.path;
    for (std::size_t j = 0; j < i; ++j) {
      if (max[j].path != max[i].path) continue;
      return wrong(file.mark.path, where + max[i].path + " is there twice", "remove one of them");
    }
  }
  const bool is_wide = file.network.mode.value_or(NetworkMode::kNone) > NetworkMode::kAllowlist;
  if (!file.network.allow || !is_wide) return {};
  return wrong(file.mark.path, "/network/allow: nothing is listed in this mode",
               "mode allowlist, or none at all, goes with a list");
}

}  // namespace

Result<ManagedFile> parse_managed(std::string_view text, const std::string& path) {
  const auto document = read_json_strict(text);
  if (!document.ok()) {
    const Error& error = document.error();
    return wrong(path, error.where.empty() ? error.message : error.where + ": " + error.message,
                 error.hint);
  }
  std::vector<Error> errors = check_fields(document.value(), kManagedSpec, "");
  ManagedFile file;
  if (errors.empty()) decode_object(kManagedSpec, document.value(), &file, "", errors);
  if (!errors.empty()) {
    const Error& first = errors.front();
    return wrong(path, (first.where.empty() ? "" : first.where + ": ") + first.message, first.hint);
  }
  file.mark = {path, sha256_hex(text)};
  SBX_CHECK_OK(settle(file));
  return file;
}

Result<Managed> read_managed(const std::string& directory) {
  Managed managed;
  const std::size_t slash = directory.rfind('/');
  const std::string above = slash == 0 ? "/" : directory.substr(0, slash);
  struct stat info {};
  if (lstat(directory.c_str(), &info) != 0) {
    if (errno == ENOENT) return managed;
    return wrong(directory, errno_text(errno), "as root: chmod a+rX " + above, errno);
  }
  SBX_TRY(const OwnedFd holder, open_checked(AT_FDCWD, above, above, S_IFDIR));
  SBX_TRY(const OwnedFd opened,
          open_checked(holder.get(), directory.substr(slash + 1), directory, S_IFDIR));
  std::vector<std::string> names;
  Listing listing(opened.get(), ".");
  while (const dirent* entry = listing.next()) {
    const std::string_view name = entry->d_name;
    if (name.ends_with(".json") && !name.starts_with('.')) names.emplace_back(name);
  }
  if (!listing.is_open() || errno != 0) return wrong(directory, errno_text(errno), "", errno);
  if (names.size() > kMostFiles) return wrong(directory, "more than 256 files", "join some");
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    const std::string path = (directory + "/").append(name);
    SBX_TRY(const OwnedFd fd, open_checked(opened.get(), name, path, S_IFREG));
    const Result<std::string> text = read_up_to(fd.get(), kMostBytes + 1);
    if (!text.ok()) return wrong(path, text.error().message, "", text.error().sys_errno);
    if (text.value().size() > kMostBytes) return wrong(path, "it is larger than 1 MiB", "");
    SBX_TRY(ManagedFile file, parse_managed(text.value(), path));
    add_real_paths(file.filesystem.max);
    managed.push_back(std::move(file));
  }
  return managed;
}

Status check_forbidden(const Managed& managed, const std::vector<std::string>& names,
                       const ProfileSearch& search) {
  const auto is_used = [&](const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (const ManagedFile& file : managed) {
    for (const std::string& name : file.profiles.forbid) {
      if (!is_used(name)) {
        // By whatever spelling, symlink or hard link it was reached.
        const Result<ProfileSource> source = find_profile(name, search);
        if (!source.ok() || !is_used(source.value().identity)) continue;
      }
      return Error{ErrorCode::kManagedPolicy,
                   "the profile " + name + " is forbidden by " + file.mark.path, "--profile",
                   "choose another; sbx-run profile list names them"};
    }
  }
  return {};
}

const PathMaximum* least_maximum(const std::vector<PathMaximum>& maxima, std::string_view path) {
  std::map<std::string_view, const PathMaximum*> deepest;  // by file
  for (const PathMaximum& maximum : maxima) {
    if (!is_below(path, maximum.path)) continue;
    const PathMaximum*& known = deepest[maximum.file];
    if (known == nullptr || maximum.path.size() > known->path.size()) known = &maximum;
  }
  const PathMaximum* least = nullptr;
  for (const auto& [file, maximum] : deepest) {
    if (least == nullptr || maximum->access < least->access) least = maximum;
  }
  return least;
}

Access most_access(const std::vector<PathMaximum>& maxima, std::string_view path) {
  const PathMaximum* const least = least_maximum(maxima, path);
  return least == nullptr ? Access::kReadWrite : least->access;
}

Access most_access_within(const std::vector<PathMaximum>& maxima, std::string_view path) {
  Access most = most_access(maxima, path);
  const std::string top(path);
  for (const PathMaximum& maximum : maxima) {
    if (is_below(maximum.path, top)) most = std::min(most, most_access(maxima, maximum.path));
  }
  return most;
}

std::string managed_schema_json() {
  nlohmann::ordered_json schema = {
      {"$schema", "http://json-schema.org/draft-07/schema#"},
      {"title", "sbx managed policy"},
      {"description",
       "What an administrator leaves of every profile: a file of /etc/sbx/managed.d."}};
  schema.update(object_schema(kManagedSpec, nlohmann::json()));
  return schema.dump(2) + "\n";
}

}  // namespace sbx
