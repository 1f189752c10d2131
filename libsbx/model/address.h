// SPDX-License-Identifier: Apache-2.0
// IP addresses as values: text both ways, and networks. An IPv4-mapped IPv6 address is its IPv4
// one.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sbx {

struct IpAddress {
  bool is_v6 = false;
  std::array<std::uint8_t, 16> bytes{};  // network order; an IPv4 address is the first four

  friend auto operator<=>(const IpAddress&, const IpAddress&) = default;
};

// Plain forms only: no port, no brackets, no zone.
std::optional<IpAddress> parse_ip(std::string_view text);
IpAddress ipv4(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d);
// 4 or 16 bytes in network order; all zeros for any other size.
IpAddress ip_from_bytes(std::string_view bytes);
std::string ip_text(const IpAddress& address);

// Both of one family, and the first `bits` bits equal.
bool in_network(const IpAddress& address, const IpAddress& network, int bits);

// One address is the narrowest network.
struct IpNetwork {
  IpNetwork(const IpAddress& address) : start(address), bits(address.is_v6 ? 128 : 32) {}
  IpNetwork(const IpAddress& first, int size) : start(first), bits(size) {}

  bool holds(const IpAddress& address) const { return in_network(address, start, bits); }

  IpAddress start;
  int bits;
};

}  // namespace sbx
