// SPDX-License-Identifier: Apache-2.0
// Ledger: counts by operation, target and program; what goes beyond the bound is one last entry.
#include "gateway/ledger.h"

#include "base/text.h"

namespace sbx {
namespace {

constexpr std::size_t kMaxText = 280;  // a DNS name and a port

std::string tamed(const std::string& text) {
  return escape_control_bytes(std::string_view(text).substr(0, kMaxText));
}

}  // namespace

std::string allow_grant(const std::string& host_and_port) {
  return "network.allow += [\"" + host_and_port + "\"]";
}

void Ledger::deny(const std::string& operation, const std::string& target, const std::string& grant,
                  const std::string& program) {
  const std::tuple key(operation, tamed(target), tamed(program));
  const auto found = denials_.find(key);
  if (found != denials_.end()) {
    ++found->second.count;
  } else if (denials_.size() < kMaxDenials) {
    denials_.emplace(key,
                     GatewayDenial{operation, std::get<1>(key), 1, std::get<2>(key), tamed(grant)});
  } else {
    ++other_denials_;
  }
}

std::shared_ptr<GatewayConnection> Ledger::open_connection() {
  auto connection = std::make_shared<GatewayConnection>();
  if (connections_.size() < kMaxConnections) {
    connections_.push_back(connection);
  } else {
    ++unlisted_connections_;
  }
  return connection;
}

std::vector<GatewayDenial> Ledger::denials() const {
  std::vector<GatewayDenial> list;
  for (const auto& [key, denial] : denials_) list.push_back(denial);
  if (other_denials_ > 0) {
    list.push_back({"connect", "(other destinations)", other_denials_, "", ""});
  }
  return list;
}

std::vector<GatewayConnection> Ledger::connections() const {
  std::vector<GatewayConnection> list;
  list.reserve(connections_.size());
  for (const auto& connection : connections_) list.push_back(*connection);
  return list;
}

}  // namespace sbx
