// SPDX-License-Identifier: Apache-2.0
// What is made for which policy, and the two ways in and out: requests to PID 1 in order, events of
// the gateway and of connects.
#include "run/network.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/files.h"
#include "profile/upstream.h"

namespace sbx {
namespace {

constexpr std::size_t kMaxAsked = 128;  // answers that may wait in the control socket
constexpr std::size_t kPoolSize = 32;   // published connections that can be made at once, a family

Error failed(const char* call) {
  return call_failed(ErrorCode::kSetupFailed, call, call,
                     "raise the limit of open files (ulimit -n)");
}

// A small file of the host; empty where there is none.
std::string read_host_file(const char* path) {
  Result<std::string> text = read_file(path, std::size_t{256} << 10);
  return text.ok() ? std::move(text).value() : "";
}

bool needs_gateway(const Policy& policy, const LaunchPlan& plan) {
  const NetworkProfile& network = policy.sandbox.network;
  if ((plan.clone_flags & CLONE_NEWNET) == 0) return false;
  return is_relayed(network.mode) || !network.host_ports.empty() || !policy.run.publish.empty();
}

ConnectRules connect_rules(const Policy& policy, const LaunchPlan& plan, std::string_view text) {
  ConnectRules rules;
  rules.told = {text, policy.sandbox.trace_denials};
  rules.mode = policy.sandbox.network.mode;
  rules.own_network = (plan.clone_flags & CLONE_NEWNET) != 0;
  rules.own_pids = plan.has_pid_namespace;
  rules.listed = policy.sandbox.network.unix_sockets;
  for (const Root& root : policy.sandbox.filesystem.roots) {
    if (root.access == Access::kReadWrite) rules.writable_roots.push_back(root.path);
    if (root.access == Access::kNone) rules.hidden.push_back(root.path);
  }
  return rules;
}

Result<std::unique_ptr<Gateway>> make_gateway(const SandboxPolicy& policy, DenialLedger& denials) {
  GatewayOptions options;
  if (!policy.upstream_proxy.empty()) {
    SBX_TRY(options.upstream, parse_upstream(policy.upstream_proxy, "--upstream-proxy"));
  }
  options.http = static_cast<HttpPolicy*>(policy.http.get());
  options.mode = policy.network.mode;
  options.allow = policy.network.allow;
  options.host_ports = policy.network.host_ports;
  options.resolv_conf = read_host_file("/etc/resolv.conf");
  options.hosts = read_host_file("/etc/hosts");
  return Gateway::create(options, denials);
}

}  // namespace

Result<std::unique_ptr<RunNetwork>> RunNetwork::create(const Policy& policy, const LaunchPlan& plan,
                                                       std::string_view text, Loop& loop,
                                                       DenialLedger& denials) {
  std::unique_ptr<RunNetwork> made(new RunNetwork(policy.sandbox, loop, denials));
  const bool with_gateway = needs_gateway(policy, plan);
  if (!policy.run.publish.empty() && !with_gateway) {
    return Error{ErrorCode::kBadFlag, "a port can only be published from a network of its own",
                 "--publish", "leave out --net open: the host's network is shared there"};
  }
  if (!plan.mediates_connect && !with_gateway) return std::unique_ptr<RunNetwork>();
  made->rules_ = connect_rules(policy, plan, text);
  made->mediates_ = plan.mediates_connect;
  if (with_gateway) {
    SBX_CHECK_OK(made->open_gateway());
    SBX_CHECK_OK(made->attend_http(policy.sandbox.http));
    for (const PublishedPort& port : policy.run.publish) SBX_CHECK_OK(made->publish(port));
  }
  return made;
}

Status RunNetwork::open_gateway() {
  SBX_TRY(gateway_, make_gateway(policy_, denials_));
  gateway_watch_ = loop_.watch(gateway_->poll_fd(), EPOLLIN,
                               [gateway = gateway_.get()](std::uint32_t) { gateway->step(); });
  return gateway_watch_.is_on() ? Status() : failed("epoll_ctl");
}

// Where there is no network a name is asked for in vain, and the refusal names it.
Gateway* RunNetwork::answer_names(OwnedFd udp) {
  if (gateway_ == nullptr && !open_gateway().ok()) {
    gateway_watch_.stop();
    gateway_.reset();
  }
  // Without it every name fails to resolve, unnamed.
  if (gateway_ != nullptr) static_cast<void>(gateway_->add_dns(std::move(udp), OwnedFd()));
  return gateway_.get();
}

void RunNetwork::attach(int control, Refusals& refusals) {
  control_ = control;
  if (mediates_) {
    connects_.emplace(
        std::move(rules_), gateway_.get(),
        [this](OwnedFd udp) { return answer_names(std::move(udp)); }, refusals, denials_,
        [this](const InsideRequest& request, Connects::Answer answer) {
          return ask(request, std::move(answer));
        },
        [this](int fd) {
          connects_watch_ = loop_.watch(fd, EPOLLIN, [this](std::uint32_t) { connects_->step(); });
          return connects_watch_.is_on();
        });
    refusals.mediate_connect(
        [this](const sys::SeccompNotif& call) { return connects_->begin(call); });
  }
  if (published_.empty()) return;
  for (std::size_t i = 0; i < kPoolSize; ++i) {
    refill(false);
    refill(true);
  }
}

void RunNetwork::detach() {
  control_ = -1;
  if (gateway_ != nullptr) gateway_->note_end();
}

void RunNetwork::take(Received& received) {
  if (received.tag != ReportTag::kAnswer) return take_dns(received.tag, std::move(received.fd));
  if (asked_.empty()) return;
  const Connects::Answer answer = std::move(asked_.front());
  asked_.pop_front();
  answer(std::move(received.fd), received.error);
}

void RunNetwork::take_dns(ReportTag tag, OwnedFd fd) {
  const bool is_v6 = tag == ReportTag::kDnsUdp6 || tag == ReportTag::kDnsTcp6;
  const bool is_udp = tag == ReportTag::kDnsUdp4 || tag == ReportTag::kDnsUdp6;
  (is_udp ? dns_udp_ : dns_tcp_)[is_v6 ? 1 : 0] = std::move(fd);
  OwnedFd& udp = dns_udp_[is_v6 ? 1 : 0];
  OwnedFd& tcp = dns_tcp_[is_v6 ? 1 : 0];
  if (gateway_ == nullptr || !udp.is_open() || !tcp.is_open()) return;
  // Without it every name fails to resolve: nothing more is reachable than should be.
  static_cast<void>(gateway_->add_dns(std::move(udp), std::move(tcp)));
}

int RunNetwork::ask(const InsideRequest& request, Connects::Answer answer) {
  if (control_ < 0) return EPIPE;
  if (asked_.size() >= kMaxAsked) return EAGAIN;
  if (const int error = ask_inside(control_, request); error != 0) return error;
  asked_.push_back(std::move(answer));
  return 0;
}

// --- published ports ---

Status RunNetwork::publish(const PublishedPort& port) {
  OwnedFd listener(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!listener.is_open()) return failed("socket");
  constexpr int kOn = 1;
  setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &kOn, sizeof kOn);
  const SocketAddress address =
      to_sockaddr({ipv4(127, 0, 0, 1), static_cast<std::uint16_t>(port.host_port)});
  if (bind(listener.get(), address.get(), address.length) != 0 ||
      listen(listener.get(), SOMAXCONN) != 0) {
    const int error = errno;
    return Error{
        ErrorCode::kBadFlag,
        "cannot listen on 127.0.0.1:" + std::to_string(port.host_port) + ": " + errno_text(error),
        "--publish", "choose another with --publish HOST_PORT:PORT (0: any free one)", error};
  }
  const auto bound = local_endpoint(listener.get());
  published_.push_back({bound ? bound->port : port.host_port, port.port});
  return gateway_->add_publish(std::move(listener),
                               [this, inside = port.port] { return dial(inside); });
}

