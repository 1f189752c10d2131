// SPDX-License-Identifier: Apache-2.0
// World: two fresh network namespaces inside a user namespace of the test. "Outside" stands for the
// host's network: 203.0.113.0/24 and 2001:db8::/32 are local there without being an interface's
// addresses, so servers can be bound to public-looking ones. "Inside" is a sandbox's: every address
// is local (AnyIP). One thread plays all parts; a socket stays in the namespace that made it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/owned_fd.h"
#include "gateway/address.h"
#include "gateway/dns_message.h"
#include "gateway/gateway.h"

namespace sbx::test {

Endpoint at(const std::string& address, int port);

// Made once a process. Why not, where the kernel refuses: tests skip with it.
const std::string& world_obstacle();

// Both non-blocking; not open when a call fails.
OwnedFd outside_tcp(const Endpoint& bound);
OwnedFd outside_udp(const Endpoint& bound);
OwnedFd inside_tcp(const Endpoint& bound);  // a listener; "::" takes IPv4 too
OwnedFd inside_udp(const Endpoint& bound);
OwnedFd inside_client(const Endpoint& destination);  // connecting
OwnedFd outside_client(const Endpoint& destination);
OwnedFd inside_udp_client(const Endpoint& destination);

// A name server outside at 203.0.113.53:53, UDP and TCP.
class FakeDns {
 public:
  // Messages to send, in order; none: silence.
  using Handler = std::function<std::vector<std::string>(const DnsQuery& query, bool is_tcp)>;
  explicit FakeDns(Handler handler, const std::string& address = "203.0.113.53");
  void step();
  int udp_questions() const { return udp_questions_; }
  int tcp_questions() const { return tcp_questions_; }

 private:
  Handler handler_;
  OwnedFd udp_;
  OwnedFd tcp_;
  std::vector<std::pair<OwnedFd, std::string>> clients_;
  int udp_questions_ = 0;
  int tcp_questions_ = 0;
};

// Answers A and AAAA from a table; "no such name" for the rest.
FakeDns::Handler table(std::map<std::string, std::vector<std::string>> names);

class World {
 public:
  // Rules as in network.allow; the name server is 203.0.113.53, without answers unless `dns` is
  // set.
  explicit World(const std::vector<std::string>& allow,
                 const std::function<void(GatewayOptions&)>& adjust = {});

  Gateway& gateway() { return *gateway_; }
  std::vector<Denial> denials() const { return denials_.entries(); }
  void listen_inside(const std::vector<int>& ports);
  void serve_dns_inside();

  // Steps everything until `done`, at most 50 seconds, for a busy machine. False: it never came.
  bool until(const std::function<bool()>& done);
  // Steps everything for a short while, to show that something does not happen.
  void settle();

  std::string ask(const std::string& name, std::uint16_t type, const Endpoint& server);
  // What the inside is told: "198.18.0.1", or the answer's code as "#3", "#0" for no address.
  std::string lookup(const std::string& name, DnsType type = DnsType::kA);
  // A connection from inside and the one that arrives at `listener`; not open when it was refused.
  std::pair<OwnedFd, OwnedFd> connect_through(const Endpoint& destination, int listener_fd);
  bool is_denied(const std::string& operation, const std::string& target);

  std::unique_ptr<FakeDns> dns;
  std::function<void()> also_step;

 private:
  void step_all();
  DenialLedger denials_;
  std::unique_ptr<Gateway> gateway_;
};

// What happened on a socket so far.
struct Seen {
  std::string bytes;
  bool at_end = false;
  bool is_reset = false;
};
// Reads what is there, at most `limit` bytes.
void look(int fd, Seen& seen, std::size_t limit = 1 << 20);
bool send_all(int fd, const std::string& bytes);

}  // namespace sbx::test
