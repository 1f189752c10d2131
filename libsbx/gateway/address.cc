// SPDX-License-Identifier: Apache-2.0
// Addresses: conversions and classes. The table of special networks is the one place that says
// what the outside must not be reached under.
#include "gateway/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>

namespace sbx {
namespace {

// IPv4-mapped addresses are another spelling of IPv4: one form, or a rule is got round by the
// other.
IpAddress unmapped(const in6_addr& raw) {
  IpAddress address;
  if (IN6_IS_ADDR_V4MAPPED(&raw)) {
    std::memcpy(address.bytes.data(), raw.s6_addr + 12, 4);
    return address;
  }
  address.is_v6 = true;
  std::memcpy(address.bytes.data(), raw.s6_addr, 16);
  return address;
}

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

std::optional<IpAddress> parse_ip(std::string_view text) {
  if (text.size() >= INET6_ADDRSTRLEN || text.find('\0') != std::string_view::npos) return {};
  const std::string terminated(text);
  IpAddress address;
  if (inet_pton(AF_INET, terminated.c_str(), address.bytes.data()) == 1) return address;
  in6_addr raw{};
  if (inet_pton(AF_INET6, terminated.c_str(), &raw) != 1) return {};
  return unmapped(raw);
}

IpAddress ipv4(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d) {
  IpAddress address;
  address.bytes = {a, b, c, d};
  return address;
}

IpAddress ip_from_bytes(std::string_view bytes) {
  IpAddress address;
  if (bytes.size() == 16) {
    in6_addr raw{};
    std::memcpy(raw.s6_addr, bytes.data(), 16);
    return unmapped(raw);
  }
  if (bytes.size() == 4) std::memcpy(address.bytes.data(), bytes.data(), 4);
  return address;
}

std::string ip_text(const IpAddress& address) {
  char text[INET6_ADDRSTRLEN] = "";
  inet_ntop(address.is_v6 ? AF_INET6 : AF_INET, address.bytes.data(), text, sizeof(text));
  return text;
}

std::string endpoint_text(const Endpoint& endpoint) {
  const std::string host = ip_text(endpoint.address);
  const std::string port = std::to_string(endpoint.port);
  return endpoint.address.is_v6 ? "[" + host + "]:" + port : host + ":" + port;
}

SocketAddress to_sockaddr(const Endpoint& endpoint) {
  SocketAddress result;
  if (endpoint.address.is_v6) {
    sockaddr_in6 raw{};
    raw.sin6_family = AF_INET6;
    raw.sin6_port = htons(endpoint.port);
    std::memcpy(&raw.sin6_addr, endpoint.address.bytes.data(), 16);
    std::memcpy(&result.storage, &raw, sizeof(raw));
    result.length = sizeof(raw);
    return result;
  }
  sockaddr_in raw{};
  raw.sin_family = AF_INET;
  raw.sin_port = htons(endpoint.port);
  std::memcpy(&raw.sin_addr, endpoint.address.bytes.data(), 4);
  std::memcpy(&result.storage, &raw, sizeof(raw));
  result.length = sizeof(raw);
  return result;
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
    endpoint.address = unmapped(raw.sin6_addr);
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

bool in_network(const IpAddress& address, const IpAddress& network, int bits) {
  if (address.is_v6 != network.is_v6) return false;
  const std::size_t whole = static_cast<std::size_t>(bits) / 8;
  if (!std::equal(address.bytes.begin(), address.bytes.begin() + static_cast<std::ptrdiff_t>(whole),
                  network.bytes.begin())) {
    return false;
  }
  const int rest = bits % 8;
  if (rest == 0) return true;
  const unsigned mask = 0xFFU << (8 - rest) & 0xFFU;
  return (address.bytes[whole] & mask) == (network.bytes[whole] & mask);
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
