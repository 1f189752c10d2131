// SPDX-License-Identifier: Apache-2.0
// Ledger: refusals and connections as they happen → bounded lists for the answer and the audit
// log. Everything in it may have been chosen by the sandbox, so text is cut and made printable.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "gateway/gateway.h"

namespace sbx {

class Ledger {
 public:
  static constexpr std::size_t kMaxDenials = 256;
  static constexpr std::size_t kMaxConnections = 1024;

  void deny(const std::string& operation, const std::string& target, const std::string& grant,
            const std::string& program = {});
  // Stays valid while the caller holds it; counted, but not listed, beyond the bound.
  std::shared_ptr<GatewayConnection> open_connection();

  std::vector<GatewayDenial> denials() const;
  std::vector<GatewayConnection> connections() const;
  std::uint64_t unlisted_connections() const { return unlisted_connections_; }

 private:
  std::map<std::tuple<std::string, std::string, std::string>, GatewayDenial> denials_;
  std::uint64_t other_denials_ = 0;
  std::deque<std::shared_ptr<GatewayConnection>> connections_;
  std::uint64_t unlisted_connections_ = 0;
};

// `network.allow += ["host:port"]`; without a port where it is 0.
std::string allow_grant(const std::string& host_and_port);

}  // namespace sbx
