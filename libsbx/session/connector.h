// SPDX-License-Identifier: Apache-2.0
// Connector: connect(2) on somebody else's socket, whose flags are theirs to change at any time:
// whether it blocks cannot be known before. So each connect is made by a small process of its own,
// which shares this one's memory and descriptors and may wait as long as it likes.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/owned_fd.h"
#include "base/result.h"

namespace sbx {

class Connector {
 public:
  struct Job {
    std::uint64_t id = 0;  // what `done` is told
    OwnedFd socket;
    OwnedFd path;  // kept open until the end: the address may name it
    sockaddr_storage address{};
    socklen_t length = 0;
  };

  static Result<std::unique_ptr<Connector>> create();
  ~Connector();
  Connector(const Connector&) = delete;
  Connector& operator=(const Connector&) = delete;

  // Readable when a connect has ended.
  int poll_fd() const { return epoll_.get(); }
  // Calls `done` with the errno of each connect that has ended (0: connected).
  void step(const std::function<void(std::uint64_t id, int error)>& done);

  bool has_room() const;  // end_all_but() may make some
  // With room. Returns 0 or an errno.
  int start(Job job);
  // Ends those that nobody waits for any more, without telling.
  void end_all_but(const std::function<bool(std::uint64_t id)>& is_waited_for);

 private:
  static constexpr std::size_t kSlots = 256;
  struct Slot {
    Job job;
    pid_t parent = -1;
    pid_t pid = -1;
    OwnedFd pidfd;
    char* stack = nullptr;
  };

  Connector() = default;
  static int run(void* slot);
  void reap(Slot& slot);
  void free_slot(Slot& slot);

  OwnedFd epoll_;
  char* stacks_ = nullptr;
  std::array<Slot, kSlots> slots_;
};

}  // namespace sbx
