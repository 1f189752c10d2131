// SPDX-License-Identifier: Apache-2.0
// File by file: narrowed twice is narrowed by both.
#include "policy/narrow.h"

#include <algorithm>
#include <utility>

#include "policy/policy.h"
#include "profile/fields.h"
#include "profile/upstream.h"

namespace sbx {
namespace {

// As the gateway reads them: without a port it is those of the web.
std::vector<HostRule> with_ports(const HostRule& rule) {
  std::vector<HostRule> out;
  for (const std::uint16_t port : ports_of(rule)) out.emplace_back(rule).port = port;
  return out;
}

// A network so wide lists none of the host's own addresses (gateway/rules).
bool lists_no_own(const HostRule& rule) {
  return rule.never_own ||
         (rule.kind == HostRule::Kind::kNetwork && rule.prefix < kNarrowestWideNetwork);
}

std::vector<HostRule> both_lists(const std::vector<HostRule>& ours,
                                 const std::vector<HostRule>& theirs) {
  std::vector<HostRule> out;
  for (const HostRule& rule : ours) {
    for (const HostRule& one : with_ports(rule)) {
      for (const HostRule& other : theirs) {
        for (const HostRule& allowed : with_ports(other)) {
          auto common = both(one, allowed);
          if (common && std::find(out.begin(), out.end(), *common) == out.end()) {
            out.push_back(std::move(*common));
          }
        }
      }
    }
  }
  return out;
}

bool reaches_loopback(const std::vector<HostRule>& rules, int port) {
  const IpAddress loopback = ipv4(127, 0, 0, 1);
  return std::any_of(rules.begin(), rules.end(), [&](const HostRule& rule) {
    return covers_port(rule, port) &&
           (rule.kind == HostRule::Kind::kNetwork
                ? in_network(loopback, rule.network, rule.prefix)
                : rule.kind == HostRule::Kind::kName && rule.name == "localhost");
  });
}

void lower_mode(const ManagedFile& file, NetworkMode most, Narrowed& out) {
  NetworkProfile& network = out.profile.network;
  const NetworkMode former = network.mode;
  if (former <= most) return;
  network.mode = most;
  out.warnings.push_back("network.mode: " + std::string(name_of(former)) + " lowered to " +
                         std::string(name_of(most)) + " by " + file.mark.path);
  if (most == NetworkMode::kNone) {
    network.allow.clear();
    network.http.clear();
    network.credentials.clear();
  }
  if (most != NetworkMode::kAllowlist || !file.network.allow) return;
  // Any outbound connection was let through, but for the host's own addresses.
  network.allow = *file.network.allow;
  for (HostRule& rule : network.allow) rule.never_own = former == NetworkMode::kOutbound;
}

// It is reached like any other host, whatever goes through it.
Status check_proxy(const ManagedFile& file, const Narrowed& out) {
  if (out.upstream_proxy.empty()) return {};
  SBX_TRY(Upstream proxy, parse_upstream(out.upstream_proxy, "--upstream-proxy"));
  proxy.host.port = proxy.port;
  if (!both_lists({proxy.host}, *file.network.allow).empty()) return {};
  return Error{ErrorCode::kManagedPolicy,
               "the proxy " + host_rule_text(proxy.host) + " is not allowed by " + file.mark.path,
               "--upstream-proxy", "leave it out, or have it added to network.allow there"};
}

Status narrow_network(const ManagedFile& file, Narrowed& out) {
  NetworkProfile& network = out.profile.network;
  NetworkMode most = file.network.mode.value_or(NetworkMode::kOpen);
  if (file.network.allow) most = std::min(most, NetworkMode::kAllowlist);
  const bool was_listed = network.mode == NetworkMode::kAllowlist;
  lower_mode(file, most, out);
  ManagedReach& reach = out.reach.emplace_back();
  reach.most = most;
  reach.file = file.mark.path;
  reach.allowed = file.network.allow;
  if (!file.network.allow && most != NetworkMode::kNone) return {};
  if (file.network.allow) SBX_CHECK_OK(check_proxy(file, out));
  std::erase_if(network.host_ports, [&](int port) {
    const bool is_kept = may_list(reach, port);
    if (!is_kept) {
      out.warnings.push_back("network.host_ports: " + std::to_string(port) + " taken away by " +
                             file.mark.path);
    }
    return !is_kept;
  });
  if (!file.network.allow || !was_listed || network.mode != NetworkMode::kAllowlist) return {};
  const std::vector<HostRule>& allowed = *reach.allowed;
  for (const HostRule& rule : network.allow) {
    if (both_lists({rule}, allowed) == both_lists({rule}, {rule})) continue;
    out.warnings.push_back("network.allow: " + host_rule_text(rule) + " narrowed by " +
                           file.mark.path);
  }
  network.allow = both_lists(network.allow, allowed);
  return {};
}

void narrow_limits(const ManagedFile& file, Narrowed& out) {
  std::vector<std::string_view> lowered = lower_limits(file.limits, out.profile.limits, true);
  lower_limits(file.limits, out.profile.ceilings, false);
  const auto note = [&](const char* name, const std::optional<std::int64_t>& most) {
    const auto known = out.limits.find(name);
    if (!most || (known != out.limits.end() && known->second.most <= *most)) return;
    out.limits.insert_or_assign(name, ManagedLimit{*most, file.mark.path});
  };
  note("timeout_ms", file.limits.timeout_ms);
  note("output_kb", file.limits.output_kb);
  note("file_kb", file.limits.file_kb);
  note("tmp_mb", file.limits.tmp_mb);
  note("open_files", file.limits.open_files);
  const auto lower_bytes = [&](std::optional<std::int64_t>& bytes, std::string_view name,
                               const std::optional<std::int64_t>& most_kb) {
    if (!bytes || !most_kb || *bytes <= *most_kb * 1024) return;
    bytes = *most_kb * 1024;
    if (std::find(lowered.begin(), lowered.end(), name) == lowered.end()) lowered.push_back(name);
  };
  lower_bytes(out.file_bytes, "file_kb", file.limits.file_kb);
  lower_bytes(out.output_bytes, "output_kb", file.limits.output_kb);
  for (const std::string_view name : lowered) {
    out.warnings.push_back("limits." + std::string(name) + " lowered by " + file.mark.path);
  }
}

Status narrow_files(const ManagedFile& file, Narrowed& out) {
  const std::vector<PathMaximum>& max = file.filesystem.max;
  FilesystemProfile& filesystem = out.profile.filesystem;
  // What becomes of them the view says, which knows what each path leads to.
  for (const Root& root : filesystem.roots) {
    // Of a pattern what holds all that it matches.
    const std::string_view top(root.path.data(),
                               root.pattern_at == 0 ? root.path.size() : root.pattern_at - 1);
    const Access most = most_access(max, top);
    if (root.access <= most || is_below(root.path, kFreshWorkspace)) continue;
    out.warnings.push_back("filesystem.roots: " + root.path + " lowered from " +
                           std::string(name_of(root.access)) + " to " + std::string(name_of(most)) +
                           " by " + file.mark.path);
  }
  if (out.workspace != kFreshWorkspace && most_access(max, out.workspace) == Access::kNone) {
    return Error{ErrorCode::kManagedPolicy,
                 "the workspace " + out.workspace + " is hidden by " + file.mark.path,
                 "--workspace", "work in another directory"};
  }
  const auto is_taken = [&](const char* what, const std::string& path, Access most) {
    if (most == Access::kReadWrite) return false;
    out.warnings.push_back(what + (": " + path) + " taken away by " + file.mark.path);
    return true;
  };
  std::erase_if(filesystem.devices, [&](const std::string& path) {
    const std::size_t star = path.find('*');
    const Access most = star == path.npos
                            ? most_access(max, path)
                            : most_access_within(max, path.substr(0, path.rfind('/', star)));
    return is_taken("filesystem.devices", path, most);
  });
  // Who may only look at a socket does not speak to it.
  std::erase_if(out.profile.network.unix_sockets, [&](const std::string& path) {
    return is_taken("network.unix_sockets", path, most_access(max, path));
  });
  std::erase_if(out.profile.caches, [&](const auto& cache) {
    const std::string& source = cache.second.source;
    return is_taken("caches", source, most_access(max, source));
  });
  return {};
}

Error turned_off(const std::string& file, Layer layer) {
  return Error{ErrorCode::kManagedPolicy,
               file + " requires the layer " + layer_name(layer) + ", which is turned off here",
               "/isolation", "choose a profile, and flags, that leave it on"};
}

}  // namespace

std::optional<HostRule> both(const HostRule& a, const HostRule& b) {
  if (a.port != b.port) return std::nullopt;
  const bool is_a = is_within(a, b);
  if (!is_a && !is_within(b, a)) return std::nullopt;
  HostRule out = is_a ? a : b;
  out.never_own = lists_no_own(a) || lists_no_own(b);
  return out;
}

bool may_list(const ManagedReach& reach, const HostRule& rule) {
  return reach.most != NetworkMode::kNone &&
         (!reach.allowed || !both_lists({rule}, *reach.allowed).empty());
}

bool may_list(const ManagedReach& reach, int port) {
  return reach.most != NetworkMode::kNone &&
         (!reach.allowed || reaches_loopback(*reach.allowed, port));
}

Status narrow(const Managed& managed, Narrowed out) {
  for (const ManagedFile& file : managed) {
    SBX_CHECK_OK(narrow_files(file, out));
    SBX_CHECK_OK(narrow_network(file, out));
    narrow_limits(file, out);
  }
  return {};
}

Status require_layers(const Managed& managed, Profile& profile) {
  LayerSet& require = profile.isolation.require;
  const LayerSet on = layers_of(profile);
  const auto add = [&](const ManagedFile& file, Layer layer) -> Status {
    if (!on.has(layer)) return turned_off(file.mark.path, layer);
    require.add(layer);
    return {};
  };
  for (const ManagedFile& file : managed) {
    for (const Layer layer : file.isolation.require) SBX_CHECK_OK(add(file, layer));
    const NetworkMode most = file.network.mode.value_or(NetworkMode::kOpen);
    if (file.network.allow || most != NetworkMode::kOpen) SBX_CHECK_OK(add(file, Layer::kNet));
    const auto& max = file.filesystem.max;
    const bool narrows = std::any_of(max.begin(), max.end(), [](const PathMaximum& maximum) {
      return maximum.access != Access::kReadWrite;
    });
    // Either holds the files; one of them must be sure to be there.
    const bool has_landlock =
        profile.landlock.mode == LandlockMode::kRequire || require.has(Layer::kLandlock);
    if (narrows && !has_landlock) SBX_CHECK_OK(add(file, Layer::kMount));
  }
  return {};
}

}  // namespace sbx
