// SPDX-License-Identifier: Apache-2.0
// Destinations: an address that a name was answered with stands for that name, and nothing else.
#include "gateway/context.h"

#include <utility>

#include "json/writer.h"
#include "model/dns_port.h"
#include "model/grant.h"
#include "profile/host_rule.h"

namespace sbx {

void GatewayContext::deny(std::string operation, std::string target, std::string grant,
                          std::string program) {
  denials.count({Refuser::kNetwork, std::move(operation), std::move(target), 1, std::move(program),
                 std::move(grant)});
}

std::string allow_grant(NetworkMode mode, const std::vector<std::string>& entries) {
  std::string list;
  for (const std::string& entry : entries) {
    const auto rule = parse_host_rule(entry);
    if (!rule || !is_one_host(*rule)) return "";
    list += (list.empty() ? "" : ", ") + json_string(entry);
  }
  const std::string grant = append_grant("network.allow", list);
  return mode == NetworkMode::kNone ? std::string(kWithItsMode) + grant : grant;
}

std::string host_port_grant(std::uint16_t port) {
  if (port == kDnsPort) return "";
  return append_grant("network.host_ports", std::to_string(port));
}

std::string Destination::text() const {
  return name.empty() ? endpoint_text(endpoint) : name + ":" + std::to_string(endpoint.port);
}

Destination judge_destination(GatewayContext& context, const Endpoint& endpoint) {
  Destination destination;
  destination.endpoint = endpoint;
  destination.is_host_port = context.rules.is_host_port(endpoint);
  if (destination.is_host_port) {
    destination.is_allowed = true;
  } else if (auto name = context.names.name_of(endpoint.address)) {
    destination.name = std::move(*name);
    destination.is_allowed = context.rules.allows_name(destination.name, endpoint.port);
  } else {
    destination.is_allowed = context.rules.allows_literal(endpoint, context.own.get());
  }
  return destination;
}

// A server on the host's loopback often listens on IPv4 only.
std::vector<Endpoint> literal_targets(const GatewayContext& context,
                                      const Destination& destination) {
  std::vector<Endpoint> targets{destination.endpoint};
  if (destination.is_host_port && destination.endpoint.address.is_v6) {
    targets.push_back({ipv4(127, 0, 0, 1), destination.endpoint.port});
  }
  std::erase_if(targets, [&](const Endpoint& target) { return context.is_published(target); });
  return targets;
}

void deny_destination(GatewayContext& context, const Destination& destination,
                      const std::string& operation, const std::string& program) {
  const Endpoint& endpoint = destination.endpoint;
  std::string grant = allow_grant(context.rules.mode(), destination.text());
  if (is_mapped_loopback(endpoint.address)) {
    grant = host_port_grant(endpoint.port);
  } else if (destination.name.empty() && NameMap::is_mapped_range(endpoint.address)) {
    grant.clear();  // an address of a name that was forgotten, or never given out
  }
  const bool is_udp = operation == kUdpRefusal;
  const bool is_resolvers = !is_udp && endpoint.port == kDnsPort;
  if (is_udp || is_resolvers) grant.clear();  // relayed in no mode
  context.deny(operation, destination.text() + std::string(is_resolvers ? kDnsPortReason : ""),
               std::move(grant), program);
}

}  // namespace sbx
