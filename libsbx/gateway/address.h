// SPDX-License-Identifier: Apache-2.0
// Endpoints as values, sockaddr both ways, and the classes of addresses that a name must not lead
// to. Pure.
#pragma once

#include <sys/socket.h>

#include <compare>
#include <cstdint>
#include <optional>
#include <string>

#include "model/address.h"
#include "sys/calls.h"

namespace sbx {

struct Endpoint {
  IpAddress address;
  std::uint16_t port = 0;  // host order

  friend auto operator<=>(const Endpoint&, const Endpoint&) = default;
};

std::string endpoint_text(const Endpoint& endpoint);  // "192.0.2.1:80", "[2001:db8::1]:80"

using sys::SocketAddress;
SocketAddress to_sockaddr(const Endpoint& endpoint);
// nullopt for other families.
std::optional<Endpoint> from_sockaddr(const sockaddr_storage& storage);
// getsockname(2); nullopt when it fails.
std::optional<Endpoint> local_endpoint(int socket_fd);

// 127.0.0.0/8 and ::1.
bool is_loopback(const IpAddress& address);
// 127.0.0.1 and ::1, which host ports are mapped at; the rest of 127.0.0.0/8 is the sandbox's own.
bool is_mapped_loopback(const IpAddress& address);

// The IPv4 address that an IPv6 one leads to: IPv4-compatible, NAT64 (RFC 6052, RFC 8215), 6to4.
std::optional<IpAddress> embedded_ipv4(const IpAddress& address);

// Loopback, link-local, unspecified, multicast, broadcast, cloud metadata services, and the range
// that the gateway itself answers names from; IPv6 forms of such IPv4 addresses too.
bool is_special(const IpAddress& address);

}  // namespace sbx
