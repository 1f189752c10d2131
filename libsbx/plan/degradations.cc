// SPDX-License-Identifier: Apache-2.0
// What a plan is weaker in than its policy asks for, and what that means: one row each. Pure.
#include <algorithm>

#include "plan/builder.h"
#include "profile/shipped.h"
#include "sys/kernel.h"

namespace sbx {
namespace {

struct Made {
  const LaunchPlan& plan;
  const PlanInput& input;
  const SandboxPolicy& sandbox = input.policy.sandbox;
  bool is_confined = !layers_of(sandbox).empty();

  bool has(Layer layer) const { return plan.wanted.has(layer); }
  bool relays() const { return is_relayed(sandbox.network.mode); }
  bool wants_gateway() const { return relays() || !sandbox.network.host_ports.empty(); }
  bool filter_is_deaf() const { return has(Layer::kSeccomp) && !plan.filter_notifies; }
  bool scopes() const { return sys::landlock_scopes(plan.landlock_abi) != 0; }
  bool shares_processes() const { return !has(Layer::kPid) && is_confined; }
  bool is_nested() const { return allows_nested_namespaces(sandbox) && input.facts.uid != 0; }
  // Nobody looks at where a connection would go, nor refuses all.
  bool connects_unseen() const {
    const std::vector<std::string>& deny = sandbox.seccomp.deny;
    const bool is_refused =
        has(Layer::kSeccomp) && std::find(deny.begin(), deny.end(), "connect") != deny.end();
    return is_confined && !plan.mediates_connect && !is_refused;
  }
  bool network_is_as_wanted() const {
    return sandbox.network.mode == NetworkMode::kOpen || has(Layer::kNet) || has(Layer::kSeccomp);
  }
};

struct Shortfall {
  const char* what;
  const char* reason;
  bool (*holds)(const Made& made);
};

constexpr Shortfall kShortfalls[] = {
    {"programs",
     "without a mount namespace the dynamic linker, named as a program, can run a copy of one that "
     "the command made",
     [](const Made& made) {
       return !made.has(Layer::kMount) && made.sandbox.filesystem.base == Base::kTools;
     }},
    {"tree",
     "without a pid namespace a process that forks without pause can outrun the kill at the end",
     [](const Made& made) { return made.shares_processes(); }},
    {"processes",
     "without a pid namespace the user's processes outside, sbx-run among them, show in /proc, and "
     "when and where they run can be changed (affinity, priority, scheduling class)",
     [](const Made& made) { return made.shares_processes(); }},
    {"processes",
     "without a pid namespace and the filter the limits of the user's processes outside can be set "
     "(prlimit), which can end them",
     [](const Made& made) { return made.shares_processes() && !made.has(Layer::kSeccomp); }},
    {"processes",
     "without a pid namespace and Landlock ABI 6 the user's processes outside can be sent signals",
     [](const Made& made) { return made.shares_processes() && !made.scopes(); }},
    {"filesystem", "neither a mount namespace nor Landlock: every file of the caller is in reach",
     [](const Made& made) {
       return !made.has(Layer::kMount) && !made.has(Layer::kLandlock) && made.is_confined;
     }},
    {"filesystem",
     "Landlock alone: names, modes, owners and times of files outside are not covered, and nothing "
     "can be made directly in a directory that holds a narrower root or a protected path",
     [](const Made& made) {
       return !made.has(Layer::kMount) && made.has(Layer::kLandlock) && !made.plan.holds_attributes;
     }},
    {"filesystem", "Landlock alone: names of files outside are not covered",
     [](const Made& made) { return made.plan.holds_attributes; }},
    {"tmp",
     "without a mount namespace there is no /tmp of its own: TMPDIR names a directory of the "
     "session, whose size is not bounded, and /tmp cannot be written",
     [](const Made& made) {
       return !made.has(Layer::kMount) && made.sandbox.limits.tmp_mb && made.is_confined;
     }},
    {"filesystem",
     "in namespaces of its own a command can move what is hidden, read-only or protected within a "
     "writable root away from what covers it: keep such things out of writable roots",
     [](const Made& made) { return made.is_nested() && made.has(Layer::kMount); }},
    {"limits",
     "file systems that are mounted inside (tmpfs) and what lies in sockets of a network namespace "
     "made there count for neither memory nor tmp_mb: no cgroup bounds them",
     [](const Made& made) {
       return made.is_nested() && made.has(Layer::kUser) && made.input.facts.cgroup.base.empty() &&
              (made.sandbox.limits.memory_mb || made.sandbox.limits.tmp_mb);
     }},
    {"denials",
     "no seccomp listener can be had (a sandbox within a sandbox has another above it): refused "
     "calls are not reported",
     [](const Made& made) { return made.filter_is_deaf(); }},
    {"denials",
     "system calls are not listened to under this seccomp policy: --trace-denials reports nothing",
     [](const Made& made) {
       return !made.filter_is_deaf() && made.sandbox.trace_denials &&
              made.plan.reported_calls.empty();
     }},
    {"network", "Landlock alone: TCP is refused, UDP and the rest is not",
     [](const Made& made) { return !made.network_is_as_wanted() && made.has(Layer::kLandlock); }},
    {"network", "no layer holds the network policy",
     [](const Made& made) { return !made.network_is_as_wanted() && !made.has(Layer::kLandlock); }},
    {"network",
     "without a network namespace there is no gateway: nothing is reachable, as with mode none",
     [](const Made& made) { return made.wants_gateway() && !made.has(Layer::kNet); }},
    {"network", "connections are not handed to sbx: nothing is reachable, as with mode none",
     [](const Made& made) {
       return made.wants_gateway() && !made.plan.mediates_connect &&
              (made.has(Layer::kNet) || !made.relays());
     }},
    {"unix_sockets",
     "connections are not handed to sbx: a socket of the host that shows in a root can be "
     "connected to",
     [](const Made& made) {
       return made.connects_unseen() && made.has(Layer::kMount) &&
              !made.plan.landlock_holds_sockets;
     }},
    {"unix_sockets",
     "connections are not handed to sbx, and neither a mount namespace nor Landlock ABI 9 stands "
     "before them: every socket file of the host that the caller may write can be connected to, in "
     "a root or not",
     [](const Made& made) {
       return made.connects_unseen() && !made.has(Layer::kMount) &&
              !made.plan.landlock_holds_sockets;
     }},
    {"unix_sockets",
     "connections are not handed to sbx, and neither a network namespace nor Landlock ABI 6 stands "
     "before them: abstract sockets of the host can be connected to",
     [](const Made& made) {
       return made.connects_unseen() && !made.has(Layer::kNet) && !made.scopes();
     }},
};

// A preset where just one is meant for it.
std::string what_shows(const std::string& directory, const std::string& home) {
  if (!home.empty() && home != "/" && is_below(directory, home)) {
    const std::string_view preset = preset_for("${home}" + directory.substr(home.size()));
    if (!preset.empty()) return "--with " + std::string(preset) + " shows it";
  }
  return "--ro " + directory + " shows it";
}

void warn_of_paths(const View& view, const std::string& home, std::vector<std::string>& out) {
  for (const Link& link : view.left_out) {
    if (std::find(view.hidden_path.begin(), view.hidden_path.end(), link.path) !=
        view.hidden_path.end())
      continue;
    out.push_back("filesystem.roots: " + link.path + " is a symlink to " + link.target +
                  " and is not shown; --ro with its target shows that");
  }
  for (const std::string& directory : view.hidden_path) {
    // A root is no symlink, nor below one: what it leads to is.
    const auto link = std::find_if(view.left_out.rbegin(), view.left_out.rend(),
                                   [&](const Link& known) { return known.path == directory; });
    out.push_back("PATH: " + directory + " is not shown inside; " +
                  (link == view.left_out.rend() ? what_shows(directory, home)
                                                : "it leads to " + link->target + ": --ro " +
                                                      link->target + " shows it there"));
  }
  for (const ViewRoot& root : view.roots) {
    if (!root.is_managed || root.access == Access::kReadWrite) continue;
    const bool is_hidden = root.access == Access::kNone;
    out.push_back("filesystem: " + root.node.path +
                  (is_hidden ? " hidden by " : " made read-only by ") + root.where);
  }
  for (const std::string& path : view.seen_elsewhere) {
    out.push_back("filesystem.roots: " + path +
                  " is hidden by this name alone, and the file has others (hard links, see "
                  "find -samefile): hide those too, or make it a file of one name");
  }
  for (const std::string& path : view.held_by_name) {
    out.push_back("filesystem.protect: " + path +
                  " is protected by this name alone, and the file has others (hard links, see "
                  "find -samefile): protect those too, or make it a file of one name");
  }
  for (const std::string& path : view.not_writable) {
    out.push_back("filesystem.roots: " + path +
                  " is another user's, and a command of root's, which has no "
                  "capabilities, may write there no more than others may; run sbx-run as "
                  "its owner (setpriv, sudo -u), or chown it");
  }
}

void warn_of_git(const View& view, std::vector<std::string>& out) {
  for (const Link& include : view.git_included) {
    out.push_back("git: not taken inside: " + include.path + " includes from " + include.target);
  }
  for (const Link& hidden : view.git_hidden) {
    out.push_back("git: not taken inside: " + hidden.path + " is hidden by " + hidden.target);
  }
  if (view.git_is_above) {
    for (const std::string& path : view.git_shown) {
      out.push_back("git: " + path +
                    " is shown, since the workspace lies in its repository; the files "
                    "above the workspace are not, and git takes them for deleted");
    }
  }
}

}  // namespace

void add_degradations(LaunchPlan& plan, const PlanInput& input) {
  plan.warnings = input.policy.run.warnings;
  warn_of_paths(input.view, input.facts.home, plan.warnings);
  warn_of_git(input.view, plan.warnings);
  const Made made{plan, input};
  if (allows_nested_namespaces(made.sandbox) && !made.is_nested()) {
    plan.warnings.push_back(
        "seccomp.allow: no namespaces for a command of root's, which could mount the host's "
        "cgroups in one of its own; run sbx-run as another user (setpriv, sudo -u)");
  }
  if (!made.is_confined) {
    plan.warnings.push_back(
        "unconfined: this profile applies no sandbox; the command can do whatever the caller can");
  }
  if (made.has(Layer::kMount) && made.has(Layer::kPid) && !input.facts.proc_mountable) {
    plan.degraded.push_back(
        {"proc", "the outer /proc is shown, read-only: " + proc_obstacle(input.facts).reason});
  }
  for (const Shortfall& shortfall : kShortfalls) {
    if (shortfall.holds(made)) plan.degraded.push_back({shortfall.what, shortfall.reason});
  }
}

}  // namespace sbx
