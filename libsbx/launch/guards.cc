// SPDX-License-Identifier: Apache-2.0
// Directories are watched by dnotify (fcntl(2), F_NOTIFY): the last close of an inotify descriptor
// waits for a grace period of the kernel, some 10 ms that every run would pay, and its instances
// are few a user. inotify serves where the kernel has no dnotify.
#include "launch/guards.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

#include "base/files.h"
#include "launch/descriptors.h"
#include "launch/mounts.h"
#include "launch/tree.h"
#include "sys/calls.h"

namespace sbx {
namespace {

volatile sig_atomic_t g_changed = 0;
volatile sig_atomic_t g_system_changed = 0;

// A change to one of the caller's directories, or of those that hold the system's programs. A
// signal that the command sends itself costs a look and nothing else.
void on_change(int number) { (number == kGuardSignals[0] ? g_changed : g_system_changed) = 1; }

int open_directory(const char* path, std::uint64_t flags) {
  const sys::OpenHow how{flags | O_DIRECTORY | O_CLOEXEC, 0,
                         sys::kResolveNoSymlinks | sys::kResolveNoMagiclinks};
  return sys::openat2(AT_FDCWD, path, how);
}

int watch_by_inotify(ChildContext& context, const char* path) {
  if (context.inotify < 0) context.inotify = ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  if (context.inotify < 0) return failure();
  constexpr std::uint32_t kEvents = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO;
  return ::inotify_add_watch(context.inotify, path, kEvents | IN_ONLYDIR | IN_DONT_FOLLOW) >= 0
             ? 0
             : failure();
}

enum class State { kIntact, kAbsent, kLost };

// What stands at the path, held against the mount that stood there. `found`: the mount now there, 0
// for none. Unique ids (6.8) are never given to another mount; before that, ids are used again.
State look(const op::Guard& guard, const char* path, std::uint64_t& found) {
  struct statx info {};
  found = 0;
  if (::statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC,
              STATX_MNT_ID | sys::kStatxMntIdUnique, &info) != 0) {
    return is_missing(errno) ? State::kAbsent : State::kLost;
  }
  if ((info.stx_attributes & STATX_ATTR_MOUNT_ROOT) == 0) return State::kLost;
  found = info.stx_mnt_id;
  return found == guard.mount_id ? State::kIntact : State::kLost;
}

// Nothing of it was seen inside yet.
bool has_not_appeared(const op::Guard& guard) {
  return (guard.flags & kGuardStartsAbsent) != 0 && guard.mount_id == 0;
}

bool may_be_absent(const op::Guard& guard) {
  return (guard.flags & kGuardMayVanish) != 0 || has_not_appeared(guard);
}

// Source and target are opened once: whatever is swapped meanwhile, nothing is shown that was not.
int put_back(const ChildContext& context, op::Guard& guard, const char* path) {
  if (guard.kind == GuardKind::kFixed) return EBUSY;
  const ScopedFd place{open_plain(path)};
  if (place.fd < 0) return failure();
  struct stat info {};
  if (::fstat(place.fd, &info) != 0) return failure();
  // Covering it would leave open what it leads to.
  if (S_ISLNK(info.st_mode) && (guard.flags & kGuardLink) == 0) return ELOOP;
  const int mask = S_ISDIR(info.st_mode) ? context.mask_directory : context.mask_file;
  const bool covers = guard.kind == GuardKind::kCover;
  const int error = attach_clone(covers ? mask : place.fd, place.fd, guard.attributes, MS_PRIVATE,
                                 covers ? Submounts::kWithout : Submounts::kWith);
  if (error != 0) return error;
  std::uint64_t now = 0;
  look(guard, path, now);
  if (now == 0) return ESTALE;
  guard.mount_id = now;
  return 0;
}

void note(const ChildContext& context, std::uint32_t step, Loss::End end) {
  SharedState& state = *context.state;
  const std::uint32_t count = state.loss_count.load();
  for (std::uint32_t i = 0; i < count; ++i) {
    Loss& loss = state.losses[i];
    if (loss.step != step || loss.end != end) continue;
    ++loss.count;
    return;
  }
  // What ends the run is always said.
  const std::uint32_t at = count < kMaxLosses ? count : kMaxLosses - 1;
  const bool ends = end == Loss::End::kRunEnded || end == Loss::End::kMadeAgain;
  if (count == kMaxLosses && !ends) return;
  state.losses[at] = {step, end, 1};
  state.loss_count.store(at + 1);
}

// The directory at the path may be another one by now. False when it cannot be watched.
bool watch_anew(ChildContext& context, op::Watch& watch) {
  const ScopedFd now{open_directory(context.text(watch.path), O_PATH)};
  struct stat then_info {};
  struct stat now_info {};
  // A descriptor that is held keeps the number of its inode from being given to another.
  if (watch.fd >= 0 && now.fd >= 0 && ::fstat(watch.fd, &then_info) == 0 &&
      ::fstat(now.fd, &now_info) == 0 && then_info.st_ino == now_info.st_ino &&
      then_info.st_dev == now_info.st_dev) {
    return true;
  }
  if (watch.fd >= 0) ::close(watch.fd);
  watch.fd = -1;
  return watch.execute(context) == 0;
}

// `all`: those too on which only denied programs depend.
// The first step that cannot be watched any more, or none: the number of steps.
std::uint32_t watch_all_anew(ChildContext& context, bool all) {
  std::uint32_t lost = context.op_count;
  for (std::uint32_t i = 0; i < context.op_count; ++i) {
    auto* const watch = context.ops[i].as<op::Watch>();
    if (watch == nullptr || (!all && watch->is_system)) continue;
    if (!watch_anew(context, *watch) && lost == context.op_count) lost = i;
  }
  return lost;
}

// Many editors move or remove the old file before they make the new one. What is made by that name
// meanwhile must not come from inside, so nothing runs there until it is back; `has_stopped` tells
// the caller to let it go on. False: nothing comes, or nothing could be stopped.
bool reappears(ChildContext& context, const op::Guard& guard, bool& has_stopped) {
  constexpr std::int64_t kLongestGapMs = 1000;
  if (!context.has_pid_namespace || guard.kind == GuardKind::kFixed) return false;
  if (!has_stopped && ::kill(-1, SIGSTOP) != 0 && errno != ESRCH) return false;
  has_stopped = true;
  sigset_t open;
  ::sigfillset(&open);
  for (const int number : kGuardSignals) ::sigdelset(&open, number);
  const std::int64_t end = now_ms() + kLongestGapMs;
  for (;;) {
    // A directory on the way may have been replaced as well.
    if (watch_all_anew(context, true) != context.op_count) return false;
    std::uint64_t found = 0;
    if (look(guard, context.text(guard.path), found) != State::kAbsent) return true;
    const std::int64_t left = end - now_ms();
    if (left <= 0) return false;
    const struct timespec wait { left / 1000, left % 1000 * 1'000'000 };
    struct pollfd waiting[2] = {{context.lifeline, 0, 0}, {context.inotify, POLLIN, 0}};
    ::ppoll(waiting, 2, &wait, &open);
    if (waiting[0].revents != 0) return false;
    has_heard_changes(context);  // empties the inotify descriptor
  }
}

// git on the host must not find it, and no stub can stand there. False: the run must end.
bool take_away(ChildContext& context, std::uint32_t step, op::Guard& guard, const char* path) {
  constexpr std::uint8_t kMostTimes = 3;
  const char* const name = std::strrchr(path, '/') + 1;
  char parent[PATH_MAX];
  const std::size_t size = std::min<std::size_t>(name - path, sizeof parent - 1);
  std::memcpy(parent, path, size);
  parent[size] = '\0';
  const ScopedFd directory{open_directory(parent, O_PATH)};
  const auto remove = [&](int flags) {
    return ::unlinkat(directory.fd, name, flags) == 0 ? 0 : failure();
  };
  int error = directory.fd < 0 ? failure() : remove(0);
  // git runs nowhere by one either. With something in it, it is moved aside after the run.
  if (error == EISDIR) error = remove(AT_REMOVEDIR);
  if (is_missing(error)) return true;
  if (error == 0) note(context, step, Loss::End::kTakenAway);
  if (error == 0 && ++guard.times < kMostTimes) return true;
  note(context, step, Loss::End::kMadeAgain);
  return false;
}

// False: the run must end.
bool look_at(ChildContext& context, std::uint32_t step, op::Guard& guard, bool& has_stopped) {
  constexpr int kMostTries = 16;  // against a host that replaces it again and again
  const char* const path = context.text(guard.path);
  if (guard.kind == GuardKind::kNever) return take_away(context, step, guard, path);
  const bool is_quiet = (guard.flags & kGuardQuiet) != 0;
  bool has_waited = false;
  for (int tries = 0; tries < kMostTries; ++tries) {
    std::uint64_t found = 0;
    const State state = look(guard, path, found);
    if (state == State::kIntact) return true;
    if (state == State::kAbsent && may_be_absent(guard)) {
      guard.mount_id = 0;
      return true;
    }
    if (context.replaced == ReplacedMode::kReport) {
      if (!is_quiet) note(context, step, Loss::End::kReported);
      guard.is_off = true;
      return true;
    }
    // Its first appearance is no loss.
    const bool stops = context.replaced == ReplacedMode::kStop;
    if (stops && !is_quiet && !has_not_appeared(guard)) break;
    // What was read-only and stays away could be made anew inside.
    if (state == State::kAbsent) {
      if (has_waited || !reappears(context, guard, has_stopped)) break;
      has_waited = true;
      continue;
    }
    if (put_back(context, guard, path) != 0) continue;
    if (!is_quiet) note(context, step, Loss::End::kRestored);
    return true;
  }
  if (is_quiet) return true;  // what it holds is looked at next
  note(context, step, Loss::End::kRunEnded);
  return false;
}

// Null where the step is no guard, or none any more.
op::Guard* guard_at(const ChildContext& context, std::uint32_t step) {
  auto* const guard = context.ops[step].as<op::Guard>();
  return guard == nullptr || guard->is_off ? nullptr : guard;
}

// A directory became another that is not watched: the guard below it is lost, else the first.
void note_unwatched(ChildContext& context, std::uint32_t watch) {
  const char* const lost = context.text(context.ops[watch].as<op::Watch>()->path);
  const std::size_t size = std::strlen(lost);
  std::uint32_t step = context.op_count;
  for (std::uint32_t i = 0; i < context.op_count; ++i) {
    const op::Guard* const guard = guard_at(context, i);
    if (guard == nullptr) continue;
    const char* const path = context.text(guard->path);
    const bool is_below_it =
        std::strncmp(path, lost, size) == 0 && (path[size] == '/' || path[size] == '\0');
    if (step == context.op_count || is_below_it) step = i;
    if (is_below_it) break;
  }
  if (step < context.op_count) note(context, step, Loss::End::kRunEnded);
}

// One look at all. False: the run must end.
bool look_at_all(ChildContext& context, bool all, bool& has_stopped) {
  // A directory is watched before what lies in it is looked at: nothing appears in between unseen.
  const std::uint32_t lost = watch_all_anew(context, all);
  if (lost != context.op_count && context.replaced != ReplacedMode::kReport) {
    note_unwatched(context, lost);
    return false;
  }
  for (std::uint32_t i = 0; i < context.op_count; ++i) {
    op::Guard* const guard = guard_at(context, i);
    if (guard == nullptr || (!all && (guard->flags & kGuardSystem) != 0)) continue;
    if (!look_at(context, i, *guard, has_stopped)) return false;
  }
  return true;
}

}  // namespace

