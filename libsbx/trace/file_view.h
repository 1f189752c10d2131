// SPDX-License-Identifier: Apache-2.0
// FileView: what a call wants of a file, held against the sandbox as it stands: whether the mount
// view or Landlock refuses it, and what in the profile would allow it. It looks below the sandbox's
// root and, where a name is not there, at the host; it changes nothing, and the kernel decides.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/owned_fd.h"
#include "model/denial.h"
#include "plan/plan.h"
#include "policy/policy.h"
#include "trace/file_call.h"

namespace sbx {

struct FileRefusal {
  Refuser layer = Refuser::kMount;  // or Landlock
  std::string target;
  std::string grant;
  bool is_by_overlay = false;  // which cannot copy it up
};

class FileView {
 public:
  // All must outlive this. `root` is the sandbox's.
  FileView(const LaunchPlan& plan, const Policy& policy, const OwnedFd& root);

  // nullopt: it is allowed, or refused for a reason that is not the sandbox's, such as a file that
  // is nowhere, or permissions that the host has as well.
  std::optional<FileRefusal> refusal(const NamedFile& file, const std::string& path);
  // The same, only for what an overlay cannot move.
  std::optional<FileRefusal> move_refusal(const NamedFile& file, const std::string& path);
  // Of a hard link, or a move, that nothing else refuses: two mounts of one file system are two to
  // link(2) and rename(2).
  std::optional<FileRefusal> link_refusal(const std::string& from, const std::string& to) const;

 private:
  std::optional<FileRefusal> in_proc(const NamedFile& file, const std::string& path) const;
  std::optional<FileRefusal> not_there(const NamedFile& file, const std::string& path, int error);
  bool is_hidden(const std::string& path, const struct stat& info) const;
  bool is_below_hidden(std::string path) const;
  bool lies_below(const std::string& path) const;
  std::optional<FileRefusal> there(const NamedFile& file, const OwnedFd& found);
  bool is_a_way(const std::string& path, const struct stat& info) const;
  std::optional<FileRefusal> in_directory(const NamedFile& file, const std::string& path);
  std::optional<FileRefusal> by_landlock(const std::string& real, std::uint64_t rights,
                                         const std::string& target);
  std::string grant(const std::string& path, bool to_write) const;
  std::string link_grant(const std::string& path, bool to_write) const;
  std::string grant_of_hosts(const NamedFile& file, const std::string& entry) const;
  std::string grant_within(const std::string& directory, const std::string& entry) const;
  bool is_kept(const std::string& path) const;  // protected, whatever root makes it writable
  std::string shown_as(const std::string& path) const;
  std::optional<FileRefusal> by_overlay(const struct stat& info, const std::string& path) const;
  void read_rules();

  const LaunchPlan& plan_;
  const Policy& policy_;
  const OwnedFd& root_;
  int links_left_ = 0;
  std::uint64_t handled_ = 0;  // Landlock rights that are restricted at all
  std::optional<std::vector<std::pair<std::string, std::uint64_t>>> rules_;
};

}  // namespace sbx
