// SPDX-License-Identifier: Apache-2.0
// One entry of `network.allow` as text → its parts: a name, a wildcard, an address or a network,
// with or without a port. Pure; resolves nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sbx {

struct HostRule {
  enum class Kind : std::uint8_t { kName, kWildcard, kIpv4, kIpv6 };
  Kind kind = Kind::kName;
  std::string host;         // lower case; a wildcard without its "*."; an address without brackets
  int prefix = 0;           // kIpv4 and kIpv6: bits of the network; 32 and 128 for one address
  std::optional<int> port;  // nullopt: 80 and 443
};

// "github.com", "*.pypi.org:443", "10.1.0.0/16:5432", "[2001:db8::1]:443", "2001:db8::/32";
// nullopt on anything else (a scheme, a path, "*" alone, IPv4 inside IPv6, port 0).
std::optional<HostRule> parse_host_rule(std::string_view text);

}  // namespace sbx
