// SPDX-License-Identifier: Apache-2.0
// The order in which a sandbox is made: look, plan, prepare.
#include "run/sandbox.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "guard/names.h"
#include "host/looks.h"
#include "host/owners.h"
#include "sys/calls.h"

namespace sbx {
namespace {

// The programs that base `tools` shows: what the policy allows, and the shell that runs them.
std::vector<std::string> tool_names(const Policy& policy, const Request& request) {
  const CommandsProfile& commands = policy.sandbox.commands;
  std::vector<std::string> names = commands.allow.value_or(std::vector<std::string>{});
  if (request.argv.empty()) {
    names.push_back(commands.shell);
  } else if (!commands.allow) {
    names.push_back(request.argv.front());
  }
  if (policy.sandbox.network.mode != NetworkMode::kNone) {
    names.insert(names.end(), commands.network_allow.begin(), commands.network_allow.end());
  }
  std::erase_if(
      names, [&](const std::string& name) { return guard::is_denied_name(commands.deny, name); });
  return names;
}

// Landlock without a mount view grants directory by directory where something inside is narrower.
Status list_narrowed(View& view, const Policy& policy) {
  const auto list_from = [&](const Node& holder, const std::string& path) -> Status {
    if (holder.kind != NodeKind::kDirectory || holder.path == path ||
        !is_below(path, holder.path)) {
      return {};
    }
    for (std::size_t at = holder.path == "/" ? 0 : holder.path.size(); at != std::string::npos;
         at = path.find('/', at + 1)) {
      SBX_CHECK_OK(list_directory(view, at == 0 ? "/" : path.substr(0, at)));
    }
    return {};
  };
  const auto list_above = [&](const std::string& path) -> Status {
    for (const ViewRoot& root : view.roots) {
      if (root.access != Access::kNone) SBX_CHECK_OK(list_from(root.node, path));
    }
    return {};
  };
  const bool shows_host = policy.sandbox.filesystem.base == Base::kHost;
  for (const ViewRoot& root : view.roots) {
    SBX_CHECK_OK(list_above(root.node.path));
    if (root.access != Access::kNone && !root.noexec) continue;
    if (shows_host) {
      SBX_CHECK_OK(list_from(Node{"/", NodeKind::kDirectory, 0, 0}, root.node.path));
    }
    for (const Node& node : view.system) SBX_CHECK_OK(list_from(node, root.node.path));
  }
  for (const ViewProtect& protect : view.protects) {
    if (protect.is_only_reported()) continue;
    SBX_CHECK_OK(list_above(protect.node.path));
  }
  for (const Node& node : view.etc_private) {
    for (std::size_t at = node.path.find('/', 1); at != std::string::npos;
         at = node.path.find('/', at + 1)) {
      SBX_CHECK_OK(list_directory(view, node.path.substr(0, at)));
    }
  }
  for (const Node& node : view.denied) {
    if (node.kind == NodeKind::kLink) continue;
    if (shows_host) SBX_CHECK_OK(list_directory(view, "/"));
    for (std::size_t at = node.path.find('/', 1); at != std::string::npos;
         at = node.path.find('/', at + 1)) {
      SBX_CHECK_OK(list_directory(view, node.path.substr(0, at)));
    }
  }
  return {};
}

bool has_mounts(const SandboxInput& input) {
  return input.policy.sandbox.isolation.namespaces.has(Layer::kMount) &&
         !input.facts.obstacle(Layer::kMount).present();
}

// A place for temporary files and for HOME, where the host's own are the only ones there are.
Status add_scratch(const SandboxInput& input, Sandbox& sandbox) {
  const SandboxPolicy& policy = input.policy.sandbox;
  const bool is_wanted =
      policy.landlock.mode != LandlockMode::kOff && policy.limits.tmp_mb.value_or(1) > 0;
  if (!is_wanted) return {};
  const auto configured = input.inherited.find("TMPDIR");
  std::string base = "/tmp";
  if (configured != input.inherited.end() && configured->second.starts_with('/')) {
    base = configured->second;
  }
  const Result<std::string> real = real_path(base);
  SBX_TRY(const std::string path, sandbox.leftovers.make_scratch(real.ok() ? real.value() : base));
  sandbox.view.scratch = node_at(path + "/tmp");
  if (policy.filesystem.home == HomeMode::kPrivate) {
    sandbox.view.scratch_home = node_at(path + "/home");
  }
  return {};
}

// A nameless overlay is not chosen by a look at the tree, as a kept layer is: where it may lie over
// something that it cannot copy up, each call that changes files is held against that. A launch
// waits for a small tree's look only: that of a larger one costs more than the calls do.
bool may_be_foreign(const SandboxInput& input, const View& view) {
  constexpr std::size_t kMostAtALaunch = 1000;
  if (!input.policy.sandbox.filesystem.overlay || input.layer != nullptr) return false;
  std::vector<std::string> roots;
  for (const ViewRoot& root : view.roots) {
    if (root.access == Access::kReadWrite) roots.push_back(root.node.path);
  }
  return OwnerLook(std::move(roots)).look(kMostAtALaunch).value_or(true);
}

}  // namespace

Sandbox::~Sandbox() {
  if (!spawned || !spawned->pidfd.is_open()) return;
  sys::pidfd_send_signal(spawned->pidfd.get(), SIGKILL);
  reap_killed(*spawned, kLongestEndMs, nullptr);
}

std::string search_path(const SandboxInput& input) {
  const auto path = input.environment.find("PATH");
  return path == input.environment.end() ? "" : path->second;
}

Result<View> look_at_files(const SandboxInput& input, Witnesses* witnesses) {
  SBX_TRY(View view,
          inspect_view(input.policy, tool_names(input.policy, input.request), search_path(input),
                       input.facts.home, has_mounts(input), witnesses, input.expansions));
  if (input.layer != nullptr) {
    view.layer = input.layer->view();
    choose_staging(view);
    SBX_CHECK_OK(input.layer->fit(view, input.policy));
  }
  return view;
}

void choose_cgroup(const Policy& policy, HostFacts& facts) {
  const SandboxLimits& limits = policy.sandbox.limits;
  const bool is_known = !facts.cgroup.base.empty() || !facts.cgroup.reason.empty();
  if (!limits.memory_mb && !limits.pids) {
    facts.cgroup = {};
  } else if (!is_known) {
    facts.cgroup = find_cgroup();
  }
}

Result<std::unique_ptr<Sandbox>> plan_sandbox(const SandboxInput& input, Witnesses* witnesses) {
  auto sandbox = std::make_unique<Sandbox>();
  SBX_TRY(sandbox->view, look_at_files(input, witnesses));
  if (!has_mounts(input)) {
    for (ViewProtect& protect : sandbox->view.protects) {
      protect.report_missing = protect.report_missing || protect.is_soft;
    }
    SBX_CHECK_OK(list_narrowed(sandbox->view, input.policy));
    SBX_CHECK_OK(add_scratch(input, *sandbox));
  }
  SBX_TRY(sandbox->plan,
          make_plan(PlanInput{input.policy, input.request, input.facts, sandbox->view,
                              input.environment, input.use_pty, input.pty_rows, input.pty_columns,
                              input.is_job, input.awaits_command, input.report_execs,
                              may_be_foreign(input, sandbox->view), input.named, input.files}));
  return sandbox;
}

Status prepare_sandbox(const SandboxInput& input, Sandbox& sandbox) {
  if (!input.facts.cgroup.base.empty()) {
    const SandboxLimits& limits = input.policy.sandbox.limits;
    CgroupLimits wanted;
    wanted.memory_bytes = limits.memory_mb.value_or(0) << 20;
    // PID 1 is one of them.
    if (limits.pids) wanted.pids = *limits.pids + 1;
    SBX_CHECK_OK(sandbox.leftovers.make_cgroup(input.facts.cgroup, wanted));
  }
  if (input.layer != nullptr) input.layer->clear_marks();
  return sandbox.leftovers.make_stubs(sandbox.plan.stubs);
}

}  // namespace sbx
