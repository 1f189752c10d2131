// SPDX-License-Identifier: Apache-2.0
// What the gateway costs: connect + 1 byte + close, and one stream's throughput, through the
// gateway against a direct loopback connection. Makes its own two network namespaces; prints one
// JSON object. Client, server and gateway are processes of their own, as they are in use.
#include <fcntl.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/owned_fd.h"
#include "gateway/gateway.h"

namespace sbx {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kLatencyPort = 8001;
constexpr int kStreamPort = 8002;
constexpr const char* kOutside = "203.0.113.7";
constexpr int kConnections = 2000;
constexpr std::size_t kStreamBytes = std::size_t{2} << 30;
constexpr int kRounds = 5;

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  std::_Exit(1);
}
void need(bool holds, const char* what) {
  if (!holds) fail(what);
}

void write_file(const char* path, const std::string& text) {
  const OwnedFd file(open(path, O_WRONLY | O_CLOEXEC));
  need(write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()), path);
}

// Loopback up, and every IPv4 address local.
void set_up_loopback() {
  const OwnedFd any(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq up{};
  std::strcpy(up.ifr_name, "lo");
  up.ifr_flags = IFF_UP | IFF_RUNNING;
  need(ioctl(any.get(), SIOCSIFFLAGS, &up) == 0, "loopback");
  struct {
    nlmsghdr header;
    rtmsg route;
    rtattr attribute;
    unsigned interface;
  } request{};
  request.header.nlmsg_len = sizeof(request);
  request.header.nlmsg_type = RTM_NEWROUTE;
  request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_CREATE;
  request.route.rtm_family = AF_INET;
  request.route.rtm_table = RT_TABLE_LOCAL;
  request.route.rtm_protocol = RTPROT_STATIC;
  request.route.rtm_scope = RT_SCOPE_HOST;
  request.route.rtm_type = RTN_LOCAL;
  request.attribute.rta_type = RTA_OIF;
  request.attribute.rta_len = RTA_LENGTH(sizeof(unsigned));
  request.interface = if_nametoindex("lo");
  const OwnedFd link(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  need(send(link.get(), &request, sizeof(request), 0) > 0, "route");
}

OwnedFd listener(int port) {
  OwnedFd made(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const SocketAddress address = to_sockaddr({ipv4(0, 0, 0, 0), static_cast<std::uint16_t>(port)});
  need(bind(made.get(), address.get(), address.length) == 0, "bind");
  need(listen(made.get(), 4096) == 0, "listen");
  return made;
}

OwnedFd connected(int port) {
  OwnedFd made(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const SocketAddress address =
      to_sockaddr({*parse_ip(kOutside), static_cast<std::uint16_t>(port)});
  need(connect(made.get(), address.get(), address.length) == 0, "connect");
  return made;
}

template <typename Body>
pid_t start(Body body) {
  const pid_t child = fork();
  if (child != 0) return child;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  body();
  std::_Exit(0);
}

// One byte to each that connects.
void serve_bytes(const OwnedFd& socket) {
  for (;;) {
    const OwnedFd client(accept4(socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
    const char byte = 1;
    if (send(client.get(), &byte, 1, MSG_NOSIGNAL) < 0) continue;
  }
}

void serve_streams(const OwnedFd& socket) {
  const std::vector<char> block(std::size_t{256} * 1024);
  for (;;) {
    const OwnedFd client(accept4(socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
    for (std::size_t sent = 0; sent < kStreamBytes;) {
      const ssize_t count = send(client.get(), block.data(),
                                 std::min(block.size(), kStreamBytes - sent), MSG_NOSIGNAL);
      if (count <= 0) break;
      sent += static_cast<std::size_t>(count);
    }
  }
}

void run_gateway(OwnedFd first, OwnedFd second) {
  signal(SIGPIPE, SIG_IGN);
  GatewayOptions options;
  DenialLedger denials;
  for (const int port : {kLatencyPort, kStreamPort}) {
    options.allow.push_back(
        parse_host_rule(std::string(kOutside) + ":" + std::to_string(port)).value());
  }
  const auto gateway = Gateway::create(options, denials);
  if (!gateway.value()->add_listener(std::move(first)).ok()) fail("listener");
  if (!gateway.value()->add_listener(std::move(second)).ok()) fail("listener");
  for (;;) {
    pollfd ready{gateway.value()->poll_fd(), POLLIN, 0};
    poll(&ready, 1, 1000);
    gateway.value()->step();
  }
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double connection_us() {
  std::vector<double> each;
  for (int i = 0; i < kConnections; ++i) {
    const auto begin = Clock::now();
    {
      const OwnedFd client = connected(kLatencyPort);
      char byte = 0;
      need(recv(client.get(), &byte, 1, 0) == 1, "recv");
    }
    each.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
  }
  return median(each);
}

double gigabits_per_second() {
  const OwnedFd client = connected(kStreamPort);
  std::vector<char> block(std::size_t{256} * 1024);
  const auto begin = Clock::now();
  std::size_t total = 0;
  for (ssize_t count = 0; (count = recv(client.get(), block.data(), block.size(), 0)) > 0;) {
    total += static_cast<std::size_t>(count);
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  return static_cast<double>(total) * 8 / 1e9 / seconds;
}

int run() {
  const std::string user = std::to_string(getuid());
  need(unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0, "unshare");
  write_file("/proc/self/setgroups", "deny");
  write_file("/proc/self/uid_map", "0 " + user + " 1");
  set_up_loopback();
  const OwnedFd outside(open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
  OwnedFd bytes = listener(kLatencyPort);
  OwnedFd streams = listener(kStreamPort);
  const std::vector<pid_t> servers = {start([&] { serve_bytes(bytes); }),
                                      start([&] { serve_streams(streams); })};
  std::vector<double> direct_us, direct_gbit, through_us, through_gbit;
  need(unshare(CLONE_NEWNET) == 0, "unshare");
  set_up_loopback();
  const OwnedFd inside(open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
  OwnedFd inner_bytes = listener(kLatencyPort);
  OwnedFd inner_streams = listener(kStreamPort);
  setns(outside.get(), CLONE_NEWNET);
  const pid_t gateway =
      start([&] { run_gateway(std::move(inner_bytes), std::move(inner_streams)); });
  for (int round = 0; round < kRounds; ++round) {
    setns(outside.get(), CLONE_NEWNET);
    direct_us.push_back(connection_us());
    direct_gbit.push_back(gigabits_per_second());
    setns(inside.get(), CLONE_NEWNET);
    through_us.push_back(connection_us());
    through_gbit.push_back(gigabits_per_second());
  }
  for (const pid_t child : {servers[0], servers[1], gateway}) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  std::printf(
      "{\"connection_us\": {\"direct\": %.1f, \"gateway\": %.1f, \"added\": %.1f}, "
      "\"stream_gbit_s\": {\"direct\": %.1f, \"gateway\": %.1f, \"ratio\": %.2f}}\n",
      median(direct_us), median(through_us), median(through_us) - median(direct_us),
      median(direct_gbit), median(through_gbit), median(through_gbit) / median(direct_gbit));
  return 0;
}

}  // namespace
}  // namespace sbx

int main() { return sbx::run(); }
