// SPDX-License-Identifier: Apache-2.0
// The managed policy: files of the administrator's that narrow every profile and flag, and widen
// none (docs/policy.md). A directory → its files, checked; which of them forbid a profile.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/managed_mark.h"
#include "profile/profile.h"
#include "profile/store.h"

namespace sbx {

// Where sbx-run and sbx-bwrap look. Nothing names another: who could would be free of it.
inline constexpr const char* kManagedDirectory = "/etc/sbx/managed.d";

// The most that a path may be shown as, and everything below it that has no entry of its own.
struct PathMaximum {
  std::string path;  // absolute
  Access access = Access::kNone;
  std::string file;  // that says so
  friend bool operator==(const PathMaximum&, const PathMaximum&) = default;
};

struct ManagedFilesystem {
  std::vector<PathMaximum> max;
};
struct ManagedNetwork {
  std::optional<NetworkMode> mode;
  std::optional<std::vector<HostRule>> allow;
};
struct ManagedIsolation {
  std::vector<Layer> require;
};
struct ManagedProfiles {
  std::vector<std::string> forbid;
};

struct ManagedFile {
  ManagedMark mark;
  std::string name;
  std::string description;
  ManagedFilesystem filesystem;
  ManagedNetwork network;
  ManagedIsolation isolation;
  LimitsProfile limits;
  ManagedProfiles profiles;
  AuditProfile audit;
};
using Managed = std::vector<ManagedFile>;  // by name

// A file's text; `path` is for its errors, and its mark. Errors: kManagedPolicy, naming the file.
Result<ManagedFile> parse_managed(std::string_view text, const std::string& path);

// Every *.json of the directory, which need not be there. It, the directory that holds it and the
// files must be root's and writable by nobody else. Errors: kManagedPolicy, naming what is wrong;
// nothing may run then.
Result<Managed> read_managed(const std::string& directory);

// `names` are those of a LoadedProfile. A file that is forbidden by its path, or by a name under
// which it is installed, is so by every other of its paths. Errors: kManagedPolicy.
Status check_forbidden(const Managed& managed, const std::vector<std::string>& names,
                       const ProfileSearch& search);

// Of all files together: within one the most specific path counts, between them the least. Null
// where nothing is said, which is rw.
const PathMaximum* least_maximum(const std::vector<PathMaximum>& maxima, std::string_view path);
Access most_access(const std::vector<PathMaximum>& maxima, std::string_view path);
// The least that the path or anything below it may be shown as.
Access most_access_within(const std::vector<PathMaximum>& maxima, std::string_view path);

std::string managed_schema_json();

}  // namespace sbx
