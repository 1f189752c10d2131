// SPDX-License-Identifier: Apache-2.0
// How a batch goes: counts, times, the line at its end and the one on a terminal while it runs.
// Bounded, however many tasks there are.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "task_line.h"

namespace sbx::batch {

class Summary {
 public:
  using Clock = std::chrono::steady_clock;

  void add(Ending ending);
  void add_time(double milliseconds);
  // What an earlier batch has recorded.
  void add_recorded(bool failed);

  bool all_well() const { return done_ == tasks_ && !recorded_failed_; }
  std::uint64_t tasks() const { return tasks_; }
  // How many lines of this input have their result, those of an earlier batch with them.
  std::uint64_t settled() const { return tasks_ + recorded_; }

  // "12 tasks: 10 done, 1 failed, …"; `left`: tasks that are not done.
  std::string line(std::optional<std::uint64_t> left, bool is_cut_off) const;
  // "1200/5000 done, 3 failed, 512/s, 0:07 left"
  std::string progress(std::optional<std::uint64_t> total) const;

 private:
  // Each bucket is 2 % wider than the one before, from a microsecond on.
  static constexpr std::size_t kBuckets = 1400;
  double percentile(double part) const;
  double seconds() const;

  Clock::time_point begin_ = Clock::now();
  std::uint64_t tasks_ = 0;
  std::uint64_t done_ = 0;
  std::uint64_t failed_ = 0;
  std::uint64_t refused_ = 0;
  std::uint64_t errors_ = 0;
  std::uint64_t recorded_ = 0;
  bool recorded_failed_ = false;
  std::uint64_t timed_ = 0;
  std::array<std::uint32_t, kBuckets> times_{};
};

}  // namespace sbx::batch
