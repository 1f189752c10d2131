// SPDX-License-Identifier: Apache-2.0
// Gateway: listeners in, connections on their way. The parts do the work; this holds them, accepts,
// and keeps the number of connections within bounds.
#include "gateway/gateway.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/files.h"
#include "gateway/host_networks.h"
#include "gateway/resolv_conf.h"

namespace sbx {
namespace {

constexpr int kAcceptsPerStep = 64;
constexpr std::size_t kMostConnections = 8192;
constexpr auto kBriefListener = std::chrono::seconds(1);
constexpr auto kAcceptPause = std::chrono::milliseconds(50);

// Each connection holds two descriptors, three while two addresses are tried; the rest of the
// process wants some too.
std::size_t connections_by_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return kMostConnections;
  }
  const std::size_t descriptors = limit.rlim_cur;
  const std::size_t reserved = 128;
  const std::size_t room = descriptors > 2 * reserved ? (descriptors - reserved) / 3 : 32;
  return std::min(room, kMostConnections);
}

Status make_non_blocking(int fd) {
  const int flags = fcntl(fd, F_GETFL);
  if (flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0) return {};
  return call_failed(ErrorCode::kSetupFailed, "cannot make a listener non-blocking", "fcntl");
}

}  // namespace

Gateway::Gateway(const GatewayOptions& options, DenialLedger& denials)
    : context_(Rules(options.mode, options.allow, options.host_ports),
               parse_resolv_conf(options.resolv_conf), parse_hosts(options.hosts), options.dns_port,
               options.own_addresses ? options.own_addresses : host_networks, denials),
      dns_(context_),
      max_connections_(options.max_connections > 0 ? options.max_connections
                                                   : connections_by_limit()) {
  context_.http = options.http;
  context_.upstream = options.upstream;
  context_.on_full = [this] {
    for (const auto& [id, connection] : connections_) connection->refuse_more();
  };
}

Result<std::unique_ptr<Gateway>> Gateway::create(const GatewayOptions& options,
                                                 DenialLedger& denials) {
  if (options.mode == NetworkMode::kOpen) {
    return Error{.code = ErrorCode::kInternal,
                 .message = "the host's own network needs no gateway",
                 .where = "network.mode",
                 .hint = ""};
  }
  std::unique_ptr<Gateway> made(new Gateway(options, denials));
  SBX_CHECK_OK(made->context_.loop.open());
  return made;
}

Status Gateway::add_listener(OwnedFd listener) { return add(std::move(listener), nullptr); }

Status Gateway::add_publish(OwnedFd listener, std::function<OwnedFd()> dial) {
  if (const auto bound = local_endpoint(listener.get())) context_.published.push_back(*bound);
  return add(std::move(listener), std::move(dial));
}

Status Gateway::add_dns(OwnedFd udp, OwnedFd tcp_listener) {
  for (const OwnedFd* each : {&udp, &tcp_listener}) {
    if (each->is_open()) SBX_CHECK_OK(make_non_blocking(each->get()));
  }
  if (udp.is_open()) SBX_CHECK_OK(dns_.add_udp(std::move(udp)));
  if (tcp_listener.is_open()) SBX_CHECK_OK(dns_.add_tcp(std::move(tcp_listener)));
  return {};
}

Status Gateway::add(OwnedFd socket, std::function<OwnedFd()> dial) {
  SBX_CHECK_OK(make_non_blocking(socket.get()));
  const auto bound = local_endpoint(socket.get());
  if (!bound)
    return call_failed(ErrorCode::kSetupFailed, "cannot read a listener's address", "getsockname");
  auto listener = std::make_shared<Listener>();
  Listener& added = *listener;
  int v6_only = 1;
  socklen_t size = sizeof(v6_only);
  added.takes_v4 =
      getsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &v6_only, &size) == 0 && v6_only == 0;
  added.bound = *bound;
  added.dial = std::move(dial);
  added.watch = context_.loop.watch(socket.get(), EPOLLIN,
                                    [this, &added](std::uint32_t) { on_accept(added); });
  if (!added.watch.is_on())
    return call_failed(ErrorCode::kSetupFailed, "cannot watch a listener", "epoll_ctl");
  added.socket = std::move(socket);
  if (!added.dial) by_endpoint_[added.bound] = &added;
  prolong(added);
  listeners_.push_back(std::move(listener));
  return {};
}

Gateway::Listener* Gateway::find(const Endpoint& bound) {
  const auto found = by_endpoint_.find(bound);
  return found == by_endpoint_.end() ? nullptr : found->second;
}

bool Gateway::has_listener(const Endpoint& destination) {
  if (Listener* const exact = find(destination)) {
    prolong(*exact);
    return true;
  }
  const Listener* const any_v4 = find({ipv4(0, 0, 0, 0), destination.port});
  const Listener* const any_v6 = find({*parse_ip("::"), destination.port});
  if (destination.address.is_v6) return any_v6 != nullptr;
  return any_v4 != nullptr || (any_v6 != nullptr && any_v6->takes_v4);
}

