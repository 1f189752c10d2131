// SPDX-License-Identifier: Apache-2.0
// DnsLookup: one question of one type → one validated reply, from the first server that gives one:
// UDP, again, the next server, TCP where UDP's answer was cut. Never blocks.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/loop.h"
#include "base/owned_fd.h"
#include "gateway/address.h"
#include "gateway/dns_message.h"

namespace sbx {

class DnsLookup {
 public:
  // nullopt: no server answered. Must not destroy the lookup; bury it.
  using OnDone = std::function<void(const std::optional<DnsReply>&)>;

  DnsLookup(Loop& loop, std::vector<Endpoint> servers, std::string name, DnsType type, OnDone done);
  void start() { next_try(); }

 private:
  void next_try();
  bool ask_udp(const Endpoint& server);
  bool ask_tcp(const Endpoint& server);
  bool open(const Endpoint& server, int type);
  void on_udp();
  void on_tcp(std::uint32_t events);
  bool read_tcp();
  // False when the reply means that another server should be asked.
  bool accept(const DnsReply& reply);
  void finish(const std::optional<DnsReply>& reply);
  Endpoint server() const { return servers_[(tries_ - 1) % servers_.size()]; }

  Loop& loop_;
  std::vector<Endpoint> servers_;
  std::string name_;
  DnsType type_;
  OnDone done_;
  std::size_t tries_ = 0;
  std::uint16_t id_ = 0;
  OwnedFd socket_;
  Loop::Watch watch_;  // after the socket: dropped before it
  Loop::Timer timer_;
  std::string unsent_;
  std::string received_;
};

}  // namespace sbx
