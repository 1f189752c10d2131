// SPDX-License-Identifier: Apache-2.0
// Tries one way out of the sandbox for each argument and prints "NAME: ok" or "NAME: ERRNO". It
// changes nothing where a try succeeds: every process that gets somewhere ends at once.
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int in_child(int (*attempt)(void)) {
  const pid_t pid = fork();
  if (pid == 0) {
    errno = 0;
    _exit(attempt() == 0 ? 0 : errno == 0 ? EIO : errno);
  }
  int status = 0;
  if (pid < 0 || waitpid(pid, &status, 0) != pid) return EIO;
  return WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
}

static int try_mount(void) { return mount("none", "/tmp", "tmpfs", 0, NULL); }
static int try_umount(void) { return umount2("/proc", MNT_DETACH); }
static int try_remount(void) { return mount(NULL, "/usr", NULL, MS_REMOUNT | MS_BIND, NULL); }
static int try_pivot(void) { return (int)syscall(SYS_pivot_root, "/tmp", "/tmp"); }
static int try_chroot(void) { return chroot("/tmp"); }
static int try_open_tree(void) { return (int)syscall(428, AT_FDCWD, "/", 1) < 0 ? -1 : 0; }
static int try_fsopen(void) { return (int)syscall(430, "tmpfs", 0) < 0 ? -1 : 0; }
static int try_mount_setattr(void) {
  unsigned long long attr[4] = {0, 1, 0, 0};  // clears MOUNT_ATTR_RDONLY
  return (int)syscall(442, AT_FDCWD, "/", 0x8000, attr, sizeof attr);
}
static int try_userns(void) { return unshare(CLONE_NEWUSER); }
static int try_mountns(void) { return unshare(CLONE_NEWNS); }
static int try_clone_userns(void) {
  const long pid = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL);
  if (pid == 0) _exit(0);
  return pid < 0 ? -1 : 0;
}
static int try_setns(void) {
  const int fd = open("/proc/1/ns/mnt", O_RDONLY);
  return fd < 0 ? -1 : setns(fd, 0);
}
static int try_mknod(void) { return mknod("/tmp/device", S_IFCHR | 0600, 0x103); }
static int try_handle(void) {
  struct {
    struct file_handle head;
    unsigned char bytes[128];
  } handle;
  memset(&handle, 0, sizeof handle);
  handle.head.handle_bytes = 8;
  handle.head.handle_type = 1;
  handle.bytes[0] = 2;  // the root inode of ext4
  const int at = open("/", O_RDONLY | O_DIRECTORY);
  return open_by_handle_at(at, &handle.head, O_RDONLY) < 0 ? -1 : 0;
}
static int try_ptrace_init(void) { return (int)ptrace(PTRACE_ATTACH, 1, NULL, NULL); }
static int try_root_of_init(void) { return open("/proc/1/root/etc/shadow", O_RDONLY) < 0 ? -1 : 0; }
static int try_root_of_parent(void) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%s/root/etc/hostname",
           getenv("OUTER") ? getenv("OUTER") : "1");
  return open(path, O_RDONLY) < 0 ? -1 : 0;
}
static int try_signal_outer(void) {
  const char* pid = getenv("OUTER");
  return pid == NULL ? -1 : kill((pid_t)strtol(pid, NULL, 10), 0);
}
static int try_keyring(void) { return syscall(SYS_keyctl, 0, -3, 0) < 0 ? -1 : 0; }
static int try_tcp(void) {
  struct sockaddr_in to;
  memset(&to, 0, sizeof to);
  to.sin_family = AF_INET;
  to.sin_port = htons((unsigned short)strtol(getenv("PORT") ? getenv("PORT") : "9", NULL, 10));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  return fd < 0 ? -1 : connect(fd, (struct sockaddr*)&to, sizeof to);
}
static int try_udp(void) {
  struct sockaddr_in to;
  memset(&to, 0, sizeof to);
  to.sin_family = AF_INET;
  to.sin_port = htons((unsigned short)strtol(getenv("PORT") ? getenv("PORT") : "9", NULL, 10));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int fd = socket(AF_INET, SOCK_DGRAM, 0);
  if (fd < 0) return -1;
  return sendto(fd, "x", 1, 0, (struct sockaddr*)&to, sizeof to) == 1 ? 0 : -1;
}
static int try_fast_open(void) {
  struct sockaddr_in to;
  memset(&to, 0, sizeof to);
  to.sin_family = AF_INET;
  to.sin_port = htons((unsigned short)strtol(getenv("PORT") ? getenv("PORT") : "9", NULL, 10));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (fd < 0) return -1;
  return sendto(fd, "x", 1, MSG_FASTOPEN, (struct sockaddr*)&to, sizeof to) == 1 ? 0 : -1;
}
static int try_exchange(void) {
  return (int)syscall(SYS_renameat2, AT_FDCWD, getenv("FROM"), AT_FDCWD, getenv("TO"),
                      RENAME_EXCHANGE);
}

static const struct {
  const char* name;
  int (*attempt)(void);
} kAttempts[] = {
    {"mount", try_mount},
    {"umount", try_umount},
    {"remount", try_remount},
    {"pivot_root", try_pivot},
    {"chroot", try_chroot},
    {"open_tree", try_open_tree},
    {"fsopen", try_fsopen},
    {"mount_setattr", try_mount_setattr},
    {"userns", try_userns},
    {"mountns", try_mountns},
    {"clone_userns", try_clone_userns},
    {"setns", try_setns},
    {"mknod", try_mknod},
    {"handle", try_handle},
    {"ptrace_init", try_ptrace_init},
    {"root_of_init", try_root_of_init},
    {"root_of_outer", try_root_of_parent},
    {"signal_outer", try_signal_outer},
    {"keyring", try_keyring},
    {"tcp", try_tcp},
    {"udp", try_udp},
    {"fast_open", try_fast_open},
    {"exchange", try_exchange},
};

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    int result = ENOTSUP;
    for (size_t k = 0; k < sizeof kAttempts / sizeof kAttempts[0]; ++k) {
      if (strcmp(argv[i], kAttempts[k].name) == 0) result = in_child(kAttempts[k].attempt);
    }
    printf("%s: %s\n", argv[i], result == 0 ? "ok" : strerrorname_np(result));
  }
  return 0;
}
