// SPDX-License-Identifier: Apache-2.0
// Tries each layer in a child of its own and notes the first call that fails. Whatever a child
// changes is in namespaces that die with it. After the clone a child only makes system calls: it
// writes what it tried into a shared page and exits; the parent finds the words.
#include <cap-ng.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>

#include "base/owned_fd.h"
#include "host/facts.h"
#include "host/obstacles.h"
#include "sys/calls.h"

namespace sbx {
namespace {

constexpr int kProbeLimitMs = 2000;
constexpr int kMostTries = 25;
constexpr useconds_t kBetweenTriesUs = 10'000;

// What parent and child share. The child notes each call before it makes it, so that a kill on
// time-out still tells which one hung.
struct Page {
  const char* volatile call;  // a literal: the child is a copy, so its address holds here too
  volatile int error;
  volatile bool done;
};

class Steps {
 public:
  explicit Steps(Page* page) : page_(page) {}
  // Notes the call; the body makes it and hands its answer to check().
  void trying(const char* call) { page_->call = call; }
  bool check(long answer) {
    if (answer >= 0) return true;
    page_->error = errno != 0 ? errno : EIO;
    return false;
  }

 private:
  Page* page_;
};

using Body = bool (*)(Steps& steps, const HostFacts& facts);

struct Probe {
  unsigned long flags;  // CLONE_NEW…
  Body body;
  const char* clone_call;  // as it stands in a message
};

bool write_text(Steps& steps, const char* path, const char* text) {
  const int fd = ::open(path, O_WRONLY | O_CLOEXEC);
  if (!steps.check(fd)) return false;
  const ssize_t wrote = ::write(fd, text, std::strlen(text));
  const bool good = steps.check(wrote);
  ::close(fd);
  return good;
}

// "ID ID 1\n" without allocating.
struct MapLine {
  explicit MapLine(unsigned id) {
    std::size_t at = 0;
    for (int copy = 0; copy < 2; ++copy) {
      std::array<char, 12> digits = {};
      std::size_t count = 0;
      unsigned rest = id;
      do {
        digits.at(count++) = static_cast<char>('0' + rest % 10);
        rest /= 10;
      } while (rest != 0);
      while (count > 0) text.at(at++) = digits.at(--count);
      text.at(at++) = ' ';
    }
    text.at(at++) = '1';
    text.at(at) = '\n';
  }
  std::array<char, 32> text = {};
};

bool map_ids(Steps& steps, const HostFacts& facts) {
  const MapLine uid_line(facts.uid);
  const MapLine gid_line(facts.gid);
  steps.trying("write(/proc/self/setgroups, \"deny\")");
  if (!write_text(steps, "/proc/self/setgroups", "deny")) return false;
  steps.trying("write(/proc/self/uid_map)");
  if (!write_text(steps, "/proc/self/uid_map", uid_line.text.data())) return false;
  steps.trying("write(/proc/self/gid_map)");
  return write_text(steps, "/proc/self/gid_map", gid_line.text.data());
}

bool cut_propagation(Steps& steps) {
  steps.trying("mount(NULL, \"/\", NULL, MS_REC|MS_PRIVATE)");
  return steps.check(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr));
}

// /proc is the one directory that is always there to mount on: the maps are written through it.
bool mount_scratch(Steps& steps) {
  if (!cut_propagation(steps)) return false;
  steps.trying("mount(\"tmpfs\", \"/proc\", \"tmpfs\", MS_NOSUID|MS_NODEV)");
  return steps.check(::mount("tmpfs", "/proc", "tmpfs", MS_NOSUID | MS_NODEV, "size=64k"));
}

// Each call that the mount view is made with: a clone of a tree gets its attributes and its place,
// and becomes the root.
bool try_mount(Steps& steps, const HostFacts& /*facts*/) {
  if (!mount_scratch(steps)) return false;
  steps.trying("open_tree(\"/proc\", OPEN_TREE_CLONE)");
  const int tree = sys::open_tree(AT_FDCWD, "/proc", sys::kOpenTreeClone | sys::kOpenTreeCloexec);
  if (!steps.check(tree)) return false;
  steps.trying("mount_setattr(the clone, MS_PRIVATE)");
  const sys::MountAttr attr = {0, 0, MS_PRIVATE, 0};
  if (!steps.check(sys::mount_setattr(tree, "", sys::kAtEmptyPath, attr))) return false;
  steps.trying("move_mount(the clone, \"/proc\")");
  if (!steps.check(sys::move_mount(tree, "", AT_FDCWD, "/proc", sys::kMoveMountFEmptyPath))) {
    return false;
  }
  steps.trying("pivot_root(\".\", \".\")");
  if (!steps.check(::chdir("/proc")) || !steps.check(sys::pivot_root(".", "."))) return false;
  steps.trying("umount2(\".\", MNT_DETACH)");
  return steps.check(::umount2(".", MNT_DETACH));
}

bool try_pid(Steps& steps, const HostFacts& /*facts*/) {
  steps.trying("getpid() inside, expecting 1");
  errno = EIO;
  return steps.check(sys::getpid_raw() == 1 ? 0 : -1);
}

bool try_proc(Steps& steps, const HostFacts& /*facts*/) {
  if (!cut_propagation(steps)) return false;
  steps.trying("mount(\"proc\", \"/proc\", \"proc\", MS_NOSUID|MS_NODEV|MS_NOEXEC)");
  return steps.check(::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr));
}

