// SPDX-License-Identifier: Apache-2.0
// RelayedConnection: the order is judge, resolve, filter, dial, relay; each step that fails resets
// the client, since to a program that is what a refused destination looks like once it is accepted.
#include "gateway/connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <utility>

namespace sbx {
namespace {

constexpr auto kPublishLimit = std::chrono::seconds(10);

// A relay that waits to fill packets would add delay that the program did not ask for; a peer that
// vanished must not hold a place for ever.
void tune(int socket_fd) {
  const int on = 1;
  setsockopt(socket_fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  setsockopt(socket_fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
}

}  // namespace

RelayedConnection::~RelayedConnection() {
  if (holds_name_) context_.names.release(destination_.name);
}

void RelayedConnection::note_end() {
  if (handed_over_ != 0) context_.http->finish(handed_over_);
  // One that is to be read may still be made, and takes its room then.
  if ((!dialer_ && !tunnel_) || !is_read()) record();
}

void RelayedConnection::refuse_more() const {
  if (handed_over_ != 0) context_.http->refuse_more(handed_over_);
}

bool RelayedConnection::has_unsent() const {
  if (ended_) return false;
  if (handed_over_ != 0) return true;
  if (relay_) return relay_->has_unsent(!is_published_);
  return !is_published_ && has_unread(client_.get());
}

void RelayedConnection::start() {
  const auto endpoint = local_endpoint(client_.get());
  if (!endpoint) {
    abort();
    return;
  }
  destination_ = judge_destination(context_, *endpoint);
  if (!destination_.is_allowed) {
    deny_destination(context_, destination_, "connect", {});
    abort();
    return;
  }
  client_watch_ = context_.loop.watch(client_.get(), 0, [this](std::uint32_t) { abort(); });
  if (!client_watch_.is_on()) {
    abort();
    return;
  }
  if (!destination_.name.empty()) {
    context_.names.hold(destination_.name);
    holds_name_ = true;
  }
  if (has_upstream()) return dial_upstream();
  if (!destination_.name.empty()) return resolve();
  look_for_ruled();
}

// What names no host to a literal address may reach one that has rules there.
void RelayedConnection::look_for_ruled() {
  const IpAddress address = destination_.endpoint.address;
  std::vector<HostRule> hosts;
  if (context_.http != nullptr) hosts = context_.http->hosts_at(destination_.endpoint.port);
  std::erase_if(hosts, [](const HostRule& host) { return host.kind != HostRule::Kind::kName; });
  if (hosts.empty()) return dial(literal_targets(context_, destination_));
  const auto left = std::make_shared<std::size_t>(hosts.size());
  for (const HostRule& host : hosts) {
    context_.resolver.resolve(
        host.name, [weak = weak_from_this(), left, address](const Resolution& resolution) {
          const auto self = weak.lock();
          if (!self || self->ended_) return;
          const auto& found = resolution.addresses;
          if (resolution.kind == Resolution::Kind::kFailed ||
              std::find(found.begin(), found.end(), address) != found.end()) {
            self->may_be_ruled_ = true;
          }
          if (--*left == 0) self->dial(literal_targets(self->context_, self->destination_));
        });
  }
}

void RelayedConnection::resolve() {
  context_.resolver.resolve(destination_.name,
                            [weak = weak_from_this()](const Resolution& resolution) {
                              const auto self = weak.lock();
                              if (self && !self->ended_) self->on_resolved(resolution);
                            });
}

void RelayedConnection::on_resolved(const Resolution& resolution) {
  std::vector<Endpoint> targets;
  for (const IpAddress& address : resolution.addresses) {
    const Endpoint target{address, destination_.endpoint.port};
    const bool is_allowed = context_.rules.allows_resolved(target, context_.own.get());
    (is_allowed ? targets : refused_).push_back(target);
  }
  if (targets.empty()) return fail();
  dial(std::move(targets));
}

// Where the name leads to what is refused as well, that may be what was wanted.
void RelayedConnection::fail() {
  for (const Endpoint& refused : refused_) {
    context_.deny("connect", destination_.text() + " (" + ip_text(refused.address) + ")",
                  allow_grant(context_.rules.mode(), endpoint_text(refused)));
  }
  abort();
}

bool RelayedConnection::has_upstream() const {
  return context_.upstream.has_value() && !destination_.is_host_port;
}

void RelayedConnection::dial_upstream() {
  const Upstream& upstream = *context_.upstream;
  if (upstream.host.kind == HostRule::Kind::kNetwork) {
    return dial({Endpoint{upstream.host.network, upstream.port}});
  }
  context_.resolver.resolve(upstream.host.name, [weak = weak_from_this(), port = upstream.port](
                                                    const Resolution& resolution) {
    const auto self = weak.lock();
    if (!self || self->ended_) return;
    std::vector<Endpoint> targets;
    for (const IpAddress& address : resolution.addresses) targets.push_back({address, port});
    self->dial(std::move(targets));
  });
}

void RelayedConnection::open_tunnel(OwnedFd proxy) {
  tunnel_ = std::make_shared<Tunnel>(context_.loop, std::move(proxy), destination_.text(),
                                     context_.upstream->authorization,
                                     [this](OwnedFd server, const std::string& why) {
                                       if (ended_) return;
                                       context_.loop.bury(std::exchange(tunnel_, nullptr));
                                       if (server.is_open()) return relay(std::move(server));
                                       fail_upstream(why);
                                     });
  const auto tunnel = tunnel_;
  tunnel->start();
}

void RelayedConnection::fail_upstream(const std::string& why) {
  context_.deny("connect", destination_.text() + " (upstream proxy: " + why + ")", "");
  abort();
}

void RelayedConnection::dial(std::vector<Endpoint> targets) {
  record_ = std::make_shared<AllowedConnection>();
  number_ = context_.records.next_number();
  record_->name = destination_.name;
  if (destination_.name.empty()) record_->address = ip_text(destination_.endpoint.address);
  record_->port = destination_.endpoint.port;
  dialer_ = std::make_shared<Dialer>(
      context_.loop, std::move(targets), [this](OwnedFd server, const Endpoint& address) {
        if (ended_) return;  // the client gave up in this very step
        context_.loop.bury(std::exchange(dialer_, nullptr));
        if (!server.is_open()) {
          return has_upstream() ? fail_upstream("not reached") : fail();
        }
        if (has_upstream()) return open_tunnel(std::move(server));
        record_->address = ip_text(address.address);
        relay(std::move(server));
      });
  const auto dialer = dialer_;
  dialer->start();
}

// As what it is by now: made, or failed.
void RelayedConnection::record() {
  if (record_ && !std::exchange(is_recorded_, true)) context_.records.add(number_, record_);
}

void RelayedConnection::relay(OwnedFd server) {
  record_->is_read = is_read();
  if (record_->is_read && context_.records.is_full()) {
    return refuse_reading("the run's record of requests is full");
  }
  record();
  client_watch_.stop();
  tune(client_.get());
  tune(server.get());
  if (record_->is_read) {
    const std::string name =
        destination_.name.empty() ? ip_text(destination_.endpoint.address) : destination_.name;
    HttpPair pair{name, destination_.endpoint.port, std::move(client_), std::move(server),
                  &context_};
    handed_over_ = context_.http->hand_over(std::move(pair), weak_from_this());
    if (handed_over_ == 0) return on_refusal();
    if (context_.has_ended) note_end();
    return;
  }
  Relay::JudgeHello judge;
  const bool by_name = !destination_.name.empty() || context_.http != nullptr;
  if (!is_published_ && by_name && context_.rules.mode() == NetworkMode::kAllowlist) {
    judge = [this](bool readable, const std::string& name) { return judge_hello(readable, name); };
  }
  RequestScan::IsSought is_sought;
  if (context_.http != nullptr && !context_.http->hosts_at(record_->port).empty()) {
    is_sought = [this](const std::string& host) { return is_other_ruled(host); };
  }
  relay_ = std::make_shared<Relay>(
      context_.loop, context_.pool, std::move(client_), std::move(server), record_,
      std::move(judge), [this] { finish(); },
      [this](const std::string& host) { return judge_host(host); }, std::move(is_sought));
  const auto relay = relay_;
  relay->start();
}

// A front for another host is refused; a server's own short names are none. No entry would let it
// pass: who wants the other host connects to that.
bool RelayedConnection::judge_host(const std::string& host) {
  const bool is_free =
      host.find('.') == std::string::npos || host == destination_.name || destination_.name.empty();
  if (is_free && !is_other_ruled(host)) return true;
  const std::string said = host + ":" + std::to_string(destination_.endpoint.port);
  context_.deny("http_host", said + " at " + destination_.text(), "");
  return false;
}

bool RelayedConnection::is_other_ruled(const std::string& host) const {
  if (context_.http == nullptr || host == destination_.name) return false;
  const bool is_unseen = host == kUnseenHosts && (may_be_ruled_ || !destination_.name.empty());
  return is_unseen || context_.http->covers_name(host);
}

bool RelayedConnection::is_read() const {
  if (context_.http == nullptr || is_published_ || destination_.is_host_port) return false;
  return context_.http->covers(
      destination_.name.empty() ? ip_text(destination_.endpoint.address) : destination_.name,
      destination_.endpoint.port);
}

void RelayedConnection::refuse_reading(const std::string& why) {
  context_.deny("connections", destination_.text() + " (" + why + ")", "");
  abort();
}

void RelayedConnection::on_exchange(std::size_t number, HttpExchange exchange) {
  cut(exchange);
  std::vector<HttpExchange>& list = record_->requests;
  const auto place = std::lower_bound(numbers_.begin(), numbers_.end(), number);
  const auto entry = list.begin() + (place - numbers_.begin());
  if (place != numbers_.end() && *place == number) {
    *entry = std::move(exchange);
    return;
  }
  const bool was_full = context_.records.is_full();
  if (!context_.records.take_room(exchange)) return;
  numbers_.insert(place, number);
  list.insert(entry, std::move(exchange));
  if (!was_full && context_.records.is_full()) context_.on_full();
}

void RelayedConnection::on_end(std::uint64_t bytes_out, std::uint64_t bytes_in) {
  record_->bytes_out = bytes_out;
  record_->bytes_in = bytes_in;
  finish();
}

// Behind an address that was allowed as such anything may be, but no host that has rules.
bool RelayedConnection::judge_hello(bool readable, const std::string& server_name) {
  const bool is_literal = destination_.name.empty();
  const bool is_named = readable && !server_name.empty();
  if (is_named
          ? is_literal ? !context_.http->covers_name(server_name) : server_name == destination_.name
      : is_literal ? !may_be_ruled_
                   : readable) {
    return true;
  }
  const std::string port = ":" + std::to_string(destination_.endpoint.port);
  const std::string said = is_named ? server_name + port : readable ? "(no name)" : "(unreadable)";
  context_.deny("tls_sni", said + " at " + destination_.text(), "");
  return false;
}

void RelayedConnection::start_published(OwnedFd server) {
  is_published_ = true;
  published_ = std::move(server);
  if (!published_.is_open()) {
    abort();
    return;
  }
  record_ = std::make_shared<AllowedConnection>();
  is_recorded_ = true;  // inbound: counted nowhere
  client_watch_ = context_.loop.watch(client_.get(), 0, [this](std::uint32_t) { abort(); });
  published_limit_ = context_.loop.after(kPublishLimit, [this] { abort(); });
  published_watch_ = context_.loop.watch(published_.get(), EPOLLOUT, [this](std::uint32_t) {
    int error = 0;
    socklen_t size = sizeof(error);
    getsockopt(published_.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) {
      abort();
      return;
    }
    published_limit_.stop();
    published_watch_.stop();
    relay(std::move(published_));
  });
  if (!client_watch_.is_on() || !published_watch_.is_on()) abort();
}

void RelayedConnection::abort() {
  client_watch_.stop();
  if (client_.is_open()) reset_socket(std::move(client_));
  finish();
}

void RelayedConnection::finish() {
  if (ended_) return;
  ended_ = true;
  client_watch_.stop();
  published_limit_.stop();
  published_watch_.stop();
  record();
  if (dialer_) context_.loop.bury(std::exchange(dialer_, nullptr));
  if (tunnel_) context_.loop.bury(std::exchange(tunnel_, nullptr));
  if (relay_) context_.loop.bury(std::exchange(relay_, nullptr));
  end_();
}

}  // namespace sbx
