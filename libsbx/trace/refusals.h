// SPDX-License-Identifier: Apache-2.0
// Refusals: answers the seccomp listener. A connect, and a pair of datagram sockets, may be
// mediated: somebody else decides, and does it. Calls that are only reported go on, and another
// layer refuses them: what they point at may change after the look, so "continue" is never a
// decision. Every other call is refused with EPERM and counted. Foreign calls come before all of
// these: their numbers mean other calls. They end the process.
#pragma once

#include <bitset>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/owned_fd.h"
#include "model/denial.h"
#include "plan/filter.h"
#include "sys/kernel.h"

namespace sbx {

// The name of a process, which it chooses itself; empty when it has gone.
std::string program_name(std::uint32_t pid);

class Refusals {
 public:
  // Counted in `denials`, which must outlive the last answer().
  explicit Refusals(DenialLedger& denials) : denials_(denials) {}

  // The errno for the caller (0: connected); nullopt when respond() will follow.
  using Mediator = std::function<std::optional<int>(const sys::SeccompNotif&)>;

  void set_listener(OwnedFd fd);
  using Observer = std::function<void(const sys::SeccompNotif&)>;
  // Shows the observer these calls, which lets each go on, then or later.
  void observe(const std::vector<int>& calls, Observer observer);
  // The filter's: what it was told.
  void set_own_ids(const std::optional<OwnIds>& own_ids) { own_ids_ = own_ids; }
  void set_without_network(bool is_without) { without_network_ = is_without; }
  void mediate_connect(Mediator mediator) { mediator_ = std::move(mediator); }
  int listener() const { return listener_.get(); }
  void close() { listener_.reset(); }

  // Answers what waits, at most a bounded number of calls, without blocking. False once the last
  // task of the filter has gone.
  bool answer();

  // Ends a mediated call, unless its caller has gone meanwhile.
  void respond(std::uint64_t id, int error) const;
  // Lets it be made as if there were no filter.
  void let_go_on(std::uint64_t id) const;
  // Whether the caller still waits. Asked after its memory was read, it says that it was its own.
  bool is_waiting(std::uint64_t id) const;

 private:
  void end_process(const sys::SeccompNotif& call) const;
  void send(sys::SeccompNotifResponse response) const;

  DenialLedger& denials_;
  OwnedFd listener_;
  Mediator mediator_;
  std::optional<OwnIds> own_ids_;
  bool without_network_ = false;
  std::bitset<512> observed_;
  Observer observer_;
};

}  // namespace sbx
