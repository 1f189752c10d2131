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
  // Removes those that no other run holds. What somebody put there meanwhile stays. Answers what is
  // to be closed: whoever closes the last descriptor of a removed directory waits for its disk.
  std::vector<OwnedFd> remove();

  // Removes what a process that is gone has made or held, unless another run holds it.
  static void remove_left(const std::vector<std::string>& paths);

  bool empty() const { return held_.empty(); }

 private:
  std::vector<std::pair<std::string, OwnedFd>> held_;
};

}  // namespace sbx
