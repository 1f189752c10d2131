// SPDX-License-Identifier: Apache-2.0
// The network namespace, from inside: rtnetlink(7) by hand, one message at a time, each
// acknowledged; settings; sockets.
#include "launch/network.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/if_addr.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "launch/child.h"
#include "launch/descriptors.h"
#include "sys/calls.h"

namespace sbx {
namespace {

constexpr int kLoopbackIndex = 1;  // lo is the first interface of every namespace
constexpr int kOn = 1;
constexpr int kIpv6Freebind = 78;  // Linux 4.15

struct RouteMessage {
  nlmsghdr header;
  rtmsg route;
  rtattr device;  // RTA_OIF
  std::int32_t index;
};

struct AddressMessage {
  nlmsghdr header;
  ifaddrmsg address;
  rtattr local;  // IFA_LOCAL
  std::uint8_t bytes[16];
};

// Sends the request and reads its acknowledgement.
int request(int socket, const void* message, std::size_t size) {
  if (::send(socket, message, size, 0) < 0) return errno;
  struct {
    nlmsghdr header;
    nlmsgerr error;
    char rest[256];  // the request, quoted
  } answer{};
  if (::recv(socket, &answer, sizeof answer, 0) < 0) return errno;
  return answer.header.nlmsg_type == NLMSG_ERROR ? -answer.error.error : EBADMSG;
}

// getaddrinfo(3) with AI_ADDRCONFIG answers only for families of which there is an address besides
// the loopback's: the dummy address of RFC 7600, and one beside those that stand for names.
int add_address(int socket, bool is_v6) {
  constexpr std::uint8_t kV4[4] = {192, 0, 0, 8};
  constexpr std::uint8_t kV6[16] = {0xfd, 0, 0, 0x5b, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1};
  const std::size_t size = is_v6 ? sizeof kV6 : sizeof kV4;
  AddressMessage message{};
  message.header.nlmsg_len =
      static_cast<std::uint32_t>(sizeof message - sizeof message.bytes + size);
  message.header.nlmsg_type = RTM_NEWADDR;
  message.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE;
  message.address.ifa_family = is_v6 ? AF_INET6 : AF_INET;
  message.address.ifa_prefixlen = static_cast<unsigned char>(size * 8);
  message.address.ifa_index = kLoopbackIndex;
  message.local.rta_type = IFA_LOCAL;
  message.local.rta_len = static_cast<unsigned short>(RTA_LENGTH(size));
  std::memcpy(message.bytes, is_v6 ? kV6 : kV4, size);
  return request(socket, &message, message.header.nlmsg_len);
}

int add_local_route(int socket, unsigned char family) {
  RouteMessage message{};
  message.header.nlmsg_len = sizeof message;
  message.header.nlmsg_type = RTM_NEWROUTE;
  message.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE;
  message.route.rtm_family = family;  // no destination: the whole family
  message.route.rtm_table = RT_TABLE_LOCAL;
  message.route.rtm_protocol = RTPROT_BOOT;
  message.route.rtm_scope = RT_SCOPE_HOST;
  message.route.rtm_type = RTN_LOCAL;
  message.device.rta_type = RTA_OIF;
  message.device.rta_len = RTA_LENGTH(sizeof message.index);
  message.index = kLoopbackIndex;
  return request(socket, &message, sizeof message);
}

bool write_setting(const char* path, const char* value) {
  const int fd = ::open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool written = ::write(fd, value, 1) == 1;
  ::close(fd);
  return written;
}

void set_option(int socket, int level, int name) {
  ::setsockopt(socket, level, name, &kOn, sizeof kOn);
}

// Binds and, for TCP, listens; closes the socket where that fails.
int bound(int socket, bool is_v6, std::uint16_t port, const std::uint8_t* bytes, bool is_udp) {
  if (socket < 0) return -1;
  set_option(socket, SOL_SOCKET, SO_REUSEADDR);
  if (is_v6) {
    set_option(socket, IPPROTO_IPV6, IPV6_V6ONLY);
    // A local route makes an address local for IPv4's bind(2), but not for IPv6's.
    set_option(socket, IPPROTO_IPV6, kIpv6Freebind);
  }
  if (is_udp)
    set_option(socket, is_v6 ? IPPROTO_IPV6 : IPPROTO_IP, is_v6 ? IPV6_RECVPKTINFO : IP_PKTINFO);
  const sys::SocketAddress address = sys::socket_address(is_v6, port, bytes);
  if (::bind(socket, address.get(), address.length) == 0 &&
      (is_udp || ::listen(socket, SOMAXCONN) == 0)) {
    return socket;
  }
  const int error = errno;
  ::close(socket);
  errno = error;
  return -1;
}

// UDP (with the address that was asked in its control messages) or TCP on port 53 of every address,
// or -1 with errno.
int listen_for_dns(bool is_v6, bool is_udp) {
  const std::uint8_t any[16] = {};
  const int type = (is_udp ? SOCK_DGRAM : SOCK_STREAM) | SOCK_NONBLOCK | SOCK_CLOEXEC;
  return bound(::socket(is_v6 ? AF_INET6 : AF_INET, type, 0), is_v6, 53, any, is_udp);
}

// A socket of this network namespace, whose loopback is up now; or -errno. Also for a process that
// shares its memory.
int loopback_up() {
  const long socket = sys::call_without_errno(SYS_socket, AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return static_cast<int>(socket);
  struct ifreq request {};
  request.ifr_name[0] = 'l';
  request.ifr_name[1] = 'o';
  request.ifr_flags = IFF_UP;
  const long error =
      sys::call_without_errno(SYS_ioctl, socket, SIOCSIFFLAGS, reinterpret_cast<long>(&request));
  if (error == 0) return static_cast<int>(socket);
  sys::call_without_errno(SYS_close, socket);
  return static_cast<int>(error);
}

// Whose turn it is: a process is woken on a core that has nothing to do, but begins on its maker's.
enum NetworkTurn : std::uint32_t { kAsleep, kAwake, kTaken };

// In a process beside PID 1, whose memory and descriptors are its own: no errno. What fails here is
// tried again, and told, by op::JoinNetwork.
int make_network(void* argument) {
  ChildContext& context = *static_cast<ChildContext*>(argument);
  sys::futex(context.network_turn, FUTEX_WAIT_PRIVATE, kAsleep);
  if (context.network_turn.exchange(kTaken) == kTaken) return 0;
  if (sys::call_without_errno(SYS_unshare, CLONE_NEWNET) != 0) return 0;
  const int socket = loopback_up();
  if (socket < 0) return 0;
  context.network = static_cast<int>(sys::call_without_errno(SYS_ioctl, socket, SIOCGSKNS));
  sys::call_without_errno(SYS_close, socket);
  return 0;
}

// Its stack serves another from here on.
void end_maker(const ChildContext& context) {
  if (context.network_maker < 0) return;
  while (::waitpid(context.network_maker, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace

int make_inside_socket(const InsideRequest& request) noexcept {
  constexpr int kFlags = SOCK_NONBLOCK | SOCK_CLOEXEC;
  if (request.kind == InsideRequest::Kind::kSocketDiag) {
    return ::socket(AF_NETLINK, SOCK_RAW | kFlags, NETLINK_SOCK_DIAG);
  }
  if (request.kind == InsideRequest::Kind::kDns) return listen_for_dns(false, true);
  const int socket = ::socket(request.is_v6 ? AF_INET6 : AF_INET, SOCK_STREAM | kFlags, 0);
  if (request.kind == InsideRequest::Kind::kStream) return socket;
  return bound(socket, request.is_v6, request.port, request.address, false);
}

namespace op {

int MakeNetwork::execute(ChildContext& context) const noexcept {
  // The stack is the command's process's, which begins later. Without a process beside it is made
  // when it is joined.
  context.network_maker = ::clone(make_network, context.stack + context.stack_size,
                                  CLONE_VM | CLONE_FILES | SIGCHLD, &context);
  ::sched_yield();
  // A process that was awake by itself has taken its turn already.
  std::uint32_t asleep = kAsleep;
  context.network_turn.compare_exchange_strong(asleep, kAwake);
  sys::futex(context.network_turn, FUTEX_WAKE_PRIVATE, 1);
  return 0;
}

int JoinNetwork::execute(ChildContext& context) const noexcept {
  const bool is_beside = context.network_turn.exchange(kTaken) == kTaken;
  if (is_beside) end_maker(context);
  const ScopedFd made{context.network};
  if (made.fd < 0 || ::setns(made.fd, CLONE_NEWNET) != 0) {
    if (::unshare(CLONE_NEWNET) != 0) return failure();
    const ScopedFd socket{loopback_up()};
    if (socket.fd < 0) return -socket.fd;
  }
  if (!is_beside) end_maker(context);  // it has not begun: waiting for it would have taken longer
  // It lists the sockets of the namespace that it was made in.
  const int sockets =
      ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG);
  return sockets < 0 ? 0 : report_fd(context, ReportTag::kSocketDiag, sockets);
}

int LoopbackUp::execute(ChildContext& /*context*/) const noexcept {
  const ScopedFd socket{loopback_up()};
  return socket.fd < 0 ? -socket.fd : 0;
}

int TuneNetwork::execute(ChildContext& context) const noexcept {
  if (answers_no_echo) {
    write_setting("/proc/sys/net/ipv4/icmp_echo_ignore_all", "1");
    write_setting("/proc/sys/net/ipv6/icmp/echo_ignore_all", "1");
  }
  context.has_low_ports =
      opens_low_ports && write_setting("/proc/sys/net/ipv4/ip_unprivileged_port_start", "0");
  return 0;
}

int LocalRoutes::execute(ChildContext& /*context*/) const noexcept {
  const ScopedFd socket{::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE)};
  if (socket.fd < 0) return failure();
  int v4 = add_address(socket.fd, false);
  if (v4 == 0) v4 = add_local_route(socket.fd, AF_INET);
  int v6 = add_address(socket.fd, true);
  if (v6 == 0) v6 = add_local_route(socket.fd, AF_INET6);
  if (v4 != 0) return v4;
  const bool is_off = v6 == EOPNOTSUPP || v6 == EAFNOSUPPORT || v6 == ENODEV || v6 == EACCES;
  return is_off ? 0 : v6;
}

// IPv6 may be switched off; IPv4 is always there.
int ListenForDns::execute(ChildContext& context) const noexcept {
  int error = report_fd(context, ReportTag::kDnsUdp4, listen_for_dns(false, true));
  if (error == 0) error = report_fd(context, ReportTag::kDnsTcp4, listen_for_dns(false, false));
  if (error != 0) return error;
  const int udp = listen_for_dns(true, true);
  if (udp < 0) return errno == EAFNOSUPPORT ? 0 : failure();
  error = report_fd(context, ReportTag::kDnsUdp6, udp);
  return error != 0 ? error : report_fd(context, ReportTag::kDnsTcp6, listen_for_dns(true, false));
}

}  // namespace op
}  // namespace sbx
