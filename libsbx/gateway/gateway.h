// SPDX-License-Identifier: Apache-2.0
// Gateway: sockets handed out of a sandbox's network namespace → connections to what the policy
// allows, made and relayed from the supervisor's own network; names answered; refusals counted.
// One thread. Everything it waits for is behind one epoll descriptor; nothing in it blocks.
// It takes values and descriptors: it reads no file, starts no process, enters no namespace.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/owned_fd.h"
#include "base/result.h"
#include "gateway/address.h"
#include "profile/host_rule.h"
#include "profile/profile.h"

namespace sbx {

struct GatewayOptions {
  // kNone serves host_ports and published ports only; kOpen needs no gateway and is refused.
  NetworkMode mode = NetworkMode::kAllowlist;
  std::vector<HostRule> allow;  // in kOutbound these add addresses that would else be refused
  std::vector<int> host_ports;  // loopback ports of the host, reachable under the same number
  std::string resolv_conf;      // the host's /etc/resolv.conf: name servers, search domains
  std::string hosts;            // the host's /etc/hosts: asked before any name server
  std::uint16_t dns_port = 53;  // of the host's name servers
  std::function<std::vector<IpAddress>()> own_addresses;  // empty: host_addresses()
  std::size_t max_connections = 0;  // 0: what RLIMIT_NOFILE leaves room for, at most 8192
};

// The addresses of the calling process's network interfaces (getifaddrs).
std::vector<IpAddress> host_addresses();

// One distinct refusal; the fields of a denial of layer "network".
struct GatewayDenial {
  std::string operation;  // connect | dns | tls_sni | udp | connections (too many at once)
  std::string target;     // "name:port", "address:port", a name for dns
  std::uint64_t count = 0;
  std::string program;  // empty where only the gateway saw it
  std::string grant;    // such as network.allow += ["github.com:443"]; empty: nothing would help
};

// One connection that was let through, for the audit log.
struct GatewayConnection {
  std::string name;     // the allowed name that it was made to; empty for a literal address
  std::string address;  // dialled; empty when no address answered
  int port = 0;
  std::uint64_t bytes_out = 0;  // from the sandbox
  std::uint64_t bytes_in = 0;   // to the sandbox
};

class Gateway {
 public:
  static Result<std::unique_ptr<Gateway>> create(const GatewayOptions& options);
  ~Gateway();
  Gateway(const Gateway&) = delete;
  Gateway& operator=(const Gateway&) = delete;

  // Readable when step() has work; to be put into the caller's epoll set, level-triggered.
  int poll_fd() const;
  // When step() must be called at the latest though nothing is readable.
  std::optional<std::chrono::steady_clock::time_point> deadline() const;
  // Does a bounded amount of what is ready. Never blocks.
  void step();

  // A listening TCP socket of the sandbox's namespace, on the wildcard address or any other. The
  // destination of each connection is what getsockname() says of it: with an AnyIP route every
  // destination is local. Made non-blocking here.
  Status add_listener(OwnedFd listener);
  // The same for a listener that was made for one destination, on demand: when nothing has come for
  // a second it is closed (what waits in it is accepted first), so that its port is free again for
  // servers inside and a scan of ports does not use up descriptors.
  Status add_listener_for_a_while(OwnedFd listener);
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
  // Ports that the rules and host_ports name, sorted: all that can be bound in advance. In
  // kOutbound every other port is possible too.
  std::vector<std::uint16_t> listen_ports() const;
  // Who asks from this UDP port of the sandbox's: named in the denials of its DNS questions.
  void note_asker(std::uint16_t port, const std::string& program);
  // Counts a connection (or "udp") that the caller refused itself, by would_relay().
  void count_refusal(const std::string& operation, const Endpoint& destination,
                     const std::string& program);

  // Whether bytes that the sandbox has written are still to be handed on: what a run waits for,
  // briefly, when its command has ended.
  bool has_unsent() const;

  std::vector<GatewayDenial> denials() const;  // at most 257; the last may stand for all others
  std::vector<GatewayConnection> connections() const;  // oldest first, live ones too; at most 1024
  std::uint64_t unlisted_connections() const;          // let through beyond that bound

 private:
  class Impl;
  explicit Gateway(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace sbx