void RunNetwork::refill(bool is_v6) {
  InsideRequest request;
  request.kind = InsideRequest::Kind::kStream;
  request.is_v6 = is_v6;
  ask(request, [this, is_v6](OwnedFd socket, int) {
    if (socket.is_open()) pool_[is_v6 ? 1 : 0].push_back(std::move(socket));
  });
}

// Servers inside listen on 127.0.0.1, on ::1 or on both; on its own loopback a connection that
// nobody takes is refused before connect(2) returns or right after.
OwnedFd RunNetwork::dial(int port) {
  for (const bool is_v6 : {false, true}) {
    auto& pool = pool_[is_v6 ? 1 : 0];
    if (pool.empty()) continue;
    OwnedFd socket = std::move(pool.back());
    pool.pop_back();
    refill(is_v6);
    IpAddress loopback = ipv4(127, 0, 0, 1);
    if (is_v6) {
      loopback = IpAddress{true, {}};
      loopback.bytes[15] = 1;
    }
    const SocketAddress address = to_sockaddr({loopback, static_cast<std::uint16_t>(port)});
    if (connect(socket.get(), address.get(), address.length) != 0 && errno != EINPROGRESS) continue;
    if (is_ready(socket.get(), 0)) continue;  // refused
    return socket;
  }
  return {};
}

// --- the loop and what is told at the end ---

std::optional<std::chrono::steady_clock::time_point> RunNetwork::deadline() const {
  std::optional<std::chrono::steady_clock::time_point> first;
  const auto take = [&first](const auto& other) {
    if (other && (!first || *other < *first)) first = other;
  };
  if (gateway_ != nullptr) take(gateway_->deadline());
  if (connects_) take(connects_->deadline());
  if (http_ != nullptr) take(http_->deadline());
  return first;
}

void RunNetwork::step() {
  if (gateway_ != nullptr) gateway_->step();
  if (connects_) connects_->step();
  if (http_ != nullptr) http_->step();
}

// One that died while nothing ran is replaced here.
Status RunNetwork::attend_http(const std::shared_ptr<HttpSession>& session) {
  if (session == nullptr) return {};
  http_ = &static_cast<HttpPolicy&>(*session).process();
  http_watch_ = loop_.watch(http_->poll_fd(), EPOLLIN, [this](std::uint32_t) { http_->step(); });
  http_->step();
  return http_watch_.is_on() ? Status() : failed("epoll_ctl");
}

std::vector<AllowedConnection> RunNetwork::connections() const {
  if (http_ != nullptr) http_->take_reports();
  if (gateway_ != nullptr) gateway_->accept_waiting();
  return gateway_ == nullptr ? std::vector<AllowedConnection>() : gateway_->connections();
}

std::uint64_t RunNetwork::unlisted_connections() const {
  return gateway_ == nullptr ? 0 : gateway_->unlisted_connections();
}

std::uint64_t RunNetwork::unlisted_requests() const {
  return gateway_ == nullptr ? 0 : gateway_->unlisted_requests();
}

}  // namespace sbx
