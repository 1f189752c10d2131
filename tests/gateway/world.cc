// SPDX-License-Identifier: Apache-2.0
// World: namespaces by unshare and setns, addresses by rtnetlink.
#include "gateway/world.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

namespace sbx::test {
namespace {

using Clock = std::chrono::steady_clock;

bool write_file(const char* path, const std::string& text) {
  const OwnedFd file(open(path, O_WRONLY | O_CLOEXEC));
  return file.is_open() &&
         write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

bool loopback_up() {
  const OwnedFd any(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  return ioctl(any.get(), SIOCSIFFLAGS, &request) == 0;
}

// ip route add local NETWORK/BITS dev lo
bool all_local(const std::string& network, int bits) {
  struct Request {
    nlmsghdr header;
    rtmsg route;
    char attributes[64];
  } request{};
  const auto address = parse_ip(network);
  const std::size_t size = address->is_v6 ? 16 : 4;
  request.header.nlmsg_type = RTM_NEWROUTE;
  request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_CREATE | NLM_F_ACK;
  request.route.rtm_family = address->is_v6 ? AF_INET6 : AF_INET;
  request.route.rtm_dst_len = static_cast<unsigned char>(bits);
  request.route.rtm_table = RT_TABLE_LOCAL;
  request.route.rtm_protocol = RTPROT_STATIC;
  request.route.rtm_scope = RT_SCOPE_HOST;
  request.route.rtm_type = RTN_LOCAL;
  std::size_t at = NLMSG_LENGTH(sizeof(rtmsg));
  const auto add = [&](unsigned short type, const void* data, std::size_t data_size) {
    rtattr attribute{};
    attribute.rta_type = type;
    attribute.rta_len = static_cast<unsigned short>(RTA_LENGTH(data_size));
    std::memcpy(reinterpret_cast<char*>(&request) + at, &attribute, sizeof(attribute));
    std::memcpy(reinterpret_cast<char*>(&request) + at + RTA_LENGTH(0), data, data_size);
    at += RTA_ALIGN(RTA_LENGTH(data_size));
  };
  if (bits > 0) add(RTA_DST, address->bytes.data(), size);
  const unsigned loopback = if_nametoindex("lo");
  add(RTA_OIF, &loopback, sizeof(loopback));
  request.header.nlmsg_len = static_cast<std::uint32_t>(at);
  const OwnedFd link(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  if (send(link.get(), &request, at, 0) < 0) return false;
  struct Answer {
    nlmsghdr header;
    nlmsgerr error;
    char rest[256];
  } answer{};
  return recv(link.get(), &answer, sizeof(answer), 0) > 0 && answer.error.error == 0;
}

struct Namespaces {
  std::string obstacle;
  OwnedFd outside;
  OwnedFd inside;
};

std::string errno_now(const char* what) { return std::string(what) + ": " + strerror(errno); }

Namespaces make_namespaces() {
  Namespaces made;
  const uid_t uid = getuid();
  const gid_t gid = getgid();
  if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) {
    made.obstacle = errno_now("no user and network namespace");
    return made;
  }
  write_file("/proc/self/setgroups", "deny");
  write_file("/proc/self/uid_map", "0 " + std::to_string(uid) + " 1");
  write_file("/proc/self/gid_map", "0 " + std::to_string(gid) + " 1");
  const auto current = [] { return OwnedFd(open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC)); };
  made.outside = current();
  if (!loopback_up() || !all_local("203.0.113.0", 24) || !all_local("2001:db8::", 32)) {
    made.obstacle = errno_now("no addresses outside");
    return made;
  }
  if (unshare(CLONE_NEWNET) != 0) made.obstacle = errno_now("no second network namespace");
  made.inside = current();
  if (!loopback_up() || !all_local("0.0.0.0", 0) || !all_local("::", 0)) {
    made.obstacle = errno_now("no AnyIP inside");
  }
  setns(made.outside.get(), CLONE_NEWNET);
  return made;
}

const Namespaces& namespaces() {
  static const Namespaces made = make_namespaces();
  return made;
}

OwnedFd make_socket(bool inside, int type, const Endpoint& endpoint) {
  namespaces();
  if (inside) setns(namespaces().inside.get(), CLONE_NEWNET);
  OwnedFd made(
      socket(endpoint.address.is_v6 ? AF_INET6 : AF_INET, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (inside) setns(namespaces().outside.get(), CLONE_NEWNET);
  const int on = 1;
  setsockopt(made.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  return made;
}

OwnedFd bound(bool inside, int type, const Endpoint& endpoint) {
  OwnedFd made = make_socket(inside, type, endpoint);
  // An IPv6 socket binds only to an interface's address, local route or not.
  const int on = 1;
  if (endpoint.address.is_v6) {
    setsockopt(made.get(), IPPROTO_IPV6, IPV6_FREEBIND, &on, sizeof(on));
  }
  const SocketAddress address = to_sockaddr(endpoint);
  if (bind(made.get(), address.get(), address.length) != 0) return {};
  if (type == SOCK_STREAM && listen(made.get(), 4096) != 0) return {};
  return made;
}

OwnedFd connecting(bool inside, int type, const Endpoint& endpoint) {
  OwnedFd made = make_socket(inside, type, endpoint);
  const SocketAddress address = to_sockaddr(endpoint);
  if (connect(made.get(), address.get(), address.length) != 0 && errno != EINPROGRESS) return {};
  return made;
}

}  // namespace

const std::string& world_obstacle() { return namespaces().obstacle; }

Endpoint at(const std::string& address, int port) {
  return {*parse_ip(address), static_cast<std::uint16_t>(port)};
}

OwnedFd outside_tcp(const Endpoint& endpoint) { return bound(false, SOCK_STREAM, endpoint); }
OwnedFd outside_udp(const Endpoint& endpoint) { return bound(false, SOCK_DGRAM, endpoint); }
OwnedFd inside_tcp(const Endpoint& endpoint) { return bound(true, SOCK_STREAM, endpoint); }
OwnedFd inside_udp(const Endpoint& endpoint) { return bound(true, SOCK_DGRAM, endpoint); }
OwnedFd inside_client(const Endpoint& endpoint) { return connecting(true, SOCK_STREAM, endpoint); }
OwnedFd outside_client(const Endpoint& endpoint) {
  return connecting(false, SOCK_STREAM, endpoint);
}
OwnedFd inside_udp_client(const Endpoint& endpoint) {
  return connecting(true, SOCK_DGRAM, endpoint);
}

FakeDns::FakeDns(Handler handler, const std::string& address)
    : handler_(std::move(handler)),
      udp_(outside_udp(at(address, 53))),
      tcp_(outside_tcp(at(address, 53))) {}

void FakeDns::step() {
  char bytes[4096];
  sockaddr_storage peer{};
  socklen_t size = sizeof(peer);
  auto* const raw = reinterpret_cast<sockaddr*>(&peer);
  for (ssize_t count = 0;
       (count = recvfrom(udp_.get(), bytes, sizeof(bytes), 0, raw, &size)) > 0;) {
    ++udp_questions_;
    const auto query = read_dns_query({bytes, static_cast<std::size_t>(count)});
    if (!query) continue;
    for (const std::string& reply : handler_(query->query, false)) {
      sendto(udp_.get(), reply.data(), reply.size(), 0, raw, size);
    }
  }
  OwnedFd client(accept4(tcp_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (client.is_open()) clients_.emplace_back(std::move(client), "");
  for (auto& [socket, received] : clients_) {
    const ssize_t count = recv(socket.get(), bytes, sizeof(bytes), 0);
    if (count > 0) received.append(bytes, static_cast<std::size_t>(count));
    if (received.size() < 2) continue;
    const auto query = read_dns_query(std::string_view(received).substr(2));
    if (!query || query->code != DnsCode::kOk) continue;
    received.clear();
    ++tcp_questions_;
    for (const std::string& reply : handler_(query->query, true)) {
      send_all(socket.get(), std::string{static_cast<char>(reply.size() >> 8),
                                         static_cast<char>(reply.size() & 0xFF)} +
                                 reply);
    }
  }
}

FakeDns::Handler table(std::map<std::string, std::vector<std::string>> names) {
  return [names = std::move(names)](const DnsQuery& query, bool) -> std::vector<std::string> {
    const auto found = names.find(query.name);
    if (found == names.end()) {
      return {write_dns_reply(query, DnsCode::kNoSuchName, {}, 60, 512)};
    }
    std::vector<IpAddress> addresses;
    for (const std::string& text : found->second) {
      const auto address = parse_ip(text);
      const auto type = address->is_v6 ? DnsType::kAaaa : DnsType::kA;
      if (query.type == static_cast<std::uint16_t>(type)) addresses.push_back(*address);
    }
    return {write_dns_reply(query, DnsCode::kOk, addresses, 60, 4096)};
  };
}

World::World(const std::vector<std::string>& allow,
             const std::function<void(GatewayOptions&)>& adjust) {
  namespaces();
  GatewayOptions options;
  options.own_addresses = [] { return std::vector<IpNetwork>(); };  // the outside is a local route
  for (const std::string& rule : allow) options.allow.push_back(parse_host_rule(rule).value());
  options.resolv_conf = "nameserver 203.0.113.53\n";
  if (adjust) adjust(options);
  gateway_ = std::move(Gateway::create(options, denials_)).value();
}

void World::listen_inside(const std::vector<int>& ports) {
  for (const int port : ports) {
    EXPECT_TRUE(gateway_->add_listener(inside_tcp(at("::", port))).ok());
  }
}

void World::serve_dns_inside() {
  ASSERT_TRUE(gateway_->add_dns(inside_udp(at("0.0.0.0", 53)), inside_tcp(at("0.0.0.0", 53))).ok());
}

void World::step_all() {
  if (dns) dns->step();
  if (also_step) also_step();
  pollfd ready{gateway_->poll_fd(), POLLIN, 0};
  const auto deadline = gateway_->deadline();
  const bool is_due = deadline && *deadline <= Clock::now();
  if (poll(&ready, 1, 1) > 0 || is_due) gateway_->step();
}

bool World::until(const std::function<bool()>& done) {
  const auto end = Clock::now() + std::chrono::seconds(50);
  while (Clock::now() < end) {
    step_all();
    if (done()) return true;
  }
  return false;
}

void World::settle() {
  const auto end = Clock::now() + std::chrono::milliseconds(50);
  while (Clock::now() < end) step_all();
}

std::string World::ask(const std::string& name, std::uint16_t type, const Endpoint& server) {
  const OwnedFd client = inside_udp_client(server);
  const std::string query = write_dns_query(0x1234, name, static_cast<DnsType>(type));
  send(client.get(), query.data(), query.size(), 0);
  char bytes[1024];
  ssize_t count = -1;
  if (!until([&] { return (count = recv(client.get(), bytes, sizeof(bytes), 0)) >= 0; })) return {};
  return {bytes, static_cast<std::size_t>(count)};
}

std::string World::lookup(const std::string& name, DnsType type) {
  const std::string message = ask(name, static_cast<std::uint16_t>(type), at("192.0.2.53", 53));
  const auto reply = read_dns_reply(message, 0x1234, name, type);
  if (!reply) return "silence";
  if (!reply->addresses.empty()) return ip_text(reply->addresses.front());
  return "#" + std::to_string(static_cast<int>(reply->code));
}

std::pair<OwnedFd, OwnedFd> World::connect_through(const Endpoint& destination, int listener_fd) {
  OwnedFd client = inside_client(destination);
  OwnedFd server;
  until([&] {
    server.reset(accept4(listener_fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    char byte = 0;
    const bool is_reset = recv(client.get(), &byte, 1, MSG_PEEK) < 0 && errno == ECONNRESET;
    return server.is_open() || is_reset;
  });
  return {std::move(client), std::move(server)};
}

bool World::is_denied(const std::string& operation, const std::string& target) {
  for (const Denial& denial : denials_.entries()) {
    if (denial.operation == operation && denial.target == target) return denial.count > 0;
  }
  return false;
}

void look(int fd, Seen& seen, std::size_t limit) {
  std::vector<char> bytes(65536);
  for (std::size_t total = 0; total < limit && !seen.at_end && !seen.is_reset;) {
    const ssize_t count = recv(fd, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (count == 0) seen.at_end = true;
    if (count < 0 && errno == ECONNRESET) seen.is_reset = true;
    if (count <= 0) return;
    seen.bytes.append(bytes.data(), static_cast<std::size_t>(count));
    total += static_cast<std::size_t>(count);
  }
}

bool send_all(int fd, const std::string& bytes) {
  return send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
}

}  // namespace sbx::test
