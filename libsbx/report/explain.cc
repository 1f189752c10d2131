// SPDX-License-Identifier: Apache-2.0
// The plan, printed twice: once for people, once for programs, from the same fields.
#include "report/explain.h"

#include <nlohmann/json.hpp>

#include "base/format.h"
#include "base/text.h"
#include "base/utf8.h"
#include "json/reader.h"
#include "json/writer.h"
#include "report/judgement.h"

namespace sbx {
namespace {

using Json = nlohmann::ordered_json;

std::vector<std::string> environment_names(const LaunchPlan& plan) {
  std::vector<std::string> names;
  for (const std::string& entry : plan.environment) {
    names.push_back(repair_utf8(entry.substr(0, entry.find('='))));
  }
  return names;
}

std::string limit_value(const Policy& policy, Limit limit) {
  const SandboxLimits& limits = policy.sandbox.limits;
  switch (limit) {
    case Limit::kTimeout:
      return fmt::format("{} ms", policy.run.limits.timeout_ms.value_or(0));
    case Limit::kCpu:
      return fmt::format("{} ms", limits.cpu_ms.value_or(0));
    case Limit::kMemory:
      return fmt::format("{} MiB", limits.memory_mb.value_or(0));
    case Limit::kPids:
      return fmt::format("{}", limits.pids.value_or(0));
    case Limit::kOpenFiles:
      return fmt::format("{}", limits.open_files.value_or(0));
    case Limit::kFile:
      return fmt::format("{} bytes", policy.sandbox.file_bytes.value_or(0));
    case Limit::kTmp:
      return fmt::format("{} MiB", limits.tmp_mb.value_or(0));
    case Limit::kLayer:
      return fmt::format("{} MiB", limits.layer_mb.value_or(0));
    case Limit::kOutput:
      return fmt::format("{} bytes", policy.run.output_bytes.value_or(0));
  }
  return "";
}

// Never where a secret comes from, or what stands beside it: that may hold one.
std::string credential_line(const Credential& credential) {
  return "  credential " + credential.name + " for " + host_rule_text(credential.host);
}

// "http POST of /repos/acme/** at api.github.com:443, asks"
std::string http_line(const HttpRule& rule) {
  const auto listed = [](const std::optional<std::vector<std::string>>& words,
                         const std::string& all) {
    return words ? fmt::format("{}", fmt::join(*words, " ")) : all;
  };
  std::string line = "  http " + listed(rule.methods, "any method") + " of " +
                     listed(rule.paths, "any path") + " at " + host_rule_text(rule.host);
  if (rule.query) {
    line += rule.query->empty() ? ", without a query" : ", query " + listed(rule.query, "");
  }
  return line + (rule.ask ? ", asks" : "");
}

Json http_json(const NetworkProfile& network) {
  const auto listed = [](const std::optional<std::vector<std::string>>& words) {
    return words ? Json(*words) : Json();
  };
  Json rules = Json::array();
  for (const HttpRule& rule : network.http) {
    rules.push_back({{"host", host_rule_text(rule.host)},
                     {"methods", listed(rule.methods)},
                     {"paths", listed(rule.paths)},
                     {"query", listed(rule.query)},
                     {"ask", rule.ask}});
  }
  return rules;
}

Json allow_json(const NetworkProfile& network) {
  Json hosts = Json::array();
  for (const HostRule& host : network.allow) hosts.push_back(host_rule_text(host));
  return hosts;
}

Json credentials_json(const NetworkProfile& network) {
  Json credentials = Json::array();
  for (const Credential& credential : network.credentials) {
    credentials.push_back({{"name", credential.name}, {"host", host_rule_text(credential.host)}});
  }
  return credentials;
}

}  // namespace

std::string explain_text(const LaunchPlan& plan, const Policy& policy,
                         const guard::Judgement& judgement, const std::string& layer_kind) {
  std::string out;
  // Each a line, whatever the names in it are.
  const auto add = [&out](const std::string& line) { out += escape_control_bytes(line) + "\n"; };
  add(fmt::format("profile    {}", policy.run.name));
  add(fmt::format("command    {}", fmt::join(plan.argv, " ")));
  add(fmt::format("cwd        {}", plan.cwd));
  out += judgement_to_text(judgement);
  for (const ManagedMark& mark : policy.run.managed) {
    add(fmt::format("managed    {} (sha256 {})", mark.path, mark.sha256));
  }
  if (!layer_kind.empty()) {
    add(fmt::format("layer      {} ({})", policy.sandbox.layer, layer_kind));
  }
  for (const std::string& warning : plan.warnings) add("WARNING    " + warning);
  add("view");
  for (const auto& [path, how] : plan.shown) {
    const auto depth = static_cast<std::size_t>(std::count(path.begin(), path.end(), '/'));
    add(fmt::format("  {:<10} {:{}}{}", how, "", 2 * (path == "/" ? 0 : depth - 1), path));
  }
  if (plan.shown.empty()) add("  the host's own (no mount namespace)");
  std::string layers = "layers    ";
  for (int i = 0; i < kLayerCount; ++i) {
    const auto layer = static_cast<Layer>(i);
    if (plan.wanted.has(layer)) layers += fmt::format(" {}", layer_name(layer));
  }
  add(layers + (plan.wanted.empty() ? " none" : ""));
  add(fmt::format("landlock   {}",
                  plan.landlock_abi == 0 ? "off" : fmt::format("ABI {}", plan.landlock_abi)));
  add(fmt::format(
      "seccomp    {}: {} calls allowed, {} by their arguments, {} refused; {} instructions",
      name_of(policy.sandbox.seccomp.mode), plan.filter_allowed, plan.filter_checked,
      plan.filter_refused, plan.filter.size()));
  const NetworkProfile& network = policy.sandbox.network;
  add(fmt::format("network    {}", name_of(network.mode)));
  if (network.mode == NetworkMode::kAllowlist) {
    for (const HostRule& host : network.allow) add("  " + host_rule_text(host));
  }
  for (const HttpRule& rule : network.http) add(http_line(rule));
  for (const Credential& credential : network.credentials) add(credential_line(credential));
  for (const int port : network.host_ports) {
    add(fmt::format("  127.0.0.1:{} leads to the host's", port));
  }
  for (const std::string& path : network.unix_sockets) add(fmt::format("  {}", path));
  for (const PublishedPort& port : policy.run.publish) {
    add(fmt::format("  the host's 127.0.0.1:{} leads to {}", port.host_port, port.port));
  }
  add("limits");
  for (const LimitReport& limit : plan.limits) {
    add(fmt::format("  {:<10} {} ({})", limit_name(limit.limit), limit_value(policy, limit.limit),
                    enforcer_name(limit.enforcer)));
  }
  add("environment");
  add(fmt::format("  {}", fmt::join(environment_names(plan), " ")));
  if (!plan.degraded.empty()) add("degraded");
  for (const Degradation& item : plan.degraded) {
    add(fmt::format("  {}: {}", item.what, item.reason));
  }
  return out;
}

std::string explain_json(const LaunchPlan& plan, const Policy& policy,
                         const guard::Judgement& judgement, const std::string& layer_kind) {
  Json out;
  out["profile"] = policy.run.name;
  out["argv"] = Json::array();
  for (const std::string& argument : plan.argv) out["argv"].push_back(repair_utf8(argument));
  out["cwd"] = repair_utf8(plan.cwd);
  out["check"] = parse_ordered_json(judgement_to_json(judgement));
  out["warnings"] = plan.warnings;
  out["layer"] = layer_kind.empty()
                     ? Json()
                     : Json{{"name", repair_utf8(policy.sandbox.layer)}, {"kind", layer_kind}};
  out["managed"] = policy.run.managed.empty() ? Json() : Json::array();
  for (const ManagedMark& mark : policy.run.managed) {
    out["managed"].push_back({{"path", mark.path}, {"sha256", mark.sha256}});
  }
  out["mounts"] = Json::array();
  for (const auto& [path, how] : plan.shown) {
    out["mounts"].push_back({{"path", repair_utf8(path)}, {"access", how}});
  }
  Json layers;
  for (int i = 0; i < kLayerCount; ++i) {
    const auto layer = static_cast<Layer>(i);
    layers[layer_name(layer)] = plan.wanted.has(layer);
  }
  if (plan.landlock_abi > 0) layers["landlock"] = plan.landlock_abi;
  out["layers"] = layers;
  out["filter"] = {{"mode", name_of(policy.sandbox.seccomp.mode)},
                   {"allowed", plan.filter_allowed},
                   {"checked", plan.filter_checked},
                   {"refused", plan.filter_refused},
                   {"instructions", plan.filter.size()}};
  out["network"] = {{"mode", name_of(policy.sandbox.network.mode)},
                    {"allow", allow_json(policy.sandbox.network)},
                    {"unix_sockets", policy.sandbox.network.unix_sockets},
                    {"host_ports", policy.sandbox.network.host_ports},
                    {"http", http_json(policy.sandbox.network)},
                    {"credentials", credentials_json(policy.sandbox.network)}};
  out["limits"] = Json::object();
  for (const LimitReport& limit : plan.limits) {
    out["limits"][std::string(limit_name(limit.limit))] = {
        {"value", limit_value(policy, limit.limit)}, {"enforcer", enforcer_name(limit.enforcer)}};
  }
  out["environment"] = environment_names(plan);
  out["degraded"] = Json::array();
  for (const Degradation& item : plan.degraded) {
    out["degraded"].push_back({{"what", item.what}, {"reason", item.reason}});
  }
  out["steps"] = Json::array();
  for (const Op& op : plan.ops) out["steps"].push_back(repair_utf8(op.describe(plan)));
  return foreign_json(out.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace sbx
