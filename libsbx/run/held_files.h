// SPDX-License-Identifier: Apache-2.0
// HeldFiles: what a run must not change on the host, as it was before the command, held against
// what is there after it: protected paths, and what git reads its configuration and hooks from.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host/git_use.h"
#include "host/view.h"
#include "model/denial.h"
#include "model/outcome.h"
#include "plan/plan.h"
#include "policy/policy.h"

namespace sbx {

class HeldFiles {
 public:
  // Looks before the command.
  HeldFiles(const Policy& policy, const View& view);
  // Looks again, and counts what has changed, or has come to be.
  void compare(const Policy& policy, const LaunchPlan& plan, DenialLedger& denials) const;
  // The same of what is only reported and of what patterns take away, where writes went to a
  // layer: the real files do not tell.
  void compare_changes(const Policy& policy, const std::vector<Change>& changes,
                       DenialLedger& denials) const;
  // What of a layer's changes is protected: no commit makes that real.
  void name_protected(const std::vector<Change>& changes, DenialLedger& denials) const;
  // As the look before the command has: git may be led through much.
  bool takes_long() const { return takes_long_; }

 private:
  // Its change time tells of any write to it, whoever made it.
  struct State {
    std::string path;
    dev_t dev = 0;
    ino_t ino = 0;
    off_t size = 0;
    std::int64_t changed_ns = 0;
    bool is_own = false;  // of sbx's: what is in it is not looked at
    friend bool operator==(const State&, const State&) = default;
  };
  static std::optional<State> state_of(const std::string& path, bool is_own);
  void compare_git(DenialLedger& denials) const;
  void compare_patterns(const LaunchPlan& plan, DenialLedger& denials) const;

  std::vector<State> states_;
  std::vector<std::string> protected_;  // there or not
  std::vector<ViewProtect> reported_;   // missing, and may be made
  std::vector<ViewRoot> roots_;
  std::vector<std::string> lifted_;
  std::vector<View::Pattern> patterns_;
  std::vector<std::string>
      absent_;  // hidden ones that nothing would cover: an overlay is over them
  std::optional<GitUse> git_;
  bool takes_long_ = false;
};

}  // namespace sbx
