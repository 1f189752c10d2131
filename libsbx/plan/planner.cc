// SPDX-License-Identifier: Apache-2.0
// (Policy, Request, HostFacts, View) → LaunchPlan: which layers, in which order, with which limits.
// Pure: the same input gives the same plan.
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "plan/builder.h"
#include "plan/filter.h"

namespace sbx {
namespace {

constexpr std::array kNamespaces = {Layer::kUser, Layer::kMount, Layer::kPid,   Layer::kNet,
                                    Layer::kIpc,  Layer::kUts,   Layer::kCgroup};

Error unavailable(Layer layer, const Obstacle& obstacle) {
  Error error{ErrorCode::kLayerUnavailable,
              std::string("the required layer '") + layer_name(layer) +
                  "' cannot be had: " + obstacle.reason,
              "/isolation/require", obstacle.hint, obstacle.sys_errno};
  if (error.hint.empty()) error.hint = "sbx-run doctor tells what this machine can enforce";
  return error;
}

class Planner {
 public:
  explicit Planner(const PlanInput& input) : input_(input), sandbox_(input.policy.sandbox) {}

  Result<LaunchPlan> run() {
    SBX_CHECK_OK(choose_layers());
    SBX_CHECK_OK(choose_paths());
    if (!wants(Layer::kMount)) {
      const std::string& here = input_.request.started_in;
      if (!here.empty()) SBX_CHECK_OK(check_cwd(here));
      SBX_CHECK_OK(check_cwd(builder_.plan().cwd));
    }
    LaunchPlan& plan = builder_.plan();
    plan.use_pty = input_.use_pty;
    plan.awaits_command = input_.awaits_command;
    if (!plan.awaits_command) SBX_CHECK_OK(set_command(plan, input_));
    add_namespaces();
    add_network();
    if (wants(Layer::kMount)) {
      SBX_CHECK_OK(add_view(builder_, input_,
                            ViewOptions{watches_pids() && wants(Layer::kPid), has_own_proc(),
                                        nested_, wants(Layer::kUser), wants(Layer::kIpc)}));
    } else if (wants(Layer::kLandlock)) {
      for (const Node& node : input_.view.denied) {
        if (node.kind == NodeKind::kFile) plan.denied_programs.push_back(node.path);
      }
      for (const ViewProtect& protect : input_.view.protects) {
        if (protect.is_only_reported()) plan.report_created.push_back(protect);
        const bool is_named = input_.policy.sandbox.filesystem.replaced == ReplacedMode::kReport;
        if (protect.leads_git && !is_named) plan.taken_away.push_back(protect.node.path);
      }
    }
    if (wants(Layer::kNet) && !tunes_network()) join_network();
    add_host_name();
    builder_.add(op::NotDumpable{});
    // A group can be stopped from its terminal only where its parent is of the same session.
    if (input_.is_job) add_session();
    builder_.add(op::ForkCommand{});
    if (!input_.is_job) add_session();
    if (plan.use_pty) builder_.add(op::TakePty{input_.is_job});
    add_limits();
    if (!plan.awaits_command) builder_.add(op::ChangeDir{builder_.text(plan.cwd)});
    if (!is_unconfined()) {
      builder_.add(op::NoNewPrivs{}, Layer::kNoNewPrivs);
      builder_.confirm_last(Layer::kNoNewPrivs);
    }
    if (wants(Layer::kLandlock)) {
      add_landlock(builder_, input_, wants(Layer::kMount), wants(Layer::kNet), nested_);
      plan.landlock_abi = input_.facts.landlock_abi;
    }
    // The rules above take descriptors of their own.
    auto open_files = static_cast<std::uint64_t>(sandbox_.limits.open_files.value_or(0));
    const bool can_wait = wants(Layer::kSeccomp) && input_.facts.seccomp_notify &&
                          !is_denied("sendmsg") && !is_denied("prlimit64");
    if (open_files != 0 && !can_wait) {
      limit(RLIMIT_NOFILE, open_files, open_files);
      open_files = 0;
    }
    if (!is_unconfined()) {
      builder_.add(op::DropCapabilities{}, Layer::kCapabilities);
      builder_.confirm_last(Layer::kCapabilities);
    }
    builder_.add(op::CloseDescriptors{});
    SBX_CHECK_OK(add_filter(open_files));
    if (plan.awaits_command) {
      builder_.add(op::AwaitCommand{});
      if (wants(Layer::kMount)) builder_.add(op::CheckGuards{}, Layer::kMount);
      builder_.add(op::ChangeDir{});
    }
    builder_.add(op::Execute{});
    describe_limits();
    add_degradations(plan, input_);
    return std::move(plan);
  }

