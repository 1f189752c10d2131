// SPDX-License-Identifier: Apache-2.0
// Counts and times as text.
#include "summary.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace sbx::batch {
namespace {

constexpr double kWidth = 1.02;
constexpr double kLeastMs = 0.001;

std::string number(const char* format, double value) {
  std::array<char, 64> text;  // filled by snprintf
  snprintf(text.data(), text.size(), format, value);
  return text.data();
}

std::string count(std::uint64_t value, const char* what) {
  return std::to_string(value) + " " + what;
}

}  // namespace

void Summary::add(Ending ending) {
  ++tasks_;
  if (ending == Ending::kDone) ++done_;
  if (ending == Ending::kFailed || ending == Ending::kCancelled) ++failed_;
  if (ending == Ending::kRefused) ++refused_;
  if (ending == Ending::kError) ++errors_;
}

void Summary::add_time(double milliseconds) {
  const double place = std::log(std::max(milliseconds, kLeastMs) / kLeastMs) / std::log(kWidth);
  ++times_[std::min(kBuckets - 1, static_cast<std::size_t>(place))];
  ++timed_;
}

void Summary::add_recorded(bool failed) {
  ++recorded_;
  recorded_failed_ = recorded_failed_ || failed;
}

double Summary::percentile(double part) const {
  if (timed_ == 0) return 0;
  const auto wanted = static_cast<std::uint64_t>(std::ceil(part * static_cast<double>(timed_)));
  std::uint64_t passed = 0;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    passed += times_[i];
    if (passed >= wanted) return kLeastMs * std::pow(kWidth, static_cast<double>(i) + 0.5);
  }
  return 0;
}

double Summary::seconds() const {
  return std::chrono::duration<double>(Clock::now() - begin_).count();
}

std::string Summary::line(std::optional<std::uint64_t> left, bool is_cut_off) const {
  const double took = seconds();
  std::string text =
      count(tasks_, "tasks: ") + count(done_, "done, ") + count(failed_, "failed, ") +
      count(refused_, "refused, ") + count(errors_, "errors, ") + number("%.2f s, ", took) +
      number("%.1f/s, ", static_cast<double>(tasks_) / std::max(took, 1e-6)) +
      number("median %.1f ms, ", percentile(0.5)) + number("p95 %.1f ms", percentile(0.95));
  if (recorded_ > 0) text += "; " + count(recorded_, "recorded before");
  if (left) {
    text += "; " + count(*left, "left");
  } else if (is_cut_off) {
    text += "; the rest is left";
  }
  return text;
}

std::string Summary::progress(std::optional<std::uint64_t> total) const {
  const double rate = static_cast<double>(tasks_) / std::max(seconds(), 1e-6);
  std::string text = std::to_string(settled());
  if (total) text += "/" + std::to_string(*total);
  text += " done, " + count(tasks_ - done_, "failed, ") + number("%.0f/s", rate);
  if (total && *total >= settled() && rate > 0) {
    const auto left = static_cast<std::uint64_t>(static_cast<double>(*total - settled()) / rate);
    std::array<char, 64> clock;  // filled by snprintf
    snprintf(clock.data(), clock.size(), ", %llu:%02llu left",
             static_cast<unsigned long long>(left / 60),
             static_cast<unsigned long long>(left % 60));
    text += clock.data();
  }
  return text;
}

}  // namespace sbx::batch
