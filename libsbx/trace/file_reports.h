// SPDX-License-Identifier: Apache-2.0
// FileReports: calls that name a file → the denials that the mount view and Landlock answer them
// with. It decides nothing: whatever it finds, the call goes on, and the kernel refuses it. What a
// call names lies in the command's memory and on file systems that may make whoever looks wait: a
// process apart looks, and is given up where it takes too long.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>

#include "base/owned_fd.h"
#include "model/denial.h"
#include "plan/plan.h"
#include "policy/policy.h"
#include "sys/kernel.h"
#include "trace/apart.h"
#include "trace/refusals.h"

namespace sbx {

class FileReports {
 public:
  using Clock = std::chrono::steady_clock;

  // `watch` puts a descriptor into the set whose events step() handles, or takes it out again. What
  // is referred to must outlive this.
  FileReports(const LaunchPlan& plan, const Policy& policy, const Refusals& refusals,
              DenialLedger& denials, std::function<bool(int fd, bool on)> watch);
  ~FileReports() { close(); }
  FileReports(const FileReports&) = delete;
  FileReports& operator=(const FileReports&) = delete;

  // Has a call looked at while its caller waits, and lets it go on, now or in step().
  void look(const sys::SeccompNotif& call);
  void step();
  // When step() is due without an event.
  std::optional<Clock::time_point> deadline() const { return due_; }

  // From now on every call goes on at once. Lets go of the mount namespace.
  void close();

 private:
  void ask_next();
  bool ask(const sys::SeccompNotif& call);
  void fail();
  void end_apart();

  const LaunchPlan& plan_;
  const Policy& policy_;
  const Refusals& refusals_;
  DenialLedger& denials_;
  std::function<bool(int, bool)> watch_;
  std::unique_ptr<Apart> apart_;  // made when it is first needed
  OwnedFd channel_;               // to it
  std::deque<sys::SeccompNotif> waiting_;
  std::optional<Clock::time_point> due_;  // of the answer about the first one
  int failures_ = 0;
  bool all_is_own_ = false;  // there is nothing that an overlay cannot copy up
};

}  // namespace sbx
