// SPDX-License-Identifier: Apache-2.0
// Finds a delegated cgroup v2 subtree and makes, reads, kills and removes boxes below it. Touches
// nothing outside of the subtree that it found.
#include "host/cgroup.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <vector>

#include "base/files.h"
#include "base/text.h"
#include "sys/kernel.h"

namespace sbx {
namespace {

constexpr std::size_t kMaxProcFile = std::size_t{1} << 20;
constexpr std::int64_t kMaxPid = 1 << 22;

std::optional<std::string> read_all(int dirfd, const char* path) {
  Result<std::string> text = read_file_at(dirfd, path, kMaxProcFile);
  return text.ok() ? std::optional(std::move(text).value()) : std::nullopt;
}

Status write_file(int dirfd, const std::string& directory, const char* name,
                  const std::string& value) {
  const OwnedFd file(::openat(dirfd, name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
  if (file.is_open() &&
      ::write(file.get(), value.data(), value.size()) == static_cast<ssize_t>(value.size())) {
    return {};
  }
  const int problem = errno;
  return call_failed(ErrorCode::kSetupFailed, "write " + value + " to " + directory + "/" + name,
                     "cgroup", "", problem);
}

struct CgroupMount {
  std::string root;   // the part of the hierarchy that is mounted
  std::string point;  // where
};

// proc_pid_mountinfo(5): ID PARENT MAJOR:MINOR ROOT POINT OPTIONS [FIELDS…] - TYPE SOURCE OPTIONS
std::optional<CgroupMount> find_cgroup2_mount(std::string_view mountinfo) {
  for (const std::string_view line : split(mountinfo, '\n')) {
    const std::size_t dash = line.find(" - ");
    if (dash == std::string_view::npos || !line.substr(dash + 3).starts_with("cgroup2 ")) continue;
    const std::vector<std::string_view> fields = split(line.substr(0, dash), ' ');
    if (fields.size() < 6) continue;
    return CgroupMount{unescape_octal(fields[3]), unescape_octal(fields[4])};
  }
  return std::nullopt;
}

// The path of the "0::" line of proc_pid_cgroup: this process's place in the v2 hierarchy.
std::optional<std::string_view> own_cgroup(std::string_view text) {
  for (const std::string_view line : split(text, '\n')) {
    if (line.starts_with("0::/")) return line.substr(3);
  }
  return std::nullopt;
}

bool has_word(std::string_view text, std::string_view word) {
  text = text.substr(0, text.find('\n'));
  const std::vector<std::string_view> words = split(text, ' ');
  return std::find(words.begin(), words.end(), word) != words.end();
}
bool has_both(const std::optional<std::string>& controllers) {
  return controllers && has_word(*controllers, "memory") && has_word(*controllers, "pids");
}

// proc_pid_stat(5): PID (NAME) STATE PPID …, and a name may hold anything.
std::optional<std::int64_t> parent_of(std::int64_t pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/stat";
  const std::optional<std::string> text = read_all(AT_FDCWD, path.c_str());
  const std::size_t end = text ? text->rfind(") ") : std::string::npos;
  if (end == std::string::npos || text->size() < end + 4) return std::nullopt;
  const std::string_view rest = std::string_view(*text).substr(end + 4);
  return parse_count(rest.substr(0, rest.find(' ')), kMaxPid);
}

// This process and its children, which are watchdogs: nothing else is started before the move.
std::optional<std::vector<std::int64_t>> only_own(std::string_view procs, pid_t pid) {
  std::vector<std::int64_t> found;
  for (const std::string_view line : split(procs, '\n')) {
    if (line.empty()) continue;
    const auto number = parse_count(line, kMaxPid);
    if (!number || (*number != pid && parent_of(*number) != pid)) return std::nullopt;
    found.push_back(*number);
  }
  return found;
}

// The hierarchy's path → the directory, where the mount shows it.
std::optional<std::string> directory_of(const CgroupMount& mount, std::string_view path) {
  if (path.find("/..") != std::string_view::npos) return std::nullopt;  // outside of our namespace
  if (mount.root != "/") {
    if (!path.starts_with(mount.root)) return std::nullopt;
    path.remove_prefix(mount.root.size());
    if (!path.empty() && path.front() != '/') return std::nullopt;
  }
  while (path.ends_with('/')) path.remove_suffix(1);
  return mount.point + std::string(path);
}

CgroupFacts judge_directory(const std::string& directory, pid_t pid) {
  CgroupFacts facts;
  const OwnedFd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.is_open()) {
    facts.reason = "open " + directory + ": " + errno_text(errno);
    return facts;
  }
  const bool writable = ::faccessat(fd.get(), ".", W_OK | X_OK, AT_EACCESS) == 0 &&
                        ::faccessat(fd.get(), "cgroup.procs", W_OK, AT_EACCESS) == 0;
  if (!writable) {
    facts.reason = directory + " is not delegated to this user: " + errno_text(errno);
    return facts;
  }
  if (has_both(read_all(fd.get(), "cgroup.subtree_control"))) {
    facts.base = directory;
    return facts;
  }
  if (!has_both(read_all(fd.get(), "cgroup.controllers"))) {
    facts.reason = directory + " has no memory and pids controllers (cgroup.controllers)";
    return facts;
  }
  if (::faccessat(fd.get(), "cgroup.subtree_control", W_OK, AT_EACCESS) != 0) {
    facts.reason = directory + "/cgroup.subtree_control: " + errno_text(errno);
    return facts;
  }
  // Only the root of the hierarchy lacks cgroup.type; it alone may hold processes beside
  // controllers for its children.
  const bool is_root = ::faccessat(fd.get(), "cgroup.type", F_OK, 0) != 0;
  const std::optional<std::string> procs = read_all(fd.get(), "cgroup.procs");
  if (!is_root && (!procs || !only_own(*procs, pid))) {
    facts.reason =
        directory + " holds other processes, so its controllers cannot be enabled for children";
    return facts;
  }
  facts.base = directory;
  facts.must_move = true;
  return facts;
}

CgroupFacts refuse(std::string reason) {
  CgroupFacts facts;
  facts.reason = std::move(reason);
  return facts;
}

Status write_limits(const CgroupBox& box, const CgroupLimits& limits) {
  const int fd = box.directory.get();
  if (limits.memory_bytes > 0) {
    SBX_CHECK_OK(write_file(fd, box.path, "memory.max", std::to_string(limits.memory_bytes)));
    SBX_CHECK_OK(write_file(fd, box.path, "memory.oom.group", "1"));
    Status swap = write_file(fd, box.path, "memory.swap.max", "0");
    if (!swap.ok() && swap.error().sys_errno != ENOENT) return swap;  // absent: no swap accounting
  }
  if (limits.pids > 0) {
    SBX_CHECK_OK(write_file(fd, box.path, "pids.max", std::to_string(limits.pids)));
  }
  return {};
}

std::optional<std::uint64_t> read_key(const CgroupBox& box, const char* file,
                                      std::string_view key) {
  const std::optional<std::string> text = read_all(box.directory.get(), file);
  if (!text) return std::nullopt;
  for (const std::string_view line : split(*text, '\n')) {
    if (line.size() <= key.size() || !line.starts_with(key) || line[key.size()] != ' ') continue;
    const auto count = parse_count(line.substr(key.size() + 1), INT64_MAX);
    return count ? std::optional<std::uint64_t>(*count) : std::nullopt;
  }
  return std::nullopt;
}

void sleep_ms(int ms) {
  const struct timespec pause = {ms / 1000, (ms % 1000) * 1'000'000L};
  ::nanosleep(&pause, nullptr);
}

// The cgroups directly below.
std::vector<std::string> children_of(int parent_fd) {
  std::vector<std::string> names;
  Listing listing(parent_fd, ".");
  while (const struct dirent* entry = listing.next()) {
    if (entry->d_type == DT_DIR && entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  return names;
}

bool has_other_children(int parent_fd, const std::string& known) {
  const std::vector<std::string> names = children_of(parent_fd);
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& name) { return name != known; });
}

// Removes the cgroups that the inside made below `parent_fd`, deepest first.
void remove_children(int parent_fd, int depth) {
  constexpr int kMaxDepth = 32;
  if (depth > kMaxDepth) return;
  for (const std::string& name : children_of(parent_fd)) {
    const OwnedFd child(
        ::openat(parent_fd, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (child.is_open()) remove_children(child.get(), depth + 1);
    ::unlinkat(parent_fd, name.c_str(), AT_REMOVEDIR);
  }
}

}  // namespace

CgroupFacts find_cgroup_in(const CgroupPlaces& places) {
  const std::optional<std::string> mountinfo = read_all(AT_FDCWD, places.mountinfo.c_str());
  if (!mountinfo) return refuse("read " + places.mountinfo + ": " + errno_text(errno));
  const std::optional<CgroupMount> mount = find_cgroup2_mount(*mountinfo);
  if (!mount) return refuse("no cgroup2 file system is mounted");
  struct statfs kind = {};
  if (places.check_kernel &&
      (::statfs(mount->point.c_str(), &kind) != 0 || kind.f_type != sys::kCgroup2SuperMagic)) {
    return refuse(mount->point + " does not show the cgroup2 file system that is mounted there");
  }
  const std::optional<std::string> self = read_all(AT_FDCWD, places.self.c_str());
  const std::optional<std::string_view> path = self ? own_cgroup(*self) : std::nullopt;
  if (!path) return refuse(places.self + " names no cgroup v2 (no line 0::/…)");
  const std::optional<std::string> directory = directory_of(*mount, *path);
  if (!directory) {
    return refuse("the cgroup " + std::string(*path) + " is not visible at " + mount->point);
  }
  return judge_directory(*directory, places.pid != 0 ? places.pid : ::getpid());
}

CgroupFacts find_cgroup() {
  const CgroupPlaces places;
  // Where systemd mounts it: printing the mount table costs the kernel more than several mounts.
  for (const char* point : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
    struct statfs kind = {};
    if (::statfs(point, &kind) != 0 || kind.f_type != sys::kCgroup2SuperMagic) continue;
    const std::optional<std::string> self = read_all(AT_FDCWD, places.self.c_str());
    const std::optional<std::string_view> path = self ? own_cgroup(*self) : std::nullopt;
    if (!path) break;
    const std::string directory = *path == "/" ? point : point + std::string(*path);
    // In a container the mount may show another part of the tree; the table tells which.
    if (::access(directory.c_str(), F_OK) != 0) break;
    return judge_directory(directory, ::getpid());
  }
  return find_cgroup_in(places);
}

Result<std::string> new_box_path(const CgroupFacts& facts) {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != sizeof number) {
    return call_failed(ErrorCode::kSetupFailed, "getrandom", "getrandom");
  }
  return facts.base + "/sbx-" + std::to_string(::getpid()) + "-" + std::to_string(number);
}

Result<CgroupBox> make_box(const std::string& path, const CgroupLimits& limits) {
  if (::mkdir(path.c_str(), 0700) != 0) {
    const int problem = errno;
    return call_failed(ErrorCode::kSetupFailed, "mkdir " + path, "cgroup", "", problem);
  }
  CgroupBox box = open_box(path);
  if (!box.directory.is_open()) {
    const int problem = errno;
    ::rmdir(path.c_str());
    return call_failed(ErrorCode::kSetupFailed, "open " + path, "cgroup", "", problem);
  }
  if (Status written = write_limits(box, limits); !written.ok()) {
    ::rmdir(path.c_str());
    return std::move(written.error());
  }
  return box;
}

CgroupBox open_box(const std::string& path) {
  return {OwnedFd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)), path};
}

std::string leaf_path(const CgroupFacts& facts) {
  return facts.base + "/sbx-supervisor-" + std::to_string(::getpid());
}

Status enter_leaf(CgroupFacts& facts) {
  const std::string leaf = leaf_path(facts);
  if (::mkdir(leaf.c_str(), 0700) != 0 && errno != EEXIST) {
    const int problem = errno;
    return call_failed(ErrorCode::kSetupFailed, "mkdir " + leaf, "cgroup", "", problem);
  }
  const OwnedFd leaf_fd(::open(leaf.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  const OwnedFd base_fd(::open(facts.base.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  SBX_CHECK_OK(write_file(leaf_fd.get(), leaf, "cgroup.procs", std::to_string(::getpid())));
  const std::optional<std::string> procs = read_all(base_fd.get(), "cgroup.procs");
  const auto own = only_own(procs.value_or(""), ::getpid());
  for (const std::int64_t pid : own.value_or(std::vector<std::int64_t>{})) {
    SBX_CHECK_OK(write_file(leaf_fd.get(), leaf, "cgroup.procs", std::to_string(pid)));
  }
  SBX_CHECK_OK(write_file(base_fd.get(), facts.base, "cgroup.subtree_control", "+memory +pids"));
  facts.must_move = false;
  return {};
}

bool leave_leaf(const std::string& leaf) {
  const std::size_t slash = leaf.rfind('/');
  const std::string base = leaf.substr(0, slash);
  const OwnedFd leaf_fd(::open(leaf.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  const OwnedFd base_fd(::open(base.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!leaf_fd.is_open() || !base_fd.is_open()) return ::access(leaf.c_str(), F_OK) != 0;
  if (!has_other_children(base_fd.get(), leaf.substr(slash + 1))) {
    // Whatever fails shows in the rmdir.
    (void)write_file(base_fd.get(), base, "cgroup.subtree_control", "-memory -pids").ok();
    const std::optional<std::string> procs = read_all(leaf_fd.get(), "cgroup.procs");
    for (const std::string_view pid : split(procs.value_or(""), '\n')) {
      if (!pid.empty())
        (void)write_file(base_fd.get(), base, "cgroup.procs", std::string(pid)).ok();
    }
  }
  return ::rmdir(leaf.c_str()) == 0;
}

std::optional<MemoryEvents> read_memory_events(const CgroupBox& box) {
  const auto oom_kill = read_key(box, "memory.events", "oom_kill");
  const auto max = read_key(box, "memory.events", "max");
  if (!oom_kill || !max) return std::nullopt;
  return MemoryEvents{*oom_kill, *max};
}

std::optional<std::uint64_t> read_pids_events(const CgroupBox& box) {
  return read_key(box, "pids.events", "max");
}

Status kill_box(const CgroupBox& box) {
  Status killed = write_file(box.directory.get(), box.path, "cgroup.kill", "1");
  if (killed.ok() || killed.error().sys_errno != ENOENT) return killed;
  constexpr int kMaxRounds = 100;
  for (int round = 0; round < kMaxRounds; ++round) {
    const std::optional<std::string> procs = read_all(box.directory.get(), "cgroup.procs");
    if (!procs) return killed;
    bool any = false;
    for (const std::string_view line : split(*procs, '\n')) {
      const auto pid = parse_count(line, kMaxPid);
      if (!pid || *pid <= 1) continue;
      any = true;
      ::kill(static_cast<pid_t>(*pid), SIGKILL);
    }
    if (!any) return {};
    sleep_ms(1);
  }
  return Error{ErrorCode::kSetupFailed, box.path + " still holds processes after SIGKILL", "cgroup",
               "", EBUSY};
}

Status remove_box(const CgroupBox& box, int wait_ms) {
  for (int waited = 0;; waited += 5) {
    if (::rmdir(box.path.c_str()) == 0 || errno == ENOENT) return {};
    const int problem = errno;
    if (problem != EBUSY || waited >= wait_ms) {
      return call_failed(ErrorCode::kSetupFailed, "rmdir " + box.path, "cgroup", "", problem);
    }
    remove_children(box.directory.get(), 0);
    sleep_ms(5);
  }
}

}  // namespace sbx
