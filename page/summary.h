// SPDX-License-Identifier: Apache-2.0
// Records, one after another → what they come to, in bounded memory however many there are.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "record.h"

namespace sbx::page {

// How a run ended, for the colour that it has.
enum class Kind { kGood, kFailed, kStopped, kRefused };
inline constexpr int kKinds = 4;
Kind kind_of(const Record& record);
const char* kind_class(Kind kind);  // of the style
const char* kind_words(Kind kind);

// What ended it where a limit did, such as "memory"; empty: none did.
std::string limit_of(const Record& record);

struct Total {
  std::uint64_t count = 0;
  std::uint64_t runs = 0;
  std::uint64_t bytes_out = 0;
  std::uint64_t bytes_in = 0;
};

// Names → totals. Beyond 10,000 names the rest is one.
class Totals {
 public:
  Total& of(const std::string& name);
  // The most of them first.
  std::vector<std::pair<std::string, Total>> largest_first() const;

 private:
  std::map<std::string, Total> totals_;
  Total others_;
};

using KindCounts = std::array<std::uint64_t, kKinds>;

// Counts over time, in at most kMostColumns columns of a round width, which grows with the time
// that they span.
class Timeline {
 public:
  static constexpr std::int64_t kMostColumns = 72;
  void add(std::int64_t time_ms, Kind kind);
  std::int64_t width_ms() const;
  // By the number of the column: its time is number × width_ms.
  const std::map<std::int64_t, KindCounts>& columns() const { return columns_; }

 private:
  void widen();

  std::size_t width_ = 0;
  std::map<std::int64_t, KindCounts> columns_;
};

// Up to 1, 2, 5, 10 ms …; the last column is beyond all.
inline constexpr std::array<double, 21> kDurationSteps = {
    1,    2,     5,     10,    20,     50,     100,    200,     500,     1000,   2000,
    5000, 10000, 20000, 50000, 100000, 200000, 500000, 1000000, 2000000, 5000000};

struct BadLine {
  std::uint64_t number = 0;
  std::string why;
};

struct Slow {
  double duration_ms = 0;
  std::uint64_t line = 0;
  std::int64_t time_ms = 0;
  std::string command;
  std::string how;
};

// "exited 0", "SIGKILL", "limit: memory".
std::string how_it_ended(const Record& record);

class Summary {
 public:
  static constexpr std::size_t kMostBadLines = 100;
  static constexpr std::size_t kMostSlow = 20;

  void add(const Record& record, std::uint64_t line);
  void add_bad(std::uint64_t line, std::string why);

  std::uint64_t records = 0;
  std::uint64_t bad = 0;
  std::vector<BadLine> bad_lines;  // the first of them
  std::int64_t first_ms = 0;
  std::int64_t last_ms = 0;
  double duration_ms = 0;
  std::uint64_t output_bytes = 0;
  std::uint64_t redactions = 0;
  std::uint64_t refusals = 0;
  std::uint64_t unlisted_connections = 0;
  std::uint64_t unlisted_requests = 0;
  KindCounts kinds{};
  Totals statuses;
  Totals limits;
  Totals refusal_kinds;
  Totals refusal_programs;
  Totals refusal_targets;
  Totals hosts;
  Totals requests;
  Timeline timeline;
  std::array<std::uint64_t, kDurationSteps.size() + 1> durations{};
  std::vector<Slow> slowest;  // the slowest first

 private:
  void add_refusals(const Record& record);
  void add_connections(const Record& record);
  void add_slow(const Record& record, std::uint64_t line);
};

}  // namespace sbx::page
