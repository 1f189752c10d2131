// SPDX-License-Identifier: Apache-2.0
// TimeShare: how much of the server's one thread a task may take while others run beside it: a
// burst, then a share of the time that passes. A flood of output, or of whatever else is looked at
// here, waits in the command's own pipes.
#pragma once

#include <algorithm>
#include <chrono>

namespace sbx {

class TimeShare {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr Clock::duration kBurst = std::chrono::milliseconds(20);
  static constexpr int kShare = 8;  // one part in so many
  static constexpr Clock::duration kLongest = std::chrono::milliseconds(400);

  // How long it rests, having taken so long just now.
  Clock::duration rest_after(Clock::time_point now, Clock::duration took) {
    taken_ = std::max(Clock::duration(0), taken_ - (now - last_) / kShare) + took;
    last_ = now;
    return taken_ <= kBurst ? Clock::duration(0) : std::min((taken_ - kBurst) * kShare, kLongest);
  }

 private:
  Clock::duration taken_{0};  // and not yet passed
  Clock::time_point last_{};
};

}  // namespace sbx