 private:
  bool wants(Layer layer) const { return builder_.plan().wanted.has(layer); }

  bool is_unconfined() const { return layers_of(sandbox_).empty(); }

  void add_session() {
    builder_.add(op::NewSession{});
    if (!input_.use_pty) return;
    builder_.add(op::OpenPty{builder_.text("/dev/ptmx"),
                             static_cast<std::uint16_t>(input_.pty_rows),
                             static_cast<std::uint16_t>(input_.pty_columns)});
  }

  // --- layers ---

  Status choose_layers() {
    // Not for root: what it would mount in a namespace of its own, cgroups first, is root's.
    nested_ = allows_nested_namespaces(sandbox_) && input_.facts.uid != 0;
    const LayerSet on = layers_of(sandbox_);
    for (int i = 0; i < kLayerCount; ++i) {
      const auto layer = static_cast<Layer>(i);
      if (on.has(layer)) SBX_CHECK_OK(choose(layer));
    }
    // Without it the writes would go to the real files.
    if (sandbox_.filesystem.overlay && !wants(Layer::kMount)) {
      const Obstacle& obstacle = input_.facts.obstacle(Layer::kMount);
      return unavailable(Layer::kMount, obstacle.present()
                                            ? obstacle
                                            : Obstacle{"the profile turns it off",
                                                       "leave out --overlay and --layer", 0});
    }
    if (wants(Layer::kMount) && wants(Layer::kPid)) {
      // Without a /proc of its own the namespace hides nobody.
      const Obstacle masked = proc_obstacle(input_.facts);
      const bool may_miss = sandbox_.isolation.fallback == Fallback::kDegrade &&
                            !sandbox_.isolation.require.has(Layer::kPid);
      if (masked.present() && !may_miss) return unavailable(Layer::kPid, masked);
    }
    for (int i = 0; i < kLayerCount; ++i) {
      const auto layer = static_cast<Layer>(i);
      if (sandbox_.isolation.require.has(layer) && !wants(layer)) {
        return unavailable(layer, Obstacle{"the profile turns it off",
                                           "remove it from isolation.require, or turn it on", 0});
      }
    }
    return {};
  }

  Status choose(Layer layer) {
    const Obstacle& obstacle = input_.facts.obstacle(layer);
    if (!obstacle.present()) {
      builder_.plan().wanted.add(layer);
      return {};
    }
    if (sandbox_.isolation.require.has(layer) || !may_miss(layer)) {
      return unavailable(layer, obstacle);
    }
    builder_.plan().degraded.push_back({layer_name(layer), obstacle.reason});
    return {};
  }

  bool may_miss(Layer layer) const {
    switch (layer) {
      case Layer::kLandlock:
        return sandbox_.landlock.mode != LandlockMode::kRequire;
      case Layer::kNoNewPrivs:
      case Layer::kCapabilities:
        return false;  // what a command has of privilege, no other layer takes from it
      default:
        return sandbox_.isolation.fallback == Fallback::kDegrade;
    }
  }

  Status choose_paths() {
    LaunchPlan& plan = builder_.plan();
    SBX_TRY(plan.cwd, request_cwd(input_.policy, input_.request));
    plan.home = sandbox_.home;
    if (!wants(Layer::kMount) && !input_.view.scratch_home.path.empty()) {
      plan.home = input_.view.scratch_home.path;
      return {};
    }
    const Node& home = input_.view.home;
    const bool is_shown_as_it_is = sandbox_.filesystem.home == HomeMode::kHost;
    if (home.kind == NodeKind::kDirectory && (is_shown_as_it_is || home.path == plan.home)) {
      return {};
    }
    // Below a directory of the host's nothing is ever made: no place to mount a home on.
    const auto& roots = input_.view.roots;
    const bool is_hosts =
        sandbox_.filesystem.base == Base::kHost ||
        std::any_of(roots.begin(), roots.end(), [&](const ViewRoot& root) {
          return root.access != Access::kNone && is_below(plan.home, root.node.path);
        });
    if (!plan.home.empty() && is_hosts) plan.home = "/tmp";
    return {};
  }

