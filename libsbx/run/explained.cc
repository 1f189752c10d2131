// SPDX-License-Identifier: Apache-2.0
#include "run/explained.h"

#include <sys/stat.h>
#include <unistd.h>

#include <optional>
#include <utility>
#include <vector>

#include "host/cgroup.h"
#include "host/view.h"
#include "host_files/leftovers.h"
#include "host_files/places.h"
#include "kept/kept_layer.h"
#include "policy/http.h"
#include "run/http_process.h"

namespace sbx {
namespace {

Result<std::string> layer_kind_of(const RunInput& input, Expansions* expansions) {
  const Policy& policy = input.policy;
  if (policy.sandbox.layer.empty()) return std::string();
  SBX_TRY(const View places, inspect_roots(policy, expansions));
  SBX_TRY(const KeptKind kind, KeptLayer::kind_of(input.inherited, policy, places));
  return std::string(kept_kind_name(kind));
}

// A run's, whose variables for trust and credentials are there once sbx-http has started.
Environment planned_environment(const RunInput& input) {
  const SandboxPolicy& sandbox = input.policy.sandbox;
  Environment out = make_environment(input.policy, input.inherited, input.facts.user_name);
  if (sandbox.network.http.empty() && sandbox.network.credentials.empty()) return out;
  HttpSession started;
  started.java_store = kJavaStore;
  for (const Credential& each : sandbox.network.credentials) {
    withhold(each, input.inherited, out);
    started.placeholders[each.name];
  }
  for (const std::string& value : values_in_files(sandbox.network.credentials)) {
    drop_holders(value, out);
  }
  add_trust(started, sandbox.filesystem.base != Base::kHost, out);
  return out;
}

// What is missing of directories goes again, once nothing is in it.
class StaysMissing {
 public:
  explicit StaysMissing(const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
      for (std::size_t end = path.size(); end != 0; end = path.rfind('/', end - 1)) {
        struct stat info {};
        std::string part = path.substr(0, end);
        if (lstat(part.c_str(), &info) == 0) break;
        missing_.push_back(std::move(part));
      }
    }
  }
  StaysMissing(const StaysMissing&) = delete;
  StaysMissing& operator=(const StaysMissing&) = delete;
  ~StaysMissing() {
    for (const std::string& part : missing_) rmdir(part.c_str());
  }

 private:
  std::vector<std::string> missing_;
};

Result<LaunchPlan> plan_command(RunInput& input, Expansions* expansions) {
  const SandboxLimits& limits = input.policy.sandbox.limits;
  if (limits.memory_mb || limits.pids) input.facts.cgroup = find_cgroup();
  probe_layers(input.facts);
  const Environment environment = planned_environment(input);
  std::optional<StaysMissing> parents;
  Leftovers workspace;  // gone when the plan has been made
  std::optional<Policy> fresh;
  if (input.policy.run.workspace.mode == WorkspaceMode::kFresh) {
    const std::vector<std::string> places = workspace_places(input.inherited);
    parents.emplace(places);
    SBX_TRY(const std::string path, workspace.make_workspace(places));
    fresh = with_workspace(input.policy, path);
    if (expansions != nullptr) expansions->open();  // for what is below it: nothing
  }
  const Policy& policy = fresh ? *fresh : input.policy;
  SandboxInput planned{policy, input.request, input.facts, input.inherited, environment};
  planned.use_pty = planned.is_job = input.mode == OutputMode::kTerminal;
  planned.pty_rows = input.pty_rows;
  planned.pty_columns = input.pty_columns;
  planned.expansions = expansions;
  SBX_TRY(const std::unique_ptr<Sandbox> sandbox, plan_sandbox(planned));
  return std::move(sandbox->plan);
}

}  // namespace

Result<Explained> explain_command(RunInput& input, Expansions* expansions) {
  SBX_TRY(LaunchPlan plan, plan_command(input, expansions));
  SBX_TRY(guard::Judgement judgement, guard::judge(input.policy, input.request));
  SBX_TRY(std::string kind, layer_kind_of(input, expansions));
  return Explained{std::move(plan), std::move(judgement), std::move(kind)};
}

}  // namespace sbx
