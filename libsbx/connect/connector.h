// SPDX-License-Identifier: Apache-2.0
// Connector: everything that touches a command's own files and memory for a connect(2). A file may
// make whoever closes it last wait, memory whoever reads it, and a socket whoever connects it, all
// at the command's choice. So each connect has a small process of its own: it shares this one's
// memory but has its own descriptors, may wait as long as it likes, and lets go by ending.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/owned_fd.h"
#include "base/result.h"
#include "connect/errand.h"
#include "connect/unix_peers.h"

namespace sbx {

class Connector {
 public:
  using Clock = std::chrono::steady_clock;

  // The steps of an errand (connect/errand.h), each when the last one has been told. kRefuse does
  // nothing but let go.
  enum class Step : std::uint32_t { kLook, kFindOwner, kConnect, kRefuse };

  // `is_waited_for` says of a call's id whether its caller is still there. `peers` must outlive
  // this.
  static Result<std::unique_ptr<Connector>> create(
      const UnixPeers& peers, std::function<bool(std::uint64_t)> is_waited_for);
  // Waits for nobody.
  ~Connector();
  Connector(const Connector&) = delete;
  Connector& operator=(const Connector&) = delete;

  // Readable when a step has been made.
  int poll_fd() const { return events_.get(); }
  // When step() is due without an event.
  std::optional<Clock::time_point> deadline() const;
  // Calls `done` with the errno (0: none) of each step that has been made. After kConnect, or with
  // an error, the errand is over, and nobody but the command holds its socket: what it closes next
  // is closed. Otherwise go_on(), refuse(), end() or again() follows, now or later.
  void step(const std::function<void(Errand&, Step, int error)>& done);

  // Begins with kLook, now or when another errand is over. Returns 0 or an errno.
  int start(const ConnectCall& call);
  // The errand of a call that is between two steps; null when it is over.
  Errand* find(std::uint64_t id);
  void go_on(const Errand& errand, Step step);
  // `error` is told when the socket has been let go.
  void refuse(Errand& errand, int error);
  // For a caller that waits no more.
  void end(const Errand& errand);
  // From the beginning, with what `peers` holds by now.
  int again(const Errand& errand);

 private:
  struct Slot;
  struct Unmap {
    void operator()(Slot* slot) const;
  };
  using OwnedSlot = std::unique_ptr<Slot, Unmap>;

  explicit Connector(const UnixPeers& peers) : peers_(peers) {}
  static int run(void* slot);
  static std::vector<OwnedSlot>& graves();
  static void bury();
  static bool has_ended(const Slot& slot);
  static bool may_wait(const Slot& slot);
  Slot* free_slot();
  Slot& slot_of(const Errand& errand);
  int begin(Slot& slot, const ConnectCall& call);
  void start_waiting(const std::function<void(Errand&, Step, int)>& done);
  void ask_next_owner();
  static void hand_over(Slot& slot);
  static void kill(Slot& slot);

  const UnixPeers& peers_;
  std::function<bool(std::uint64_t)> is_waited_for_;
  OwnedFd events_;
  std::vector<OwnedSlot> slots_;
  std::deque<ConnectCall> waiting_;
  std::optional<Clock::time_point> retry_at_;
};

}  // namespace sbx
