// SPDX-License-Identifier: Apache-2.0
// DnsServer: sockets on one side, the resolver on the other. What arrives is hostile: every queue
// here is bounded, and what does not fit is dropped, as a busy server would.
#include "gateway/dns_server.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

namespace sbx {
namespace {

constexpr int kBurst = 64;
constexpr std::size_t kMaxQuery = 4096;
constexpr std::size_t kMaxTcp = 65535;
constexpr std::uint32_t kTtl =
    30;  // short, so that a program asks again before a name is forgotten

Status socket_error(const char* call) {
  const int error = errno;
  return Error{.code = ErrorCode::kSetupFailed,
               .message = std::string("cannot set up a name server socket: ") + errno_text(error),
               .where = call,
               .hint = "",
               .sys_errno = error};
}

// Where a datagram came from and which address it asked, kept to answer from that address.
struct Origin {
  sockaddr_storage peer{};
  socklen_t peer_size = 0;
  alignas(cmsghdr) char control[64]{};
  std::size_t control_size = 0;
};

void keep_asked_address(const msghdr& received, Origin& origin) {
  msghdr out{};
  out.msg_control = origin.control;
  out.msg_controllen = sizeof(origin.control);
  cmsghdr* const put = CMSG_FIRSTHDR(&out);
  auto* walk = const_cast<msghdr*>(&received);
  for (cmsghdr* at = CMSG_FIRSTHDR(walk); at != nullptr; at = CMSG_NXTHDR(walk, at)) {
    if (at->cmsg_level == IPPROTO_IP && at->cmsg_type == IP_PKTINFO) {
      in_pktinfo info{};
      std::memcpy(&info, CMSG_DATA(at), sizeof(info));
      info.ipi_spec_dst = info.ipi_addr;  // ip(7): the source of what is sent
      info.ipi_ifindex = 0;
      put->cmsg_level = IPPROTO_IP;
      put->cmsg_type = IP_PKTINFO;
      put->cmsg_len = CMSG_LEN(sizeof(info));
      std::memcpy(CMSG_DATA(put), &info, sizeof(info));
      origin.control_size = CMSG_SPACE(sizeof(info));
    } else if (at->cmsg_level == IPPROTO_IPV6 && at->cmsg_type == IPV6_PKTINFO) {
      in6_pktinfo info{};
      std::memcpy(&info, CMSG_DATA(at), sizeof(info));
      info.ipi6_ifindex = 0;
      put->cmsg_level = IPPROTO_IPV6;
      put->cmsg_type = IPV6_PKTINFO;
      put->cmsg_len = CMSG_LEN(sizeof(info));
      std::memcpy(CMSG_DATA(put), &info, sizeof(info));
      origin.control_size = CMSG_SPACE(sizeof(info));
    }
  }
}

void send_from(int socket_fd, const std::string& message, Origin origin) {
  iovec part{const_cast<char*>(message.data()), message.size()};
  msghdr header{};
  header.msg_name = &origin.peer;
  header.msg_namelen = origin.peer_size;
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  if (origin.control_size > 0) {
    header.msg_control = origin.control;
    header.msg_controllen = origin.control_size;
  }
  // A full buffer drops the answer, as the network would; the client asks again.
  sendmsg(socket_fd, &header, MSG_DONTWAIT | MSG_NOSIGNAL);
}

bool ends_with_label(std::string_view name, std::string_view suffix) {
  return name == suffix || (name.ends_with(suffix) && name[name.size() - suffix.size() - 1] == '.');
}

// "_service._proto.name", which is asked for what serves the name (RFC 2782).
std::string_view served_name(std::string_view name) {
  for (int label = 0; label < 2; ++label) {
    const std::size_t dot = name.find('.');
    if (!name.starts_with('_') || dot == std::string_view::npos) return {};
    name.remove_prefix(dot + 1);
  }
  return name;
}

bool is_type(const DnsQuery& query, DnsType type) {
  return query.type == static_cast<std::uint16_t>(type);
}

}  // namespace

// One TCP connection: questions with a length before each, answers likewise.
class DnsServer::TcpClient : public std::enable_shared_from_this<TcpClient> {
 public:
  TcpClient(DnsServer& server, OwnedFd socket) : server_(server), socket_(std::move(socket)) {}

  bool start() {
    watch_ =
        loop().watch(socket_.get(), EPOLLIN, [this](std::uint32_t events) { on_events(events); });
    rest();
    return watch_.is_on();
  }

 private:
  static constexpr auto kIdle = std::chrono::seconds(15);
  static constexpr std::size_t kMaxUnderWay = 16;

  Loop& loop() { return server_.context_.loop; }
  void rest() {
    idle_ = loop().after(kIdle, [this] { close(); });
  }

