// SPDX-License-Identifier: Apache-2.0
// The decision, from the outside in: the family, the destination, whose socket it is. What it goes
// by comes from the connector, and so does the connect.
#include "connect/connects.h"

#include <sys/socket.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "gateway/host_networks.h"
#include "guard/places.h"
#include "json/writer.h"
#include "model/dns_port.h"
#include "model/grant.h"
#include "policy/request.h"

namespace sbx {
namespace {

bool is_unspecified(const IpAddress& address) { return address == IpAddress{address.is_v6, {}}; }

}  // namespace

Connects::Connects(ConnectRules rules, Gateway* gateway, AnswerNames answer_names,
                   Refusals& refusals, DenialLedger& denials, Ask ask,
                   std::function<bool(int)> watch)
    : rules_(std::move(rules)),
      gateway_(gateway),
      answer_names_(std::move(answer_names)),
      refusals_(refusals),
      denials_(denials),
      ask_(std::move(ask)),
      watch_(std::move(watch)),
      peers_(rules_.listed, rules_.writable_roots) {
  peers_.set_told(rules_.told);
}

std::optional<int> Connects::begin(const sys::SeccompNotif& call) {
  ConnectCall wanted{call.id, static_cast<pid_t>(call.pid), static_cast<int>(call.data.args[0]),
                     call.data.args[1], static_cast<socklen_t>(call.data.args[2])};
  if (call.data.nr == SYS_socketpair) {
    wanted.fd = static_cast<int>(call.data.args[1]);
    wanted.address = call.data.args[3];
    wanted.length = 0;
    wanted.listener = refusals_.listener();
    wanted.own_network = rules_.own_network;
  }
  if (wanted.length > sizeof(sockaddr_storage)) return EINVAL;
  if (connector_ == nullptr) {
    Result<std::unique_ptr<Connector>> made =
        Connector::create(peers_, [this](std::uint64_t id) { return refusals_.is_waiting(id); });
    if (!made.ok() || !watch_(made.value()->poll_fd())) return ENOBUFS;
    connector_ = std::move(made).value();
  }
  const int error = connector_->start(wanted);
  return error == 0 ? std::nullopt : std::optional(error);
}

void Connects::step() {
  if (connector_ == nullptr) return;
  connector_->step([this](Errand& errand, Step step, int error) { take(errand, step, error); });
}

void Connects::take(Errand& errand, Step step, int error) {
  const std::uint64_t id = errand.call.id;
  if (step == Step::kConnect && error == 0 && gateway_ != nullptr && errand.type != SOCK_STREAM) {
    // A resolver's socket: the port that its questions will come from is known once it is
    // connected.
    const auto destination = from_sockaddr(errand.address);
    const auto from = from_sockaddr(errand.own);
    if (destination && destination->port == kDnsPort && from) {
      gateway_->note_asker(from->port, program_name(static_cast<std::uint32_t>(errand.call.tid)));
    }
  }
  if (errand.only_outside && refusals_.is_waiting(id)) count_unshown(errand);
  if (step == Step::kConnect && errand.is_refused) count_hosts_port(errand);
  if (error != 0 || step == Step::kConnect) return refusals_.respond(id, error);
  if (errand.call.listener >= 0) {  // a pair, which was made
    refusals_.respond(id, 0);
    return connector_->end(errand);
  }
  // The caller's number may have been another process's by then.
  if (!refusals_.is_waiting(id)) return connector_->end(errand);
  if (step == Step::kFindOwner) return decide_by_owner(errand);
  decide(errand);
}

void Connects::decide(Errand& errand) {
  switch (errand.domain) {
    case AF_INET:
    case AF_INET6:
      if (const auto destination = from_sockaddr(errand.address)) {
        return to_network(errand, *destination);
      }
      return connect(errand);  // AF_UNSPEC, which disconnects, or nonsense
    case AF_UNIX:
      return to_unix(errand);
    default:
      // Netlink's connect grants by the rights of its caller, and we have more than the command.
      return refuse(errand, EPERM);
  }
}

void Connects::refuse(Errand& errand, int error) { connector_->refuse(errand, error); }

// --- TCP and UDP ---

void Connects::to_network(Errand& errand, const Endpoint& destination) {
  const auto program = [&] { return program_name(static_cast<std::uint32_t>(errand.call.tid)); };
  if (!rules_.own_network) {
    if (rules_.mode == NetworkMode::kOpen) return connect(errand);
    // We are not in the Landlock domain that would refuse it.
    count(errand, "connect", endpoint_text(destination), "");
    return refuse(errand, EACCES);
  }
  const bool is_stream = errand.type == SOCK_STREAM;
  const bool is_local = is_loopback(destination.address) || is_unspecified(destination.address);
  if (is_stream && gateway_ != nullptr && gateway_->would_relay(destination)) {
    // The resolver has that port, at every address.
    return destination.port == kDnsPort ? connect(errand) : relay(errand, destination);
  }
  if (destination.port == kDnsPort && !is_stream) {
    // Somebody has to listen for the name that it asks for, to say which one that was.
    const bool has_server = is_relayed(rules_.mode) || names_are_answered_;
    if (!has_server && is_local && !destination.address.is_v6) return ask_for_dns(errand);
    if (!has_server) {
      count(errand, "dns", endpoint_text(destination), std::string(kNetworkGrant));
    }
    return connect(errand);
  }
  if (is_local) return connect(errand);
  if (!is_relayed(rules_.mode)) {
    const bool is_resolvers = is_stream && destination.port == kDnsPort;
    const std::string where = endpoint_text(destination);
    count(errand, is_stream ? "connect" : kUdpRefusal,
          where + std::string(is_resolvers ? kDnsPortReason : ""),
          is_stream && !is_resolvers ? allow_grant(rules_.mode, where) : "");
    return connect(errand);  // the namespace has no route
  }
  if (is_stream) {
    gateway_->count_refusal("connect", destination, program());
    return refuse(errand, ECONNREFUSED);
  }
  // Connecting a datagram socket sends nothing: the resolver does it to sort addresses.
  if (destination.port != 0 && !gateway_->would_relay(destination)) {
    gateway_->count_refusal(kUdpRefusal, destination, program());
  }
  connect(errand);
}

void Connects::relay(const Errand& errand, const Endpoint& destination) {
  gateway_->look_for_server(destination, [this, id = errand.call.id, destination](bool is_there) {
    Errand* const waiting = connector_->find(id);
    if (waiting == nullptr) return;
    if (is_there) return connect_relayed(*waiting, destination);
    // A server inside may be there, where no listener of ours is.
    const bool is_inside = is_loopback(destination.address) && !gateway_->has_listener(destination);
    return is_inside ? connect(*waiting) : refuse(*waiting, ECONNREFUSED);
  });
}

// Makes sure that a listener of the gateway stands at the destination, then connects to it.
void Connects::connect_relayed(Errand& errand, const Endpoint& destination) {
  if (gateway_->has_listener(destination)) return connect(errand);
  InsideRequest request;
  request.kind = InsideRequest::Kind::kListen;
  request.is_v6 = destination.address.is_v6;
  request.port = destination.port;
  std::copy(destination.address.bytes.begin(), destination.address.bytes.end(), request.address);
  const auto go_on = [this, id = errand.call.id, destination](OwnedFd listener, int problem) {
    Errand* const waiting = connector_->find(id);
    if (listener.is_open()) {
      const Status added = gateway_->add_listener(std::move(listener));
      if (waiting == nullptr) return;
      return added.ok() ? connect(*waiting) : refuse(*waiting, ECONNREFUSED);
    }
    if (waiting == nullptr) return;
    // Another connect has made it meanwhile, or a server inside holds the port. Its loopback is
    // its own; elsewhere the command would talk to itself and take it for the host it named.
    if (gateway_->has_listener(destination) || is_loopback(destination.address)) {
      return connect(*waiting);
    }
    count(*waiting, "connect",
          endpoint_text(destination) +
              (problem == EADDRINUSE ? ": a server inside holds that port" : ""),
          "");
    refuse(*waiting, ECONNREFUSED);
  };
  if (ask_(request, go_on) != 0) refuse(errand, ECONNREFUSED);
}

// A server inside may hold the port already: then it is its resolver.
void Connects::ask_for_dns(const Errand& errand) {
  InsideRequest request;
  request.kind = InsideRequest::Kind::kDns;
  const auto go_on = [this, id = errand.call.id](OwnedFd socket, int) {
    if (socket.is_open() && !names_are_answered_) {
      gateway_ = answer_names_(std::move(socket));
      names_are_answered_ = gateway_ != nullptr;
    }
    if (Errand* const waiting = connector_->find(id)) connect(*waiting);
  };
  if (ask_(request, go_on) != 0) go_on(OwnedFd(), EAGAIN);
}

// --- Unix sockets ---

void Connects::to_unix(Errand& errand) {
  if (!errand.has_unix_name()) return connect(errand);
  if (errand.owner) return decide_by_owner(errand);
  const bool is_path = errand.path >= 0;
  // Abstract names belong to the network namespace.
  if (!is_path && rules_.own_network) return connect(errand);
  if (rules_.own_network && peers_.diag() < 0) return ask_for_diag(errand);
  if (rules_.own_network || rules_.own_pids) {
    errand.by_namespace = rules_.own_network;
    return connector_->go_on(errand, Step::kFindOwner);
  }
  errand.owner = UnixPeers::Owner::kHost;
  decide_by_owner(errand);
}

// One for all: whoever came before it begins again with it.
void Connects::ask_for_diag(const Errand& errand) {
  waiting_for_diag_.push_back(errand.call.id);
  if (std::exchange(asked_for_diag_, true)) return;
  InsideRequest request;
  request.kind = InsideRequest::Kind::kSocketDiag;
  if (ask_(request, [this](OwnedFd diag, int) { take_diag(std::move(diag)); }) != 0) {
    take_diag(OwnedFd());
  }
}

void Connects::take_diag(OwnedFd diag) {
  asked_for_diag_ = false;
  peers_.set_diag(std::move(diag));
  for (const std::uint64_t id : std::exchange(waiting_for_diag_, {})) {
    Errand* const waiting = connector_->find(id);
    if (waiting == nullptr) continue;
    const int error = peers_.diag() < 0 ? EACCES : connector_->again(*waiting);
    if (error != 0) refuse(*waiting, error);
  }
}

// Where the kernel cannot tell, it is the host's.
void Connects::decide_by_owner(Errand& errand) {
  const auto owner = errand.owner.value_or(UnixPeers::Owner::kHost);
  if (owner == UnixPeers::Owner::kInside || owner == UnixPeers::Owner::kListed) {
    return connect(errand);
  }
  if (owner == UnixPeers::Owner::kNobody) return refuse(errand, ECONNREFUSED);
  if (errand.path < 0) {
    count(errand, "connect", "abstract Unix socket", "");
    return refuse(errand, ECONNREFUSED);
  }
  count_socket(errand);
  refuse(errand, EACCES);
}

// One that is not shown, which the caller was told is nowhere.
void Connects::count_unshown(const Errand& errand) {
  const auto holds = [&](const std::string& root) { return is_below(errand.absolute, root); };
  if (std::none_of(rules_.hidden.begin(), rules_.hidden.end(), holds)) count_socket(errand);
}

// Nobody listens at a port of its own loopback, but somebody does at the host's: what was meant.
void Connects::count_hosts_port(const Errand& errand) {
  const auto destination = from_sockaddr(errand.address);
  if (!destination || !rules_.own_network || !is_mapped_loopback(destination->address)) return;
  if (gateway_ != nullptr && gateway_->is_published(*destination)) return;
  if (!host_listens(*destination)) return;
  count(errand, "connect", endpoint_text(*destination), host_port_grant(destination->port));
}

// A profile takes absolute paths without `..`.
void Connects::count_socket(const Errand& errand) {
  count(
      errand, "connect", std::string(errand.unix_name()),
      append_grant("network.unix_sockets", json_string(guard::resolve_path(errand.absolute, "/"))));
}

void Connects::count(const Errand& errand, std::string operation, std::string where,
                     std::string grant) {
  denials_.count({Refuser::kNetwork, std::move(operation), std::move(where), 1,
                  program_name(static_cast<std::uint32_t>(errand.call.tid)), std::move(grant)});
}

}  // namespace sbx
