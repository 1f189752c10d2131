// SPDX-License-Identifier: Apache-2.0
// The kernel writes its answers while they are asked for or read: nothing here waits. Where it
// checks requests strictly (Linux 4.20) it tells of the one table alone.
#include "gateway/host_networks.h"

#include <ifaddrs.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <cstring>

#include "base/owned_fd.h"
#include "gateway/address.h"

namespace sbx {
namespace {

void add_interfaces(std::vector<IpNetwork>& out) {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return;
  for (const ifaddrs* at = list; at != nullptr; at = at->ifa_next) {
    if (at->ifa_addr == nullptr) continue;
    const int family = at->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    sockaddr_storage storage{};
    std::memcpy(&storage, at->ifa_addr,
                family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
    if (const auto endpoint = from_sockaddr(storage)) out.emplace_back(endpoint->address);
  }
  freeifaddrs(list);
}

void add_route(const nlmsghdr& header, std::vector<IpNetwork>& out) {
  const auto* const route = static_cast<const rtmsg*>(NLMSG_DATA(&header));
  if (route->rtm_table != RT_TABLE_LOCAL || route->rtm_type != RTN_LOCAL) return;
  const std::size_t size = route->rtm_family == AF_INET6 ? 16 : 4;
  std::string start(size, '\0');  // where there is no destination: everything
  std::size_t left = RTM_PAYLOAD(&header);
  for (const rtattr* at = RTM_RTA(route); RTA_OK(at, left); at = RTA_NEXT(at, left)) {
    if (at->rta_type == RTA_DST && RTA_PAYLOAD(at) == size) {
      start.assign(static_cast<const char*>(RTA_DATA(at)), size);
    }
  }
  out.emplace_back(ip_from_bytes(start), route->rtm_dst_len);
}

// A socket with the answer, closed where the kernel does not take the question.
template <typename Body>
OwnedFd ask(int protocol, std::uint16_t type, std::uint16_t flags, const Body& body) {
  OwnedFd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol));
  const int on = 1;
  (void)setsockopt(socket.get(), SOL_NETLINK, NETLINK_GET_STRICT_CHK, &on, sizeof on);
  struct {
    nlmsghdr header{};
    Body body{};
  } request;
  request.header.nlmsg_len = sizeof request;
  request.header.nlmsg_type = type;
  request.header.nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
  request.body = body;
  if (send(socket.get(), &request, sizeof request, 0) < 0) socket.reset();
  return socket;
}

void add_local_routes(int family, std::vector<IpNetwork>& out) {
  rtmsg wanted{};
  wanted.rtm_family = static_cast<unsigned char>(family);
  wanted.rtm_table = RT_TABLE_LOCAL;
  const OwnedFd socket = ask(NETLINK_ROUTE, RTM_GETROUTE, NLM_F_DUMP, wanted);
  alignas(nlmsghdr) std::array<char, 32768> buffer;
  for (;;) {
    const ssize_t got = recv(socket.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got <= 0) return;
    auto left = static_cast<std::size_t>(got);
    for (const auto* at = reinterpret_cast<const nlmsghdr*>(buffer.data()); NLMSG_OK(at, left);
         at = NLMSG_NEXT(at, left)) {
      if (at->nlmsg_type != RTM_NEWROUTE) return;  // the end, or an error
      add_route(*at, out);
    }
  }
}

}  // namespace

std::vector<IpNetwork> host_networks() {
  std::vector<IpNetwork> out;
  add_interfaces(out);
  for (const int family : {AF_INET, AF_INET6}) add_local_routes(family, out);
  return out;
}

// The kernel looks the socket up as it does for a packet.
bool host_listens(const Endpoint& endpoint) {
  inet_diag_req_v2 wanted{};
  wanted.sdiag_family = endpoint.address.is_v6 ? AF_INET6 : AF_INET;
  wanted.sdiag_protocol = IPPROTO_TCP;
  wanted.id.idiag_sport = htons(endpoint.port);
  std::memcpy(wanted.id.idiag_src, endpoint.address.bytes.data(), endpoint.address.bytes.size());
  wanted.id.idiag_cookie[0] = wanted.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  const OwnedFd socket = ask(NETLINK_SOCK_DIAG, SOCK_DIAG_BY_FAMILY, 0, wanted);
  alignas(nlmsghdr) std::array<char, 4096> buffer;
  const ssize_t got = recv(socket.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  const auto* const header = reinterpret_cast<const nlmsghdr*>(buffer.data());
  if (got < 0 || !NLMSG_OK(header, static_cast<std::size_t>(got)) ||
      header->nlmsg_type != SOCK_DIAG_BY_FAMILY) {
    return false;
  }
  return static_cast<const inet_diag_msg*>(NLMSG_DATA(header))->idiag_state == TCP_LISTEN;
}

}  // namespace sbx
