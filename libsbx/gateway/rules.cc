// SPDX-License-Identifier: Apache-2.0
// Rules: look-ups. A rule without a port stands for 80 and 443.
#include "gateway/rules.h"

#include <algorithm>

namespace sbx {
namespace {

bool is_guarded(const IpAddress& address, std::span<const IpNetwork> own) {
  const auto is_own = [&](const IpAddress& a) {
    return std::any_of(own.begin(), own.end(), [&](const IpNetwork& n) { return n.holds(a); });
  };
  const auto inner = embedded_ipv4(address);
  return is_special(address) || is_own(address) || (inner && is_own(*inner));
}

using NameSet = std::set<std::pair<std::string, std::uint16_t>, std::less<>>;

bool has_name(const NameSet& names, std::string_view name, std::optional<std::uint16_t> port) {
  if (port) return names.contains(std::pair(std::string(name), *port));
  const auto found = names.lower_bound(std::pair(std::string(name), std::uint16_t{0}));
  return found != names.end() && found->first == name;
}

bool allows(const NameSet& names, const NameSet& wildcards, std::string_view name,
            std::optional<std::uint16_t> port) {
  if (has_name(names, name, port)) return true;
  if (wildcards.empty()) return false;
  for (std::size_t dot = name.find('.'); dot != std::string_view::npos;
       dot = name.find('.', dot + 1)) {
    if (has_name(wildcards, name.substr(dot + 1), port)) return true;
  }
  return false;
}

}  // namespace

Rules::Rules(NetworkMode mode, std::span<const HostRule> allow, std::span<const int> host_ports)
    : mode_(mode) {
  for (const int port : host_ports) host_ports_.insert(static_cast<std::uint16_t>(port));
  if (mode == NetworkMode::kNone) return;
  for (const HostRule& rule : allow) {
    for (const std::uint16_t port : ports_of(rule)) {
      if (rule.kind == HostRule::Kind::kName) {
        names_.emplace(rule.name, port);
      } else if (rule.kind == HostRule::Kind::kWildcard) {
        wildcards_.emplace(rule.name, port);
      } else {
        const bool lists_own = !rule.never_own && rule.prefix >= kNarrowestWideNetwork;
        networks_.push_back({rule.network, rule.prefix, port, lists_own});
      }
    }
  }
}

bool Rules::is_host_port(const Endpoint& destination) const {
  return is_mapped_loopback(destination.address) && host_ports_.contains(destination.port);
}

bool Rules::allows_name(std::string_view name) const {
  return mode_ == NetworkMode::kOutbound || allows(names_, wildcards_, name, std::nullopt);
}

bool Rules::allows_name(std::string_view name, std::uint16_t port) const {
  return mode_ == NetworkMode::kOutbound || allows(names_, wildcards_, name, port);
}

std::vector<std::string> Rules::entries_for(std::string_view name, const IpAddress& address) const {
  std::set<std::uint16_t> ports;
  for (const NameSet* const rules : {&names_, &wildcards_}) {
    for (const auto& rule : *rules) {
      if (allows_name(name, rule.second)) ports.insert(rule.second);
    }
  }
  if (mode_ == NetworkMode::kOutbound || ports == std::set<std::uint16_t>{80, 443}) {
    return {ip_text(address)};
  }
  std::vector<std::string> entries;
  entries.reserve(ports.size());
  for (const std::uint16_t port : ports) entries.push_back(endpoint_text({address, port}));
  return entries;
}

bool Rules::is_listed(const Endpoint& destination, bool guarded) const {
  return std::any_of(networks_.begin(), networks_.end(), [&](const NetworkRule& rule) {
    return rule.port == destination.port && (!guarded || rule.lists_own) &&
           in_network(destination.address, rule.network, rule.bits);
  });
}

bool Rules::is_listed_guarded(const IpAddress& address) const {
  return std::any_of(networks_.begin(), networks_.end(), [&](const NetworkRule& rule) {
    return is_listed({address, rule.port}, true);
  });
}

bool Rules::allows_literal(const Endpoint& destination, std::span<const IpNetwork> own) const {
  const bool guarded = is_guarded(destination.address, own);
  if (is_listed(destination, guarded)) return true;
  return mode_ == NetworkMode::kOutbound && !guarded;
}

bool Rules::allows_resolved(const Endpoint& destination, std::span<const IpNetwork> own) const {
  return !is_guarded(destination.address, own) || is_listed(destination, true);
}

bool Rules::allows_resolved(const IpAddress& address, std::span<const IpNetwork> own) const {
  return !is_guarded(address, own) || is_listed_guarded(address);
}

}  // namespace sbx