  // With a mount view the planner of the view knows what is shown. Without one everything of the
  // host is there, but only what Landlock grants can be used.
  Status check_cwd(const std::string& cwd) const {
    if (!wants(Layer::kLandlock)) return {};
    bool shown = sandbox_.filesystem.base == Base::kHost || cwd == "/";
    if (const ViewRoot* const deepest = deepest_at(input_.view.roots, cwd, &ViewRoot::path)) {
      shown = deepest->access != Access::kNone;
    } else {
      for (const Node& node : input_.view.system) shown = shown || is_below(cwd, node.path);
      shown = shown || is_below(cwd, "/etc") || is_below(cwd, "/dev") || is_below(cwd, "/proc");
    }
    if (shown) return {};
    return cwd_not_visible(cwd);
  }

  // --- in the new namespaces ---

  void add_namespaces() {
    LaunchPlan& plan = builder_.plan();
    builder_.add(op::DieWithParent{});
    for (const Layer layer : kNamespaces) {
      if (wants(layer)) plan.clone_flags |= namespace_flag(layer);
    }
    plan.has_pid_namespace = wants(Layer::kPid);
    if (wants(Layer::kUser)) {
      const std::string uid = std::to_string(input_.facts.uid);
      const std::string gid = std::to_string(input_.facts.gid);
      builder_.write_file(Layer::kUser, "/proc/self/setgroups", "deny");
      builder_.write_file(Layer::kUser, "/proc/self/uid_map", uid + " " + uid + " 1");
      builder_.write_file(Layer::kUser, "/proc/self/gid_map", gid + " " + gid + " 1");
      builder_.confirm_last(Layer::kUser);
    }
    add_bounds_by_outer_proc();
  }

  // With a mount view and a pid namespace the view mounts a procfs of its own.
  bool has_own_proc() const {
    return wants(Layer::kMount) && wants(Layer::kPid) && input_.facts.proc_mountable;
  }

  // Without it the caller's /proc serves: these files belong to the namespace of whoever opens
  // them. Where /proc is masked they cannot be written, and the filter alone refuses namespaces.
  void add_bounds_by_outer_proc() {
    if (has_own_proc() || !input_.facts.proc_mountable) return;
    if (wants(Layer::kUser)) {
      if (!nested_) {
        builder_.write_file(Layer::kUser, "/proc/sys/user/max_user_namespaces", "0");
      }
      add_user_bounds(builder_, Layer::kUser, "/proc");
    }
    if (wants(Layer::kPid) && watches_pids()) {
      add_pid_bound(builder_, input_, Layer::kPid, "/proc");
    }
  }

  bool relays() const { return is_relayed(sandbox_.network.mode); }
  bool tunes_network() const { return relays() || !sandbox_.network.host_ports.empty(); }

  void join_network() {
    builder_.add(op::JoinNetwork{}, Layer::kNet);
    builder_.confirm_last(Layer::kNet);
  }

  // Its settings are made before the view: the /proc inside is read-only. What PID 1 makes later,
  // on request, are the listeners of the gateway; only name servers must stand there from the
  // start.
  void add_network() {
    if (!wants(Layer::kNet)) return;
    builder_.plan().made_by_steps = CLONE_NEWNET;
    builder_.add(op::MakeNetwork{}, Layer::kNet);
    if (!tunes_network()) return;
    join_network();
    builder_.add(op::TuneNetwork{.opens_low_ports = true, .answers_no_echo = relays()},
                 Layer::kNet);
    if (!relays()) return;
    builder_.add(op::LocalRoutes{}, Layer::kNet);
    builder_.add(op::ListenForDns{}, Layer::kNet);
  }

  void add_host_name() {
    if (wants(Layer::kUts)) {
      builder_.add(op::SetHostname{builder_.text("sandbox")}, Layer::kUts);
      builder_.confirm_last(Layer::kUts);
    }
  }

  // --- in the command's process ---

  void limit(int resource, std::uint64_t soft, std::uint64_t hard) {
    builder_.add(op::SetLimit{resource, soft, hard});
  }

  Enforcer enforcer(Limit limit) const {
    return limit_enforcer(limit, input_.facts, wants(Layer::kUser), wants(Layer::kMount));
  }

  bool watches_pids() const {
    return sandbox_.limits.pids && enforcer(Limit::kPids) == Enforcer::kWatch;
  }

