// SPDX-License-Identifier: Apache-2.0
// Lookup and bounded reading of profile files.
#include "profile/source.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <memory>
#include <utility>

#include "base/owned_fd.h"
#include "base/text.h"
#include "profile/shipped.h"
#include "profile/store.h"

namespace sbx {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{1} << 20;
constexpr std::size_t kMaxInstalled = 1000;
constexpr std::string_view kSuffix = ".json";

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::string stem_of(std::string_view path) {
  std::string_view name = file_name(path);
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
  const bool absent = error == ENOENT || error == ENOTDIR;
  return {.code = absent ? ErrorCode::kProfileNotFound : ErrorCode::kPathRefused,
          .message = "cannot open the profile " + path + ": " + errno_text(error),
          .where = "",
          .hint = absent ? "sbx-run profile list names the shipped and installed ones" : "",
          .sys_errno = error};
}

Result<std::string> read_all(int fd, const std::string& path) {
  std::string text;
  text.resize(kMaxBytes + 1);
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = ::read(fd, text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return cannot_open(path, errno);
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  if (size > kMaxBytes) {
    return Error{.code = ErrorCode::kTooLarge,
                 .message = "the profile " + path + " is larger than 1 MiB",
                 .where = "",
                 .hint = ""};
  }
  text.resize(size);
  text.shrink_to_fit();
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
          .hint = nearest ? "did you mean \"" + std::string(*nearest) + "\"?"
                          : "sbx-run profile list names them; a file's path has a / or .json"};
}

void list_directory(const std::string& directory, std::map<std::string, std::string>& paths) {
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::opendir(directory.c_str()), ::closedir);
  if (!stream) return;
  while (const dirent* entry = ::readdir(stream.get())) {  // NOLINT: a stream of our own
    const std::string name = entry->d_name;
    if (!name.ends_with(kSuffix) || name == kSuffix || paths.size() >= kMaxInstalled) continue;
    paths.emplace(stem_of(name), path_below(directory, name));
  }
}

ProfileSource shipped_source(const std::string& name, std::string_view text) {
  return {.label = "shipped:" + name,
          .name = name,
          .directory = "",
          .identity = "shipped:" + name,
          .text = std::string(text),
          .shipped = true};
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
  // O_NONBLOCK: opening a FIFO must not wait for its writer.
  const OwnedFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd.is_open()) return cannot_open(path, errno);
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return cannot_open(path, errno);
  if (!S_ISREG(status.st_mode)) {
    return Error{.code = ErrorCode::kPathRefused,
                 .message = "the profile " + path + " is not a regular file",
                 .where = "",
                 .hint = ""};
  }
  SBX_TRY(std::string text, read_all(fd.get(), path));
  ProfileSource source = profile_from_text(text, path);
  source.identity = std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino);
  return source;
}

Result<ProfileSource> find_profile(std::string_view name_or_path, const ProfileSearch& search) {
  const std::string name(name_or_path);
  if (name.find('\0') != std::string::npos) return not_found("", search);
  if (is_profile_path(name)) return read_profile_file(name);
  if (const auto text = shipped_text(name)) return shipped_source(name, *text);
  const std::string file = name + std::string(kSuffix);
  for (const std::string& directory : search.directories) {
    auto source = read_profile_file(path_below(directory, file));
    if (source.ok() || source.error().code != ErrorCode::kProfileNotFound) return source;
  }
  // A tool's name stands for the tool's profile.
  const std::string of_tool = "tool-" + name;
  if (const auto text = shipped_text(of_tool)) return shipped_source(of_tool, *text);
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
