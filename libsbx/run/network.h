// SPDX-License-Identifier: Apache-2.0
// RunNetwork: the network of one run, seen from the supervisor: the gateway, the mediated connects,
// published ports, and the sockets that PID 1 makes for them. Nothing in it blocks.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/loop.h"
#include "base/owned_fd.h"
#include "base/result.h"
#include "connect/connects.h"
#include "gateway/gateway.h"
#include "launch/spawn.h"
#include "model/outcome.h"
#include "plan/plan.h"
#include "policy/policy.h"
#include "run/http_process.h"
#include "trace/refusals.h"

namespace sbx {

class RunNetwork {
 public:
  // Binds the published ports. nullptr where the plan leaves nothing to do. Errors: kBadValue for a
  // published port that is taken; kSetupFailed. `text` is the command's. `loop`, and `denials`,
  // where refusals are counted, must outlive it, as `policy` and `text` must.
  static Result<std::unique_ptr<RunNetwork>> create(const Policy& policy, const LaunchPlan& plan,
                                                    std::string_view text, Loop& loop,
                                                    DenialLedger& denials);

  // The sandbox runs: its control socket, its listener. Before any of the following.
  void attach(int control, Refusals& refusals);
  // Something that came over the control socket.
  void take(Received& received);
  // The private tmpfs, which the caller keeps.
  void take_scratch(int fd) {
    if (connects_) connects_->peers().set_scratch(fd);
  }
  // Nothing of the command is left: PID 1 can be asked for nothing any more.
  void detach();

  // When step() is due without an event.
  std::optional<std::chrono::steady_clock::time_point> deadline() const;
  void step();
  bool has_unsent() const { return gateway_ != nullptr && gateway_->has_unsent(); }

  std::vector<AllowedConnection> connections() const;
  std::uint64_t unlisted_connections() const;
  std::uint64_t unlisted_requests() const;
  const std::vector<Published>& published() const { return published_; }

 private:
  RunNetwork(const SandboxPolicy& policy, Loop& loop, DenialLedger& denials)
      : policy_(policy), loop_(loop), denials_(denials) {}
  Status open_gateway();
  Gateway* answer_names(OwnedFd udp);
  Status publish(const PublishedPort& port);
  int ask(const InsideRequest& request, Connects::Answer answer);
  Status attend_http(const std::shared_ptr<HttpSession>& session);
  void refill(bool is_v6);
  OwnedFd dial(int port);
  void take_dns(ReportTag tag, OwnedFd fd);

  const SandboxPolicy& policy_;
  Loop& loop_;
  DenialLedger& denials_;
  ConnectRules rules_;
  bool mediates_ = false;
  int control_ = -1;
  HttpProcess* http_ = nullptr;
  Loop::Watch http_watch_;
  std::unique_ptr<Gateway> gateway_;
  std::optional<Connects> connects_;
  std::deque<Connects::Answer> asked_;
  OwnedFd dns_udp_[2];  // of IPv4 and IPv6, until both of a family have come
  OwnedFd dns_tcp_[2];
  std::vector<OwnedFd> pool_[2];  // unconnected sockets of the sandbox's, for published ports
  std::vector<Published> published_;
  Loop::Watch gateway_watch_;
  Loop::Watch connects_watch_;
};

}  // namespace sbx
