// SPDX-License-Identifier: Apache-2.0
// Watchdog: a process that does something once this one has been killed. Until then it shares this
// one's memory, so that no page table is copied for it; then it executes this program anew, which
// finds on its standard input all that the watchdog was told. The kernel's out-of-memory killer,
// and whoever kills the whole cgroup, takes both.
#pragma once

#include <sys/types.h>

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
  // Waits until it has done what it is for, unless it was dismissed.
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  bool is_started() const { return pid_ > 0; }
  // Starts it for the first. Errors: kSetupFailed.
  Status tell(Left kind, const std::vector<std::string>& texts);
  // In the program that is executed as kWatchdogName: all that it was told, whole.
  static AllLeft read_told(int fd);
  // `fd` stays open until it has ended, so that it is there that the last one is closed.
  void hand_over(int fd);
  // There is nothing to do: it ends, which the destructor waits for.
  void dismiss();

 private:
  static int watch(void* end);
  Status start();
  Status send_all(std::string_view text);
  void wait();

  OwnedFd ours_;  // its end of file is what the watchdog waits for
  void* stack_ = nullptr;
  pid_t pid_ = -1;
};

}  // namespace sbx
