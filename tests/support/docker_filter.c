// SPDX-License-Identifier: Apache-2.0
// docker_filter PROGRAM [ARG…]: executes it under a filter that answers as Docker's default one
// does to a container without capabilities: no namespaces, no mounts (EPERM), no clone3 (ENOSYS).
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define ANSWER(error) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error))
#define REFUSE(number, error) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1), ANSWER(error)

int main(int argc, char** argv) {
  struct sock_filter program[] = {
      LOAD(nr),
      REFUSE(SYS_clone3, ENOSYS),
      REFUSE(SYS_unshare, EPERM),
      REFUSE(SYS_setns, EPERM),
      REFUSE(SYS_mount, EPERM),
      REFUSE(SYS_umount2, EPERM),
      REFUSE(SYS_pivot_root, EPERM),
      REFUSE(SYS_chroot, EPERM),
      REFUSE(SYS_open_tree, EPERM),
      REFUSE(SYS_move_mount, EPERM),
      REFUSE(SYS_fsopen, EPERM),
      REFUSE(SYS_mount_setattr, EPERM),
      REFUSE(SYS_bpf, EPERM),
      // clone(2) with a flag of a namespace.
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3),
      LOAD(args[0]),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K,
               CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |
                   CLONE_NEWPID | CLONE_NEWNET,
               0, 1),
      ANSWER(EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const struct sock_fprog filter = {sizeof program / sizeof program[0], program};
  if (argc < 2) {
    fprintf(stderr, "docker_filter: name a program\n");
    return 2;
  }
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
    perror("docker_filter: seccomp");
    return 2;
  }
  execvp(argv[1], argv + 1);
  perror(argv[1]);
  return 127;
}
