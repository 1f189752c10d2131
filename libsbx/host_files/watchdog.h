// SPDX-License-Identifier: Apache-2.0
// Watchdog: what is to be done once this process has been killed. All watchdogs of this process
// have one other process, which holds what each of them was told. Until this one is gone it shares
// its memory, so that no page table is copied for it; then it executes this program anew, which
// finds all that was told and does it. The kernel's out-of-memory killer, and whoever kills the
// whole cgroup, takes both. Not to be used by several threads.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/owned_fd.h"
#include "base/result.h"

namespace sbx {

// The name that the program is executed by, argv[0], for what it then has to do.
inline constexpr std::string_view kWatchdogName = "sbx-watchdog";

// What it is to remove: each is told before it is made.
enum class Left : char {
  kBox = 'b',     // a cgroup
  kLeaf = 'l',    // the cgroup that this process moved into
  kStub = 's',    // what holds the place of a protected path
  kTree = 't',    // a directory with all that is in it
  kStaged = 'f',  // files, by the path with which they begin
  kSocket = 'k',  // SocketPlace::place_mark()
  kMark = 'm',    // SocketPlace::mark(), of the one that was made there
};
using AllLeft = std::map<Left, std::vector<std::string>>;

class Watchdog {
 public:
  Watchdog() = default;
  // What it was told is done when this process ends, or now, and waited for, where no other one has
  // anything; unless it was dismissed.
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  bool is_started() const { return slot_ >= 0; }
  // Starts it for the first. Errors: kSetupFailed.
  Status tell(Left kind, const std::vector<std::string>& texts);
  // In the program that is executed as kWatchdogName: all that was told, each text once.
  static AllLeft read_told();
  // `fd` stays open until it has ended, so that it is there that the last one is closed.
  void hand_over(int fd);
  // There is nothing to do: it ends.
  void dismiss();

 private:
  Status start();
  Status send_all(std::string_view text);

  OwnedFd ours_;   // the process holds the other end, and what was sent waits in it
  int slot_ = -1;  // the other end's number there
};

}  // namespace sbx