namespace op {

int PrepareGuards::execute(ChildContext& context) const noexcept {
  context.has_guards = true;
  context.replaced = replaced;
  context.mask_file = ::open(context.text(file), O_PATH | O_NOFOLLOW | O_CLOEXEC);
  context.mask_directory = ::open(context.text(directory), O_PATH | O_NOFOLLOW | O_CLOEXEC);
  return context.mask_file >= 0 && context.mask_directory >= 0 ? 0 : failure();
}

int Watch::execute(ChildContext& context) noexcept {
  const char* const name = context.text(path);
  fd = open_directory(name, O_RDONLY);
  if (fd < 0) return is_missing(errno) || errno == EACCES ? 0 : failure();
  // The low numbers are for the command's process, whose limit may be near: it shares the table.
  constexpr int kLowNumbers = 512;
  constexpr int kHighNumbers = 4096;
  static_assert(kHighNumbers < kMostDescriptors);
  if (fd >= kMostDescriptors) return EMFILE;
  const int high = fd < kLowNumbers ? -1 : ::fcntl(fd, F_DUPFD_CLOEXEC, kHighNumbers);
  if (high >= kMostDescriptors) return EMFILE;
  if (high >= 0) {
    ::close(fd);
    fd = high;
  }
  // The first is what comes unasked.
  static_assert(kGuardSignals[0] == SIGIO);
  const int number = kGuardSignals[is_system ? 1 : 0];
  if (number != SIGIO && ::fcntl(fd, F_SETSIG, number) != 0) return failure();
  constexpr long kEvents = DN_CREATE | DN_DELETE | DN_RENAME | DN_MULTISHOT;
  if (::fcntl(fd, F_NOTIFY, kEvents) == 0) return 0;
  return errno == EINVAL ? watch_by_inotify(context, name) : failure();
}

int Guard::execute(ChildContext& context) noexcept {
  std::uint64_t found = 0;
  const State state = look(*this, context.text(path), found);
  if ((flags & kGuardStartsAbsent) != 0) return state == State::kAbsent ? 0 : ESTALE;
  if (found == 0) return ESTALE;
  mount_id = found;
  return 0;
}

int CheckGuards::execute(ChildContext& context) const noexcept {
  // What PID 1 has covered again, or only noted, lay open or was another's before the command
  // began.
  if (context.state->loss_count.load() != 0) return ESTALE;
  for (std::uint32_t i = 0; i < context.op_count; ++i) {
    const op::Guard* const guard = guard_at(context, i);
    if (guard == nullptr) continue;
    std::uint64_t found = 0;
    const State state = look(*guard, context.text(guard->path), found);
    const bool is_absent = state == State::kAbsent && may_be_absent(*guard);
    if (state != State::kIntact && !is_absent) return ESTALE;
  }
  return 0;
}

}  // namespace op

