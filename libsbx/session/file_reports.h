// SPDX-License-Identifier: Apache-2.0
// FileReports: calls that name a file → the denials that the mount view and Landlock answer them
// with. It decides nothing: whatever it finds, the call goes on, and the kernel refuses it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/owned_fd.h"
#include "plan/plan.h"
#include "policy/policy.h"
#include "session/file_call.h"
#include "session/file_view.h"
#include "session/outcome.h"
#include "session/refusals.h"
#include "sys/kernel.h"

namespace sbx {

class FileReports {
 public:
  // Both must outlive this.
  FileReports(const LaunchPlan& plan, const Policy& policy);

  // Looks at a call while its caller waits. Bounded; unless every path is traced, it never waits
  // for a disk or a server either.
  void look(const sys::SeccompNotif& call, const Refusals& refusals);

  std::vector<Denial> denials() const;
  // Lets go of the mount namespace.
  void close() { root_.reset(); }

 private:
  std::optional<Denial> denial_of(const NamedFile& file, const std::string& path);
  std::string denied_program(std::string path) const;
  void count(Denial denial);

  const LaunchPlan& plan_;
  const Policy& policy_;
  OwnedFd root_;  // of the first process that called
  FileView view_;
  std::vector<Denial> denials_;
};

}  // namespace sbx
