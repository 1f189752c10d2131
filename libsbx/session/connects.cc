// SPDX-License-Identifier: Apache-2.0
// The decision, from the outside in: read the arguments, take the socket, look at the family, at
// the destination, and connect.
#include "session/connects.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <utility>

#include "output/utf8.h"
#include "policy/request.h"
#include "session/inside_paths.h"
#include "sys/calls.h"

namespace sbx {
namespace {

constexpr std::size_t kMaxDenials = 128;  // the inside chooses what it names
constexpr std::size_t kMaxWaiting = 64;
constexpr std::uint16_t kDnsPort = 53;

std::string proc(std::uint32_t pid, const char* name) {
  return "/proc/" + std::to_string(pid) + "/" + name;
}

// Descriptors are the thread's own where it was made so; before Linux 6.9 only a leader's can be
// had, which shares them with its threads.
OwnedFd open_process(std::uint32_t tid) {
  const auto id = static_cast<pid_t>(tid);
  OwnedFd process(sys::pidfd_open(id, sys::kPidfdThread));
  if (!process.is_open()) process.reset(sys::pidfd_open(id, 0));
  if (process.is_open()) return process;
  std::array<char, 512> text{};
  const OwnedFd status(open(proc(tid, "status").c_str(), O_RDONLY | O_CLOEXEC));
  if (!status.is_open() || read(status.get(), text.data(), text.size() - 1) <= 0) return {};
  const char* const leader = std::strstr(text.data(), "\nTgid:\t");
  if (leader == nullptr) return {};
  process.reset(sys::pidfd_open(static_cast<pid_t>(std::strtol(leader + 7, nullptr, 10)), 0));
  return process;
}

int socket_option(int fd, int name) {
  int value = -1;
  socklen_t size = sizeof value;
  return getsockopt(fd, SOL_SOCKET, name, &value, &size) == 0 ? value : -1;
}

// The text of a path in an address: up to its first NUL byte, if there is one.
std::string path_of(const sockaddr_storage& address, socklen_t length) {
  const char* const text =
      reinterpret_cast<const char*>(&address) + offsetof(sockaddr_un, sun_path);
  const std::size_t room = length - offsetof(sockaddr_un, sun_path);
  return {text, strnlen(text, std::min(room, sizeof(sockaddr_un::sun_path)))};
}

// As the caller would find it.
OwnedFd open_inside(std::uint32_t tid, const std::string& name) {
  const auto path = absolute_path(tid, AT_FDCWD, name);
  if (!path) return {};
  const OwnedFd root = open_root(tid);
  return root.is_open() ? open_below(root, *path, O_PATH) : OwnedFd();
}

bool is_relay_mode(NetworkMode mode) {
  return mode == NetworkMode::kAllowlist || mode == NetworkMode::kOutbound;
}

bool is_unspecified(const IpAddress& address) { return address == IpAddress{address.is_v6, {}}; }

std::string grant_for(const Endpoint& destination) {
  return "network.mode = \"allowlist\", network.allow += [\"" + endpoint_text(destination) + "\"]";
}

}  // namespace

struct Connects::Target {
  std::uint64_t id = 0;
  std::uint32_t pid = 0;
  OwnedFd socket;
  int domain = 0;
  int type = 0;
  sockaddr_storage address{};
  socklen_t length = 0;
  OwnedFd path;  // what the address names, once it is pinned
};

Connects::Connects(ConnectRules rules, Gateway* gateway, Refusals& refusals, Ask ask,
                   std::function<bool(int)> watch)
    : rules_(std::move(rules)),
      gateway_(gateway),
      refusals_(refusals),
      ask_(std::move(ask)),
      watch_(std::move(watch)),
      peers_(rules_.listed, rules_.writable_roots) {}

std::optional<int> Connects::begin(const sys::SeccompNotif& call) {
  Target target;
  target.id = call.id;
  target.pid = call.pid;
  const auto length = static_cast<int>(call.data.args[2]);
  if (length < 0 || static_cast<std::size_t>(length) > sizeof target.address) return EINVAL;
  target.length = static_cast<socklen_t>(length);
  if (length > 0) {
    const iovec ours{&target.address, target.length};
    // NOLINTNEXTLINE(performance-no-int-to-ptr): an address of the other process
    const iovec theirs{reinterpret_cast<void*>(call.data.args[1]), target.length};
    const ssize_t size = process_vm_readv(static_cast<pid_t>(call.pid), &ours, 1, &theirs, 1, 0);
    if (size < 0 && errno != EFAULT) return EACCES;
    if (size != length) return EFAULT;
  }
  const OwnedFd process = open_process(call.pid);
  if (!process.is_open()) return EACCES;
  target.socket.reset(sys::pidfd_getfd(process.get(), static_cast<int>(call.data.args[0])));
  if (!target.socket.is_open()) return errno == EBADF ? EBADF : EACCES;
  // The number may have been another process's by then.
  if (!refusals_.is_waiting(call.id)) return EINTR;
  target.domain = socket_option(target.socket.get(), SO_DOMAIN);
  if (target.domain < 0) return ENOTSOCK;
  target.type = socket_option(target.socket.get(), SO_TYPE);
  return decide(target);
}

std::optional<int> Connects::decide(Target& target) {
  switch (target.domain) {
    case AF_INET:
    case AF_INET6:
      if (const auto destination = from_sockaddr(target.address)) {
        return to_network(target, *destination);
      }
      return connect(target);  // AF_UNSPEC, which disconnects, or nonsense
    case AF_UNIX:
      return to_unix(target);
    default:
      // Netlink's connect grants by the rights of its caller, and we have more than the command.
      return EPERM;
  }
}

// --- TCP and UDP ---

std::optional<int> Connects::to_network(Target& target, const Endpoint& destination) {
  if (!rules_.own_network) {
    if (rules_.mode == NetworkMode::kOpen) return connect(target);
    // We are not in the Landlock domain that would refuse it.
    count(target, "connect", endpoint_text(destination), "");
    return EACCES;
  }
  const bool is_local = is_loopback(destination.address) || is_unspecified(destination.address);
  if (target.type == SOCK_STREAM && gateway_ != nullptr && destination.port != kDnsPort &&
      gateway_->would_relay(destination)) {
    return relay(target, destination);
  }
  if (destination.port == kDnsPort && target.type != SOCK_STREAM)
    return ask_dns(target, destination);
  if (is_local || destination.port == kDnsPort) return connect(target);
  if (!is_relay_mode(rules_.mode)) {
    count(target, "connect", endpoint_text(destination), grant_for(destination));
    return connect(target);  // the namespace has no route
  }
  if (target.type == SOCK_STREAM) {
    gateway_->count_refusal("connect", destination, program_name(target.pid));
    return ECONNREFUSED;
  }
  // Connecting a datagram socket sends nothing: the resolver does it to sort addresses.
  if (destination.port != 0 && !gateway_->would_relay(destination)) {
    gateway_->count_refusal("udp", destination, program_name(target.pid));
  }
  return connect(target);
}

// A resolver's socket: the port that its questions will come from is known once it is connected.
// Without a gateway nobody answers it, and which name it asks for is not seen: what is told is that
// it asked.
std::optional<int> Connects::ask_dns(Target& target, const Endpoint& destination) {
  if (gateway_ == nullptr)
    count(target, "dns", endpoint_text(destination), std::string(kNetworkGrant));
  const std::optional<int> error = connect(target);
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  const bool is_bound =
      error == 0 && getsockname(target.socket.get(), reinterpret_cast<sockaddr*>(&own), &size) == 0;
  const std::optional<Endpoint> from = is_bound ? from_sockaddr(own) : std::nullopt;
  if (gateway_ != nullptr && from) gateway_->note_asker(from->port, program_name(target.pid));
  return error;
}

// Makes sure that a listener of the gateway stands at the destination, then connects to it.
std::optional<int> Connects::relay(Target& target, const Endpoint& destination) {
  if (gateway_->has_listener(destination)) return connect(target);
  InsideRequest request;
  request.kind = InsideRequest::Kind::kListen;
  request.is_v6 = destination.address.is_v6;
  request.port = destination.port;
  std::copy(destination.address.bytes.begin(), destination.address.bytes.end(), request.address);
  auto waiting = std::make_shared<Target>(std::move(target));
  const std::uint64_t id = waiting->id;
  const int error = ask_(request, [this, waiting, destination](OwnedFd listener, int problem) {
    if (listener.is_open()) {
      const Status added = gateway_->add_listener_for_a_while(std::move(listener));
      return finish(waiting->id, added.ok() ? connect(*waiting) : ECONNREFUSED);
    }
    // Another connect has made it meanwhile, or a server inside holds the port. Its loopback is
    // its own; elsewhere the command would talk to itself and take it for the host it named.
    if (gateway_->has_listener(destination) || is_loopback(destination.address)) {
      return finish(waiting->id, connect(*waiting));
    }
    count(*waiting, "connect",
          endpoint_text(destination) +
              (problem == EADDRINUSE ? ": a server inside holds that port" : ""),
          "");
    finish(waiting->id, ECONNREFUSED);
  });
  if (error == 0) return std::nullopt;
  refusals_.respond(id, ECONNREFUSED);
  return std::nullopt;
}

// --- Unix sockets ---

// PID 1 itself tells nothing of itself to an unprivileged supervisor; the caller, which is inside
// as well, does. It must still be there afterwards, or its number was another process's.
template <typename Socket>
bool Connects::is_inside(const Target& target, const Socket& socket) const {
  return rules_.own_pids && listens_inside(socket, static_cast<pid_t>(target.pid)) &&
         refusals_.is_waiting(target.id);
}

std::optional<int> Connects::to_unix(Target& target) {
  constexpr std::size_t kFamily = offsetof(sockaddr_un, sun_path);
  if (target.length <= kFamily || target.address.ss_family != AF_UNIX) return connect(target);
  const auto* const address = reinterpret_cast<const sockaddr_un*>(&target.address);
  if (address->sun_path[0] != '\0') return to_path(target);
  // Abstract names belong to the network namespace.
  if (rules_.own_network) return connect(target);
  const std::string_view name(address->sun_path, target.length - kFamily);
  if (is_inside(target, name)) return connect(target);
  count(target, "connect", "abstract Unix socket", "");
  return ECONNREFUSED;
}

std::optional<int> Connects::to_path(Target& target) {
  const std::string path = path_of(target.address, target.length);
  target.path = open_inside(target.pid, path);
  if (!target.path.is_open()) return errno;
  struct stat info {};
  if (fstat(target.path.get(), &info) != 0) return errno;
  if (!S_ISSOCK(info.st_mode)) return ECONNREFUSED;  // as connect(2) has it
  const Target& pinned = target;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string link = "/proc/self/fd/" + std::to_string(pinned.path.get());
  std::copy(link.begin(), link.end(), address.sun_path);
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + link.size() + 1);
  const auto allow = [&] {
    std::memcpy(&target.address, &address, sizeof address);
    target.length = length;
    return connect(target);
  };
  auto owner = UnixPeers::Owner::kHost;
  if (peers_.is_own_or_listed(info, owner)) return allow();
  if (rules_.own_network && !peers_.has_diag()) {
    if (waiting_for_diag_.size() >= kMaxWaiting) return EAGAIN;
    waiting_for_diag_.push_back(std::make_shared<Target>(std::move(target)));
    if (std::exchange(asked_for_diag_, true)) return std::nullopt;
    InsideRequest request;
    request.kind = InsideRequest::Kind::kSocketDiag;
    const auto resume = [this](OwnedFd diag, int) {
      peers_.set_diag(std::move(diag));
      for (const auto& waiting : std::exchange(waiting_for_diag_, {})) {
        finish(waiting->id, peers_.has_diag() ? decide(*waiting) : std::optional<int>(EACCES));
      }
      asked_for_diag_ = false;
    };
    if (ask_(request, resume) != 0) resume(OwnedFd(), EAGAIN);
    return std::nullopt;
  }
  std::optional<UnixPeers::Owner> found;
  if (rules_.own_network)
    found = peers_.owner_by_namespace(target.path.get(), info, static_cast<pid_t>(target.pid));
  if (!found) {
    const bool inside = !rules_.own_network && is_inside(target, info);
    found = inside ? UnixPeers::Owner::kInside : UnixPeers::Owner::kHost;
  }
  if (*found == UnixPeers::Owner::kInside) return allow();
  if (*found == UnixPeers::Owner::kNobody) return ECONNREFUSED;
  // A profile takes absolute paths without `..`.
  const std::filesystem::path absolute = absolute_path(target.pid, AT_FDCWD, path).value_or(path);
  count(target, "connect", repair_utf8(path),
        "network.unix_sockets += [\"" + repair_utf8(absolute.lexically_normal().string()) + "\"]");
  return EACCES;
}

