// SPDX-License-Identifier: Apache-2.0
// Sums over /proc. What it reads is made by the kernel, but the tree changes while it looks: a
// process that has gone counts as nothing.
#include "session/watch.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/text.h"
#include "session/memory_count.h"

namespace sbx {
namespace {

constexpr std::size_t kMaxProcesses = 100'000;  // bounds one look

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLongestLook{3};  // beyond the processes' number
constexpr int kRestFactor = 4;                        // times what a look took
constexpr std::chrono::milliseconds kMostRest{50};    // that may be due before a look waits for it
constexpr int kAskMs = 20;
constexpr int kMostApartRestMs = 1000;

// What this thread has worked: a busy machine makes no look longer.
Clock::time_point worked() {
  struct timespec time {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return Clock::time_point(std::chrono::seconds(time.tv_sec) +
                           std::chrono::nanoseconds(time.tv_nsec));
}

int rest_after(Clock::duration took) {
  return static_cast<int>(
      std::chrono::duration_cast<std::chrono::milliseconds>(kRestFactor * took).count());
}

// The first bytes of a procfs file; empty when it cannot be read.
std::string read_at(int dirfd, const std::string& path) {
  const OwnedFd fd(openat(dirfd, path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text(4096, '\0');
  const ssize_t size = fd.is_open() ? read(fd.get(), text.data(), text.size()) : -1;
  text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return text;
}

std::int64_t number(std::string_view text) {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// "Name:   123 kB" → 123 * 1024.
std::int64_t kib_field(std::string_view text, std::string_view name) {
  const std::size_t at = text.find(name);
  if (at == std::string_view::npos) return 0;
  text.remove_prefix(at + name.size());
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  return number(text) * 1024;
}

struct CloseDir {
  void operator()(DIR* dir) const { closedir(dir); }
};
using Directory = std::unique_ptr<DIR, CloseDir>;

Directory open_directory(int dirfd, const char* path) {
  const int fd = openat(dirfd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  Directory dir(fd < 0 ? nullptr : fdopendir(fd));
  if (dir == nullptr && fd >= 0) close(fd);
  return dir;
}

// Every process of a procfs that shows one sandbox only.
std::vector<std::string> listed(int proc) {
  std::vector<std::string> pids;
  // Without a stream, which would open and allocate at each of many looks.
  alignas(dirent64) std::array<char, 8192>
      entries;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  if (lseek(proc, 0, SEEK_SET) != 0) return pids;
  while (pids.size() < kMaxProcesses) {
    const ssize_t size = getdents64(proc, entries.data(), entries.size());
    if (size <= 0) break;
    for (ssize_t at = 0; at < size;) {
      const auto* const entry = reinterpret_cast<const dirent64*>(entries.data() + at);
      if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9') pids.emplace_back(entry->d_name);
      at += entry->d_reclen;
    }
  }
  return pids;
}

// Every descendant of `init` in the host's procfs, itself left out.
std::vector<std::string> descendants(int proc, pid_t init) {
  std::vector<std::string> pids = {std::to_string(init)};
  for (std::size_t i = 0; i < pids.size() && pids.size() < kMaxProcesses; ++i) {
    const Directory tasks = open_directory(proc, (pids[i] + "/task").c_str());
    while (tasks != nullptr) {
      const dirent* entry = readdir(tasks.get());
      if (entry == nullptr) break;
      if (entry->d_name[0] == '.') continue;
      const std::string path = pids[i] + "/task/" + entry->d_name + "/children";
      const std::string children = read_at(proc, path);
      for (const std::string_view pid : split(children, ' ')) {
        if (!pid.empty()) pids.emplace_back(pid);
      }
    }
  }
  pids.erase(pids.begin());
  return pids;
}

// utime, stime, cutime, cstime: fields 14 to 17 of /proc/PID/stat, counted behind the last ')'. Of
// PID 1 only what it reaped: the orphans that have ended.
std::int64_t cpu_ticks(const std::string& stat, bool only_reaped) {
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return 0;
  const auto fields = split(std::string_view(stat).substr(name_end + 1), ' ');
  std::int64_t ticks = 0;
  for (std::size_t i = only_reaped ? 14 : 12; i <= 15 && i < fields.size(); ++i) {
    ticks += number(fields[i]);
  }
  return ticks;
}

// Of its own, and of no other process; 0 once it has gone. The kernel counts them into the links of
// the directory that lists them.
std::int64_t threads(int proc, const std::string& pid) {
  struct stat info {};
  if (fstatat(proc, (pid + "/task").c_str(), &info, 0) != 0) return 0;
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(info.st_nlink) - 2);
}

}  // namespace

std::int64_t TreeWatch::scratch_bytes() const {
  struct statfs info {};
  if (!scratch_.is_open() || fstatfs(scratch_.get(), &info) != 0) return 0;
  return static_cast<std::int64_t>(info.f_blocks - info.f_bfree) * info.f_bsize;
}

// Less than a page is free. Once it was, it stays said.
bool TreeWatch::has_filled_scratch() const {
  struct statfs info {};
  return has_filled_scratch_ ||
         (scratch_.is_open() && fstatfs(scratch_.get(), &info) == 0 && info.f_bfree == 0);
}

// System V segments live on when nobody has them attached. Columns 15 and 16 of each line are the
// resident and the swapped bytes.
std::int64_t TreeWatch::segment_bytes() const {
  std::string text;
  std::array<char, 4096> part{};
  while (shared_memory_.is_open()) {
    const ssize_t size =
        pread(shared_memory_.get(), part.data(), part.size(), static_cast<off_t>(text.size()));
    if (size <= 0) break;
    text.append(part.data(), static_cast<std::size_t>(size));
  }
  std::int64_t bytes = 0;
  for (const std::string_view line : split(text, '\n')) {
    int column = 0;
    for (const std::string_view field : split(line, ' ')) {
      if (!field.empty() && ++column >= 15) bytes += number(field);
    }
  }
  return bytes;
}

TreeWatch::Sums TreeWatch::sum_processes(Depth depth) {
  static const std::int64_t kPage = sysconf(_SC_PAGESIZE);
  OwnedFd host_proc;
  if (!proc_.is_open()) host_proc.reset(open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const int proc = proc_.is_open() ? proc_.get() : host_proc.get();
  const std::vector<std::string> pids = proc_.is_open() ? listed(proc) : descendants(proc, init_);
  Sums sums;
  const auto is_late = [&] { return takes_too_long(); };
  MemoryCount unmapped(is_late);
  std::int64_t shared = 0;
  const bool sums_cpu = limits_.cpu_ms && depth != Depth::kCount;
  const bool sums_memory = limits_.memory_bytes && depth != Depth::kCount;
  if (sums_cpu) {
    const std::string init = proc_.is_open() ? "1" : std::to_string(init_);
    sums.cpu_ticks = cpu_ticks(read_at(proc, init + "/stat"), true);
  }
  for (const std::string& pid : pids) {
    if (pid == "1" && proc_.is_open()) continue;  // PID 1 is ours
    if (depth != Depth::kCount && takes_too_long()) break;
    sums.pids += threads(proc, pid);
    if (sums_cpu) sums.cpu_ticks += cpu_ticks(read_at(proc, pid + "/stat"), false);
    if (!sums_memory) continue;
    unmapped.add_open(proc, pid);
    if (depth >= Depth::kMapped) unmapped.add_mapped(proc, pid);
    if (depth == Depth::kExactMemory) {
      const std::string rollup = read_at(proc, pid + "/smaps_rollup");
      sums.resident_bytes += kib_field(rollup, "Pss_Anon:") + kib_field(rollup, "SwapPss:");
      shared += kib_field(rollup, "Pss_Shmem:");
    } else {
      const std::string statm = read_at(proc, pid + "/statm");
      const auto fields = split(statm, ' ');
      if (fields.size() < 6) continue;
      sums.resident_bytes += number(fields[1]) * kPage;
      sums.mapped_bytes += (number(fields[0]) - number(fields[5])) * kPage;
    }
  }
  if (sums_memory && !is_too_long_) {
    const std::int64_t counted = unmapped.bytes() + segment_bytes();
    // What is mapped as well counts in both; the larger is never too much.
    sums.resident_bytes += depth == Depth::kExactMemory ? std::max(shared, counted) : counted;
    sums.resident_bytes += scratch_bytes();
    if (socket_diag_.is_open()) sums.resident_bytes += socket_bytes(socket_diag_.get(), is_late);
  }
  return sums;
}

// Of the looks of all trees together a bounded part of this process's time, which their commands
// would choose otherwise.
std::optional<std::string> TreeWatch::look(int& next_ms) {
  static Clock::time_point rest_until;
  if (apart_ != nullptr) return ask_apart(next_ms);
  const auto now = Clock::now();
  if (rest_until > now + kMostRest) {
    next_ms = static_cast<int>(
        std::chrono::ceil<std::chrono::milliseconds>(rest_until - now - kMostRest).count());
    return std::nullopt;
  }
  const auto begun = worked();
  look_until_ = begun + kLongestLook;
  std::optional<std::string> limit = look_once(next_ms);
  const auto took = worked() - begun;
  rest_until = std::max(rest_until, now) + kRestFactor * took;
  next_ms = std::max(next_ms, rest_after(took));
  if (!is_too_long_) return limit;
  is_too_long_ = false;
  estimate_due_ = {};
  apart_ = Apart::start({proc_.get(), scratch_.get(), shared_memory_.get(), socket_diag_.get()},
                        [this](Apart::Note& note) { return look_until_exceeded(note); });
  next_ms = kAskMs;
  if (apart_ != nullptr) return std::nullopt;
  is_apart_ = true;  // without one: a limit that holds late is better than none
  limit = look_once(next_ms);
  is_apart_ = false;
  return limit;
}

bool TreeWatch::takes_too_long() {
  if (!is_apart_ && worked() >= look_until_) is_too_long_ = true;
  return is_too_long_;
}

std::optional<std::string> TreeWatch::ask_apart(int& next_ms) {
  next_ms = kAskMs;
  has_filled_scratch_ = has_filled_scratch();
  if (apart_->has_noted()) has_reached_pids_ = true;
  std::string limit;
  if (!apart_->has_ended(limit)) return std::nullopt;
  apart_.reset();  // ended by somebody, where it does not say why: the next look is here again
  return limit.empty() ? std::nullopt : std::optional(limit);
}

// In the process apart, to its end.
std::string TreeWatch::look_until_exceeded(Apart::Note& note) {
  is_apart_ = true;
  note_ = &note;
  for (;;) {
    const auto begun = worked();
    int next_ms = 0;
    if (auto limit = look_once(next_ms)) return *limit;
    next_ms = std::max(next_ms, std::min(rest_after(worked() - begun), kMostApartRestMs));
    std::this_thread::sleep_for(std::chrono::milliseconds(next_ms));
  }
}

void TreeWatch::note_pids() {
  has_reached_pids_ = true;
  if (note_ != nullptr) note_->store(true);
}

std::optional<std::string> TreeWatch::look_once(int& next_ms) {
  static const std::int64_t kTicks = sysconf(_SC_CLK_TCK);
  const auto now = Clock::now();
  const bool is_due = now >= estimate_due_;
  next_ms = 250;
  Sums sums = sum_processes(is_due ? Depth::kEstimate : Depth::kCount);
  has_filled_scratch_ = has_filled_scratch();
  if (is_too_long_) return std::nullopt;
  if (limits_.pids) {
    // PID 1, which the kernel counts too, is none of the command's.
    if (sums.pids >= *limits_.pids && limits_.kernel_holds_pids) note_pids();
    if (sums.pids > *limits_.pids && !limits_.kernel_holds_pids) return "pids";
    // A fork takes some 100 µs; two cores at it make about 20 processes a millisecond.
    next_ms = static_cast<int>(std::min<std::int64_t>(
        next_ms, std::max<std::int64_t>(2, (*limits_.pids - sums.pids) / 20)));
  }
  if (!is_due) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(estimate_due_ - now);
    next_ms = std::min(next_ms, static_cast<int>(left.count()));
    return std::nullopt;
  }
  int estimate_ms = 250;
  if (limits_.cpu_ms) {
    const std::int64_t left_ms = *limits_.cpu_ms - sums.cpu_ticks * 1000 / kTicks;
    if (left_ms <= 0) return "cpu";
    static const std::int64_t kProcessors = std::max<long>(1, sysconf(_SC_NPROCESSORS_ONLN));
    estimate_ms = static_cast<int>(
        std::min<std::int64_t>(estimate_ms, std::max<std::int64_t>(5, left_ms / kProcessors)));
  }
  if (limits_.memory_bytes) {
    if (sums.resident_bytes <= *limits_.memory_bytes &&
        sums.resident_bytes + sums.mapped_bytes > *limits_.memory_bytes) {
      // Enough is mapped for its pages to be shared ones that were let go of. Who lists mappings
      // waits for a process that makes one of a file whose server does not answer.
      is_too_long_ = !is_apart_;
      if (is_too_long_) return std::nullopt;
      sums = sum_processes(Depth::kMapped);
    }
    if (sums.resident_bytes > *limits_.memory_bytes) {
      is_too_long_ = !is_apart_;  // each process may take as long as it has mapped
      if (is_too_long_) return std::nullopt;
      // The sum counts shared pages for each process; only the exact figure, which costs a walk
      // over the page tables, ends a command.
      sums = sum_processes(Depth::kExactMemory);
      if (sums.resident_bytes > *limits_.memory_bytes) return "memory";
    }
    // Two cores touch new memory at some 4 MB a millisecond at the most.
    const std::int64_t left =
        std::max<std::int64_t>(0, *limits_.memory_bytes - sums.resident_bytes);
    estimate_ms = static_cast<int>(
        std::min<std::int64_t>(estimate_ms, std::max<std::int64_t>(5, left / 4'000'000)));
  }
  estimate_due_ = now + std::chrono::milliseconds(estimate_ms);
  next_ms = std::min(next_ms, estimate_ms);
  return std::nullopt;
}

}  // namespace sbx
