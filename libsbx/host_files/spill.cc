// SPDX-License-Identifier: Apache-2.0
// Made, filled, capped; old ones removed.
#include "host_files/spill.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/files.h"
#include "host_files/places.h"

namespace sbx {
namespace {

Error spill_failed(const std::string& what, int error) {
  return call_failed(ErrorCode::kSpillFailed, "the full log cannot be written: " + what,
                     "output.spill_mb", "make room on its disk, or set output.spill_mb to 0",
                     error);
}

bool is_log(std::string_view name) { return name.starts_with("run-") && name.ends_with(".log"); }

// Removes the oldest logs until there is room for one more. Names begin with the time in a fixed
// number of digits, so that their order is that of age.
void make_room(int directory) {
  Listing listing(directory, ".");
  std::vector<std::string> names;
  while (const dirent* entry = listing.next()) {
    if (is_log(entry->d_name)) names.emplace_back(entry->d_name);
  }
  if (names.size() < kKeptLogs) return;
  const auto too_many = static_cast<std::ptrdiff_t>(names.size() - kKeptLogs + 1);
  std::partial_sort(names.begin(), names.begin() + too_many, names.end());
  for (std::ptrdiff_t i = 0; i < too_many; ++i) {
    unlinkat(directory, names[static_cast<std::size_t>(i)].c_str(), 0);
  }
}

std::string log_name(std::int64_t started_at_ms) {
  std::uint32_t random = 0;
  (void)!getrandom(&random, sizeof random, 0);  // O_EXCL refuses a name that is taken
  char name[64];
  std::snprintf(name, sizeof name, "run-%014lld-%08x.log", static_cast<long long>(started_at_ms),
                random);
  return name;
}

}  // namespace

Spill::Spill(const std::vector<std::string>& places, std::int64_t started_at_ms,
             std::uint64_t max_bytes)
    : room_(max_bytes) {
  for (const std::string& place : places) {
    const Result<OwnedFd> directory = open_private_directory(place);
    if (!directory.ok()) {
      failure_ = spill_failed(place, directory.error().sys_errno);
      continue;
    }
    make_room(directory.value().get());
    const std::string name = log_name(started_at_ms);
    file_.reset(openat(directory.value().get(), name.c_str(),
                       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file_.is_open()) {
      failure_ = spill_failed(place + "/" + name, errno);
      continue;
    }
    failure_.reset();
    path_ = place + "/" + name;
    return;
  }
}

void Spill::append(std::string_view text) {
  const std::size_t fits = static_cast<std::size_t>(std::min<std::uint64_t>(text.size(), room_));
  room_ -= fits;
  left_out_ += text.size() - fits;
  write_out(text.substr(0, fits));
}

void Spill::write_out(std::string_view text) {
  while (!text.empty() && file_.is_open()) {
    const ssize_t size = write(file_.get(), text.data(), text.size());
    if (size > 0) {
      text.remove_prefix(static_cast<std::size_t>(size));
    } else if (errno != EINTR) {
      failure_ = spill_failed(path_, errno);
      file_.reset();
    }
  }
}

Status Spill::finish() {
  if (left_out_ > 0) {
    write_out("\n[... " + std::to_string(left_out_) + " bytes left out: output.spill_mb ...]\n");
  }
  file_.reset();
  if (failure_) return *failure_;
  return {};
}

}  // namespace sbx
