// SPDX-License-Identifier: Apache-2.0
// DnsLookup: connected sockets, so that the kernel drops what other hosts send; the port is the
// kernel's random choice, the id ours.
#include "gateway/dns_lookup.h"

#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace sbx {
namespace {

constexpr std::size_t kRounds = 2;  // over all servers
constexpr auto kUdpWait = std::chrono::milliseconds(2000);
constexpr auto kTcpWait = std::chrono::milliseconds(4000);
constexpr std::size_t kMaxUdp = 4096;
constexpr std::size_t kMaxStrayReplies = 64;  // a step; the rest waits for the next

std::optional<std::uint16_t> random_id() {
  std::uint16_t id = 0;
  if (getrandom(&id, sizeof(id), GRND_NONBLOCK) != sizeof(id)) return std::nullopt;
  return id;
}

}  // namespace

DnsLookup::DnsLookup(Loop& loop, std::vector<Endpoint> servers, std::string name, DnsType type,
                     OnDone done)
    : loop_(loop),
      servers_(std::move(servers)),
      name_(std::move(name)),
      type_(type),
      done_(std::move(done)) {}

void DnsLookup::next_try() {
  while (tries_ < kRounds * servers_.size()) {
    ++tries_;
    if (ask_udp(server())) return;
  }
  finish(std::nullopt);
}

bool DnsLookup::open(const Endpoint& server, int type) {
  watch_.stop();
  timer_.stop();
  const int family = server.address.is_v6 ? AF_INET6 : AF_INET;
  socket_.reset(socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const auto id = random_id();
  if (!socket_.is_open() || !id) return false;
  id_ = *id;
  const SocketAddress address = to_sockaddr(server);
  return connect(socket_.get(), address.get(), address.length) == 0 || errno == EINPROGRESS;
}

bool DnsLookup::ask_udp(const Endpoint& server) {
  if (!open(server, SOCK_DGRAM)) return false;
  const std::string query = write_dns_query(id_, name_, type_);
  if (query.empty() || send(socket_.get(), query.data(), query.size(), MSG_NOSIGNAL) < 0) {
    return false;
  }
  watch_ = loop_.watch(socket_.get(), EPOLLIN, [this](std::uint32_t) { on_udp(); });
  timer_ = loop_.after(kUdpWait, [this] { next_try(); });
  return watch_.is_on();
}

void DnsLookup::on_udp() {
  char bytes[kMaxUdp];
  for (std::size_t i = 0; i < kMaxStrayReplies; ++i) {
    const ssize_t count = recv(socket_.get(), bytes, sizeof(bytes), 0);
    if (count < 0) {
      if (errno == EAGAIN || errno == EINTR) return;
      next_try();  // ECONNREFUSED: no server there
      return;
    }
    const auto reply = read_dns_reply({bytes, static_cast<std::size_t>(count)}, id_, name_, type_);
    if (!reply) continue;
    if (reply->truncated) {
      if (!ask_tcp(server())) next_try();
    } else if (!accept(*reply)) {
      next_try();
    }
    return;
  }
}

bool DnsLookup::ask_tcp(const Endpoint& server) {
  if (!open(server, SOCK_STREAM)) return false;
  const std::string query = write_dns_query(id_, name_, type_);
  unsent_.clear();
  unsent_ += static_cast<char>(query.size() >> 8);
  unsent_ += static_cast<char>(query.size() & 0xFF);
  unsent_ += query;
  received_.clear();
  watch_ = loop_.watch(socket_.get(), EPOLLOUT, [this](std::uint32_t events) { on_tcp(events); });
  timer_ = loop_.after(kTcpWait, [this] { next_try(); });
  return watch_.is_on();
}

void DnsLookup::on_tcp(std::uint32_t events) {
  if (!unsent_.empty() && (events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) != 0) {
    const ssize_t count = send(socket_.get(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL);
    if (count < 0 && errno != EAGAIN && errno != EINTR) {
      next_try();
      return;
    }
    unsent_.erase(0, static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    if (unsent_.empty()) watch_.want(EPOLLIN);
    return;
  }
  if (!read_tcp()) next_try();
}

// False when this server will not answer.
bool DnsLookup::read_tcp() {
  char bytes[kMaxUdp];
  const ssize_t count = recv(socket_.get(), bytes, sizeof(bytes), 0);
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  if (count == 0) return false;
  received_.append(bytes, static_cast<std::size_t>(count));
  if (received_.size() < 2) return true;
  const std::size_t size = static_cast<std::size_t>(static_cast<unsigned char>(received_[0]) << 8 |
                                                    static_cast<unsigned char>(received_[1]));
  if (received_.size() < 2 + size) return true;
  const auto reply = read_dns_reply(std::string_view(received_).substr(2, size), id_, name_, type_);
  return reply && !reply->truncated && accept(*reply);
}

bool DnsLookup::accept(const DnsReply& reply) {
  if (reply.code != DnsCode::kOk && reply.code != DnsCode::kNoSuchName) return false;
  finish(reply);
  return true;
}

void DnsLookup::finish(const std::optional<DnsReply>& reply) {
  watch_.stop();
  timer_.stop();
  socket_.reset();
  done_(reply);
}

}  // namespace sbx
