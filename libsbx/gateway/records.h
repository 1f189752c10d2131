// SPDX-License-Identifier: Apache-2.0
// Records: connections as they are let through, and the requests in them → a bounded list for the
// result and the audit log. What went on to a host with rules is always in it: the room that others
// take is their own, and when it is used up nothing further is let through.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "model/outcome.h"

namespace sbx {

class Records {
 public:
  static constexpr std::size_t kMostMade = 1024;  // that are not read
  static constexpr std::size_t kMostFailed = 256;
  // As text, about: what is read, and of that what was refused. What is on its way when the first
  // is used up is listed too, in as much again.
  static constexpr std::size_t kMostRead = std::size_t{4} << 20;
  static constexpr std::size_t kMostRefused = std::size_t{1} << 20;

  // Of a connection that begins: they are listed in this order.
  std::uint64_t next_number() { return next_number_++; }
  // Made, or failed where nothing has answered (no address). It may be filled in later.
  void add(std::uint64_t number, const std::shared_ptr<AllowedConnection>& connection);
  // Whether a request is to be listed; else it is counted. One that comes with a status is the
  // refusal of what went nowhere.
  bool take_room(const HttpExchange& exchange);
  // Nothing further that is read may go on.
  bool is_full() const { return read_ >= kMostRead; }

  std::vector<AllowedConnection> connections() const;
  std::uint64_t unlisted_connections() const { return unlisted_connections_; }
  std::uint64_t unlisted_requests() const { return unlisted_requests_; }

 private:
  std::map<std::uint64_t, std::shared_ptr<AllowedConnection>> connections_;
  std::uint64_t next_number_ = 0;
  std::size_t made_ = 0;
  std::size_t failed_ = 0;
  std::size_t read_ = 0;  // bytes
  std::size_t refused_ = 0;
  std::uint64_t unlisted_connections_ = 0;
  std::uint64_t unlisted_requests_ = 0;
};

}  // namespace sbx
