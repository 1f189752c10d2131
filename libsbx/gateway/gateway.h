// SPDX-License-Identifier: Apache-2.0
// Gateway: sockets handed out of a sandbox's network namespace → connections to what the policy
// allows, made and relayed from the supervisor's own network; names answered; refusals counted.
// One thread. Everything it waits for is behind one epoll descriptor; nothing in it blocks.
// It takes values and descriptors: it reads no file, starts no process, enters no namespace.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/owned_fd.h"
#include "base/result.h"
#include "gateway/address.h"
#include "gateway/connection.h"
#include "gateway/context.h"
#include "gateway/dialer.h"
#include "gateway/dns_server.h"
#include "model/denial.h"
#include "model/dns_port.h"
#include "model/outcome.h"
#include "profile/host_rule.h"
#include "profile/profile.h"

namespace sbx {

struct GatewayOptions {
  // kNone serves host_ports and published ports only; kOpen needs no gateway and is refused.
  NetworkMode mode = NetworkMode::kAllowlist;
  std::vector<HostRule> allow;        // in kOutbound these add addresses that would else be refused
  std::optional<Upstream> upstream;   // connections outside go through it, names unresolved
  std::vector<int> host_ports;        // loopback ports of the host, reachable under the same number
  std::string resolv_conf;            // the host's /etc/resolv.conf: name servers, search domains
  std::string hosts;                  // the host's /etc/hosts: asked before any name server
  std::uint16_t dns_port = kDnsPort;  // of the host's name servers
  std::function<std::vector<IpNetwork>()> own_addresses;  // empty: host_networks()
  HttpGate* http = nullptr;         // reads what it covers; must outlive the gateway
  std::size_t max_connections = 0;  // 0: what RLIMIT_NOFILE leaves room for, at most 8192
};

class Gateway {
 public:
  // Refusals are counted in `denials`, which must outlive this.
  static Result<std::unique_ptr<Gateway>> create(const GatewayOptions& options,
                                                 DenialLedger& denials);
  Gateway(const Gateway&) = delete;
  Gateway& operator=(const Gateway&) = delete;

  // Readable when step() has work; to be put into the caller's epoll set, level-triggered.
  int poll_fd() const { return context_.loop.fd(); }
  // When step() must be called at the latest though nothing is readable.
  std::optional<std::chrono::steady_clock::time_point> deadline() const {
    return context_.loop.deadline();
  }
  // Does a bounded amount of what is ready. Never blocks.
  void step() { context_.loop.step(); }

  // A listening TCP socket of the sandbox's namespace, on the wildcard address or any other. The
  // destination of each connection is what getsockname() says of it: with an AnyIP route every
  // destination is local. Made non-blocking here. When nothing has come for a second it is closed
  // (what waits in it is accepted first), so that its port is free again for servers inside and a
  // scan of ports does not use up descriptors.
  Status add_listener(OwnedFd listener);
  // Whether it is a port of the host that leads back inside.
  bool is_published(const Endpoint& endpoint) const { return context_.is_published(endpoint); }
  // Whether a connection to exactly `destination` would find an open listener of ours; it then
  // stays open for another second. The session makes one where there is none.
  bool has_listener(const Endpoint& destination);
  // Port 53 inside, bound to a wildcard address; either may be closed (not open). Answers come
  // from the address that was asked.
  Status add_dns(OwnedFd udp, OwnedFd tcp_listener);
  // `listener` is the host's; `dial` gives a socket of the sandbox's namespace, non-blocking, on
  // which connect() was called (in progress or done), or a closed one when that failed.
  Status add_publish(OwnedFd listener, std::function<OwnedFd()> dial);

  // Whether a connection to `destination` would be relayed rather than reset: what to make
  // listeners for. An address that a name was answered with stands for that name.
  bool would_relay(const Endpoint& destination);
  // Who asks from this UDP port of the sandbox's: named in the denials of its DNS questions.
  void note_asker(std::uint16_t port, const std::string& program) {
    context_.askers.note(port, program);
  }
  // Tells, now or later, whether a connection to what would be relayed may find a server. It finds
  // none where it leads to the host itself and is refused there.
  void look_for_server(const Endpoint& destination, std::function<void(bool)> tell);
  // Counts a connection (or "udp") that the caller refused itself, by would_relay().
  void count_refusal(const std::string& operation, const Endpoint& destination,
                     const std::string& program);

  // Nothing of the sandbox is left.
  void note_end();
  // Whether bytes that the sandbox has written are still to be handed on: what a run waits for,
  // briefly, when its command has ended.
  bool has_unsent() const;

  // Those that have been made inside and wait for this loop are on record after it.
  void accept_waiting();
  // Oldest first, live ones too.
  std::vector<AllowedConnection> connections() const { return context_.records.connections(); }
  std::uint64_t unlisted_connections() const { return context_.records.unlisted_connections(); }
  std::uint64_t unlisted_requests() const { return context_.records.unlisted_requests(); }

 private:
  struct Listener {
    OwnedFd socket;
    Loop::Watch watch;
    Loop::Timer pause;
    Endpoint bound;
    bool takes_v4 = false;  // of an IPv6 wildcard: IPv4 connections too
    Loop::Timer expiry;
    std::function<OwnedFd()> dial;  // empty: a listener of the sandbox
  };

  Gateway(const GatewayOptions& options, DenialLedger& denials);
  Status add(OwnedFd listener, std::function<OwnedFd()> dial);
  void on_accept(Listener& listener);
  void accept_all(Listener& listener);
  void prolong(Listener& listener);
  void close(const Listener& listener);
  Listener* find(const Endpoint& bound);
  void start(OwnedFd client, const Listener& listener);
  std::vector<Endpoint> own_targets(const Destination& judged);

  GatewayContext context_;
  DnsServer dns_;
  std::size_t max_connections_;
  std::vector<std::shared_ptr<Listener>> listeners_;
  std::map<Endpoint, Listener*> by_endpoint_;  // the sandbox's
  std::uint64_t next_id_ = 1;
  std::unordered_map<std::uint64_t, std::shared_ptr<RelayedConnection>> connections_;
  std::unordered_map<std::uint64_t, std::shared_ptr<Dialer>> tries_;  // whether anybody is there
};

}  // namespace sbx
