// SPDX-License-Identifier: Apache-2.0
// A record is replaced whole, and read only where nobody else could have written it.
#include "project.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/files.h"
#include "base/paths.h"
#include "base/sha256.h"
#include "host/protect.h"
#include "host_files/places.h"
#include "policy/policy.h"
#include "profile/trust_record.h"

namespace sbx {
namespace {

constexpr std::size_t kMostRecord = std::size_t{1} << 20;
constexpr std::size_t kDigits = 64;  // of an entry, before its path

Error failed(const std::string& call, int error) {
  return call_failed(ErrorCode::kSetupFailed, call, "trust",
                     "make it writable, or set XDG_STATE_HOME to a directory of your own", error);
}

// Where trust is written down. Errors: kSetupFailed.
Result<std::string> trust_directory(const Environment& environment) {
  const std::string state = state_directory(environment);
  if (!state.empty()) return state + "/trust";
  return Error{ErrorCode::kSetupFailed, "there is no state directory to keep trust in", "HOME",
               "set HOME or XDG_STATE_HOME"};
}

// Closed where it is not as it was made: another's directory trusts for nobody else.
Listing open_records(const Environment& environment) {
  const Result<std::string> directory = trust_directory(environment);
  if (!directory.ok()) return {};
  Listing records(AT_FDCWD, directory.value().c_str(), O_NOFOLLOW);
  struct stat info {};
  const bool is_own = records.is_open() && fstat(records.fd(), &info) == 0 &&
                      info.st_uid == geteuid() && (info.st_mode & 022) == 0;
  return is_own ? std::move(records) : Listing();
}

TrustedFiles read_record(const Listing& records, const char* name) {
  const Result<std::string> text = read_file_at(records.fd(), name, kMostRecord);
  return text.ok() ? parse_trust_record(text.value()) : TrustedFiles();
}

}  // namespace

std::string find_project(const std::string& workspace) {
  Result<std::string> real = real_path(workspace);
  if (!real.ok()) return "";
  std::string at = real.value() == "/" ? "" : std::move(real).value();
  for (;; at.resize(at.rfind('/'))) {
    std::string settings = at + "/" + std::string(kProjectSettings);
    struct stat info {};
    if (lstat(settings.c_str(), &info) == 0 && !is_stub(settings)) {
      return settings + "/profile.json";
    }
    if (at.empty()) return "";
  }
}

std::string find_project_profile(const std::string& workspace) {
  std::string path = find_project(workspace);
  struct stat info {};
  if (path.empty() || lstat(path.c_str(), &info) != 0) return "";
  return path;
}

std::string find_passed_over_profile(std::string nearest) {
  while (!nearest.empty()) {
    const std::string_view holder = parent_of(parent_of(nearest));
    if (holder == "/") return "";
    nearest = find_project(std::string(parent_of(holder)));
    struct stat info {};
    if (lstat(nearest.c_str(), &info) == 0) break;
  }
  return nearest;
}

Result<TrustedFiles> trust_project(const std::string& path, const ProfileSearch& search,
                                   const Environment& environment) {
  SBX_TRY(TrustedFiles files, files_of_profile(path, search));
  const std::string text = trust_record(files);
  SBX_TRY(const std::string directory, trust_directory(environment));
  SBX_TRY(const OwnedFd opened, open_private_directory(directory));
  const std::string name = sha256_hex(path);
  const std::string fresh = name + "." + std::to_string(getpid());
  const OwnedFd file(openat(opened.get(), fresh.c_str(),
                            O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.is_open()) return failed("open(" + directory + "/" + fresh + ")", errno);
  const bool is_written = write_all(file.get(), text) && fsync(file.get()) == 0 &&
                          renameat(opened.get(), fresh.c_str(), opened.get(), name.c_str()) == 0;
  if (is_written) return files;
  const int error = errno;
  unlinkat(opened.get(), fresh.c_str(), 0);
  return failed("write(" + directory + "/" + name + ")", error);
}

Result<bool> untrust_project(const std::string& path, const Environment& environment) {
  SBX_TRY(const std::string directory, trust_directory(environment));
  const std::string record = directory + "/" + sha256_hex(path);
  if (unlink(record.c_str()) == 0) return true;
  if (is_missing(errno)) return false;
  return failed("unlink(" + record + ")", errno);
}

TrustedFiles trusted_files(const std::string& path, const Environment& environment) {
  const Listing records = open_records(environment);
  return records.is_open() ? read_record(records, sha256_hex(path).c_str()) : TrustedFiles();
}

std::vector<std::string> trusted_below(const std::string& directory,
                                       const Environment& environment) {
  std::vector<std::string> paths;
  Listing records = open_records(environment);
  if (!records.is_open()) return paths;
  while (const dirent* const entry = records.next()) {
    for (const std::string& file : read_record(records, entry->d_name)) {
      std::string path = file.substr(kDigits);
      if (is_below(path, directory)) paths.push_back(std::move(path));
    }
  }
  return paths;
}

}  // namespace sbx
