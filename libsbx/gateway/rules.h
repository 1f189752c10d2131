// SPDX-License-Identifier: Apache-2.0
// Rules: network mode, host rules, host ports → is this name, this address, this port allowed.
// Pure: the host's own addresses are given with each question.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/address.h"
#include "profile/host_rule.h"
#include "profile/profile.h"

namespace sbx {

class Rules {
 public:
  Rules(NetworkMode mode, std::span<const HostRule> allow, std::span<const int> host_ports);

  NetworkMode mode() const { return mode_; }
  bool is_host_port(const Endpoint& destination) const;

  // Names are lower case, without a trailing dot.
  bool allows_name(std::string_view name) const;
  bool allows_name(std::string_view name, std::uint16_t port) const;

  // The entries that let what is allowed by that name lead to the address: with each of its ports,
  // or for the ports that an entry without one means.
  std::vector<std::string> entries_for(std::string_view name, const IpAddress& address) const;

  // A destination that the program gave as an address.
  bool allows_literal(const Endpoint& destination, std::span<const IpNetwork> own) const;
  // An address that an allowed name resolves to: any but special ones and the host's own, unless
  // listed. Without a port: whether some port would do.
  bool allows_resolved(const Endpoint& destination, std::span<const IpNetwork> own) const;
  bool allows_resolved(const IpAddress& address, std::span<const IpNetwork> own) const;

 private:
  struct NetworkRule {
    IpAddress network;
    int bits;
    std::uint16_t port;
    bool lists_own;
  };

  bool is_listed(const Endpoint& destination, bool guarded) const;
  bool is_listed_guarded(const IpAddress& address) const;

  NetworkMode mode_;
  std::set<std::pair<std::string, std::uint16_t>, std::less<>> names_;
  std::set<std::pair<std::string, std::uint16_t>, std::less<>> wildcards_;
  std::vector<NetworkRule> networks_;
  std::set<std::uint16_t> host_ports_;
};

}  // namespace sbx
