// SPDX-License-Identifier: Apache-2.0
// The child installs the filter itself and hands the listener over before it works.
#include "trace/filtered.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstring>

#include "sys/kernel.h"

namespace sbx::test {
namespace {

constexpr std::uint32_t kUserNotif = 0x7fc00000U;

int install(const std::vector<int>& calls) {
  std::vector<sock_filter> program;
#if defined(__x86_64__)
  program.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(sys::SeccompData, arch)));
  program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0));
  program.push_back(BPF_STMT(BPF_RET | BPF_K, kUserNotif));
#endif
  program.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(sys::SeccompData, nr)));
  for (const int number : calls) {
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(number), 0, 1));
    program.push_back(BPF_STMT(BPF_RET | BPF_K, kUserNotif));
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, sys::kSeccompRetAllow));
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  return static_cast<int>(syscall(SYS_seccomp, sys::kSeccompSetModeFilter,
                                  sys::kSeccompFilterFlagNewListener, &filter));
}

// One byte, and the descriptor where there is one.
void send_descriptor(int channel, int fd) {
  char byte = 0;
  iovec text{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &text;
  message.msg_iovlen = 1;
  if (fd >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  }
  sendmsg(channel, &message, 0);
}

OwnedFd receive_descriptor(int channel) {
  char byte = 0;
  iovec text{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &text;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  if (recvmsg(channel, &message, MSG_CMSG_CLOEXEC) != 1) return {};
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS) return {};
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
  return OwnedFd(fd);
}

}  // namespace

Filtered::Filtered(const std::vector<int>& calls, const std::function<int()>& work) {
  int ends[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return;
  const OwnedFd ours(ends[0]);
  OwnedFd theirs(ends[1]);
  pid_ = fork();
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    // Where Yama asks: by processes that are made here, not above it.
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    const int listener = install(calls);
    send_descriptor(theirs.get(), listener);
    close(listener);  // or whoever waits for the last one waits for ever
    _exit(listener < 0 ? 255 : work());
  }
  theirs.reset();
  listener_ = receive_descriptor(ours.get());
}

Filtered::~Filtered() {
  if (status_ || pid_ < 0) return;
  kill();
  waitpid(pid_, nullptr, 0);
}

void Filtered::kill() { ::kill(pid_, SIGKILL); }

std::optional<int> Filtered::ended() {
  int status = 0;
  if (!status_ && waitpid(pid_, &status, WNOHANG) == pid_) {
    status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  return status_;
}

int Filtered::serve(const std::function<std::vector<int>()>& descriptors,
                    const std::function<void()>& step) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (std::chrono::steady_clock::now() < until) {
    std::vector<pollfd> waiting;
    for (const int fd : descriptors()) {
      if (fd >= 0) waiting.push_back({fd, POLLIN, 0});
    }
    poll(waiting.data(), waiting.size(), 10);
    step();
    if (const auto status = ended()) return *status;
  }
  return -1;
}

void set_own_name(const std::string& name) { prctl(PR_SET_NAME, name.c_str()); }

}  // namespace sbx::test
