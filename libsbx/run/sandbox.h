// SPDX-License-Identifier: Apache-2.0
// A sandbox on its way: the files that were looked at, the plan that was made of them, what it
// leaves on the host, and, for one that was made ready in advance, its waiting process.
#pragma once

#include <memory>
#include <optional>

#include "host/facts.h"
#include "host/view.h"
#include "host_files/leftovers.h"
#include "kept/kept_layer.h"
#include "launch/spawn.h"
#include "plan/plan.h"
#include "policy/environment.h"
#include "policy/policy.h"

namespace sbx {

struct SandboxInput {
  const Policy& policy;
  const Request& request;
  HostFacts& facts;                // the cgroup may become one below which this process has moved
  const Environment& inherited;    // the caller's: TMPDIR
  const Environment& environment;  // the command's
  bool use_pty = false;
  unsigned pty_rows = 24;
  unsigned pty_columns = 80;
  bool is_job = false;  // of PlanInput
  bool awaits_command = false;
  const KeptLayer* layer = nullptr;  // that writes are kept in
  bool report_execs = false;  // that reach a denied program; each exec inside waits for a moment
  std::vector<std::string> named{};  // paths whose refusal is told; each call with a path waits
  Expansions* expansions = nullptr;  // of the policy's patterns, where they are known
  std::vector<LaidFile> files{};     // to be there in overlays
};

struct Sandbox {
  Sandbox() = default;
  ~Sandbox();  // a process that still waits is ended
  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;

  View view;
  LaunchPlan plan;
  Leftovers leftovers;
  std::optional<Spawned> spawned;  // one that awaits its command
};

// Finds the cgroup below which boxes can be made, where the policy needs one and the facts do not
// tell yet: a session finds it once, since this process may have to move for it.
void choose_cgroup(const Policy& policy, HostFacts& facts);

// Looks at the files and plans. Makes nothing on the host but a directory for temporary files where
// there is no mount namespace. Errors: those of inspect_view() and make_plan().
Result<std::unique_ptr<Sandbox>> plan_sandbox(const SandboxInput& input,
                                              Witnesses* witnesses = nullptr);

// Makes what the plan needs on the host: the cgroup, stubs, their watchdog.
// Errors: those of Leftovers.
Status prepare_sandbox(const SandboxInput& input, Sandbox& sandbox);

// The PATH that the command's programs are found by.
std::string search_path(const SandboxInput& input);
// What a look at the policy's files shows now. `witnesses` and errors: those of inspect_view().
Result<View> look_at_files(const SandboxInput& input, Witnesses* witnesses = nullptr);

}  // namespace sbx