  void add_limits() {
    const SandboxLimits& limits = sandbox_.limits;
    // No dumps unless the command asks for them, in its own root.
    limit(RLIMIT_CORE, 0, RLIM_INFINITY);
    if (!is_unconfined()) add_ceilings(builder_);
    if (sandbox_.file_bytes) {
      const auto bytes = static_cast<std::uint64_t>(*sandbox_.file_bytes);
      limit(RLIMIT_FSIZE, bytes, bytes);
    }
    if (limits.pids && rlimit_holds_pids(input_.facts, wants(Layer::kUser))) {
      // PID 1 is one of them. One more behind a cgroup, which is to refuse first: it counts
      // refusals.
      const std::uint64_t more = input_.facts.cgroup.base.empty() ? 1 : 2;
      const auto count = static_cast<std::uint64_t>(*limits.pids) + more;
      limit(RLIMIT_NPROC, count, count);
    }
    if (limits.cpu_ms) {
      // The backstop a process; the supervisor watches the whole tree.
      const auto seconds = static_cast<std::uint64_t>((*limits.cpu_ms + 999) / 1000) + 1;
      limit(RLIMIT_CPU, seconds, seconds + 1);
    }
  }

  bool writes_nowhere() const {
    const auto& roots = input_.view.roots;
    return !has_scratch(sandbox_) && wants(Layer::kLandlock) &&
           std::none_of(roots.begin(), roots.end(),
                        [](const ViewRoot& root) { return root.access == Access::kReadWrite; });
  }

  // Nothing in a root that can be written is shown otherwise, there or below: what the guard took
  // for refused in case that a protected path is missing is not, and no call need wait for it.
  bool is_all_writable(const std::string& path) {
    const auto& shown = builder_.plan().shown;
    const auto* const place =
        deepest_at(shown, path, [](const auto& one) -> std::string_view { return one.first; });
    return place != nullptr && place->first != "/" && place->second == "rw" &&
           std::none_of(shown.begin(), shown.end(),
                        [&](const auto& one) { return is_below(one.first, path); });
  }

  bool is_denied(const char* call) const {
    const std::vector<std::string>& calls = sandbox_.seccomp.deny;
    return std::find(calls.begin(), calls.end(), call) != calls.end();
  }

  Status add_filter(std::uint64_t open_files) {
    LaunchPlan& plan = builder_.plan();
    if (!wants(Layer::kSeccomp)) return {};
    FilterSpec spec;
    spec.mode = sandbox_.seccomp.mode;
    spec.allow = sandbox_.seccomp.allow;
    spec.deny = sandbox_.seccomp.deny;
    spec.notify_refused = input_.facts.seccomp_notify;
    spec.allow_user_namespaces = nested_;
    spec.network_namespace = wants(Layer::kNet) || sandbox_.network.mode == NetworkMode::kOpen;
    // Without one, a listening socket would be the host's: Landlock does not hold listen(2).
    const bool wants_network =
        sandbox_.network.mode != NetworkMode::kNone || !sandbox_.network.host_ports.empty();
    spec.allow_inet =
        spec.network_namespace && (spec.mode != SeccompMode::kStrict || wants_network);
    spec.pid_namespace = wants(Layer::kPid);
    spec.ipc_namespace = wants(Layer::kIpc);
    // Other ids are mapped in namespaces that the command makes itself.
    if (wants(Layer::kUser) && !nested_) {
      spec.own_ids = {input_.facts.uid, input_.facts.gid};
    }
    // The operator's own word about connect stands over ours.
    const auto names_connect = [](const std::vector<std::string>& names) {
      return std::find(names.begin(), names.end(), "connect") != names.end();
    };
    spec.mediate_connect =
        spec.notify_refused && !names_connect(spec.allow) && !names_connect(spec.deny);
    spec.read_only = plan.holds_attributes = !wants(Layer::kMount) && writes_nowhere();
    spec.noexec_memfd = sandbox_.filesystem.base == Base::kTools;
    // A fault that is handled inside would hold whoever reads the path.
    const bool may_read =
        std::find(spec.allow.begin(), spec.allow.end(), "userfaultfd") == spec.allow.end();
    plan.named = input_.named;
    std::erase_if(plan.named, [&](const std::string& path) { return is_all_writable(path); });
    spec.report_paths = (sandbox_.trace_denials || !plan.named.empty()) && may_read;
    spec.report_changes = input_.report_writes && may_read;
    spec.report_renames = sandbox_.filesystem.overlay && may_read;
    spec.report_execs = input_.report_execs && may_read && !plan.denied_programs.empty();
    SBX_TRY(CompiledFilter filter, compile_filter(spec));
    plan.filter = std::move(filter.program);
    plan.filter_notifies = spec.notify_refused;
    plan.reports_writes = input_.report_writes;
    plan.own_ids = spec.own_ids;
    plan.reported_calls = std::move(filter.reported_calls);
    plan.mediates_connect = spec.mediate_connect;
    plan.without_network = !spec.network_namespace;
    plan.filter_allowed = filter.allowed_calls;
    plan.filter_refused = filter.refused_calls;
    plan.filter_checked = filter.checked_calls;
    // The listener is sent out through the filter, unless that refuses to.
    builder_.add(op::Seccomp{spec.notify_refused, !is_denied("sendmsg"), open_files},
                 Layer::kSeccomp);
    builder_.confirm_last(Layer::kSeccomp);
    return {};
  }