  void on_events(std::uint32_t events) {
    if ((events & (EPOLLERR | EPOLLHUP)) != 0) {  // gone both ways: nobody reads an answer
      close();
      return;
    }
    char bytes[kMaxQuery];
    if (under_way_ < kMaxUnderWay) {
      const ssize_t count = recv(socket_.get(), bytes, sizeof(bytes), MSG_DONTWAIT);
      if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) {
        close();
        return;
      }
      if (count > 0) {
        received_.append(bytes, static_cast<std::size_t>(count));
        rest();
      }
    }
    read_questions();
    if (!closed_) write();
  }

  void read_questions() {
    while (received_.size() >= 2 && under_way_ < kMaxUnderWay && !closed_) {
      const std::size_t size = static_cast<std::size_t>(
          static_cast<unsigned char>(received_[0]) << 8 | static_cast<unsigned char>(received_[1]));
      if (size > kMaxQuery) {
        close();
        return;
      }
      if (received_.size() < 2 + size) return;
      const std::string message = received_.substr(2, size);
      received_.erase(0, 2 + size);
      ++under_way_;
      server_.answer(message, true, "", [weak = weak_from_this()](const std::string& reply) {
        const auto self = weak.lock();
        if (self && !self->closed_) self->respond(reply);
      });
    }
  }

  void respond(const std::string& reply) {
    --under_way_;
    unsent_ += static_cast<char>(reply.size() >> 8);
    unsent_ += static_cast<char>(reply.size() & 0xFF);
    unsent_ += reply;
    write();
  }

  void write() {
    while (!unsent_.empty()) {
      const ssize_t count =
          send(socket_.get(), unsent_.data(), unsent_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (count < 0 && errno != EAGAIN && errno != EINTR) {
        close();
        return;
      }
      if (count < 0) break;
      unsent_.erase(0, static_cast<std::size_t>(count));
    }
    // A client that does not read its answers gets no more of them.
    const bool reads = unsent_.empty() && under_way_ < kMaxUnderWay;
    watch_.want((reads ? EPOLLIN : 0U) | (unsent_.empty() ? 0U : EPOLLOUT));
  }

  void close() {
    if (closed_) return;
    closed_ = true;
    watch_.stop();
    idle_.stop();
    socket_.reset();
    const auto self = shared_from_this();
    loop().bury(self);
    std::erase(server_.clients_, self);
  }

  DnsServer& server_;
  OwnedFd socket_;
  Loop::Watch watch_;
  Loop::Timer idle_;
  std::string received_;
  std::string unsent_;
  std::size_t under_way_ = 0;
  bool closed_ = false;
};

DnsServer::DnsServer(GatewayContext& context) : context_(context) {}
DnsServer::~DnsServer() = default;

Status DnsServer::add_udp(OwnedFd socket) {
  const int fd = socket.get();
  int family = 0;
  socklen_t size = sizeof(family);
  if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &size) != 0) return socket_error("SO_DOMAIN");
  const int on = 1;
  const bool is_set =
      family == AF_INET6
          // Of all addresses being local the kernel's check of IPv6 sources knows nothing.
          ? setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof(on)) == 0 &&
                setsockopt(fd, IPPROTO_IPV6, IPV6_FREEBIND, &on, sizeof(on)) == 0
          : setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &on, sizeof(on)) == 0;
  if (!is_set) return socket_error("setsockopt");
  auto added = std::make_unique<Socket>();
  added->watch = context_.loop.watch(fd, EPOLLIN, [this, fd](std::uint32_t) { on_udp(fd); });
  if (!added->watch.is_on()) return socket_error("epoll_ctl");
  added->socket = std::move(socket);
  sockets_.push_back(std::move(added));
  return {};
}

Status DnsServer::add_tcp(OwnedFd listener) {
  const int fd = listener.get();
  auto added = std::make_unique<Socket>();
  added->watch = context_.loop.watch(fd, EPOLLIN, [this, fd](std::uint32_t) { on_accept(fd); });
  if (!added->watch.is_on()) return socket_error("epoll_ctl");
  added->socket = std::move(listener);
  sockets_.push_back(std::move(added));
  return {};
}

void DnsServer::on_udp(int socket_fd) {
  for (int i = 0; i < kBurst; ++i) {
    char bytes[kMaxQuery];
    alignas(cmsghdr) char control[128];
    Origin origin;
    iovec part{bytes, sizeof(bytes)};
    msghdr header{};
    header.msg_name = &origin.peer;
    header.msg_namelen = sizeof(origin.peer);
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof(control);
    const ssize_t count = recvmsg(socket_fd, &header, MSG_DONTWAIT);
    if (count < 0) return;
    if ((header.msg_flags & MSG_TRUNC) != 0) continue;
    origin.peer_size = header.msg_namelen;
    keep_asked_address(header, origin);
    const std::optional<Endpoint> peer = from_sockaddr(origin.peer);
    answer({bytes, static_cast<std::size_t>(count)}, false,
           peer ? context_.askers.program_of(peer->port) : "",
           [socket_fd, origin](const std::string& reply) { send_from(socket_fd, reply, origin); });
  }
}

