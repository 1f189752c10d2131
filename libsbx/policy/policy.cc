// SPDX-License-Identifier: Apache-2.0
// Profile + flags + context → Policy. Pure.
#include "policy/policy.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "base/paths.h"
#include "base/sha256.h"
#include "base/system_places.h"
#include "base/text.h"
#include "model/dns_port.h"
#include "policy/http.h"
#include "policy/narrow.h"
#include "profile/default_profile.h"
#include "profile/fields.h"
#include "profile/forms.h"

namespace sbx {
namespace {

Error refused(std::string message, std::string_view where, std::string hint) {
  return Error{ErrorCode::kPathRefused, std::move(message), std::string(where), std::move(hint)};
}

// In the order of forms::kVariables.
constexpr std::array<std::string PolicyContext::*, forms::kVariables.size()> kValues = {
    &PolicyContext::workspace, &PolicyContext::home,      &PolicyContext::tmp,
    &PolicyContext::runtime,   &PolicyContext::ssh_agent, &PolicyContext::xauthority};

Result<std::string> replace_variables(std::string_view text, const PolicyContext& context,
                                      std::string_view where) {
  for (std::size_t i = 0; i < kValues.size(); ++i) {
    const std::string variable = "${" + std::string(forms::kVariables[i]) + "}";
    if (!text.starts_with(variable)) continue;
    const std::string& value = context.*kValues[i];
    if (value.empty()) {
      return refused(variable + " stands for nothing here", where,
                     "set its environment variable, or mark the root \"optional\": true");
    }
    return value + std::string(text.substr(variable.size()));
  }
  return std::string(text);
}

// Whether the path begins with a variable that has no value here: no socket, no home.
bool stands_for_nothing(std::string_view path, const PolicyContext& context) {
  return path.starts_with("${") && !replace_variables(path, context, "").ok();
}

// A pattern is what the operator wrote, never what a variable stands for: the workspace's own name
// may hold a star. On the command line the shell has expanded all but what --hide gets.
std::size_t pattern_in(const Root& root) {
  const std::size_t star = root.path.find('*');
  const bool may = root.where.starts_with('/') || root.where == "--hide";
  return may && star != std::string::npos ? root.path.rfind('/', star) + 1 : 0;
}

Status resolve_roots(std::vector<Root>& roots, const PolicyContext& context) {
  std::erase_if(roots, [&](const Root& root) {
    return root.optional && stands_for_nothing(root.path, context);
  });
  for (Root& root : roots) {
    const std::size_t at = pattern_in(root);
    std::string pattern = at == 0 ? "" : root.path.substr(at);
    if (at != 0) root.path.resize(std::max<std::size_t>(at - 1, 1));
    SBX_TRY(const std::string replaced, replace_variables(root.path, context, root.where));
    if (!replaced.starts_with('/')) {
      return refused("a root must be an absolute path: " + root.path, root.where,
                     "write the path from /, or below ${workspace}");
    }
    SBX_TRY(root.path, normal_path(replaced, "/", root.where));
    if (pattern.empty()) continue;
    SBX_TRY(pattern, normal_path("/" + pattern, "/", root.where));
    root.pattern_at = root.path == "/" ? 1 : root.path.size() + 1;
    root.path = (root.path == "/" ? "" : root.path) + pattern;
  }
  return {};
}

}  // namespace

// Programs stand there too, but none that is nearly that word.
Status check_asked(const CommandsProfile& commands) {
  static constexpr std::string_view kRules = "destructive";
  for (std::size_t i = 0; i < commands.ask.size(); ++i) {
    const std::string& name = commands.ask[i];
    const bool is_slip = name.starts_with(kRules) || nearest_name(name, std::span(&kRules, 1));
    if (name == kRules || !is_slip) continue;
    return Error{ErrorCode::kBadValue,
                 "commands.ask holds names of programs and the word destructive, not " + name,
                 "/commands/ask/" + std::to_string(i), "did you mean \"destructive\"?"};
  }
  return {};
}

Status check_caches(const Profile& profile) {
  for (const auto& [name, cache] : profile.caches) {
    for (const auto& [other, above] : profile.caches) {
      if (&cache == &above || !is_below(cache.path, above.path)) continue;
      return Error{ErrorCode::kBadValue,
                   "the cache " + name + " lies within the cache " + other + ": " + cache.path,
                   "/caches/" + name + "/path", "caches lie beside each other"};
    }
  }
  return {};
}

namespace {

// Each where the command's home has it, and where it lies on the host.
Status resolve_caches(Profile& profile, const std::string& home, const PolicyContext& context) {
  if (profile.caches.empty()) return {};
  if (home.empty() || profile.filesystem.home != HomeMode::kPrivate || context.caches.empty()) {
    return Error{ErrorCode::kBadValue, "caches lie below a private home, and there is none here",
                 "/caches", "set filesystem.home to private, and HOME or XDG_STATE_HOME"};
  }
  for (const Root& root : profile.filesystem.roots) {
    if (root.access != Access::kReadWrite || !is_below(context.caches, root.path)) continue;
    return refused("a writable root, " + root.path + ", holds the caches themselves", "/caches",
                   "set XDG_STATE_HOME to a directory outside of it");
  }
  const std::string own = sha256_hex(context.workspace).substr(0, 32);
  for (auto& [name, cache] : profile.caches) {
    const std::string where = "/caches/" + name + "/path";
    SBX_TRY(cache.path, normal_path(home + cache.path.substr(1), "/", where));
    cache.source = context.caches + "/" + name + "/";
    cache.source += cache.share == CacheShare::kUser ? "user" : own;
  }
  return {};
}

// One whose variable has no value is not there.
Status resolve_sockets(std::vector<std::string>& sockets, const PolicyContext& context) {
  std::erase_if(sockets,
                [&](const std::string& path) { return stands_for_nothing(path, context); });
  for (std::string& path : sockets) {
    SBX_TRY(path, replace_variables(path, context, "/network/unix_sockets"));
  }
  return {};
}

// Who speaks to a container runtime's socket can have it mount and run anything, as root.
void warn_of_runtimes(const SandboxProfile& profile, std::vector<std::string>& warnings) {
  for (const std::string& path : profile.network.unix_sockets) {
    for (const std::string_view name : {"/docker.sock", "/podman.sock", "/containerd.sock"}) {
      if (!path.ends_with(name)) continue;
      warnings.push_back("network.unix_sockets: " + path +
                         " lets the command start containers that mount any file of the host and "
                         "run as root: with it, there is no sandbox");
    }
  }
}

bool is_shown(const SandboxPolicy& sandbox, const std::string& path) {
  const Root* const root = deepest_at(sandbox.filesystem.roots, path, &Root::path);
  return root == nullptr ? sandbox.filesystem.base == Base::kHost : root->access != Access::kNone;
}

// A listed socket that lies in no root is shown by itself, and so is one in a root that an overlay
// lies over: what shows through that is another socket, which nobody listens at.
void show_listed_sockets(SandboxProfile& profile) {
  std::vector<Root>& roots = profile.filesystem.roots;
  const std::vector<std::string>& listed = profile.network.unix_sockets;
  for (std::size_t i = 0; i < listed.size(); ++i) {
    const Root* const holder = deepest_at(roots, listed[i], &Root::path);
    const bool is_under =
        holder != nullptr && holder->access == Access::kReadWrite && profile.filesystem.overlay;
    if (holder != nullptr && !is_under) continue;
    roots.push_back(
        Root{listed[i], Access::kReadOnly, true, "/network/unix_sockets/" + std::to_string(i)});
  }
}

// The command sees no file that a secret comes from.
void hide_sources(SandboxProfile& profile) {
  for (std::size_t i = 0; i < profile.network.credentials.size(); ++i) {
    const auto& file = profile.network.credentials[i].from.file;
    if (!file || !file->starts_with('/')) continue;  // an error, where it counts
    const std::string where = "/network/credentials/" + std::to_string(i) + "/from/file";
    profile.filesystem.roots.push_back(Root{*file, Access::kNone, true, where});
  }
}

// A flag for the same path replaces the profile's root; the order of roots never matters.
void merge_roots(std::vector<Root>& roots, const std::vector<Root>& flags) {
  for (const Root& flag : flags) {
    std::erase_if(roots, [&](const Root& root) { return root.path == flag.path; });
    roots.push_back(flag);
  }
}

// What no profile has changed stands for half of the machine's memory where that is less.
void fit_memory(std::optional<std::int64_t>& memory_mb, std::int64_t machine_mb) {
  if (machine_mb == 0 || !memory_mb || memory_mb != default_profile().limits.memory_mb) return;
  memory_mb = std::clamp<std::int64_t>(machine_mb / 2, 1, *memory_mb);
}

// A layer is left out only where it cannot be had, so what can be had stays in force. The filter
// and Landlock are what a weaker tier stands on: they stay required.
void lower_required(IsolationProfile& isolation) {
  for (int i = 0; i < kLayerCount; ++i) {
    const auto layer = static_cast<Layer>(i);
    if (layer != Layer::kSeccomp && layer != Layer::kLandlock) isolation.require.remove(layer);
  }
}

// Where HOME lies inside: the caller's own path, so that paths in messages and caches agree; a
// neutral one where that would cover something that the sandbox needs.
std::string home_inside(const Profile& profile, const PolicyContext& context) {
  if (profile.filesystem.home == HomeMode::kNone) return "";
  if (profile.filesystem.home == HomeMode::kHost) {
    auto hosts = normal_path(context.home.empty() ? "/" : context.home, "/", "HOME");
    return hosts.ok() ? std::move(hosts).value() : "/";
  }
  const auto home = normal_path(context.home.empty() ? "/" : context.home, "/", "HOME");
  static constexpr std::string_view kNeutral = "/home/sandbox";
  if (!home.ok() || home.value() == "/") return std::string(kNeutral);
  const std::string& path = home.value();
  if (path == "/tmp") return std::string(kNeutral);
  static constexpr std::string_view kTaken[] = {
      "/etc",     "/dev",     "/proc",     "/sys",       "/run",
      "/var/tmp", "/var/run", "/var/lock", "/var/cache", "/nonexistent"};
  const bool would_cover = std::any_of(
      kStateOfPackages.begin(), kStateOfPackages.end(),
      [&](std::string_view state) { return is_below(state, path) || is_below(path, state); });
  const bool is_taken = is_system_place(path) || is_below_any(path, kTaken);
  return would_cover || is_taken ? std::string(kNeutral) : path;
}

// The host's home is a root like any other, so that every layer shows it alike. One that is the
// system's own place, or within another root, has the access that it has there.
void show_home(Profile& profile, const std::string& home) {
  std::vector<Root>& roots = profile.filesystem.roots;
  if (profile.filesystem.home != HomeMode::kHost || profile.filesystem.base == Base::kHost) return;
  for (const std::string_view own : {"/dev", "/proc", "/sys", "/etc"}) {
    if (home == "/" || is_below(home, own)) return;
  }
  const bool is_within = std::any_of(roots.begin(), roots.end(), [&](const Root& root) {
    return root.path == home || (root.access != Access::kNone && is_below(home, root.path));
  });
  if (!is_within) roots.push_back(Root{home, Access::kReadOnly, true, "/filesystem/home"});
}

// What the flags make of the profile's network, and which hosts it then reaches.
Status settle_network(const OperatorFlags& flags, Profile& profile,
                      std::vector<std::string>& warnings) {
  if (flags.allow_network && !*flags.allow_network) profile.network.mode = NetworkMode::kNone;
  if (flags.allow_network.value_or(false) && profile.network.mode == NetworkMode::kNone) {
    profile.network.mode = NetworkMode::kOutbound;
  }
  if (flags.network) profile.network.mode = *flags.network;
  std::vector<HostRule>& hosts = profile.network.allow;
  for (const std::string& text : flags.allow_hosts) {
    auto host = parse_host_rule(text);
    if (!host) {
      return Error{ErrorCode::kBadFlag, "bad value for --allow-host: '" + text + "'",
                   "--allow-host",
                   "NAME, *.NAME, an address or a network, each with or without :PORT"};
    }
    hosts.push_back(std::move(*host));
  }
  if (std::any_of(hosts.begin(), hosts.end(),
                  [](const HostRule& host) { return host.name == "localhost"; })) {
    warnings.push_back(
        "network.allow: localhost is the sandbox's own, and needs no entry; a port of the host's "
        "is reached by network.host_ports");
  }
  if (std::any_of(hosts.begin(), hosts.end(),
                  [](const HostRule& host) { return host.port == kDnsPort; })) {
    warnings.push_back("network.allow" + std::string(kDnsPortReason) +
                       ", at every address: no entry leads to another");
  }
  std::vector<int>& ports = profile.network.host_ports;
  ports.insert(ports.end(), flags.host_ports.begin(), flags.host_ports.end());
  if (!flags.allow_hosts.empty()) profile.network.mode = NetworkMode::kAllowlist;
  if (profile.network.mode != NetworkMode::kOpen &&
      std::find(ports.begin(), ports.end(), kDnsPort) != ports.end()) {
    warnings.push_back("network.host_ports" + std::string(kDnsPortReason) +
                       ", and leads to no other");
  }
  return {};
}

// The flags that say one key of the profile anew.
void lay_over(const OperatorFlags& flags, Profile& profile) {
  if (flags.no_timeout) profile.limits.timeout_ms.reset();
  lay_over(flags.limits, profile.limits);
  for (const auto& [name, value] : flags.set_env) profile.environment.set[name] = value;
  for (const std::string& name : flags.pass_env) profile.environment.pass.push_back(name);
  if (flags.scrub) profile.environment.scrub = *flags.scrub;
  if (flags.commands_allow) profile.commands.allow = *flags.commands_allow;
  if (flags.allow_degraded) profile.isolation.fallback = Fallback::kDegrade;
  if (flags.lower_required) lower_required(profile.isolation);
  if (!flags.audit_file.empty()) profile.audit.file = flags.audit_file;
}

}  // namespace

LayerSet layers_of(const SandboxProfile& profile) {
  LayerSet layers = profile.isolation.namespaces;
  if (profile.seccomp.mode != SeccompMode::kOff) layers.add(Layer::kSeccomp);
  if (profile.landlock.mode != LandlockMode::kOff) layers.add(Layer::kLandlock);
  if (layers.empty()) return layers;
  layers.add(Layer::kNoNewPrivs);
  layers.add(Layer::kCapabilities);
  return layers;
}

std::string command_home(const Policy& policy) {
  const auto& set = policy.run.environment.set;
  const auto own = set.find("HOME");
  if (own == set.end()) return policy.sandbox.home;
  return own->second.starts_with('/') ? own->second : "";
}

Result<std::string> normal_path(std::string_view path, std::string_view base,
                                std::string_view where) {
  if (path.empty() || path.find('\0') != std::string_view::npos) {
    return refused("a path must not be empty or hold a NUL byte", where, "");
  }
  const auto too_long = [&] {
    return refused("a path must be shorter than 4096 bytes", where, "");
  };
  if (path.size() >= 4096) return too_long();  // before megabytes are looked at
  std::string out;
  if (!path.starts_with('/') && base != "/") out = base;
  for (const std::string_view part : split(path, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      return refused("a path must not contain '..': " + std::string(path), where,
                     "write the path without '..'");
    }
    out += '/';
    out += part;
  }
  if (out.empty()) out = "/";
  if (out.size() >= 4096) return too_long();
  return out;
}

Policy with_workspace(Policy policy, const std::string& workspace) {
  const std::string former = std::move(policy.sandbox.workspace);
  for (Root& root : policy.sandbox.filesystem.roots) {
    if (is_below(root.path, former)) root.path = workspace + root.path.substr(former.size());
  }
  policy.sandbox.workspace = workspace;
  return policy;
}

Policy with_hidden(Policy policy, std::vector<std::string> paths, const std::string& where) {
  for (std::string& path : paths) {
    policy.sandbox.filesystem.roots.push_back({std::move(path), Access::kNone, true, where});
  }
  return policy;
}

Policy with_own_files(Policy policy, const std::vector<std::string>& paths) {
  policy.run.own_files.insert(policy.run.own_files.end(), paths.begin(), paths.end());
  return policy;
}

Policy with_own_places(Policy policy, std::vector<std::string> paths) {
  policy.run.own_places = std::move(paths);
  return policy;
}

bool is_always_protected(const Policy& policy, std::string_view path) {
  const auto holds = [&](const std::string& own) { return is_below(path, own); };
  for (const auto* const all : {&policy.run.own_files, &policy.run.own_places}) {
    if (std::any_of(all->begin(), all->end(), holds)) return true;
  }
  const auto& roots = policy.sandbox.filesystem.roots;
  return std::any_of(roots.begin(), roots.end(), [&](const Root& root) {
    return root.access == Access::kReadWrite &&
           (is_below(path, join_path(root.path, kProjectSettings)) ||
            name_part(path).starts_with(kLayersBeside));
  });
}

Policy with_withheld(Policy policy, std::vector<std::string> values) {
  policy.run.withheld_values = std::move(values);
  return policy;
}

Policy with_http(Policy policy, std::shared_ptr<HttpSession> session) {
  constexpr std::size_t kLeastSecret = 8;
  for (const auto& [name, placeholder] : session->placeholders) {  // as long as what it stands for
    if (placeholder.size() >= kLeastSecret) continue;
    policy.run.warnings.push_back("network.credentials: the value of " + name +
                                  " is shorter than 8 bytes: what an answer holds of the same "
                                  "letters by chance is replaced as well");
  }
  policy.sandbox.http = std::move(session);
  return policy;
}

Result<Policy> make_policy(Profile profile, const OperatorFlags& flags, PolicyContext context) {
  if (profile.workspace.mode == WorkspaceMode::kFresh) context.workspace = kFreshWorkspace;
  SBX_CHECK_OK(resolve_roots(profile.filesystem.roots, context));
  std::vector<Root> flag_roots = flags.roots;
  SBX_CHECK_OK(resolve_roots(flag_roots, context));
  merge_roots(profile.filesystem.roots, flag_roots);
  SBX_CHECK_OK(resolve_sockets(profile.network.unix_sockets, context));
  warn_of_runtimes(profile, context.warnings);
  // A layer is an overlay too, one that is kept.
  if (flags.overlay || !flags.layer.empty() || flags.each_layer != EachLayer::kNone) {
    profile.filesystem.overlay = true;
  }
  show_listed_sockets(profile);
  SBX_CHECK_OK(settle_network(flags, profile, context.warnings));
  hide_sources(profile);
  std::vector<Credential> withheld = profile.network.credentials;
  // A network that is taken away takes along what was for it.
  if (profile.network.mode == NetworkMode::kNone &&
      (flags.network || !flags.allow_network.value_or(true))) {
    profile.network.http.clear();
    profile.network.credentials.clear();
  }
  SBX_CHECK_OK(check_http(profile.network));
  SBX_CHECK_OK(check_caches(profile));
  SBX_CHECK_OK(check_asked(profile.commands));
  fit_memory(profile.limits.memory_mb, context.machine_memory_mb);
  lay_over(flags, profile);
  const auto bytes = [](const std::optional<std::int64_t>& flag,
                        const std::optional<std::int64_t>& kb) {
    return !flag && kb ? std::optional(*kb * 1024) : flag;
  };
  std::vector<std::string> own_files = flags.own_files;
  if (!profile.audit.file.empty()) own_files.push_back(profile.audit.file);
  std::string home = home_inside(profile, context);
  show_home(profile, home);
  SBX_CHECK_OK(resolve_caches(profile, home, context));
  std::optional<std::int64_t> file_bytes = flags.file_bytes;
  std::optional<std::int64_t> output_bytes = flags.output_bytes;
  ManagedLimits managed_limits;
  std::vector<ManagedReach> managed_reach;
  SBX_CHECK_OK(narrow(context.managed,
                      {profile, file_bytes, output_bytes, context.warnings, context.workspace,
                       flags.upstream_proxy, managed_limits, managed_reach}));
  if (!profile.network.credentials.empty()) withheld.clear();
  if (profile.network.mode == NetworkMode::kOpen) {
    profile.isolation.namespaces.remove(Layer::kNet);
    profile.isolation.require.remove(Layer::kNet);
  }
  // What the operator requires by name stays required: --net open --require net is refused.
  if (flags.require) {
    for (const Layer layer : *flags.require) profile.isolation.require.add(layer);
  }
  SBX_CHECK_OK(require_layers(context.managed, profile));
  const LimitsProfile& limits = profile.limits;
  SandboxPolicy sandbox{static_cast<SandboxProfile&&>(profile),
                        limits,
                        bytes(file_bytes, limits.file_kb),
                        std::move(context.workspace),
                        std::move(home),
                        {},
                        flags.trace_denials,
                        flags.layer,
                        flags.each_layer,
                        flags.upstream_proxy};
  RunPolicy run{static_cast<RunProfile&&>(profile),
                limits,
                bytes(output_bytes, limits.output_kb),
                std::move(context.profile_sha256),
                flags.publish,
                std::move(own_files),
                std::move(context.warnings),
                {},
                std::move(managed_limits),
                {},
                !context.repository.empty() && !is_shown(sandbox, context.repository),
                std::move(withheld),
                {},
                std::move(managed_reach),
                {}};
  for (ManagedFile& file : context.managed) {
    run.managed.push_back(std::move(file.mark));
    if (!file.audit.file.empty()) run.required_audit.push_back(file.audit.file);
    for (PathMaximum& maximum : file.filesystem.max) sandbox.maxima.push_back(std::move(maximum));
  }
  run.own_files.insert(run.own_files.end(), run.required_audit.begin(), run.required_audit.end());
  return Policy{std::move(sandbox), std::move(run)};
}

Result<std::string> request_cwd(const Policy& policy, const Request& request) {
  if (!request.cwd) return policy.sandbox.workspace;
  return normal_path(*request.cwd, policy.sandbox.workspace, "/cwd");
}

std::vector<std::string> request_argv(const Policy& policy, const Request& request) {
  if (!request.argv.empty()) return request.argv;
  // Behind "--" the text is never read as the shell's own options.
  if (request.command.starts_with('-') || request.command.starts_with('+')) {
    return {policy.sandbox.commands.shell, "-c", "--", request.command};
  }
  return {policy.sandbox.commands.shell, "-c", request.command};
}

std::string display_arguments(const std::vector<std::string>& argv) {
  std::string out;
  for (const std::string& argument : argv) (out += out.empty() ? "" : " ") += shell_word(argument);
  return out;
}

}  // namespace sbx
