// SPDX-License-Identifier: Apache-2.0
// reference WORKSPACE PROGRAM [ARG…]: the least that a sandbox of sbx's strength costs on a kernel.
// One fixed policy, no options, no answer: seven namespaces, a private root, PID 1, Landlock, no
// capabilities, a prebuilt filter, exec. What sbx-run takes beyond it is what sbx-run is measured
// for. A measuring stick, not a sandbox to use. Exit status: the program's, 128+N for signal N, 125
// when a step fails (stderr names it).
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "reference_filter.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define CHECK(call)                                                          \
  do {                                                                       \
    if ((call) < 0) {                                                        \
      dprintf(STDERR_FILENO, "reference: %s: %s\n", #call, strerror(errno)); \
      _exit(125);                                                            \
    }                                                                        \
  } while (0)

enum {
  kNamespaces = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC |
                CLONE_NEWUTS | CLONE_NEWCGROUP,
  kEveryFileRight = 0xffff,  // Landlock ABI 5: up to IOCTL_DEV
  kReadAndExecute =
      LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR,
  kBothScopes = 3,  // ABI 6: abstract Unix sockets, signals
  kCloseRangeCloexec = 4,
};

// The headers of Linux 6.1 know only the first field.
struct ruleset_attr {
  unsigned long long fs, net, scoped;
};

static const char* const kReadOnlyTrees[] = {"usr", "etc", "opt", "var", "srv", "boot", "media"};
static const char* const kDevices[] = {"null", "zero", "full", "random", "urandom", "tty"};
static const char* const kReadable[] = {"/usr",       "/usr/bin",   "/usr/lib",
                                        "/usr/share", "/usr/local", "/usr/include",
                                        "/etc",       "/etc/ssl",   "/etc/alternatives",
                                        "/opt",       "/var",       "/var/lib",
                                        "/srv",       "/boot",      "/media",
                                        "/sys"};
static const char* const kWritable[] = {"/dev", "/proc", "/tmp", "/work"};

static void write_file(const char* path, const char* text) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  CHECK(fd);
  CHECK(write(fd, text, strlen(text)));
  close(fd);
}

static void map_one_id(const char* path, unsigned id) {
  char line[64];
  snprintf(line, sizeof line, "%u %u 1\n", id, id);
  write_file(path, line);
}

static void bind_tree(const char* from, const char* to, unsigned long kind, unsigned long flags) {
  CHECK(mount(from, to, NULL, MS_BIND | kind, NULL));
  CHECK(mount(NULL, to, NULL, MS_BIND | MS_REMOUNT | MS_NOSUID | flags, NULL));
}

static void bind_system(void) {
  char from[64];
  for (unsigned i = 0; i < COUNT(kReadOnlyTrees); i++) {
    snprintf(from, sizeof from, "/%s", kReadOnlyTrees[i]);
    mkdir(kReadOnlyTrees[i], 0755);
    bind_tree(from, kReadOnlyTrees[i], 0, MS_RDONLY);
  }
  // Without MS_REC the mounts below /sys would have to be uncovered, which the kernel refuses.
  mkdir("sys", 0755);
  bind_tree("/sys", "sys", MS_REC, MS_RDONLY | MS_NODEV | MS_NOEXEC);
}

static void bind_devices(void) {
  char from[64];
  mkdir("dev", 0755);
  for (unsigned i = 0; i < COUNT(kDevices); i++) {
    snprintf(from, sizeof from, "/dev/%s", kDevices[i]);
    const int fd = open(from + 1, O_CREAT | O_WRONLY | O_CLOEXEC, 0666);
    CHECK(fd);
    close(fd);
    bind_tree(from, from + 1, 0, 0);
  }
}

