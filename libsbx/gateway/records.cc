// SPDX-License-Identifier: Apache-2.0
// Records: each is filled in by the relay that holds it.
#include "gateway/records.h"

namespace sbx {

std::shared_ptr<AllowedConnection> Records::open_connection() {
  auto connection = std::make_shared<AllowedConnection>();
  if (connections_.size() < kMostConnections) {
    connections_.push_back(connection);
  } else {
    ++unlisted_connections_;
  }
  return connection;
}

std::vector<AllowedConnection> Records::connections() const {
  std::vector<AllowedConnection> list;
  list.reserve(connections_.size());
  for (const auto& connection : connections_) list.push_back(*connection);
  return list;
}

}  // namespace sbx