// The settings that bound the sandbox by a /proc from outside, of a user namespace that ends here.
bool try_proc_settings(Steps& steps, const HostFacts& /*facts*/) {
  return write_text(steps, "/proc/sys/user/max_user_namespaces", "0");
}

// It is made from within the other namespaces.
bool try_net(Steps& steps, const HostFacts& /*facts*/) {
  steps.trying("unshare(CLONE_NEWNET)");
  if (!steps.check(::unshare(CLONE_NEWNET))) return false;
  steps.trying("socket(AF_INET, SOCK_DGRAM, 0)");
  const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (!steps.check(fd)) return false;
  struct ifreq request = {};
  request.ifr_name[0] = 'l';
  request.ifr_name[1] = 'o';
  request.ifr_flags = IFF_UP;
  steps.trying("ioctl(SIOCSIFFLAGS, lo, IFF_UP)");
  return steps.check(::ioctl(fd, SIOCSIFFLAGS, &request));
}

bool try_uts(Steps& steps, const HostFacts& /*facts*/) {
  steps.trying("sethostname(\"sbx\")");
  return steps.check(::sethostname("sbx", 3));
}

bool try_nothing_more(Steps& /*steps*/, const HostFacts& /*facts*/) { return true; }

bool drop_capabilities(Steps& steps) {
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct data[2] = {};
  steps.trying("capset(nothing)");
  return steps.check(::syscall(SYS_capset, &header, data));
}

bool try_capabilities(Steps& steps, const HostFacts& /*facts*/) { return drop_capabilities(steps); }

bool set_no_new_privs(Steps& steps) {
  steps.trying("prctl(PR_SET_NO_NEW_PRIVS, 1)");
  return steps.check(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
}

bool try_no_new_privs(Steps& steps, const HostFacts& /*facts*/) { return set_no_new_privs(steps); }

bool load_filter(Steps& steps, unsigned flags) {
  struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, sys::kSeccompRetAllow);
  const struct sock_fprog program = {1, &allow};
  return steps.check(sys::seccomp(sys::kSeccompSetModeFilter, flags, &program));
}

bool try_seccomp(Steps& steps, const HostFacts& /*facts*/) {
  if (!set_no_new_privs(steps)) return false;
  steps.trying("seccomp(SECCOMP_SET_MODE_FILTER)");
  return load_filter(steps, 0);
}

bool try_listener(Steps& steps, const HostFacts& /*facts*/) {
  if (!set_no_new_privs(steps)) return false;
  steps.trying("seccomp(SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER)");
  return load_filter(steps, sys::kSeccompFilterFlagNewListener);
}

