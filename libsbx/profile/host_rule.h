// SPDX-License-Identifier: Apache-2.0
// One entry of `network.allow` as text → its parts: a name, a wildcard, an address or a network,
// with or without a port. Pure; resolves nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/address.h"

namespace sbx {

struct HostRule {
  enum class Kind : std::uint8_t { kName, kWildcard, kNetwork };
  Kind kind = Kind::kName;
  std::string name;                   // kName, kWildcard: lower case; a wildcard without its "*."
  IpAddress network;                  // kNetwork
  int prefix = 0;                     // its bits; 32 and 128 for one address
  std::optional<std::uint16_t> port;  // nullopt: 80 and 443
  // A managed policy's doing: it does not list the host's own and special addresses, however narrow
  // it is.
  bool never_own = false;

  friend bool operator==(const HostRule&, const HostRule&) = default;
};

// "github.com", "*.pypi.org:443", "10.1.0.0/16:5432", "[2001:db8::1]:443", "2001:db8::/32";
// nullopt on anything else (a scheme, a path, "*" alone, IPv4 inside IPv6, port 0).
std::optional<HostRule> parse_host_rule(std::string_view text);

// As parse_host_rule() reads it.
std::string host_rule_text(const HostRule& rule);

// A name or one address.
bool is_one_host(const HostRule& rule);

// The port of the rule, or those of the web.
std::vector<std::uint16_t> ports_of(const HostRule& rule);

// Whether the rule stands for the port.
bool covers_port(const HostRule& rule, int port);

// Whether the rule names the host, whatever the port: a name in lower case, or an address, which
// may stand in brackets.
bool covers_name(const HostRule& rule, std::string_view name);

// Both.
bool covers_host(const HostRule& rule, std::string_view name, int port);

// Whether `wide` names all that `rule` does, whatever the ports.
bool is_within(const HostRule& rule, const HostRule& wide);

// A network so wide, in bits, was meant as "anything": it lists none of the host's own services.
inline constexpr int kNarrowestWideNetwork = 8;

}  // namespace sbx