// --- making it ---

std::optional<int> Connects::connect(Target& target) {
  if (target.domain != AF_UNIX && target.type != SOCK_STREAM) {
    // Never waits for anybody.
    const auto* const address = reinterpret_cast<const sockaddr*>(&target.address);
    return ::connect(target.socket.get(), address, target.length) == 0 ? 0 : errno;
  }
  if (connector_ == nullptr) {
    Result<std::unique_ptr<Connector>> made = Connector::create();
    if (!made.ok()) return ENOBUFS;
    connector_ = std::move(made).value();
    if (!watch_(connector_->poll_fd())) return ENOBUFS;
  }
  if (!connector_->has_room()) {
    connector_->end_all_but([this](std::uint64_t id) { return refusals_.is_waiting(id); });
  }
  Connector::Job job;
  job.id = target.id;
  job.socket = std::move(target.socket);
  job.path = std::move(target.path);
  job.address = target.address;
  job.length = target.length;
  const int error = connector_->start(std::move(job));
  if (error == 0) return std::nullopt;
  return error;
}

void Connects::step() {
  if (connector_ == nullptr) return;
  connector_->step([this](std::uint64_t id, int error) { refusals_.respond(id, error); });
}

void Connects::finish(std::uint64_t id, std::optional<int> error) {
  if (error) refusals_.respond(id, *error);
}

void Connects::count(const Target& target, std::string operation, std::string where,
                     std::string grant) {
  Denial denial{"network", std::move(operation),     std::move(where),
                1,         program_name(target.pid), std::move(grant)};
  for (Denial& known : denials_) {
    if (known.operation != denial.operation || known.target != denial.target ||
        known.program != denial.program) {
      continue;
    }
    ++known.count;
    return;
  }
  if (denials_.size() < kMaxDenials) {
    denials_.push_back(std::move(denial));
  } else {
    ++denials_.back().count;
  }
}

std::vector<Denial> Connects::denials() const { return denials_; }

}  // namespace sbx
