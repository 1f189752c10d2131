// SPDX-License-Identifier: Apache-2.0
// Endpoints: conversions and classes. The table of special networks is the one place that says
// what the outside must not be reached under.
#include "gateway/address.h"

#include <netinet/in.h>

#include <algorithm>
#include <cstring>

namespace sbx {
namespace {

struct Network {
  const char* address;
  int bits;
};

constexpr Network kSpecialNetworks[] = {
    {"0.0.0.0", 8},           // "this host": connects to loopback
    {"127.0.0.0", 8},         // loopback
    {"169.254.0.0", 16},      // link-local, and where most clouds keep their metadata service
    {"100.100.100.200", 32},  // Alibaba Cloud's metadata service
    {"168.63.129.16", 32},    // Azure's host agent
    {"192.0.0.192", 32},      // Oracle Cloud's metadata service
    {"198.18.0.0", 15},       // the gateway's own answers
    {"224.0.0.0", 4},         // multicast
    {"255.255.255.255", 32},  // broadcast
    {"::", 127},              // unspecified and loopback
    {"fe80::", 10},           // link-local
    {"fec0::", 10},           // site-local, which some stacks still treat as such
    {"fd00:ec2::", 32},       // AWS's metadata service
    {"fd00:42::42", 128},     // Scaleway's
    {"fd20:ce::254", 128},    // Google Cloud's
    {"fd00:5b::", 64},        // the gateway's own answers
    {"ff00::", 8},            // multicast
};

IpAddress ipv4_at(const IpAddress& address, std::size_t offset) {
  IpAddress result;
  std::copy_n(address.bytes.begin() + static_cast<std::ptrdiff_t>(offset), 4, result.bytes.begin());
  return result;
}

bool in_special_network(const IpAddress& address) {
  return std::any_of(std::begin(kSpecialNetworks), std::end(kSpecialNetworks),
                     [&](const Network& network) {
                       return in_network(address, *parse_ip(network.address), network.bits);
                     });
}

}  // namespace

std::string endpoint_text(const Endpoint& endpoint) {
  const std::string host = ip_text(endpoint.address);
  const std::string port = std::to_string(endpoint.port);
  return endpoint.address.is_v6 ? "[" + host + "]:" + port : host + ":" + port;
}

SocketAddress to_sockaddr(const Endpoint& endpoint) {
  const IpAddress& address = endpoint.address;
  return sys::socket_address(address.is_v6, endpoint.port, address.bytes.data());
}

std::optional<Endpoint> from_sockaddr(const sockaddr_storage& storage) {
  Endpoint endpoint;
  if (storage.ss_family == AF_INET) {
    sockaddr_in raw{};
    std::memcpy(&raw, &storage, sizeof(raw));
    std::memcpy(endpoint.address.bytes.data(), &raw.sin_addr, 4);
    endpoint.port = ntohs(raw.sin_port);
    return endpoint;
  }
  if (storage.ss_family == AF_INET6) {
    sockaddr_in6 raw{};
    std::memcpy(&raw, &storage, sizeof(raw));
    const char* const bytes = reinterpret_cast<const char*>(raw.sin6_addr.s6_addr);
    endpoint.address = ip_from_bytes({bytes, 16});
    endpoint.port = ntohs(raw.sin6_port);
    return endpoint;
  }
  return std::nullopt;
}

std::optional<Endpoint> local_endpoint(int socket_fd) {
  sockaddr_storage storage{};
  socklen_t length = sizeof(storage);
  if (getsockname(socket_fd, reinterpret_cast<sockaddr*>(&storage), &length) != 0) return {};
  return from_sockaddr(storage);
}

bool is_loopback(const IpAddress& address) {
  if (!address.is_v6) return address.bytes[0] == 127;
  return in_network(address, *parse_ip("::1"), 128);
}

bool is_mapped_loopback(const IpAddress& address) {
  return address == (address.is_v6 ? *parse_ip("::1") : ipv4(127, 0, 0, 1));
}

std::optional<IpAddress> embedded_ipv4(const IpAddress& address) {
  if (!address.is_v6) return std::nullopt;
  if (in_network(address, *parse_ip("::"), 96)) return ipv4_at(address, 12);
  if (in_network(address, *parse_ip("64:ff9b::"), 96)) return ipv4_at(address, 12);
  if (in_network(address, *parse_ip("64:ff9b:1::"), 48)) return ipv4_at(address, 12);
  if (in_network(address, *parse_ip("2002::"), 16)) return ipv4_at(address, 2);
  return std::nullopt;
}

bool is_special(const IpAddress& address) {
  if (in_special_network(address)) return true;
  const auto inner = embedded_ipv4(address);
  return inner && in_special_network(*inner);
}

}  // namespace sbx
