// SPDX-License-Identifier: Apache-2.0
// The network namespace, from inside: settings, routes, and the sockets that PID 1 makes for the
// supervisor. A socket belongs to the namespace it was made in, wherever it is used later.
// Async-signal-safe, no heap; needs no capability but for settings, routes and low ports.
#pragma once

#include <cstdint>

#include "launch/spawn.h"

namespace sbx {

// Makes every address of both families local on lo, so that each connection ends in this namespace.
// Returns 0 or an errno; a kernel without IPv6 has only the IPv4 route.
int add_local_routes() noexcept;

// Writes the settings (TuneFlag) where they can be written. True when low ports are open to all.
bool tune_network(std::uint64_t flags) noexcept;

// A socket as asked for, non-blocking, or -1 with errno.
int make_inside_socket(const InsideRequest& request) noexcept;

// UDP (with the address that was asked in its control messages) or TCP on port 53 of every address,
// or -1 with errno.
int listen_for_dns(bool is_v6, bool is_udp) noexcept;

}  // namespace sbx
