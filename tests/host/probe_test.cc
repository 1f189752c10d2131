// SPDX-License-Identifier: Apache-2.0
// Tests of host/probe in made-up surroundings: Docker's filter, a limit of 0, a masked /proc, a
// listener already in force, sixteen Landlock layers. Each is made inside a child (in namespaces of
// its own where it needs any), which probes and reports back through a pipe.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <map>

#include "base/owned_fd.h"
#include "base/text.h"
#include "host/facts.h"
#include "host/obstacles.h"
#include "sys/calls.h"

namespace sbx {
namespace {

using Report = std::map<std::string, std::string>;

void put(int fd, const std::string& key, const std::string& value) {
  const std::string line = key + "=" + value + "\n";
  if (::write(fd, line.data(), line.size()) < 0) ::_exit(3);
}

void probe_and_report(int fd) {
  HostFacts facts = read_quick_facts(nullptr);
  probe_layers(facts);
  for (int i = 0; i < kLayerCount; ++i) {
    const std::string name = layer_name(static_cast<Layer>(i));
    put(fd, name, facts.obstacles[i].reason);
    put(fd, name + ".hint", facts.obstacles[i].hint);
  }
  put(fd, "clone3", facts.clone3 ? "1" : "0");
  put(fd, "proc", facts.proc_mountable ? "1" : "0");
  put(fd, "filter", facts.seccomp_filter ? "1" : "0");
  put(fd, "notify", facts.seccomp_notify ? "1" : "0");
  put(fd, "overlay", facts.overlay_on_tmpfs ? "1" : "0");
  put(fd, "done", "1");
}

// Runs `prepare` and then the probes in a child. `prepare` answers why it cannot, or "". The
// report's "skip" holds that reason.
Report probe_after(const std::function<std::string()>& prepare) {
  int ends[2] = {-1, -1};
  EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  OwnedFd reader(ends[0]);
  OwnedFd writer(ends[1]);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::alarm(60);
    const std::string problem = prepare();
    if (problem.empty()) {
      probe_and_report(writer.get());
    } else {
      put(writer.get(), "skip", problem + ": " + errno_text(errno));
    }
    ::_exit(0);
  }
  writer.reset();
  std::string text;
  char chunk[4096];
  for (ssize_t got = 0; (got = ::read(reader.get(), chunk, sizeof(chunk))) > 0;) {
    text.append(chunk, static_cast<std::size_t>(got));
  }
  EXPECT_EQ(::waitpid(pid, nullptr, 0), pid);
  Report report;
  for (const std::string_view line : split(text, '\n')) {
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    report[std::string(line.substr(0, equals))] = line.substr(equals + 1);
  }
  return report;
}

#define SBX_NEEDS(report)                                               \
  if ((report).count("skip") != 0) GTEST_SKIP() << (report).at("skip"); \
  ASSERT_EQ((report)["done"], "1")

bool write_text(const char* path, const std::string& text) {
  const OwnedFd fd(::open(path, O_WRONLY | O_CLOEXEC));
  return fd.is_open() &&
         ::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

// A user namespace in which we are root, with `more` namespaces.
std::string enter_namespaces(int more) {
  const std::string uid = std::to_string(::geteuid());
  const std::string gid = std::to_string(::getegid());
  if (::unshare(CLONE_NEWUSER | more) != 0) return "unshare(CLONE_NEWUSER)";
  if (!write_text("/proc/self/setgroups", "deny") ||
      !write_text("/proc/self/uid_map", "0 " + uid + " 1") ||
      !write_text("/proc/self/gid_map", "0 " + gid + " 1")) {
    return "id maps";
  }
  return "";
}

std::string drop_root() {
  if (::geteuid() != 0) return "";
  // This thread only: glibc's would signal every other one to follow.
  if (::syscall(SYS_setgroups, 0, nullptr) != 0 ||
      ::syscall(SYS_setresgid, 1000, 1000, 1000) != 0 ||
      ::syscall(SYS_setresuid, 1000, 1000, 1000) != 0) {
    return "setresuid(1000)";
  }
  // A change of ids makes /proc/self root's, which would spoil the maps.
  return ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0 ? "" : "PR_SET_DUMPABLE";
}

// What Docker's default profile does for a container without capabilities.
std::string load_docker_filter() {
  const scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
  if (filter == nullptr) return "seccomp_init";
  for (const char* name :
       {"unshare", "setns", "mount", "umount2", "pivot_root", "chroot", "open_tree", "move_mount",
        "fsopen", "fsconfig", "fsmount", "mount_setattr", "bpf", "keyctl"}) {
    const int number = seccomp_syscall_resolve_name(name);
    if (number != __NR_SCMP_ERROR) {
      seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), number, 0);
    }
  }
  for (const scmp_datum_t flag : {0x02000000U, 0x04000000U, 0x08000000U, 0x10000000U, 0x20000000U,
                                  0x40000000U, 0x00020000U}) {
    const scmp_arg_cmp has{0, SCMP_CMP_MASKED_EQ, flag, flag};
    seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1, &has);
  }
  seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
  const int loaded = seccomp_load(filter);
  seccomp_release(filter);
  return loaded == 0 ? "" : "seccomp_load";
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(Probe, AsTheCallerEveryLayerIsHadOrHasAReasonAndAMend) {
  Report report = probe_after([] { return std::string(); });
  SBX_NEEDS(report);
  for (int i = 0; i < kLayerCount; ++i) {
    const std::string name = layer_name(static_cast<Layer>(i));
    EXPECT_EQ(report[name].empty(), report[name + ".hint"].empty()) << name;
  }
}

