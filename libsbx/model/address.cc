// SPDX-License-Identifier: Apache-2.0
// Addresses: inet_pton(3) and what makes two spellings one address.
#include "model/address.h"

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

}  // namespace sbx
