// SPDX-License-Identifier: Apache-2.0
// Leftovers: what one run makes on the host and must not leave there: its cgroup, stubs that hold
// the place of protected paths that do not exist, a fresh workspace, and, where there is no mount
// namespace, a directory for temporary files. Removed by the destructor; a small watchdog process
// removes them when this process is killed first.
#pragma once

#include <string>
#include <vector>

#include "base/owned_fd.h"
#include "base/result.h"
#include "host/cgroup.h"
#include "session/stubs.h"

namespace sbx {

class Leftovers {
 public:
  Leftovers() = default;
  ~Leftovers();
  Leftovers(const Leftovers&) = delete;
  Leftovers& operator=(const Leftovers&) = delete;

  // Moves this process where boxes can be made beside it, if it must. Errors: those of
  // enter_leaf().
  Status enter_leaf(CgroupFacts& facts);
  // Errors: those of make_box() and enter_leaf().
  Status make_cgroup(CgroupFacts& facts, const CgroupLimits& limits);
  // Errors: those of Stubs::make(); nothing is left behind then.
  Status make_stubs(const std::vector<std::string>& paths) { return stubs_.make(paths); }
  // Makes a directory of mode 0700 below `base`, with "tmp" and "home" in it, and answers its path.
  // Errors: kSetupFailed.
  Result<std::string> make_scratch(const std::string& base);
  // Makes an empty directory of mode 0700 in the first of `places` that can be used, with the
  // watchdog started before it, and answers its path. Errors: kSetupFailed.
  Result<std::string> make_workspace(const std::vector<std::string>& places);
  // Removes it now; false where something in it stays.
  bool remove_workspace();
  // `path` is a workspace that this process made: it is removed with the rest.
  void adopt_workspace(std::string path) { workspace_ = std::move(path); }
  // Starts the watchdog, when all of the above have been made. Errors: kSetupFailed.
  Status watch();

  bool is_empty() const {
    return !box_ && leaf_.empty() && stubs_.empty() && scratch_.empty() && workspace_.empty();
  }
  int cgroup_fd() const { return box_ ? box_->directory.get() : -1; }
  bool ran_out_of_memory() const;

 private:
  std::optional<CgroupBox> box_;
  std::string leaf_;
  Stubs stubs_;
  std::string scratch_;
  std::string workspace_;
  OwnedFd watchdog_;  // its end of file makes the watchdog clean up
  pid_t watchdog_pid_ = -1;
};

}  // namespace sbx
