// SPDX-License-Identifier: Apache-2.0
// Gateway: listeners in, connections on their way. The parts do the work; this holds them, accepts,
// and keeps the number of connections within bounds.
#include "gateway/gateway.h"

#include <fcntl.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <unordered_map>
#include <utility>

#include "gateway/connection.h"
#include "gateway/context.h"
#include "gateway/dns_server.h"
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

Error system_error(const char* what, const char* call) {
  const int error = errno;
  return {.code = ErrorCode::kSetupFailed,
          .message = std::string(what) + ": " + errno_text(error),
          .where = call,
          .hint = "",
          .sys_errno = error};
}

Status make_non_blocking(int fd) {
  const int flags = fcntl(fd, F_GETFL);
  if (flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0) return {};
  return system_error("cannot make a listener non-blocking", "fcntl");
}

}  // namespace

std::vector<IpAddress> host_addresses() {
  std::vector<IpAddress> addresses;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return addresses;
  for (const ifaddrs* at = list; at != nullptr; at = at->ifa_next) {
    if (at->ifa_addr == nullptr) continue;
    const int family = at->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    sockaddr_storage storage{};
    std::memcpy(&storage, at->ifa_addr,
                family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
    if (const auto endpoint = from_sockaddr(storage)) addresses.push_back(endpoint->address);
  }
  freeifaddrs(list);
  return addresses;
}

class Gateway::Impl {
 public:
  explicit Impl(const GatewayOptions& options)
      : context_(Rules(options.mode, options.allow, options.host_ports),
                 parse_resolv_conf(options.resolv_conf), parse_hosts(options.hosts),
                 options.dns_port, options.own_addresses ? options.own_addresses : host_addresses),
        dns_(context_),
        max_connections_(options.max_connections > 0 ? options.max_connections
                                                     : connections_by_limit()) {}

  GatewayContext& context() { return context_; }
  const GatewayContext& context() const { return context_; }
  DnsServer& dns() { return dns_; }

  Status add(OwnedFd listener, std::function<OwnedFd()> dial, bool is_brief = false);
  bool has_listener(const Endpoint& destination);
  bool has_unsent() const;

 private:
  struct Listener {
    OwnedFd socket;
    Loop::Watch watch;
    Loop::Timer pause;
    Endpoint bound;
    bool takes_v4 = false;  // of an IPv6 wildcard: IPv4 connections too
    bool is_brief = false;  // closed when nothing comes for a while
    Loop::Timer expiry;
    std::function<OwnedFd()> dial;  // empty: a listener of the sandbox
  };

  void on_accept(Listener& listener);
  void accept_all(Listener& listener);
  void prolong(Listener& listener);
  void close(const Listener& listener);
  Listener* find(const Endpoint& bound);
  void start(OwnedFd client, const Listener& listener);

  GatewayContext context_;
  DnsServer dns_;
  std::size_t max_connections_;
  std::vector<std::shared_ptr<Listener>> listeners_;
  std::map<Endpoint, Listener*> by_endpoint_;  // the sandbox's
  std::uint64_t next_id_ = 1;
  std::unordered_map<std::uint64_t, std::shared_ptr<RelayedConnection>> connections_;
};

Status Gateway::Impl::add(OwnedFd socket, std::function<OwnedFd()> dial, bool is_brief) {
  SBX_CHECK_OK(make_non_blocking(socket.get()));
  const auto bound = local_endpoint(socket.get());
  if (!bound) return system_error("cannot read a listener's address", "getsockname");
  auto listener = std::make_shared<Listener>();
  Listener& added = *listener;
  int v6_only = 1;
  socklen_t size = sizeof(v6_only);
  added.takes_v4 =
      getsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &v6_only, &size) == 0 && v6_only == 0;
  added.bound = *bound;
  added.is_brief = is_brief;
  added.dial = std::move(dial);
  added.watch = context_.loop.watch(socket.get(), EPOLLIN,
                                    [this, &added](std::uint32_t) { on_accept(added); });
  if (!added.watch.is_on()) return system_error("cannot watch a listener", "epoll_ctl");
  added.socket = std::move(socket);
  if (!added.dial) by_endpoint_[added.bound] = &added;
  prolong(added);
  listeners_.push_back(std::move(listener));
  return {};
}

Gateway::Impl::Listener* Gateway::Impl::find(const Endpoint& bound) {
  const auto found = by_endpoint_.find(bound);
  return found == by_endpoint_.end() ? nullptr : found->second;
}