  // --- what is said of it ---

  void describe_limits() {
    const SandboxLimits& limits = sandbox_.limits;
    const RunPolicy& run = input_.policy.run;
    const auto add = [this](Limit limit, bool is_set) {
      if (is_set) builder_.plan().limits.push_back({limit, enforcer(limit)});
    };
    add(Limit::kTimeout, run.limits.timeout_ms.has_value());
    add(Limit::kCpu, limits.cpu_ms.has_value());
    add(Limit::kMemory, limits.memory_mb.has_value());
    add(Limit::kPids, limits.pids.has_value());
    add(Limit::kOpenFiles, limits.open_files.has_value());
    add(Limit::kFile, sandbox_.file_bytes.has_value());
    add(Limit::kTmp, limits.tmp_mb.has_value());
    add(Limit::kLayer, limits.layer_mb && !sandbox_.layer.empty());
    add(Limit::kOutput, run.output_bytes || run.limits.output_lines);
  }

  const PlanInput& input_;
  const SandboxPolicy& sandbox_;
  PlanBuilder builder_;
  bool nested_ = false;
};

// Of the directories of a search path those that are there and cannot be used: a shell that finds a
// program in one looks no further.
void leave_out(const std::vector<std::string>& hidden, std::string& search_path) {
  std::vector<std::string> kept;
  for (const std::string_view part : split(search_path, ':')) {
    if (std::find(hidden.begin(), hidden.end(), part) == hidden.end()) kept.emplace_back(part);
  }
  search_path = join(kept, ":");
}

}  // namespace

bool allows_nested_namespaces(const SandboxProfile& profile) {
  const auto& allow = profile.seccomp.allow;
  return profile.seccomp.mode == SeccompMode::kOff
             ? false
             : std::find(allow.begin(), allow.end(), "unshare") != allow.end() ||
                   std::find(allow.begin(), allow.end(), "clone") != allow.end();
}

Status set_command(LaunchPlan& plan, const PlanInput& input) {
  plan.argv = request_argv(input.policy, input.request);
  if (plan.argv.empty() || plan.argv.front().empty()) {
    return Error{ErrorCode::kNotFound, "no program to run was named", "argv", ""};
  }
  SBX_TRY(plan.cwd, request_cwd(input.policy, input.request));
  Environment environment = input.environment;
  const auto& set = input.policy.run.environment.set;
  if (!plan.home.empty() && !set.contains("HOME")) environment["HOME"] = plan.home;
  // The caller's own is of another place: programs trust it where it names the directory.
  if (!set.contains("PWD")) environment["PWD"] = plan.cwd;
  const auto tmp = environment.find("TMPDIR");
  if (!input.view.scratch.path.empty() && tmp != environment.end() && tmp->second == "/tmp") {
    tmp->second = input.view.scratch.path;  // unless the operator has set another
  }
  // What shows of the directories above is of another file system.
  if (input.view.git_is_above) environment.try_emplace("GIT_DISCOVERY_ACROSS_FILESYSTEM", "1");
  if (!plan.wanted.has(Layer::kMount)) leave_out(input.view.hidden_path, environment["PATH"]);
  plan.environment.clear();
  for (const auto& [name, value] : environment) {
    std::string& entry = plan.environment.emplace_back(name);
    entry += '=';
    entry += value;
  }
  plan.executables.clear();
  const std::string& program = plan.argv.front();
  if (program.find('/') != std::string::npos) {
    plan.executables.push_back(program);
    return {};
  }
  const auto path = environment.find("PATH");
  for (const std::string_view part :
       split(path == environment.end() ? "/usr/bin:/bin" : std::string_view(path->second), ':')) {
    plan.executables.push_back(part.empty() ? program : std::string(part) + "/" + program);
  }
  return {};
}

Result<LaunchPlan> make_plan(const PlanInput& input) {
  SBX_TRY(LaunchPlan plan, Planner(input).run());
  SBX_CHECK_OK(check_plan(plan));
  return plan;
}

}  // namespace sbx
