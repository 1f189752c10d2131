// SPDX-License-Identifier: Apache-2.0
// McpProgress: what one call tells of its progress: the last of its output as it comes, and a sign
// of life each second where there is none. Values only.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace sbx {

class McpProgress {
 public:
  using Clock = std::chrono::steady_clock;

  McpProgress() = default;
  // `token` is JSON text; empty: no progress is wanted.
  McpProgress(std::string token, Clock::time_point now);

  bool is_wanted() const { return !token_.empty(); }
  void add(std::string_view output);
  std::optional<Clock::time_point> due() const;
  // The params of a notification, as JSON, where one is due.
  std::optional<std::string> take(Clock::time_point now);

 private:
  static constexpr std::chrono::seconds kSignOfLife{1};
  static constexpr std::chrono::milliseconds kMostOften{100};
  static constexpr std::size_t kMostBytes = 4096;

  std::string token_;
  std::string text_;  // that has not been told
  bool is_cut_ = false;
  double told_ = 0;  // of the last one: it must grow
  Clock::time_point began_;
  Clock::time_point last_;
};

}  // namespace sbx
