// SPDX-License-Identifier: Apache-2.0
// Dialer: sockets of the calling process's network namespace, connected without waiting.
#include "gateway/dialer.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/files.h"

namespace sbx {
namespace {

constexpr auto kHeadStart = std::chrono::milliseconds(250);
constexpr auto kLimit = std::chrono::seconds(10);

}  // namespace

void Dialer::start() {
  limit_ = loop_.after(kLimit, [this] { finish({}, {}); });
  try_next();
}

void Dialer::try_next() {
  while (next_ < targets_.size()) {
    if (!begin(targets_[next_++])) continue;
    if (next_ < targets_.size()) head_start_ = loop_.after(kHeadStart, [this] { try_next(); });
    return;
  }
  if (attempts_.empty()) finish({}, {});
}

bool Dialer::begin(const Endpoint& target) {
  auto attempt = std::make_unique<Attempt>();
  attempt->target = target;
  const int family = target.address.is_v6 ? AF_INET6 : AF_INET;
  attempt->socket.reset(socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!attempt->socket.is_open()) return false;
  const SocketAddress address = to_sockaddr(target);
  if (connect(attempt->socket.get(), address.get(), address.length) != 0 && errno != EINPROGRESS) {
    return false;
  }
  Attempt& started = *attempt;
  attempt->watch = loop_.watch(attempt->socket.get(), EPOLLOUT,
                               [this, &started](std::uint32_t) { on_connected(started); });
  if (!attempt->watch.is_on()) return false;
  attempts_.push_back(std::move(attempt));
  // A server on this machine has answered by now: what was accepted is made in the same step.
  if (is_ready(started.socket.get(), POLLOUT)) on_connected(started);
  return true;
}

void Dialer::on_connected(Attempt& attempt) {
  int error = 0;
  socklen_t size = sizeof(error);
  getsockopt(attempt.socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error == 0) {
    attempt.watch.stop();
    const Endpoint target = attempt.target;
    finish(std::move(attempt.socket), target);
    return;
  }
  const auto failed = std::find_if(attempts_.begin(), attempts_.end(),
                                   [&](const auto& each) { return each.get() == &attempt; });
  attempts_.erase(failed);
  try_next();
}

void Dialer::finish(OwnedFd socket, const Endpoint& address) {
  limit_.stop();
  head_start_.stop();
  attempts_.clear();
  next_ = targets_.size();
  done_(std::move(socket), address);
}

}  // namespace sbx
