// SPDX-License-Identifier: Apache-2.0
// Lookup and bounded reading of profile files.
#include "profile/source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <optional>
#include <utility>

#include "base/files.h"
#include "base/owned_fd.h"
#include "base/paths.h"
#include "base/text.h"
#include "profile/shipped.h"
#include "profile/store.h"

namespace sbx {
namespace {

constexpr std::size_t kMaxInstalled = 1000;
constexpr std::string_view kSuffix = ".json";

std::string stem_of(std::string_view path) {
  std::string_view name = name_part(path);
  if (name.ends_with(kSuffix) && name != kSuffix) name.remove_suffix(kSuffix.size());
  return std::string(name);
}

std::string directory_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? "" : std::string(path.substr(0, slash + 1));
}

std::string path_below(std::string directory, std::string_view name) {
  directory += '/';
  directory += name;
  return directory;
}

Error cannot_open(const std::string& path, int error) {
  const bool absent = is_missing(error);
  return {.code = absent ? ErrorCode::kProfileNotFound : ErrorCode::kPathRefused,
          .message = "cannot open the profile " + path + ": " + errno_text(error),
          .where = "",
          .hint = absent ? "sbx-run profile list names the shipped and installed ones" : "",
          .sys_errno = error};
}

Error no_file(const std::string& path) {
  return {.code = ErrorCode::kPathRefused,
          .message = "the profile " + path + " is not a regular file",
          .where = "",
          .hint = ""};
}

Result<std::string> read_whole(int fd, const std::string& path) {
  Result<std::string> text = read_up_to(fd, kMaxProfileBytes + 1);
  if (!text.ok()) return cannot_open(path, text.error().sys_errno);
  if (text.value().size() > kMaxProfileBytes) {
    return Error{.code = ErrorCode::kTooLarge,
                 .message = "the profile " + path + " is larger than 1 MiB",
                 .where = "",
                 .hint = ""};
  }
  text.value().shrink_to_fit();
  return text;
}

Error not_found(std::string_view name, const ProfileSearch& search) {
  std::vector<std::string> installed = installed_profile_paths(search);
  for (std::string& path : installed) path = stem_of(path);
  std::vector<std::string_view> known(installed.begin(), installed.end());
  for (const ShippedText& shipped : shipped_texts()) known.push_back(shipped.name);
  const auto nearest = nearest_name(name, known);
  return {.code = ErrorCode::kProfileNotFound,
          .message = "no shipped or installed profile is named \"" + std::string(name) + "\"",
          .where = "",
          .hint = nearest
                      ? "did you mean \"" + std::string(*nearest) + "\"?"
                      : "sbx-run profile list names them; one is installed as NAME.json in " +
                            join(search.directories, " or ") + "; a file's path has a / or .json"};
}

void list_directory(const std::string& directory, std::map<std::string, std::string>& paths) {
  Listing listing(directory);
  while (const dirent* entry = listing.next()) {
    const std::string name = entry->d_name;
    if (!name.ends_with(kSuffix) || name == kSuffix || paths.size() >= kMaxInstalled) continue;
    paths.emplace(stem_of(name), path_below(directory, name));
  }
}

ProfileSource shipped_source(const ShippedText& shipped) {
  const std::string name(shipped.name);
  const std::string label = (shipped.is_preset ? "preset:" : "shipped:") + name;
  return {.label = label,
          .name = name,
          .directory = "",
          .identity = label,
          .text = std::string(shipped.text),
          .shipped = true,
          .is_preset = shipped.is_preset};
}

// The installed profile of that name: the first that is there, or cannot be read.
std::optional<Result<ProfileSource>> installed_source(const std::string& name,
                                                      const ProfileSearch& search) {
  const std::string file = name + std::string(kSuffix);
  for (const std::string& directory : search.directories) {
    auto source = read_profile_file(path_below(directory, file));
    if (source.ok() || source.error().code != ErrorCode::kProfileNotFound) return source;
  }
  return std::nullopt;
}

// In a directory that the user may not search, or that no path leads to.
bool is_out_of_reach(const Result<ProfileSource>& source) {
  if (source.ok()) return false;
  const int error = source.error().sys_errno;
  return error == EACCES || error == ELOOP || error == ENAMETOOLONG;
}

Result<ProfileSource> preset_source(const ShippedText& preset, const ProfileSearch& search) {
  const std::string name(preset.name);
  const auto installed = installed_source(name, search);
  if (!installed || is_out_of_reach(*installed)) return shipped_source(preset);
  return Error{.code = ErrorCode::kBadValue,
               .message = "\"" + name + "\" is a preset, and an installed profile has its name",
               .where = "",
               .hint = "rename the installed profile, or give its path"};
}

}  // namespace

bool is_profile_path(std::string_view name_or_path) {
  return name_or_path.find('/') != std::string_view::npos || name_or_path.ends_with(kSuffix);
}

ProfileSource profile_from_text(std::string_view text, std::string_view origin) {
  return {.label = std::string(origin),
          .name = stem_of(origin),
          .directory = directory_of(origin),
          .identity = "text",
          .text = std::string(text)};
}

Result<ProfileSource> read_profile_file(const std::string& path) {
  // A repository may name what it likes, and opening some devices does something.
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return cannot_open(path, errno);
  if (!S_ISREG(status.st_mode)) return no_file(path);
  // O_NONBLOCK: opening a FIFO must not wait for its writer.
  const OwnedFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd.is_open()) return cannot_open(path, errno);
  if (::fstat(fd.get(), &status) != 0) return cannot_open(path, errno);
  if (!S_ISREG(status.st_mode)) return no_file(path);
  SBX_TRY(std::string text, read_whole(fd.get(), path));
  ProfileSource source = profile_from_text(text, path);
  source.identity = std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino);
  return source;
}

Result<ProfileSource> find_profile(std::string_view name_or_path, const ProfileSearch& search) {
  const std::string name(name_or_path);
  if (name.find('\0') != std::string::npos) return not_found("", search);
  if (is_profile_path(name)) return read_profile_file(name);
  if (const ShippedText* shipped = find_shipped(name)) {
    if (shipped->is_preset) return preset_source(*shipped, search);
    return shipped_source(*shipped);
  }
  if (auto installed = installed_source(name, search)) return std::move(*installed);
  // A tool's name stands for the tool's profile.
  if (const ShippedText* shipped = find_shipped("tool-" + name)) return shipped_source(*shipped);
  return not_found(name, search);
}

std::vector<std::string> installed_profile_paths(const ProfileSearch& search) {
  std::map<std::string, std::string> paths;
  for (const std::string& directory : search.directories) list_directory(directory, paths);
  std::vector<std::string> sorted;
  sorted.reserve(paths.size());
  for (auto& [name, path] : paths) sorted.push_back(std::move(path));
  return sorted;
}

}  // namespace sbx
