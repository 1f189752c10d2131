// SPDX-License-Identifier: Apache-2.0
// Stubs: empty directories that hold the place of missing protected paths during a run. Runs in the
// same root share one: each holds a shared lock on it, and only the last removes it, since removing
// a directory takes away what another sandbox has mounted over it (rename(2), since Linux 3.18).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/owned_fd.h"
#include "base/result.h"

namespace sbx {

class Stubs {
 public:
  // A path where something else stands by now is left alone. Errors: kSetupFailed.
  Status make(const std::vector<std::string>& paths);
  // Removes those that no other run holds. What somebody put there meanwhile stays.
  void remove() const;

  bool empty() const { return held_.empty(); }
  // Closes every descriptor but `keep` and the locks: for the watchdog.
  void close_all_but(int keep) const;

 private:
  std::vector<std::pair<std::string, OwnedFd>> held_;
};

}  // namespace sbx
