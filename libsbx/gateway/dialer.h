// SPDX-License-Identifier: Apache-2.0
// Dialer: addresses in order of preference → the first connection that is made. Each address gets a
// head start before the next one is tried beside it (RFC 8305, light). Never blocks.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/loop.h"
#include "base/owned_fd.h"
#include "gateway/address.h"

namespace sbx {

class Dialer {
 public:
  // A socket that is not open: none could be connected. Must not destroy the dialer; bury it.
  using OnDone = std::function<void(OwnedFd socket, const Endpoint& address)>;

  Dialer(Loop& loop, std::vector<Endpoint> targets, OnDone done)
      : loop_(loop), targets_(std::move(targets)), done_(std::move(done)) {}
  void start();

 private:
  struct Attempt {
    Endpoint target;
    OwnedFd socket;
    Loop::Watch watch;
  };

  void try_next();
  bool begin(const Endpoint& target);
  void on_connected(Attempt& attempt);
  void finish(OwnedFd socket, const Endpoint& address);

  Loop& loop_;
  std::vector<Endpoint> targets_;
  OnDone done_;
  std::size_t next_ = 0;
  std::vector<std::unique_ptr<Attempt>> attempts_;
  Loop::Timer head_start_;
  Loop::Timer limit_;
};

}  // namespace sbx