void hear_changes() noexcept {
  struct sigaction action {};
  action.sa_handler = on_change;
  for (const int number : kGuardSignals) ::sigaction(number, &action, nullptr);
}

bool has_heard_changes(const ChildContext& context) noexcept {
  if (!context.has_guards) return false;
  sigset_t pending;
  if (::sigpending(&pending) == 0) {
    if (::sigismember(&pending, kGuardSignals[0]) == 1) g_changed = 1;
    if (::sigismember(&pending, kGuardSignals[1]) == 1) g_system_changed = 1;
  }
  if (context.inotify >= 0) {
    alignas(struct inotify_event) char events[4096];
    if (::read(context.inotify, events, sizeof events) > 0) {
      g_changed = 1;
      g_system_changed = 1;
    }
  }
  return g_changed != 0 || g_system_changed != 0;
}

bool look_at_guards(ChildContext& context) noexcept {
  bool has_stopped = false;
  bool may_go_on = true;
  do {
    const bool all = g_system_changed != 0;
    g_changed = 0;
    g_system_changed = 0;
    may_go_on = look_at_all(context, all, has_stopped);
    // What was told while it waited for a name to come back.
  } while (may_go_on && (g_changed != 0 || g_system_changed != 0));
  if (has_stopped && may_go_on && !context.is_suspended) ::kill(-1, SIGCONT);
  return may_go_on;
}

}  // namespace sbx