bool try_landlock(Steps& steps, const HostFacts& facts) {
  if (!set_no_new_privs(steps)) return false;
  const sys::LandlockRulesetAttr attr = {sys::landlock_fs_rights(facts.landlock_abi),
                                         sys::landlock_net_rights(facts.landlock_abi),
                                         sys::landlock_scopes(facts.landlock_abi)};
  steps.trying("landlock_create_ruleset(every right of the ABI)");
  const int fd = sys::landlock_create_ruleset(attr);
  if (!steps.check(fd)) return false;
  steps.trying("landlock_restrict_self()");
  return steps.check(sys::landlock_restrict_self(fd));
}

// A removed and remade lower directory needs a whiteout and an opaque mark, which on some kernels
// (6.1) fails with EIO on a tmpfs though the mount itself succeeds.
bool try_overlay(Steps& steps, const HostFacts& /*facts*/) {
  if (!mount_scratch(steps)) return false;
  steps.trying("mkdir() on a tmpfs");
  for (const char* path : {"/proc/l", "/proc/l/d", "/proc/u", "/proc/w", "/proc/m"}) {
    if (!steps.check(::mkdir(path, 0700))) return false;
  }
  steps.trying("mount(\"overlay\", userxattr, upperdir on a tmpfs)");
  if (!steps.check(::mount("overlay", "/proc/m", "overlay", 0,
                           "lowerdir=/proc/l,upperdir=/proc/u,workdir=/proc/w,userxattr"))) {
    return false;
  }
  steps.trying("rmdir() of a lower directory in an overlay on a tmpfs");
  if (!steps.check(::rmdir("/proc/m/d"))) return false;
  steps.trying("mkdir() over a whiteout in an overlay on a tmpfs");
  return steps.check(::mkdir("/proc/m/d", 0700));
}

[[noreturn]] void run_body(Page* page, const Probe& probe, const HostFacts& facts) {
  // The child must not outlive a killed parent. A parent that died before this call is not noticed,
  // but no body waits for anything.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  Steps steps(page);
  const bool mapped = (probe.flags & CLONE_NEWUSER) == 0 || map_ids(steps, facts);
  if (mapped && probe.body(steps, facts)) page->done = true;
  ::_exit(0);
}

// Waits for the end of `pid` and reaps it. The child's exit signal is 0, so the caller's SIGCHLD
// handling and its waits for other children are left alone; hence __WALL.
bool ended_in_time(pid_t pid, int pidfd) {
  bool in_time = true;
  if (pidfd >= 0) {
    struct pollfd waiting = {pidfd, POLLIN, 0};
    int answer = -1;
    do {
      answer = ::poll(&waiting, 1, kProbeLimitMs);
    } while (answer < 0 && errno == EINTR);
    in_time = answer > 0;
  }
  if (!in_time) ::kill(pid, SIGKILL);
  while (::waitpid(pid, nullptr, __WALL) < 0 && errno == EINTR) {
  }
  return in_time;
}

long clone_child(unsigned long flags, bool use_clone3, int* pidfd) {
  flags |= CLONE_PIDFD;
  if (!use_clone3) return sys::clone_like_fork(flags, pidfd);
  sys::CloneArgs args = {};
  args.flags = flags;
  args.pidfd = reinterpret_cast<std::uint64_t>(pidfd);
  return sys::clone3(args);
}

Attempt run_once(const Probe& probe, const HostFacts& facts) {
  void* memory =
      ::mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return {"mmap(a page for the probe)", errno, false};
  Page* page = static_cast<Page*>(memory);
  int pidfd = -1;
  Attempt attempt;
  const long pid = clone_child(probe.flags, facts.clone3, &pidfd);
  if (pid == 0) run_body(page, probe, facts);
  if (pid < 0) {
    attempt = {probe.clone_call, errno, false};
  } else {
    const OwnedFd owned_pidfd(pidfd);
    const bool in_time = ended_in_time(static_cast<pid_t>(pid), pidfd);
    if (!page->done) {
      const char* call = page->call;
      attempt.call = call != nullptr ? call : probe.clone_call;
      attempt.error = page->error;
      attempt.timed_out = !in_time;
      // Killed by a filter or a signal between two notes.
      if (attempt.error == 0 && in_time) attempt.error = EIO;
    }
  }
  ::munmap(memory, sizeof(Page));
  return attempt;
}