TEST(Probe, AnUnprivilegedUserHasWhatRootHasWhereUserNamespacesWork) {
  Report report = probe_after(drop_root);
  SBX_NEEDS(report);
  if (!report["user"].empty()) GTEST_SKIP() << report["user"];
  for (const char* layer : {"mount", "pid", "net", "ipc", "uts", "cgroup", "seccomp"}) {
    EXPECT_EQ(report[layer], "");
  }
}

TEST(Probe, UnderDockersFilterNamespacesAreRefusedAndTheRestStands) {
  Report report = probe_after([] {
    const std::string dropped = drop_root();
    return dropped.empty() ? load_docker_filter() : dropped;
  });
  SBX_NEEDS(report);
  EXPECT_EQ(report["clone3"], "0");
  EXPECT_TRUE(contains(report["user"], "clone(CLONE_NEWUSER): EPERM")) << report["user"];
  EXPECT_TRUE(contains(report["user"], "seccomp filter")) << report["user"];
  EXPECT_TRUE(contains(report["user.hint"], "--security-opt seccomp=")) << report["user.hint"];
  EXPECT_TRUE(contains(report["net"], "unshare(CLONE_NEWNET): EPERM")) << report["net"];
  EXPECT_EQ(report["proc"], "0");
  EXPECT_EQ(report["seccomp"], "");
  EXPECT_EQ(report["landlock"], read_quick_facts(nullptr).obstacle(Layer::kLandlock).reason);
  EXPECT_EQ(report["no_new_privs"], "");
  EXPECT_EQ(report["capabilities"], "");
}

TEST(Probe, ALimitOfZeroIsNamedWithTheSysctlThatMendsIt) {
  Report report = probe_after([] {
    std::string entered = enter_namespaces(0);
    if (!entered.empty()) return entered;
    return std::string(write_text("/proc/sys/user/max_user_namespaces", "0") ? "" : "sysctl");
  });
  SBX_NEEDS(report);
  EXPECT_TRUE(contains(report["user"], "ENOSPC")) << report["user"];
  EXPECT_TRUE(contains(report["user"], "/proc/sys/user/max_user_namespaces is 0"));
  EXPECT_EQ(report["user.hint"], "sudo sysctl -w user.max_user_namespaces=15000");
  EXPECT_EQ(report["seccomp"], "");
}

TEST(Probe, ALimitOfZeroOnOneKindLeavesTheOthers) {
  Report report = probe_after([] {
    std::string entered = enter_namespaces(0);
    if (!entered.empty()) return entered;
    return std::string(write_text("/proc/sys/user/max_net_namespaces", "0") ? "" : "sysctl");
  });
  SBX_NEEDS(report);
  EXPECT_EQ(report["user"], "");
  EXPECT_EQ(report["mount"], "");
  // The limit of the namespace where the child is made counts too, and that is ours.
  EXPECT_TRUE(contains(report["net"], "unshare(CLONE_NEWNET): ENOSPC")) << report["net"];
  EXPECT_EQ(report["net.hint"], "sudo sysctl -w user.max_net_namespaces=15000");
}

// The probes are made one after another, and the namespace of the one before is freed late.
TEST(Probe, ALimitOfOneUserNamespaceIsEnough) {
  Report report = probe_after([] {
    std::string entered = enter_namespaces(0);
    if (!entered.empty()) return entered;
    return std::string(write_text("/proc/sys/user/max_user_namespaces", "1") ? "" : "sysctl");
  });
  SBX_NEEDS(report);
  for (const char* layer : {"user", "mount", "pid", "net", "ipc", "uts", "cgroup"}) {
    EXPECT_EQ(report[layer], "");
  }
}