bool Gateway::Impl::has_listener(const Endpoint& destination) {
  if (Listener* const exact = find(destination)) {
    prolong(*exact);
    return true;
  }
  const Listener* const any_v4 = find({ipv4(0, 0, 0, 0), destination.port});
  const Listener* const any_v6 = find({*parse_ip("::"), destination.port});
  if (destination.address.is_v6) return any_v6 != nullptr;
  return any_v4 != nullptr || (any_v6 != nullptr && any_v6->takes_v4);
}

void Gateway::Impl::prolong(Listener& listener) {
  if (!listener.is_brief) return;
  listener.expiry = context_.loop.after(kBriefListener, [this, &listener] {
    accept_all(listener);
    close(listener);
  });
}

void Gateway::Impl::close(const Listener& listener) {
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

void Gateway::Impl::on_accept(Listener& listener) {
  prolong(listener);
  accept_all(listener);
}

void Gateway::Impl::accept_all(Listener& listener) {
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

void Gateway::Impl::start(OwnedFd client, const Listener& listener) {
  if (connections_.size() >= max_connections_) {
    context_.ledger.deny("connections",
                         "more than " + std::to_string(max_connections_) + " at once", "");
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

bool Gateway::Impl::has_unsent() const {
  const bool is_queued =
      std::any_of(listeners_.begin(), listeners_.end(), [](const auto& listener) {
        pollfd waiting{listener->socket.get(), POLLIN, 0};
        return !listener->dial && poll(&waiting, 1, 0) > 0;
      });
  return is_queued || std::any_of(connections_.begin(), connections_.end(),
                                  [](const auto& entry) { return entry.second->has_unsent(); });
}

Gateway::Gateway(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Gateway::~Gateway() = default;

Result<std::unique_ptr<Gateway>> Gateway::create(const GatewayOptions& options) {
  if (options.mode == NetworkMode::kOpen) {
    return Error{.code = ErrorCode::kInternal,
                 .message = "the host's own network needs no gateway",
                 .where = "network.mode",
                 .hint = ""};
  }
  auto impl = std::make_unique<Impl>(options);
  SBX_CHECK_OK(impl->context().loop.open());
  return std::unique_ptr<Gateway>(new Gateway(std::move(impl)));
}

int Gateway::poll_fd() const { return impl_->context().loop.fd(); }

std::optional<std::chrono::steady_clock::time_point> Gateway::deadline() const {
  return impl_->context().loop.deadline();
}

void Gateway::step() { impl_->context().loop.step(); }

Status Gateway::add_listener(OwnedFd listener) { return impl_->add(std::move(listener), nullptr); }

Status Gateway::add_listener_for_a_while(OwnedFd listener) {
  return impl_->add(std::move(listener), nullptr, true);
}

bool Gateway::has_listener(const Endpoint& destination) { return impl_->has_listener(destination); }

Status Gateway::add_dns(OwnedFd udp, OwnedFd tcp_listener) {
  for (const OwnedFd* each : {&udp, &tcp_listener}) {
    if (each->is_open()) SBX_CHECK_OK(make_non_blocking(each->get()));
  }
  if (udp.is_open()) SBX_CHECK_OK(impl_->dns().add_udp(std::move(udp)));
  if (tcp_listener.is_open()) SBX_CHECK_OK(impl_->dns().add_tcp(std::move(tcp_listener)));
  return {};
}

Status Gateway::add_publish(OwnedFd listener, std::function<OwnedFd()> dial) {
  return impl_->add(std::move(listener), std::move(dial));
}

bool Gateway::would_relay(const Endpoint& destination) {
  return judge_destination(impl_->context(), destination).is_allowed;
}

std::vector<std::uint16_t> Gateway::listen_ports() const { return impl_->context().rules.ports(); }

void Gateway::count_refusal(const std::string& operation, const Endpoint& destination,
                            const std::string& program) {
  GatewayContext& context = impl_->context();
  deny_destination(context, judge_destination(context, destination), operation, program);
}

void Gateway::note_asker(std::uint16_t port, const std::string& program) {
  impl_->context().askers.note(port, program);
}

bool Gateway::has_unsent() const { return impl_->has_unsent(); }

std::vector<GatewayDenial> Gateway::denials() const { return impl_->context().ledger.denials(); }

std::vector<GatewayConnection> Gateway::connections() const {
  return impl_->context().ledger.connections();
}

std::uint64_t Gateway::unlisted_connections() const {
  return impl_->context().ledger.unlisted_connections();
}

}  // namespace sbx