void Gateway::prolong(Listener& listener) {
  if (listener.dial) return;
  listener.expiry = context_.loop.after(kBriefListener, [this, &listener] {
    accept_all(listener);
    close(listener);
  });
}

void Gateway::close(const Listener& listener) {
  const auto indexed = by_endpoint_.find(listener.bound);
  if (indexed != by_endpoint_.end() && indexed->second == &listener) by_endpoint_.erase(indexed);
  const auto held = std::find_if(listeners_.begin(), listeners_.end(),
                                 [&](const auto& each) { return each.get() == &listener; });
  (*held)->watch.stop();
  (*held)->pause.stop();
  (*held)->socket.reset();  // now: its port is wanted inside
  context_.loop.bury(*held);
  listeners_.erase(held);
}

void Gateway::on_accept(Listener& listener) {
  prolong(listener);
  accept_all(listener);
}

void Gateway::accept_all(Listener& listener) {
  for (int i = 0; i < kAcceptsPerStep; ++i) {
    OwnedFd client(accept4(listener.socket.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (client.is_open()) {
      start(std::move(client), listener);
      continue;
    }
    if (errno == ECONNABORTED || errno == EINTR) continue;
    if (errno == EAGAIN) return;
    // Out of descriptors or memory: the client stays in the queue, and the loop must not spin.
    listener.watch.want(0);
    listener.pause =
        context_.loop.after(kAcceptPause, [&listener] { listener.watch.want(EPOLLIN); });
    return;
  }
}

void Gateway::start(OwnedFd client, const Listener& listener) {
  if (connections_.size() >= max_connections_) {
    context_.deny("connections", "more than " + std::to_string(max_connections_) + " at once", "");
    reset_socket(std::move(client));
    return;
  }
  const std::uint64_t id = next_id_++;
  const auto connection =
      std::make_shared<RelayedConnection>(context_, std::move(client), [this, id] {
        const auto found = connections_.find(id);
        context_.loop.bury(std::move(found->second));
        connections_.erase(found);
      });
  connections_.emplace(id, connection);
  if (listener.dial) {
    connection->start_published(listener.dial());
  } else {
    connection->start();
  }
}

void Gateway::accept_waiting() {
  if (context_.has_ended) return;
  const std::vector<std::shared_ptr<Listener>> all = listeners_;
  for (const auto& listener : all) {
    if (!listener->dial) accept_all(*listener);
  }
}

void Gateway::note_end() {
  context_.has_ended = true;
  for (const auto& [id, connection] : connections_) connection->note_end();
}

bool Gateway::has_unsent() const {
  const bool is_queued =
      std::any_of(listeners_.begin(), listeners_.end(), [](const auto& listener) {
        return !listener->dial && is_ready(listener->socket.get(), POLLIN);
      });
  return is_queued || std::any_of(connections_.begin(), connections_.end(),
                                  [](const auto& entry) { return entry.second->has_unsent(); });
}

bool Gateway::would_relay(const Endpoint& destination) {
  return judge_destination(context_, destination).is_allowed;
}

// Where it leads, when that is known, and to the host itself alone.
std::vector<Endpoint> Gateway::own_targets(const Destination& judged) {
  if (context_.upstream && !judged.is_host_port) return {};
  std::vector<Endpoint> targets;
  if (judged.name.empty()) {
    targets = literal_targets(context_, judged);
  } else if (const auto known = context_.resolver.known(judged.name)) {
    for (const IpAddress& address : known->addresses) {
      targets.push_back({address, judged.endpoint.port});
      if (!context_.rules.allows_resolved(targets.back(), context_.own.get())) return {};
    }
  }
  const std::vector<IpNetwork>& own = context_.own.get();
  const auto is_own = [&](const Endpoint& target) {
    return std::any_of(own.begin(), own.end(),
                       [&](const IpNetwork& network) { return network.holds(target.address); });
  };
  return std::all_of(targets.begin(), targets.end(), is_own) ? targets : std::vector<Endpoint>();
}

void Gateway::look_for_server(const Endpoint& destination, std::function<void(bool)> tell) {
  const Destination judged = judge_destination(context_, destination);
  if (judged.name.empty() && literal_targets(context_, judged).empty()) return tell(false);
  std::vector<Endpoint> targets = own_targets(judged);
  if (targets.empty() || std::any_of(targets.begin(), targets.end(), host_listens)) {
    return tell(true);
  }
  // The host may lead it elsewhere (NAT), or the kernel be unable to say who listens.
  const std::uint64_t id = next_id_++;
  const auto dialer = std::make_shared<Dialer>(
      context_.loop, std::move(targets),
      [this, id, tell = std::move(tell)](const OwnedFd& server, const Endpoint&) {
        const auto done = tries_.find(id);
        context_.loop.bury(std::move(done->second));
        tries_.erase(done);
        tell(server.is_open());
      });
  tries_.emplace(id, dialer);
  dialer->start();
}

void Gateway::count_refusal(const std::string& operation, const Endpoint& destination,
                            const std::string& program) {
  deny_destination(context_, judge_destination(context_, destination), operation, program);
}

}  // namespace sbx
