// SPDX-License-Identifier: Apache-2.0
// stat(2) then, and again.
#include "host/witnesses.h"

#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <utility>

#include "base/files.h"

namespace sbx {
namespace {

// File times move in ticks: only of what had rested for some when it was looked at can a later
// change be told by them.
constexpr std::int64_t kRestNs = 100'000'000;

bool has_rested(const struct stat& info) {
  struct timespec now {};
  return clock_gettime(CLOCK_REALTIME, &now) == 0 &&
         nanoseconds(info.st_ctim) <= nanoseconds(now) - kRestNs;
}

}  // namespace

void Witnesses::entry(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  entries(slash == 0 ? "/" : std::string(path.substr(0, slash)));
}

void Witnesses::entries(std::string path) {
  while (!add(path) && path != "/") {
    path.resize(std::max<std::size_t>(path.rfind('/'), 1));
  }
}

bool Witnesses::add(const std::string& path) {
  const auto is_same = [&](const Witness& witness) { return witness.path == path; };
  if (std::any_of(all_.begin(), all_.end(), is_same)) return true;
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) {
    // What opens a closed directory changes the times of that, which is asked next.
    const bool is_told_above = is_missing(errno) || errno == EACCES;
    if (!is_told_above) give_up();
    return !is_told_above;
  }
  if (!has_rested(info)) give_up();
  all_.push_back({path, info.st_dev, info.st_ino, nanoseconds(info.st_ctim)});
  return true;
}

bool Witnesses::are_unchanged() const {
  return are_complete_ && std::all_of(all_.begin(), all_.end(), [](const Witness& then) {
           struct stat info {};
           return stat(then.path.c_str(), &info) == 0 && info.st_dev == then.dev &&
                  info.st_ino == then.ino && nanoseconds(info.st_ctim) == then.changed_ns;
         });
}

}  // namespace sbx