void DnsServer::on_accept(int listener_fd) {
  for (int i = 0; i < kBurst; ++i) {
    OwnedFd socket(accept4(listener_fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket.is_open()) return;
    // The client that has waited longest makes room.
    if (clients_.size() >= kMaxClients) {
      context_.loop.bury(clients_.front());
      clients_.erase(clients_.begin());
    }
    const auto client = std::make_shared<TcpClient>(*this, std::move(socket));
    if (client->start()) clients_.push_back(client);
  }
}

void DnsServer::answer(std::string_view message, bool is_tcp, const std::string& program,
                       Respond respond) {
  const auto read = read_dns_query(message);
  if (!read) return;
  const DnsQuery& query = read->query;
  const std::size_t max_size = is_tcp ? kMaxTcp : query.udp_size;
  const auto reply = [&](DnsCode code, const std::vector<IpAddress>& addresses = {}) {
    respond(write_dns_reply(query, code, addresses, kTtl, max_size));
  };
  const bool wants_address = is_type(query, DnsType::kA) || is_type(query, DnsType::kAaaa);
  if (read->code != DnsCode::kOk) {
    reply(read->code);
  } else if (query.name.empty() || ends_with_label(query.name, "arpa")) {
    reply(DnsCode::kNoSuchName);
  } else if (ends_with_label(query.name, "localhost")) {  // RFC 6761: the sandbox's own
    if (is_type(query, DnsType::kA)) {
      reply(DnsCode::kOk, {ipv4(127, 0, 0, 1)});
    } else if (is_type(query, DnsType::kAaaa)) {
      reply(DnsCode::kOk, {*parse_ip("::1")});
    } else {
      reply(DnsCode::kOk);
    }
  } else if (!context_.rules.allows_name(query.name) &&
             (wants_address || !context_.rules.allows_name(served_name(query.name)))) {
    refuse(query.name, program);
    reply(DnsCode::kNoSuchName);
  } else if (!wants_address) {
    reply(DnsCode::kOk);
  } else if (context_.upstream) {
    answer_number(query, reply);
  } else {
    context_.resolver.resolve(
        query.name, [this, query, max_size, program, respond](const Resolution& resolution) {
          answer_resolved(query, resolution, max_size, program, respond);
        });
  }
}

// A resolver tries names with the host's search domains appended too: those are no wish to reach
// another name.
void DnsServer::refuse(const std::string& name, const std::string& program) {
  for (const std::string& suffix : context_.search) {
    if (!ends_with_label(name, suffix) || name.size() <= suffix.size() + 1) continue;
    const std::string stem = name.substr(0, name.size() - suffix.size() - 1);
    if (context_.rules.allows_name(stem) || stem == "localhost") return;
  }
  // Without a port an entry means 80 and 443.
  const std::string entry = program == "ssh" ? name + ":22" : name;
  context_.deny("dns", name, allow_grant(context_.rules.mode(), entry), program);
}

void DnsServer::answer_resolved(const DnsQuery& query, const Resolution& resolution,
                                std::size_t max_size, const std::string& program,
                                const Respond& respond) {
  const auto reply = [&](DnsCode code, const std::vector<IpAddress>& addresses = {}) {
    respond(write_dns_reply(query, code, addresses, kTtl, max_size));
  };
  using Kind = Resolution::Kind;
  if (resolution.kind == Kind::kFailed) return reply(DnsCode::kServerFailure);
  if (resolution.kind == Kind::kNoSuchName) return reply(DnsCode::kNoSuchName);
  if (resolution.kind == Kind::kNoAddress) return reply(DnsCode::kOk);
  const auto& own = context_.own.get();
  const auto is_reachable = [&](const IpAddress& address) {
    return context_.rules.allows_resolved(address, own);
  };
  const auto& found = resolution.addresses;
  if (std::none_of(found.begin(), found.end(), is_reachable)) {
    for (const IpAddress& address : found) {
      context_.deny(
          "dns", query.name + " (" + ip_text(address) + ")",
          allow_grant(context_.rules.mode(), context_.rules.entries_for(query.name, address)),
          program);
    }
    return reply(DnsCode::kNoSuchName);
  }
  // The gateway dials either family whatever the program asked for, so A always has an answer.
  const bool wants_v6 = is_type(query, DnsType::kAaaa);
  if (wants_v6 && std::none_of(found.begin(), found.end(), [&](const IpAddress& address) {
        return address.is_v6 && is_reachable(address);
      })) {
    return reply(DnsCode::kOk);
  }
  answer_number(query, reply);
}

void DnsServer::answer_number(const DnsQuery& query, const Reply& reply) {
  const auto number = context_.names.number_of(query.name);
  if (!number) return reply(DnsCode::kServerFailure, {});
  const bool wants_v6 = is_type(query, DnsType::kAaaa);
  reply(DnsCode::kOk, {wants_v6 ? NameMap::v6_of(*number) : NameMap::v4_of(*number)});
}

}  // namespace sbx
