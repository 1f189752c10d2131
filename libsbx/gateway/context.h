// SPDX-License-Identifier: Apache-2.0
// What the parts of one gateway share: rules, names, records, and the host's own addresses, which
// are listed anew when they are asked for after a while.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/loop.h"
#include "gateway/address.h"
#include "gateway/http_gate.h"
#include "gateway/name_map.h"
#include "gateway/records.h"
#include "gateway/relay.h"
#include "gateway/resolver.h"
#include "gateway/rules.h"
#include "model/denial.h"
#include "profile/upstream.h"

namespace sbx {

class OwnAddresses {
 public:
  explicit OwnAddresses(std::function<std::vector<IpNetwork>()> list) : list_(std::move(list)) {}
  const std::vector<IpNetwork>& get() {
    const auto now = Loop::Clock::now();
    if (now >= until_) {
      addresses_ = list_();
      until_ = now + std::chrono::seconds(1);
    }
    return addresses_;
  }

 private:
  std::function<std::vector<IpNetwork>()> list_;
  std::vector<IpNetwork> addresses_;
  Loop::Clock::time_point until_ = Loop::Clock::time_point::min();
};

// The programs behind the UDP ports that questions come from, as far as they were noted.
class Askers {
 public:
  void note(std::uint16_t port, const std::string& program) {
    if (programs_.size() >= kMost) programs_.clear();
    programs_[port] = program;
  }
  std::string program_of(std::uint16_t port) const {
    const auto found = programs_.find(port);
    return found == programs_.end() ? "" : found->second;
  }

 private:
  static constexpr std::size_t kMost = 1024;
  std::map<std::uint16_t, std::string> programs_;
};

struct GatewayContext {
  GatewayContext(Rules rules_in, ResolvConf conf, HostsFile hosts, std::uint16_t dns_port,
                 std::function<std::vector<IpNetwork>()> list_own, DenialLedger& denials_in)
      : rules(std::move(rules_in)),
        search(conf.search),
        denials(denials_in),
        own(std::move(list_own)),
        resolver(loop, std::move(conf), std::move(hosts), dns_port) {}

  Loop loop;
  Rules rules;
  HttpGate* http = nullptr;          // null: nothing is read
  bool has_ended = false;            // nothing of the sandbox is left
  std::optional<Upstream> upstream;  // what connections outside go through
  std::vector<Endpoint> published;   // the host's ports that lead back inside
  std::vector<std::string> search;   // suffixes that the inside's resolver may try too
  NameMap names;
  Records records;
  std::function<void()> on_full;  // of the records
  DenialLedger& denials;
  Askers askers;
  RelayPool pool;
  OwnAddresses own;
  Resolver resolver;

  bool is_published(const Endpoint& endpoint) const {
    return std::find(published.begin(), published.end(), endpoint) != published.end();
  }
  void deny(std::string operation, std::string target, std::string grant, std::string program = {});
};

// A datagram socket's destination.
inline constexpr const char* kUdpRefusal = "udp";

// What lets the host be reached, "host" or "host:port", from the mode that is in force. Empty for
// what is no host, or more than one: a program inside says what it is.
std::string allow_grant(NetworkMode mode, const std::vector<std::string>& entries);
inline std::string allow_grant(NetworkMode mode, const std::string& host_and_port) {
  return allow_grant(mode, std::vector{host_and_port});
}
// That of a port of the host's loopback, in any mode.
std::string host_port_grant(std::uint16_t port);

// What a destination of the sandbox stands for.
struct Destination {
  Endpoint endpoint;
  std::string name;  // it stands for this name; empty: a literal address
  bool is_host_port = false;
  bool is_allowed = false;
  std::string text() const;  // "name:port" or "address:port"
};
Destination judge_destination(GatewayContext& context, const Endpoint& endpoint);
// What is dialled for an address that stands for no name. Nothing where that would lead back to a
// server inside, which the command reaches by itself.
std::vector<Endpoint> literal_targets(const GatewayContext& context,
                                      const Destination& destination);
void deny_destination(GatewayContext& context, const Destination& destination,
                      const std::string& operation, const std::string& program);

}  // namespace sbx
