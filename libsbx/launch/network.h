// SPDX-License-Identifier: Apache-2.0
// The sockets that PID 1 makes for the supervisor. A socket belongs to the namespace it was made
// in, wherever it is used later. Async-signal-safe, no heap; needs no capability but for low ports.
#pragma once

#include "launch/spawn.h"

namespace sbx {

// A socket as asked for, non-blocking, or -1 with errno.
int make_inside_socket(const InsideRequest& request) noexcept;

}  // namespace sbx