// The kernel frees namespaces a little after the end of what was in them: until then those of the
// probe before this one count.
Attempt run(const Probe& probe, const HostFacts& facts) {
  Attempt attempt = run_once(probe, facts);
  for (int i = 1; i < kMostTries && attempt.error == ENOSPC; ++i) {
    ::usleep(kBetweenTriesUs);
    attempt = run_once(probe, facts);
  }
  return attempt;
}

bool clone3_exists() {
  // One byte too few is refused with EINVAL by every kernel that knows the call.
  return ::syscall(SYS_clone3, nullptr, 0) == 0 || errno != ENOSYS;
}

}  // namespace

namespace {

std::string caller_capabilities() {
  if (capng_get_caps_process() != 0) return "";
  switch (capng_have_capabilities(CAPNG_SELECT_CAPS)) {
    case CAPNG_NONE:
      return "none";
    case CAPNG_FULL:
      return "all";
    default:
      return "some";
  }
}

}  // namespace

void probe_layers(HostFacts& facts) {
  const HostHints hints = read_host_hints();
  facts.clone3 = clone3_exists();
  facts.capabilities = caller_capabilities();
  const auto record = [&](Layer layer, const Probe& probe) {
    const Obstacle obstacle = explain(layer, run(probe, facts), hints);
    if (obstacle.present()) facts.obstacles[static_cast<std::size_t>(layer)] = obstacle;
    return !obstacle.present();
  };

  const bool user = record(Layer::kUser, {CLONE_NEWUSER, try_nothing_more, "clone(CLONE_NEWUSER)"});
  // Without a user namespace the others can still be had with CAP_SYS_ADMIN.
  const unsigned long with_user = user ? CLONE_NEWUSER : 0;
  const auto name = [user](const char* with, const char* without) { return user ? with : without; };
  const bool mount =
      record(Layer::kMount, {with_user | CLONE_NEWNS, try_mount,
                             name("clone(CLONE_NEWUSER|CLONE_NEWNS)", "clone(CLONE_NEWNS)")});
  const bool pid =
      record(Layer::kPid, {with_user | CLONE_NEWPID, try_pid,
                           name("clone(CLONE_NEWUSER|CLONE_NEWPID)", "clone(CLONE_NEWPID)")});
  record(Layer::kNet, {with_user, try_net, name("clone(CLONE_NEWUSER)", "clone()")});
  record(Layer::kIpc, {with_user | CLONE_NEWIPC, try_nothing_more,
                       name("clone(CLONE_NEWUSER|CLONE_NEWIPC)", "clone(CLONE_NEWIPC)")});
  record(Layer::kUts, {with_user | CLONE_NEWUTS, try_uts,
                       name("clone(CLONE_NEWUSER|CLONE_NEWUTS)", "clone(CLONE_NEWUTS)")});
  record(Layer::kCgroup, {with_user | CLONE_NEWCGROUP, try_nothing_more,
                          name("clone(CLONE_NEWUSER|CLONE_NEWCGROUP)", "clone(CLONE_NEWCGROUP)")});
  facts.seccomp_filter = record(Layer::kSeccomp, {0, try_seccomp, "clone()"});
  if (facts.landlock_abi > 0) record(Layer::kLandlock, {0, try_landlock, "clone()"});
  record(Layer::kNoNewPrivs, {0, try_no_new_privs, "clone()"});
  record(Layer::kCapabilities, {with_user, try_capabilities, "clone()"});

  facts.seccomp_notify = facts.seccomp_filter && !run({0, try_listener, "clone()"}, facts).failed();
  const bool is_tried = mount && pid;
  facts.proc_mountable =
      (is_tried || user) &&
      !run(is_tried ? Probe{with_user | CLONE_NEWNS | CLONE_NEWPID, try_proc, "clone()"}
                    : Probe{with_user, try_proc_settings, "clone()"},
           facts)
           .failed();
  facts.overlay_on_tmpfs =
      mount && !run({with_user | CLONE_NEWNS, try_overlay, "clone()"}, facts).failed();
}

}  // namespace sbx