static void build_root(const char* workspace) {
  char workspace_path[32];
  const int workspace_fd = open(workspace, O_PATH | O_DIRECTORY | O_CLOEXEC);  // may be below /tmp
  CHECK(workspace_fd);
  snprintf(workspace_path, sizeof workspace_path, "/proc/self/fd/%d", workspace_fd);
  CHECK(mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL));
  CHECK(mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "size=16m,mode=755"));
  CHECK(chdir("/tmp"));
  bind_system();
  bind_devices();
  mkdir("work", 0755);
  mkdir("tmp", 0755);
  mkdir("proc", 0755);
  mkdir("dev/pts", 0755);
  mkdir("dev/shm", 0755);
  bind_tree(workspace_path, "work", 0, 0);
  close(workspace_fd);
  CHECK(symlink("usr/bin", "bin"));
  CHECK(symlink("usr/sbin", "sbin"));
  CHECK(symlink("usr/lib", "lib"));
  CHECK(symlink("usr/lib64", "lib64"));
  CHECK(mount("tmpfs", "tmp", "tmpfs", MS_NOSUID | MS_NODEV, "size=256m"));
  CHECK(mount("tmpfs", "dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "size=64m"));
  CHECK(mount("proc", "proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL));
  CHECK(mount("devpts", "dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
              "newinstance,ptmxmode=0666,mode=620"));
  CHECK(syscall(SYS_pivot_root, ".", "."));
  CHECK(umount2(".", MNT_DETACH));
  CHECK(chdir("/work"));
}

static void loopback_up(void) {
  struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP};
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  CHECK(fd);
  CHECK(ioctl(fd, SIOCSIFFLAGS, &request));
  close(fd);
}

static void add_rule(int ruleset, const char* path, unsigned long long access) {
  struct landlock_path_beneath_attr rule = {access, open(path, O_PATH | O_CLOEXEC)};
  CHECK(rule.parent_fd);
  CHECK(syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0));
  close(rule.parent_fd);
}

static void apply_landlock(void) {
  struct ruleset_attr attr = {kEveryFileRight, 0, kBothScopes};
  const int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof attr, 0);
  CHECK(ruleset);
  for (unsigned i = 0; i < COUNT(kReadable); i++) add_rule(ruleset, kReadable[i], kReadAndExecute);
  for (unsigned i = 0; i < COUNT(kWritable); i++) add_rule(ruleset, kWritable[i], kEveryFileRight);
  CHECK(syscall(SYS_landlock_restrict_self, ruleset, 0));
  close(ruleset);
}

static void drop_capabilities(void) {
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct none[2] = {{0, 0, 0}, {0, 0, 0}};
  for (int cap = 0; cap <= CAP_LAST_CAP; cap++) prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
  CHECK(syscall(SYS_capset, &header, none));
}

static int status_of(int wait_status) {
  return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

static _Noreturn void run_payload(char** argv) {
  struct sock_fprog program = {COUNT(reference_filter), reference_filter};
  CHECK(setsid());
  CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
  apply_landlock();
  drop_capabilities();
  CHECK(syscall(SYS_close_range, 3U, ~0U, kCloseRangeCloexec));
  CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program));
  execvp(argv[0], argv);
  _exit(127);
}

static _Noreturn void run_init(unsigned uid, unsigned gid, char** argv) {
  CHECK(prctl(PR_SET_PDEATHSIG, SIGKILL));
  write_file("/proc/self/setgroups", "deny");
  map_one_id("/proc/self/uid_map", uid);
  map_one_id("/proc/self/gid_map", gid);
  build_root(argv[1]);
  loopback_up();
  CHECK(sethostname("sandbox", 7));
  CHECK(prctl(PR_SET_DUMPABLE, 0));  // or the payload, of the same uid, could trace it
  const pid_t payload = fork();
  CHECK(payload);
  if (payload == 0) run_payload(argv + 2);
  for (;;) {
    int status = 0;
    if (waitpid(-1, &status, 0) == payload) _exit(status_of(status));
  }
}

int main(int argc, char** argv) {
  if (argc < 3) {
    dprintf(STDERR_FILENO, "usage: reference WORKSPACE PROGRAM [ARG...]\n");
    return 125;
  }
  const unsigned uid = getuid();
  const unsigned gid = getgid();
  const pid_t init = (pid_t)syscall(SYS_clone, kNamespaces | SIGCHLD, 0, 0, 0, 0);
  CHECK(init);
  if (init == 0) run_init(uid, gid, argv);
  int status = 0;
  CHECK(waitpid(init, &status, 0));
  return status_of(status);
}
