// SPDX-License-Identifier: Apache-2.0
// A host is a name or an address with its port, as HostRule reads it.
#include "learn/hosts.h"

#include <algorithm>
#include <cstdint>

#include "policy/narrow.h"
#include "profile/host_rule.h"

namespace sbx::learn {

std::vector<std::string> hosts_of(const nlohmann::json& result) {
  std::vector<std::string> hosts;
  for (const nlohmann::json& connection : result.value("connections", nlohmann::json::array())) {
    const nlohmann::json& name = connection.value("name", nlohmann::json());
    const nlohmann::json& address = connection.value("address", nlohmann::json());
    std::string host;
    if (name.is_string()) host = name.get<std::string>();
    if (host.empty() && address.is_string()) host = address.get<std::string>();
    if (host.empty()) continue;
    if (host.find(':') != host.npos) host = "[" + host + "]";
    host += ":" + std::to_string(connection.value("port", 0));
    if (std::find(hosts.begin(), hosts.end(), host) == hosts.end()) hosts.push_back(host);
  }
  return hosts;
}

bool names_hosts(const Grant& grant) {
  if (grant.section != "network") return false;
  return grant.key == "http" ||
         (grant.key == "allow" &&
          std::all_of(grant.value.begin(), grant.value.end(), [](const Document& host) {
            const auto rule = parse_host_rule(host.is_string() ? host.get<std::string>() : "");
            return rule && rule->kind == HostRule::Kind::kName;
          }));
}

bool is_reached(const std::string& host, const NetworkProfile& network) {
  if (network.mode > NetworkMode::kAllowlist) return true;
  const auto wanted = parse_host_rule(host);
  if (network.mode == NetworkMode::kNone || !wanted) return false;
  const auto lets = [&](HostRule rule) {
    const std::vector<std::uint16_t> ports = ports_of(rule);
    return std::any_of(ports.begin(), ports.end(), [&](std::uint16_t port) {
      rule.port = port;
      const auto common = both(rule, *wanted);
      return common && host_rule_text(*common) == host_rule_text(*wanted);
    });
  };
  return std::any_of(network.allow.begin(), network.allow.end(), lets);
}

bool are_among(const Document& hosts, const std::vector<std::string>& seen) {
  return std::all_of(hosts.begin(), hosts.end(), [&](const Document& host) {
    const auto rule = parse_host_rule(host.is_string() ? host.get<std::string>() : "");
    return std::any_of(seen.begin(), seen.end(), [&](const std::string& other) {
      const auto reached = parse_host_rule(other);
      return host == other || (rule && reached && rule->kind == HostRule::Kind::kName &&
                               reached->kind == rule->kind && reached->name == rule->name);
    });
  });
}

}  // namespace sbx::learn
