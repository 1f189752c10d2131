// SPDX-License-Identifier: Apache-2.0
// Records: connections as they are let through → a bounded list for the audit log.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "model/outcome.h"

namespace sbx {

class Records {
 public:
  static constexpr std::size_t kMostConnections = 1024;

  // Stays valid while the caller holds it; counted, but not listed, beyond the bound.
  std::shared_ptr<AllowedConnection> open_connection();

  std::vector<AllowedConnection> connections() const;
  std::uint64_t unlisted_connections() const { return unlisted_connections_; }

 private:
  std::deque<std::shared_ptr<AllowedConnection>> connections_;
  std::uint64_t unlisted_connections_ = 0;
};

}  // namespace sbx
