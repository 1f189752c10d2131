// SPDX-License-Identifier: Apache-2.0
// A pattern of paths below a directory → the paths that match now. `*` and `?` stand within one
// component, `**` for any directories. No symlink is followed. Reads only, bounded.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sbx {

inline constexpr std::size_t kMaxGlobMatches = 4096;
inline constexpr std::size_t kMaxGlobEntries = 1'000'000;

// The path itself, or the nearest above it that a look finds.
std::string nearest_there(const std::string& path);

// Whether somebody else's directory keeps it from being looked at: the caller cannot open that up.
bool is_closed_to_us(const std::string& path);

// What a directory that cannot be listed, or lies too deep, may hold: nothing that matters, or
// something that a pattern which takes away would miss, so that it counts as a match itself.
enum class Unlisted : std::uint8_t { kPassedOver, kRefused, kMatches };

struct Glob {
  std::string base;
  std::string pattern;
  std::set<std::string> hidden = {};  // directories of which the command sees nothing: not entered
  Unlisted unlisted = Unlisted::kRefused;
  auto operator<=>(const Glob&) const = default;
};

// Relative to the base, sorted. Errors: kPathRefused over the bounds, and where a directory cannot
// be listed that the command might look into all the same, with `where`; kSetupFailed once
// `is_given_up`, which may be null, is true.
Result<std::vector<std::string>> expand_glob(const Glob& glob, const std::string& where,
                                             const std::atomic<bool>* is_given_up = nullptr);

// A pattern and where it begins, as one text.
std::string whole_glob(std::string_view base, std::string_view pattern);
// Whether one of such matches the path, or a directory that it lies in. Looks at names alone.
bool glob_holds(std::string_view whole, std::string_view path);
bool any_glob_holds(const std::vector<std::string>& those, std::string_view path);

// Each pattern of a run, expanded once. For one thread at a time, but for give_up().
class Expansions {
 public:
  // Errors: those of expand_glob(); once closed, kPathRefused for a pattern that is not known.
  Result<std::vector<std::string>> of(const Glob& glob, const std::string& where);
  // What is asked for from now on must have been asked for already: a walk is as long as the
  // commands before have made it, and whoever asks now does not wait for one.
  void close() { is_closed_ = true; }
  void open() { is_closed_ = false; }
  bool has_missed() const { return has_missed_; }  // something was asked for since that was not
  // Nothing is known any more.
  void reopen();
  void give_up() { is_given_up_.store(true); }
  bool is_given_up() const { return is_given_up_.load(); }

 private:
  std::map<Glob, std::vector<std::string>> known_;
  bool is_closed_ = false;
  bool has_missed_ = false;
  std::atomic<bool> is_given_up_{false};
};

}  // namespace sbx
