// SPDX-License-Identifier: Apache-2.0
// Connects: decides on each connect(2) of the command and has it made on the command's behalf, on
// the command's own socket, to an address that was copied once and, for a path, to the very inode
// that was looked at. The call itself never goes on: its arguments could be others by then. This
// process itself has neither the socket nor the path, and reads nothing of the command's memory.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/owned_fd.h"
#include "base/result.h"
#include "connect/connector.h"
#include "connect/unix_peers.h"
#include "gateway/gateway.h"
#include "launch/spawn.h"
#include "model/denial.h"
#include "trace/refusals.h"

namespace sbx {

struct ConnectRules {
  NetworkMode mode = NetworkMode::kNone;
  bool own_network = false;         // a network namespace of its own
  bool own_pids = false;            // a pid namespace of its own
  std::vector<std::string> listed;  // unix_sockets
  std::vector<std::string> writable_roots;
  UnixPeers::Told told;
  std::vector<std::string> hidden;  // never told of
};

class Connects {
 public:
  // Asks PID 1 for a socket; the answer comes to the function. Returns 0 or an errno.
  using Answer = std::function<void(OwnedFd socket, int error)>;
  using Ask = std::function<int(const InsideRequest&, Answer)>;

  // The gateway, which takes the questions of this socket now, UDP's port 53 inside; null: there is
  // none.
  using AnswerNames = std::function<Gateway*(OwnedFd udp)>;

  // `gateway` may be null: nothing outside is reachable then. In the mode kNone `answer_names` is
  // called when a name is first asked for, to say which that was, and makes one where there is
  // none. `watch` puts a descriptor into the
  // set whose events step() handles. What is referred to must outlive this.
  Connects(ConnectRules rules, Gateway* gateway, AnswerNames answer_names, Refusals& refusals,
           DenialLedger& denials, Ask ask, std::function<bool(int)> watch);

  UnixPeers& peers() { return peers_; }

  // For Refusals::mediate_connect().
  std::optional<int> begin(const sys::SeccompNotif& call);

  void step();
  // When step() is due without an event.
  std::optional<Connector::Clock::time_point> deadline() const {
    return connector_ == nullptr ? std::nullopt : connector_->deadline();
  }

 private:
  using Step = Connector::Step;
  void take(Errand& errand, Step step, int error);
  void decide(Errand& errand);
  void to_network(Errand& errand, const Endpoint& destination);
  void relay(const Errand& errand, const Endpoint& destination);
  void connect_relayed(Errand& errand, const Endpoint& destination);
  void ask_for_dns(const Errand& errand);
  void to_unix(Errand& errand);
  void ask_for_diag(const Errand& errand);
  void take_diag(OwnedFd diag);
  void decide_by_owner(Errand& errand);
  void count_unshown(const Errand& errand);
  void count_hosts_port(const Errand& errand);
  void count_socket(const Errand& errand);
  void connect(Errand& errand) { connector_->go_on(errand, Step::kConnect); }
  void refuse(Errand& errand, int error);
  void count(const Errand& errand, std::string operation, std::string where, std::string grant);

  ConnectRules rules_;
  Gateway* gateway_;
  bool names_are_answered_ = false;  // in the mode kNone
  AnswerNames answer_names_;
  Refusals& refusals_;
  DenialLedger& denials_;
  Ask ask_;
  std::function<bool(int)> watch_;
  UnixPeers peers_;
  std::unique_ptr<Connector> connector_;  // made when it is first needed
  bool asked_for_diag_ = false;
  std::vector<std::uint64_t> waiting_for_diag_;
};

}  // namespace sbx
