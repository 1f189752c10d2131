// SPDX-License-Identifier: Apache-2.0
// Records: each is filled in by the relay that holds it.
#include "gateway/records.h"

#include <string>

namespace sbx {
namespace {

constexpr std::size_t kEntry = 256;  // beside its texts

bool take(std::size_t& used, std::size_t size, std::size_t most) {
  if (used >= most) return false;
  used += size;
  return true;
}

}  // namespace

void Records::add(std::uint64_t number, const std::shared_ptr<AllowedConnection>& connection) {
  const bool is_listed = connection->is_read           ? take(read_, kEntry, kMostRead)
                         : connection->address.empty() ? take(failed_, 1, kMostFailed)
                                                       : take(made_, 1, kMostMade);
  if (is_listed) {
    connections_.emplace(number, connection);
  } else {
    ++unlisted_connections_;
  }
}

bool Records::take_room(const HttpExchange& exchange) {
  const std::size_t size = kEntry + exchange.method.size() + exchange.host.size() +
                           exchange.path.size() + exchange.rule.size();
  const bool is_listed =
      exchange.status == 0 ? take(read_, size, 2 * kMostRead) : take(refused_, size, kMostRefused);
  if (!is_listed) ++unlisted_requests_;
  return is_listed;
}

std::vector<AllowedConnection> Records::connections() const {
  std::vector<AllowedConnection> list;
  list.reserve(connections_.size());
  for (const auto& [number, connection] : connections_) list.push_back(*connection);
  return list;
}

}  // namespace sbx
