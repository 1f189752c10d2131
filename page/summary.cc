// SPDX-License-Identifier: Apache-2.0
// Counts only: no text of a record is kept but names that are counted and the slowest commands.
#include "summary.h"

#include <algorithm>
#include <iterator>

namespace sbx::page {
namespace {

constexpr std::size_t kMostNames = 10'000;

constexpr std::int64_t kSecond = 1000;
constexpr std::int64_t kMinute = 60 * kSecond;
constexpr std::int64_t kHour = 60 * kMinute;
constexpr std::int64_t kDay = 24 * kHour;
constexpr std::int64_t kWidths[] = {
    kSecond,      5 * kSecond, 15 * kSecond, kMinute,         5 * kMinute,
    15 * kMinute, kHour,       3 * kHour,    12 * kHour,      kDay,
    7 * kDay,     28 * kDay,   364 * kDay,   364 * kDay * 10, 364 * kDay * 200};

std::int64_t floor_divide(std::int64_t number, std::int64_t by) {
  return number / by - (number % by < 0 ? 1 : 0);
}

}  // namespace

Kind kind_of(const Record& record) {
  if (record.status == "exited" && record.exit_code == 0) return Kind::kGood;
  if (record.status == "denied" || record.status == "needs_approval" || record.status == "error") {
    return Kind::kRefused;
  }
  return record.status == "exited" || record.status == "signaled" ? Kind::kFailed : Kind::kStopped;
}

const char* kind_class(Kind kind) {
  static constexpr const char* kClasses[] = {"good", "fail", "stop", "deny"};
  return kClasses[static_cast<int>(kind)];
}

const char* kind_words(Kind kind) {
  static constexpr const char* kWords[] = {"ended with 0", "failed", "stopped", "did not run"};
  return kWords[static_cast<int>(kind)];
}

std::string limit_of(const Record& record) {
  if (record.status == "timed_out") return "timeout";
  if (record.status != "limit") return "";
  return record.limit.empty() ? "not named" : record.limit;
}

std::string how_it_ended(const Record& record) {
  if (record.status == "exited" && record.exit_code) {
    return "exited " + std::to_string(*record.exit_code);
  }
  if (!record.signal.empty()) return record.status + " " + record.signal;
  return record.limit.empty() ? record.status : record.status + ": " + record.limit;
}

Total& Totals::of(const std::string& name) {
  const auto found = totals_.find(name);
  if (found != totals_.end()) return found->second;
  return totals_.size() < kMostNames ? totals_[name] : others_;
}

std::vector<std::pair<std::string, Total>> Totals::largest_first() const {
  std::vector<std::pair<std::string, Total>> rows(totals_.begin(), totals_.end());
  std::stable_sort(rows.begin(), rows.end(), [](const auto& left, const auto& right) {
    return left.second.count > right.second.count;
  });
  if (others_.count > 0) rows.emplace_back("(others)", others_);
  return rows;
}

std::int64_t Timeline::width_ms() const { return kWidths[width_]; }

void Timeline::add(std::int64_t time_ms, Kind kind) {
  ++columns_[floor_divide(time_ms, width_ms())][static_cast<std::size_t>(kind)];
  while (columns_.rbegin()->first - columns_.begin()->first >= kMostColumns &&
         width_ + 1 < std::size(kWidths)) {
    widen();
  }
}

void Timeline::widen() {
  const std::int64_t old = width_ms();
  ++width_;
  std::map<std::int64_t, KindCounts> wider;
  for (const auto& [number, counts] : columns_) {
    KindCounts& sum = wider[floor_divide(number * old, width_ms())];
    for (std::size_t i = 0; i < counts.size(); ++i) sum[i] += counts[i];
  }
  columns_ = std::move(wider);
}

void Summary::add(const Record& record, std::uint64_t line) {
  first_ms = records == 0 ? record.time_ms : std::min(first_ms, record.time_ms);
  last_ms = records == 0 ? record.time_ms : std::max(last_ms, record.time_ms);
  ++records;
  const Kind kind = kind_of(record);
  ++kinds[static_cast<std::size_t>(kind)];
  timeline.add(record.time_ms, kind);
  ++statuses.of(record.status).count;
  if (const std::string limit = limit_of(record); !limit.empty()) ++limits.of(limit).count;
  duration_ms += record.duration_ms;
  const auto step =
      std::lower_bound(kDurationSteps.begin(), kDurationSteps.end(), record.duration_ms);
  if (kind != Kind::kRefused) {
    ++durations[static_cast<std::size_t>(step - kDurationSteps.begin())];
    add_slow(record, line);
  }
  output_bytes += record.stdout_bytes + record.stderr_bytes;
  redactions += record.redactions;
  add_refusals(record);
  add_connections(record);
}

void Summary::add_bad(std::uint64_t line, std::string why) {
  ++bad;
  if (bad_lines.size() < kMostBadLines) bad_lines.push_back({line, std::move(why)});
}

void Summary::add_refusals(const Record& record) {
  const auto count = [](Totals& totals, const std::string& name, std::uint64_t times) {
    Total& total = totals.of(name);
    total.count += times;
    ++total.runs;
  };
  for (const Refusal& refusal : record.refusals) {
    const std::string kind = refusal.layer + ": " + refusal.operation;
    refusals += refusal.count;
    count(refusal_kinds, kind, refusal.count);
    count(refusal_programs, refusal.program, refusal.count);
    count(refusal_targets, kind + " " + refusal.target, refusal.count);
  }
}

void Summary::add_connections(const Record& record) {
  unlisted_connections += record.unlisted_connections + record.more_connections;
  unlisted_requests += record.unlisted_requests + record.more_requests;
  for (const Connection& connection : record.connections) {
    Total& host = hosts.of(connection.host + ":" + std::to_string(connection.port));
    ++host.count;
    host.bytes_out += connection.bytes_out;
    host.bytes_in += connection.bytes_in;
    for (const Request& request : connection.requests) {
      const std::string status = request.status == 0 ? "no answer" : std::to_string(request.status);
      ++requests.of(request.method + " " + request.host + request.path + " → " + status).count;
    }
  }
}

void Summary::add_slow(const Record& record, std::uint64_t line) {
  if (slowest.size() == kMostSlow && slowest.back().duration_ms >= record.duration_ms) return;
  const auto slower = std::find_if(slowest.begin(), slowest.end(), [&](const Slow& other) {
    return other.duration_ms < record.duration_ms;
  });
  slowest.insert(slower,
                 {record.duration_ms, line, record.time_ms, record.command, how_it_ended(record)});
  if (slowest.size() > kMostSlow) slowest.pop_back();
}

}  // namespace sbx::page
