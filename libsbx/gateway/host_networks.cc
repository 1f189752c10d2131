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

void add_local_routes(int family, std::vector<IpNetwork>& out) {
  const OwnedFd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  const int on = 1;
  (void)setsockopt(socket.get(), SOL_NETLINK, NETLINK_GET_STRICT_CHK, &on, sizeof on);
  struct {
    nlmsghdr header{};
    rtmsg route{};
  } request;
  request.header.nlmsg_len = sizeof request;
  request.header.nlmsg_type = RTM_GETROUTE;
  request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  request.route.rtm_family = static_cast<unsigned char>(family);
  request.route.rtm_table = RT_TABLE_LOCAL;
  if (send(socket.get(), &request, sizeof request, 0) < 0) return;
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
  const OwnedFd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  struct {
    nlmsghdr header{};
    inet_diag_req_v2 asked{};
  } request;
  request.header.nlmsg_len = sizeof request;
  request.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  request.header.nlmsg_flags = NLM_F_REQUEST;
  request.asked.sdiag_family = endpoint.address.is_v6 ? AF_INET6 : AF_INET;
  request.asked.sdiag_protocol = IPPROTO_TCP;
  request.asked.id.idiag_sport = htons(endpoint.port);
  std::memcpy(request.asked.id.idiag_src, endpoint.address.bytes.data(),
              endpoint.address.bytes.size());
  request.asked.id.idiag_cookie[0] = request.asked.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  if (send(socket.get(), &request, sizeof request, 0) < 0) return false;
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
