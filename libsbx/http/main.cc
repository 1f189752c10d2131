// SPDX-License-Identifier: Apache-2.0
// sbx-http: started by sbx-run, with its end of a control socket as descriptor 3. It is of no use
// to anybody else.
#include <fcntl.h>
#include <openssl/crypto.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <array>
#include <cstdio>
#include <string>

#include "base/text.h"
#include "http/service.h"
#include "http/start.h"
#include "jail/jail.h"
#include "launch/descriptors.h"

namespace {

using sbx::OwnedFd;

constexpr int kControl = 3;

// 4,096 quiet connections take some 150 MB; one whose buffers are all full takes 1 MB, over HTTP/2
// at most some 7.
constexpr rlimit kMostMemory{1U << 30, 1U << 30};

constexpr auto kCalls = std::to_array<int>({
    SYS_read,           SYS_write,
    SYS_readv,          SYS_writev,
    SYS_recvfrom,       SYS_sendto,
    SYS_recvmsg,        SYS_sendmsg,
    SYS_close,          SYS_shutdown,
    SYS_epoll_pwait,    SYS_epoll_ctl,
    SYS_ppoll,          SYS_munmap,
    SYS_mremap,         SYS_brk,
    SYS_madvise,        SYS_futex,
    SYS_clock_gettime,  SYS_gettimeofday,
    SYS_getrandom,      SYS_rt_sigreturn,
    SYS_rt_sigprocmask, SYS_rt_sigaction,
    SYS_exit,           SYS_exit_group,
    SYS_getpid,         SYS_gettid,
    SYS_getsockopt,     SYS_restart_syscall,
    SYS_sched_yield,    SYS_clock_nanosleep,
    SYS_lseek,
#ifdef SYS_epoll_wait
    SYS_epoll_wait,     SYS_poll,
    SYS_time,
#endif
});

sbx::Status serve(OwnedFd control) {
  std::string text(4096, '\0');
  sbx::FdMessage<3> message(text.data(), text.size());
  const ssize_t size = message.receive(control.get());
  if (size <= 0) return {};
  text.resize(static_cast<std::size_t>(size));
  const std::vector<std::string_view> words = sbx::split(text, '\0');
  int fds[3];
  if (words[0] != "S" || words.size() != 3 || message.take(fds) != 3) return {};
  const auto parent = sbx::parse_count(words[2], INT32_MAX);
  SBX_CHECK_OK(sbx::close_off(static_cast<pid_t>(parent.value_or(0))));
  auto started =
      sbx::http::start({std::string(words[1]), OwnedFd(fds[0]), OwnedFd(fds[1]), OwnedFd(fds[2])});
  if (!started.ok()) {
    const sbx::Error& error = started.error();
    sbx::http::send_words(control.get(), {"E", error.where, error.message, error.hint});
    return {};
  }
  sbx::http::Started& made = started.value();
  sbx::http::Words ready{"R", std::to_string(made.bundle_size),
                         std::to_string(made.secrets.size())};
  for (const auto& secret : made.secrets) {
    ready.push_back(secret.text.name);
    ready.push_back(secret.placeholder);
  }
  ready.insert(ready.end(), made.dropped.begin(), made.dropped.end());
  const int socket = control.get();
  sbx::OwnedFd bundle = std::move(made.bundle);
  sbx::http::Service service(std::move(control));
  service.add_policy(std::move(made));
  setrlimit(RLIMIT_DATA, &kMostMemory);  // refused only where a lower one is in force
  sbx::Status jailed = service.open();
  if (jailed.ok()) jailed = sbx::enter_jail(kCalls);
  if (!jailed.ok()) {
    sbx::http::send_words(socket, {"E", "", jailed.error().message, jailed.error().hint});
    return jailed;
  }
  sbx::http::send_words(socket, ready, bundle.get());
  bundle.reset();
  service.run();
  return {};
}

}  // namespace

int main() {
  signal(SIGPIPE, SIG_IGN);
  int type = 0;
  socklen_t size = sizeof type;
  if (getsockopt(kControl, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_SEQPACKET) {
    dprintf(STDERR_FILENO, "sbx-http is started by sbx-run, for profiles with network.http\n");
    return 125;
  }
  fcntl(kControl, F_SETFD, FD_CLOEXEC);
  OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_LOAD_CRYPTO_STRINGS, nullptr);
  return serve(OwnedFd(kControl)).ok() ? 0 : 125;
}