TEST(Probe, AProcIsNotTakenForMaskedWhereThePidNamespaceIsMissing) {
  Report report = probe_after([] {
    std::string entered = enter_namespaces(0);
    if (!entered.empty()) return entered;
    return std::string(write_text("/proc/sys/user/max_pid_namespaces", "0") ? "" : "sysctl");
  });
  SBX_NEEDS(report);
  EXPECT_TRUE(contains(report["pid"], "ENOSPC")) << report["pid"];
  EXPECT_EQ(report["proc"], "1");
}

TEST(Probe, AProcWhoseSettingsCannotBeWrittenIsMaskedWithoutThePidNamespaceToo) {
  Report report = probe_after([] {
    std::string entered = enter_namespaces(CLONE_NEWNS);
    if (!entered.empty()) return entered;
    if (!write_text("/proc/sys/user/max_pid_namespaces", "0")) return std::string("sysctl");
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("/proc/sys", "/proc/sys", nullptr, MS_BIND | MS_REC, nullptr) != 0 ||
        ::mount(nullptr, "/proc/sys", nullptr,
                MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC,
                nullptr) != 0) {
      return std::string("a mount in /proc/sys");
    }
    return std::string();
  });
  SBX_NEEDS(report);
  EXPECT_EQ(report["proc"], "0");
}

TEST(Probe, AMaskedProcCannotBeMountedAnewAndNothingElseIsLost) {
  Report report = probe_after([] {
    std::string entered = enter_namespaces(CLONE_NEWNS);
    if (!entered.empty()) return entered;
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("/dev/null", "/proc/version", nullptr, MS_BIND, nullptr) != 0) {
      return std::string("mount over /proc/version");
    }
    return std::string();
  });
  SBX_NEEDS(report);
  EXPECT_EQ(report["proc"], "0");
  EXPECT_EQ(report["pid"], "");
  EXPECT_EQ(report["mount"], "");
}

TEST(Probe, AListenerInForceLeavesTheFilterButNoNotifications) {
  Report report = probe_after([] {
    struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, sys::kSeccompRetAllow);
    const struct sock_fprog program = {1, &allow};
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return "no_new_privs";
    return sys::seccomp(sys::kSeccompSetModeFilter, sys::kSeccompFilterFlagNewListener, &program) >=
                   0
               ? ""
               : "a first listener";
  });
  SBX_NEEDS(report);
  EXPECT_EQ(report["filter"], "1");
  EXPECT_EQ(report["notify"], "0");
}

TEST(Probe, SixteenLandlockLayersAreTheEnd) {
  Report report = probe_after([] {
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return "no_new_privs";
    for (int i = 0; i < 16; ++i) {
      const sys::LandlockRulesetAttr attr = {LANDLOCK_ACCESS_FS_MAKE_BLOCK, 0, 0};
      const OwnedFd ruleset(sys::landlock_create_ruleset(attr));
      if (!ruleset.is_open() || sys::landlock_restrict_self(ruleset.get()) != 0) {
        return "landlock_restrict_self";
      }
    }
    return "";
  });
  SBX_NEEDS(report);
  EXPECT_TRUE(contains(report["landlock"], "landlock_restrict_self(): E2BIG"))
      << report["landlock"];
}

TEST(Probe, LeavesTheCallersChildrenAndSignalsAlone) {
  int status = 0;
  const pid_t child = ::fork();
  if (child == 0) ::_exit(7);
  struct sigaction ignore = {};
  ignore.sa_handler = SIG_IGN;
  struct sigaction before = {};
  // With SIGCHLD ignored the kernel reaps by itself; the probe's children must not depend on it.
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(::sigaction(SIGCHLD, &ignore, &before), 0);
  HostFacts facts = read_quick_facts(nullptr);
  probe_layers(facts);
  ASSERT_EQ(::sigaction(SIGCHLD, &before, nullptr), 0);
  EXPECT_FALSE(facts.obstacle(Layer::kNoNewPrivs).present());
  errno = 0;
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG | __WALL), -1) << "a probe's child was left";
  EXPECT_EQ(errno, ECHILD);
}

// --- Causes, as other machines have them ---

struct Case {
  const char* what;
  Layer layer;
  int error;
  HostHints hints;
  const char* reason;
  const char* hint;
};

