// SPDX-License-Identifier: Apache-2.0
// Sums over /proc. What it reads is made by the kernel, but the tree changes while it looks: a
// process that has gone counts as nothing.
#include "run/watch.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/text.h"
#include "kept/kept_layer.h"
#include "run/memory_count.h"

namespace sbx {
namespace {

constexpr std::size_t kMaxProcesses = 100'000;  // bounds one look

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLongestLook{3};  // beyond the processes' number
constexpr int kFirstCountMs = 5;
constexpr int kFirstEstimateMs = 25;
constexpr int kFirstDiskMs = 100;
constexpr int kRestFactor = 4;                      // times what a look took
constexpr std::chrono::milliseconds kMostRest{50};  // that may be due before a look waits for it
constexpr int kAskMs = 20;
constexpr int kMostApartRestMs = 1000;
constexpr int kCheckMs = 50;
constexpr int kMostInterruptions = 8;  // what grows and shrinks all the time is looked through

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
  Result<std::string> text = read_file_at(dirfd, path.c_str(), 4096);
  return text.ok() ? std::move(text).value() : "";
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
    Listing tasks(proc, (pids[i] + "/task").c_str());
    while (const dirent* const entry = tasks.next()) {
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

struct Statm {
  std::int64_t resident = 0;
  std::int64_t only_private = 0;  // of that, what no file backs
  std::int64_t mapped = 0;        // by size: neither data nor stack
};

Statm statm(int proc, const std::string& pid) {
  static const std::int64_t kPage = sysconf(_SC_PAGESIZE);
  const std::string text = read_at(proc, pid + "/statm");
  const auto fields = split(text, ' ');
  if (fields.size() < 6) return {};
  const std::int64_t resident = number(fields[1]);
  return {resident * kPage, std::max<std::int64_t>(0, resident - number(fields[2])) * kPage,
          (number(fields[0]) - number(fields[5])) * kPage};
}

// The sandbox's procfs, or else the host's.
struct Proc {
  explicit Proc(const OwnedFd& own) : fd(own.get()) {
    if (own.is_open()) return;
    host.reset(open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    fd = host.get();
  }
  OwnedFd host;
  int fd;
};

}  // namespace

std::int64_t TreeWatch::scratch_bytes() const {
  struct statfs info {};
  if (!scratch_.is_open() || fstatfs(scratch_.get(), &info) != 0) return 0;
  return static_cast<std::int64_t>(info.f_blocks - info.f_bfree) * info.f_bsize;
}

// Less than a page is free, or no inode. Once it was, it stays said.
bool TreeWatch::has_filled_scratch() const {
  struct statfs info {};
  return has_filled_scratch_ || (scratch_.is_open() && fstatfs(scratch_.get(), &info) == 0 &&
                                 (info.f_bfree == 0 || (info.f_ffree == 0 && info.f_files != 0)));
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

std::vector<std::string> TreeWatch::processes(int proc) const {
  if (!proc_.is_open()) return descendants(proc, init_);
  std::vector<std::string> pids = listed(proc);
  std::erase(pids, "1");  // PID 1 is ours
  return pids;
}

TreeWatch::Sums TreeWatch::sum_processes(Depth depth) {
  const Proc proc_directory(proc_);
  const int proc = proc_directory.fd;
  Sums sums;
  const auto is_late = [&] { return takes_too_long(); };
  MemoryCount unmapped(is_late);
  const bool sums_cpu = limits_.cpu_ms && depth != Depth::kCount;
  const bool sums_memory = limits_.memory_bytes && depth != Depth::kCount;
  if (sums_cpu) {
    const std::string init = proc_.is_open() ? "1" : std::to_string(init_);
    sums.cpu_ticks = cpu_ticks(read_at(proc, init + "/stat"), true);
  }
  for (const std::string& pid : processes(proc)) {
    if (depth != Depth::kCount && (takes_too_long() || grows())) break;
    sums.pids += threads(proc, pid);
    if (sums_cpu) sums.cpu_ticks += cpu_ticks(read_at(proc, pid + "/stat"), false);
    if (!sums_memory) continue;
    unmapped.add_open(proc, pid);
    if (depth >= Depth::kMapped) unmapped.add_mapped(proc, pid);
    const Statm pages = statm(proc, pid);
    sums.resident_bytes += pages.resident;
    sums.mapped_bytes += pages.mapped;
  }
  if (sums_memory && !is_too_long_) {
    sums.resident_bytes += unmapped.bytes() + segment_bytes() + other_bytes(is_late);
  }
  return sums;
}

// What nothing maps.
std::int64_t TreeWatch::other_bytes(const MemoryCount::IsLate& is_late) const {
  return scratch_bytes() + (has_sockets() ? socket_bytes(socket_diag_.get(), is_late) : 0);
}

// A list of them goes through the tables of the whole machine, a number does not.
bool TreeWatch::has_sockets() const {
  if (!socket_diag_.is_open()) return false;
  constexpr std::string_view kUsed = "sockets: used ";
  const std::string text = proc_.is_open() ? read_at(proc_.get(), "1/net/sockstat") : "";
  return !text.starts_with(kUsed) || number(std::string_view(text).substr(kUsed.size())) > 1;
}

// The largest first. Returns the sum: pages that are shared since a fork count for each process,
// and nothing else is more than it is.
std::int64_t TreeWatch::order_by_private(int proc, std::vector<std::string>& pids) const {
  std::vector<std::pair<std::int64_t, std::string>> sized;
  std::int64_t sum = 0;
  for (std::string& pid : pids) {
    const std::int64_t bytes = statm(proc, pid).only_private;
    sum += bytes;
    sized.emplace_back(bytes, std::move(pid));
  }
  std::stable_sort(sized.begin(), sized.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  pids.clear();
  for (auto& [bytes, pid] : sized) pids.push_back(std::move(pid));
  return sum;
}

// By the exact figures, which cost a walk over the page tables of each process. Those add up: as
// soon as some of them are too much, all are, and the rest is left out.
std::int64_t TreeWatch::exact_memory() {
  const Proc proc_directory(proc_);
  const int proc = proc_directory.fd;
  for (int tries = 0;; ++tries) {
    std::vector<std::string> pids = processes(proc);
    known_private_ = order_by_private(proc, pids);
    is_urgent_ = false;
    const auto is_interrupted = [&] { return tries < kMostInterruptions && grows(); };
    std::int64_t bytes = other_bytes(nullptr);
    std::int64_t shared = 0;
    for (const std::string& pid : pids) {
      const std::string rollup = read_at(proc, pid + "/smaps_rollup");
      bytes += kib_field(rollup, "Pss_Anon:") + kib_field(rollup, "SwapPss:");
      shared += kib_field(rollup, "Pss_Shmem:");
      if (bytes > *limits_.memory_bytes) return bytes;
      if (is_interrupted()) break;
    }
    MemoryCount unmapped;
    for (const std::string& pid : pids) {
      if (is_interrupted()) break;
      unmapped.add_open(proc, pid);
      unmapped.add_mapped(proc, pid);
    }
    // What is mapped as well counts in both; the larger is never too much.
    if (!is_interrupted()) {
      is_urgent_ = false;
      return bytes + std::max(shared, unmapped.bytes() + segment_bytes());
    }
  }
}

// Cheap enough to be asked while a look goes on, and between two.
bool TreeWatch::has_grown() {
  if (!limits_.memory_bytes) return false;
  const Proc proc_directory(proc_);
  std::int64_t sum = 0;
  for (const std::string& pid : processes(proc_directory.fd)) {
    sum += statm(proc_directory.fd, pid).only_private;
  }
  known_private_ = std::min(known_private_, sum);
  return sum > *limits_.memory_bytes && sum > known_private_ + *limits_.memory_bytes / 8;
}

bool TreeWatch::grows() {
  if (!is_apart_ || is_urgent_ || worked() < check_at_) return is_urgent_;
  is_urgent_ = has_grown();
  check_at_ = worked() + std::chrono::milliseconds(kCheckMs);
  return is_urgent_;
}

// A process apart that began without it would never see what it shows: the next look is here again.
void TreeWatch::take(OwnedFd& to, OwnedFd fd) {
  to = std::move(fd);
  if (apart_ == nullptr) return;
  if (apart_->has_noted()) has_reached_pids_ = true;
  apart_.reset();
}

// A fork bomb needs some milliseconds to matter, a memory hog more, a disk still more.
int TreeWatch::first_look() {
  const auto now = Clock::now();
  estimate_due_ = now + std::chrono::milliseconds(kFirstEstimateMs);
  disk_due_ = now + std::chrono::milliseconds(kFirstDiskMs);
  return limits_.pids ? kFirstCountMs : kFirstEstimateMs;
}

std::optional<Limit> TreeWatch::look(int& next_ms) {
  if (auto limit = look_at_disk(next_ms)) return limit;
  const int disk_ms = next_ms;
  if (!limits_.memory_bytes && !limits_.cpu_ms && !limits_.pids) return std::nullopt;
  std::optional<Limit> limit = look_at_processes(next_ms);
  next_ms = std::min(next_ms, disk_ms);
  return limit;
}

// A tree of any size may have been written: it is counted in a process of its own.
std::optional<Limit> TreeWatch::look_at_disk(int& next_ms) {
  next_ms = kMostApartRestMs;
  if (!limits_.layer_bytes) return std::nullopt;
  next_ms = kCheckMs;
  if (Clock::now() < disk_due_) return std::nullopt;
  if (disk_apart_ == nullptr) {
    disk_apart_ = Apart::start({}, [limits = limits_](Apart::Note&) -> std::string {
      for (;;) {
        const auto begun = Clock::now();
        std::int64_t bytes = 0;
        for (const std::string& part : limits.layer_parts) bytes += tree_bytes(part);
        if (bytes > *limits.layer_bytes) return std::string(limit_name(Limit::kLayer));
        const auto rest = std::max<Clock::duration>(std::chrono::milliseconds(kCheckMs * 2),
                                                    kRestFactor * (Clock::now() - begun));
        std::this_thread::sleep_for(rest);
      }
    });
    return std::nullopt;
  }
  std::string limit;
  if (!disk_apart_->has_ended(limit)) return std::nullopt;
  disk_apart_.reset();
  return limit_of_name(limit);
}

// Of the looks of all trees together a bounded part of this process's time, which their commands
// would choose otherwise.
std::optional<Limit> TreeWatch::look_at_processes(int& next_ms) {
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
  std::optional<Limit> limit = look_once(next_ms);
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

std::optional<Limit> TreeWatch::ask_apart(int& next_ms) {
  next_ms = kAskMs;
  has_filled_scratch_ = has_filled_scratch();
  if (apart_->has_noted()) has_reached_pids_ = true;
  std::string limit;
  if (!apart_->has_ended(limit)) return std::nullopt;
  apart_.reset();  // ended by somebody, where it does not say why: the next look is here again
  return limit_of_name(limit);
}

// In the process apart, to its end.
std::string TreeWatch::look_until_exceeded(Apart::Note& note) {
  is_apart_ = true;
  note_ = &note;
  for (;;) {
    const auto begun = worked();
    int next_ms = 0;
    if (const auto limit = look_once(next_ms)) return std::string(limit_name(*limit));
    next_ms = std::max(next_ms, std::min(rest_after(worked() - begun), kMostApartRestMs));
    for (; next_ms > 0 && !is_urgent_; next_ms -= kCheckMs) {
      std::this_thread::sleep_for(std::chrono::milliseconds(std::min(next_ms, kCheckMs)));
      is_urgent_ = has_grown();
    }
    if (is_urgent_) estimate_due_ = {};
  }
}

void TreeWatch::note_pids() {
  has_reached_pids_ = true;
  if (note_ != nullptr) note_->store(true);
}

std::optional<Limit> TreeWatch::look_once(int& next_ms) {
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
    if (sums.pids > *limits_.pids && !limits_.kernel_holds_pids) return Limit::kPids;
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
    if (left_ms <= 0) return Limit::kCpu;
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
    if (sums.resident_bytes > *limits_.memory_bytes || is_urgent_) {
      is_too_long_ = !is_apart_;  // each process may take as long as it has mapped
      if (is_too_long_) return std::nullopt;
      // The sum counts shared pages for each process; only the exact figure ends a command.
      sums.resident_bytes = exact_memory();
      if (sums.resident_bytes > *limits_.memory_bytes) return Limit::kMemory;
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
