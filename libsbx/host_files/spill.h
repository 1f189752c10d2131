// SPDX-License-Identifier: Apache-2.0
// Spill: what a run prints, redacted, both streams in the order they arrived → a log on disk,
// capped. A log that cannot be written never ends the run: the failure is kept and told at the end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/owned_fd.h"
#include "base/result.h"

namespace sbx {

// A directory keeps this many logs; the oldest go first.
inline constexpr std::size_t kKeptLogs = 100;

class Spill {
 public:
  // Makes a new file of mode 0600 in the first of `places` that can be used (host_files/places.h).
  // `started_at_ms` is a part of its name.
  Spill(const std::vector<std::string>& places, std::int64_t started_at_ms,
        std::uint64_t max_bytes);

  void append(std::string_view text);

  // Where the log is; empty where none could be made.
  const std::string& path() const { return path_; }
  // Ends the log, with a line that says so where the cap left something out. Errors: kSpillFailed.
  Status finish();
  std::uint64_t left_out() const { return left_out_; }

 private:
  void write_out(std::string_view text);

  std::string path_;
  OwnedFd file_;
  std::uint64_t room_;
  std::uint64_t left_out_ = 0;
  std::optional<Error> failure_;
};

}  // namespace sbx
