// SPDX-License-Identifier: Apache-2.0
// WarmPool: sandboxes of one policy that were made ready in advance and wait for their command.
// Each is used once, and seen off when nobody waits. One that no longer shows what the policy would
// show now (a protected path that has come to be, a root that was replaced) is thrown away, not
// used.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "run/run.h"
#include "run/sandbox.h"
#include "run/supervisor.h"

namespace sbx {

class WarmPool : public ReadySandboxes {
 public:
  // `size` sandboxes are kept ready, in the session's layer where it has one; null: none.
  WarmPool(SharedPolicy policy, HostFacts facts, Environment inherited, std::size_t size,
           const KeptLayer* layer = nullptr);
  ~WarmPool() override;
  WarmPool(const WarmPool&) = delete;
  WarmPool& operator=(const WarmPool&) = delete;

  // One that is ready, or one that is made now of what the others were made of. Null: none can be
  // made, or the request differs from the policy in more than command, environment, working
  // directory, output and time.
  std::unique_ptr<Sandbox> take(const SandboxInput& wanted) override;
  // Let go by the next refill, or where several are left by then; none is waited for.
  void see_off(std::unique_ptr<Sandbox> sandbox, std::unique_ptr<Supervisor> supervisor) override;

  // Off the way of a run: lets go what was seen off, forgets what has left, and makes one sandbox
  // where one is missing, which takes as long as a launch. After a failure the
  // pool stays empty for good: the run itself then says what is wrong.
  void refill();
  bool is_empty() const { return ready_.empty(); }
  // What waits is of no use any more.
  void drop() { ready_.clear(); }
  // As far as it can be: what a policy's patterns match is walked for by a run only.
  bool is_full() const;
  bool is_settled() const { return leaving_.empty() && is_full(); }

 private:
  // The supervisor goes first: it waits for the process.
  struct Leaving {
    std::unique_ptr<Sandbox> sandbox;
    std::unique_ptr<Supervisor> supervisor;
    bool was_let_go = false;
  };
  // What all that wait were made of: good for the next one too, until a look shows that it is not.
  struct Pattern {
    View view;
    LaunchPlan plan;
    std::string search_path;
    Witnesses witnesses;  // of what neither commands nor their policy change
  };
  void let_go();
  Result<std::unique_ptr<Sandbox>> make(Expansions* expansions);
  SandboxInput own_input(const Request& request);
  bool fits(const SandboxInput& wanted) const;
  bool is_current(const SandboxInput& wanted);

  const SharedPolicy policy_;
  HostFacts facts_;
  Environment inherited_;
  Environment environment_;
  std::size_t size_;
  const KeptLayer* layer_;
  std::deque<std::unique_ptr<Sandbox>> ready_;
  std::deque<Leaving> leaving_;
  std::optional<Pattern> pattern_;
  const bool has_patterns_;
  bool is_broken_ = false;
};

}  // namespace sbx
