// SPDX-License-Identifier: Apache-2.0
// Leftovers: what one run makes on the host and must not leave there: its cgroup, stubs that hold
// the place of protected paths that do not exist, a fresh workspace, and, where there is no mount
// namespace, a directory for temporary files. Removed by the destructor; a watchdog, which is told
// of each before it is made, removes them when this process is killed first.
#pragma once

#include <string>
#include <vector>

#include "base/owned_fd.h"
#include "base/result.h"
#include "host/cgroup.h"
#include "host_files/stubs.h"
#include "host_files/watchdog.h"

namespace sbx {

class Leftovers {
 public:
  Leftovers() = default;
  ~Leftovers();
  Leftovers(const Leftovers&) = delete;
  Leftovers& operator=(const Leftovers&) = delete;

  // Moves this process where boxes can be made beside it, if it must, until this goes. Errors:
  // those of enter_leaf().
  Status enter_leaf(CgroupFacts& facts);
  // After enter_leaf(), of this or of another. Errors: those of make_box().
  Status make_cgroup(const CgroupFacts& facts, const CgroupLimits& limits);
  // Errors: those of Stubs::make(); nothing is left behind then.
  Status make_stubs(const std::vector<std::string>& paths);
  // Makes a directory of mode 0700 below `base`, with "tmp" and "home" in it, and answers its path.
  // Errors: kSetupFailed.
  Result<std::string> make_scratch(const std::string& base);
  // Makes an empty directory of mode 0700 in the first of `places` that can be used, and answers
  // its path. Errors: kSetupFailed.
  Result<std::string> make_workspace(const std::vector<std::string>& places);
  // Removes it now; false where something in it stays.
  bool remove_workspace();
  // Removes them now, before the rest; is_empty() from then on where may_linger().
  void remove_stubs();
  // What this process itself removes before this goes, and the watchdog where it cannot. Errors:
  // kSetupFailed.
  Status announce(Left kind, const std::vector<std::string>& texts) {
    return watchdog_.tell(kind, texts);
  }
  // `path` is a workspace that this process made: it is removed with the rest.
  Status adopt_workspace(const std::string& path);

  bool is_empty() const { return may_linger() && stubs_.empty(); }
  // Nothing but stubs, which a sandbox that waits in the same roots holds as well.
  bool may_linger() const {
    return !box_ && leaf_.empty() && scratch_.empty() && workspace_.empty();
  }
  // What a program that is executed as kWatchdogName does about what its watchdog was told.
  static void remove_left(AllLeft left);

  int cgroup_fd() const { return box_ ? box_->directory.get() : -1; }
  bool ran_out_of_memory() const;
  bool ran_out_of_pids() const;  // a fork was refused

 private:
  std::optional<CgroupBox> box_;
  std::string leaf_;
  Stubs stubs_;
  std::string scratch_;
  std::string workspace_;
  Watchdog watchdog_;
};

}  // namespace sbx