TEST(Obstacles, NameTheCauseAndTheExactMend) {
  HostHints debian;
  debian.unprivileged_userns_clone = 0;
  HostHints ubuntu;
  ubuntu.apparmor_restricts_userns = 1;
  HostHints confined;
  confined.apparmor_profile = "caller";
  HostHints confined_container = confined;
  confined_container.surroundings = Surroundings::kDocker;
  HostHints docker;
  docker.seccomp_filtered = true;
  docker.surroundings = Surroundings::kDocker;
  HostHints podman = docker;
  podman.surroundings = Surroundings::kPodman;
  HostHints pod = docker;
  pod.surroundings = Surroundings::kKubernetes;
  HostHints filtered = docker;
  filtered.surroundings = Surroundings::kHost;
  HostHints chroot;
  chroot.surroundings = Surroundings::kChroot;
  HostHints no_landlock;
  no_landlock.lsm_known = true;
  const Case cases[] = {
      {"Debian", Layer::kUser, EPERM, debian, "kernel.unprivileged_userns_clone is 0",
       "sudo sysctl -w kernel.unprivileged_userns_clone=1"},
      {"Ubuntu", Layer::kUser, EPERM, ubuntu, "AppArmor restricts user namespaces",
       "sbx-run doctor --apparmor | sudo tee /etc/apparmor.d/sbx-run && "
       "sudo apparmor_parser -r /etc/apparmor.d/sbx-run"},
      {"Ubuntu, after the maps", Layer::kNet, EPERM, ubuntu, "AppArmor restricts",
       "apparmor_parser -r"},
      {"another profile", Layer::kUser, EACCES, confined,
       "AppArmor's profile 'caller' confines sbx-run", "apparmor_parser -r"},
      {"a container's profile", Layer::kUser, EACCES, confined_container,
       "AppArmor's profile 'caller' confines sbx-run", "--security-opt apparmor=unconfined"},
      {"not the profile's doing", Layer::kUser, EPERM, confined, "chroot", "outside of a chroot"},
      {"Docker", Layer::kMount, EPERM, docker, "this container's seccomp filter",
       "--security-opt seccomp="},
      {"podman", Layer::kMount, EPERM, podman, "this container's seccomp filter",
       "podman run --security-opt seccomp=unconfined --security-opt unmask=ALL"},
      {"a pod", Layer::kUser, EPERM, pod, "this container's seccomp filter", "hostUsers: false"},
      {"a filter of nobody's", Layer::kUser, EPERM, filtered, "looks like a container",
       "have its runtime allow clone"},
      {"a chroot", Layer::kUser, EPERM, chroot, "is in a chroot", "outside of the chroot"},
      {"chroot", Layer::kUser, EPERM, {}, "chroot", "outside of a chroot"},
      {"no user namespaces built in", Layer::kUser, EINVAL, {}, "built without", "CONFIG_USER_NS"},
      {"outer limit",
       Layer::kUser,
       ENOSPC,
       {},
       "outer user namespace",
       "user.max_user_namespaces=15000"},
      {"too many processes", Layer::kUser, EAGAIN, {}, "RLIMIT_NPROC", "ulimit -u"},
      {"Landlock off", Layer::kLandlock, EOPNOTSUPP, no_landlock,
       "landlock is not in /sys/kernel/security/lsm", "boot with lsm=landlock,"},
      {"no filters built in",
       Layer::kSeccomp,
       EINVAL,
       {},
       "without seccomp filters",
       "CONFIG_SECCOMP_FILTER=y"},
  };
  for (const Case& one : cases) {
    const Obstacle obstacle = explain(one.layer, {"call(X)", one.error, false}, one.hints);
    EXPECT_EQ(obstacle.sys_errno, one.error);
    EXPECT_TRUE(obstacle.reason.starts_with("call(X): " + errno_text(one.error))) << one.what;
    EXPECT_TRUE(contains(obstacle.reason, one.reason)) << one.what << ": " << obstacle.reason;
    EXPECT_TRUE(contains(obstacle.hint, one.hint)) << one.what << ": " << obstacle.hint;
  }
}

TEST(Obstacles, RootIsNotToldOfLimitsOnUnprivilegedUsers) {
  HostHints hints;
  hints.unprivileged_userns_clone = 0;
  hints.privileged = true;
  const Obstacle obstacle = explain(Layer::kUser, {"call()", EPERM, false}, hints);
  EXPECT_FALSE(contains(obstacle.reason, "unprivileged_userns_clone"));
}

TEST(Obstacles, SuccessIsNoObstacleAndSilenceIsOne) {
  EXPECT_FALSE(explain(Layer::kUser, {"call()", 0, false}, {}).present());
  const Attempt absent{"mount_setattr(the clone)", ENOSYS, false};
  const Obstacle old = explain(Layer::kMount, absent, {});
  EXPECT_TRUE(contains(old.reason, "the kernel is older than 5.13")) << old.reason;
  HostHints filtered;
  filtered.seccomp_filtered = true;
  const Obstacle hidden = explain(Layer::kMount, absent, filtered);
  EXPECT_TRUE(contains(hidden.reason, "a seccomp filter hides the call, or")) << hidden.reason;
  EXPECT_TRUE(contains(hidden.hint, "mount_setattr")) << hidden.hint;
  const Obstacle hung = explain(Layer::kNet, {"call()", 0, true}, {});
  EXPECT_TRUE(contains(hung.reason, "no answer within 2 s"));
}

}  // namespace
}  // namespace sbx
