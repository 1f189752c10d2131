// SPDX-License-Identifier: Apache-2.0
// PlaceWatchdog: a small process that removes a server's socket, and the workspace that it made,
// when the server was killed before it could.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/owned_fd.h"
#include "base/result.h"
#include "rpc/socket_place.h"

namespace sbx {

class PlaceWatchdog {
 public:
  PlaceWatchdog() = default;
  // Waits until it has gone.
  ~PlaceWatchdog();
  PlaceWatchdog(const PlaceWatchdog&) = delete;
  PlaceWatchdog& operator=(const PlaceWatchdog&) = delete;

  // Before either is made; each may be absent. Errors: kSetupFailed.
  Status watch(SocketPlace* place, const std::string& workspace);
  // When it is known what stands at the place. Errors: kSetupFailed.
  Status tell(const SocketMark& mark) const;

 private:
  OwnedFd lifeline_;  // its end of file makes the watchdog clean up
  pid_t pid_ = -1;
};

}  // namespace sbx
