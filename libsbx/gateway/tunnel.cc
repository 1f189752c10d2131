// SPDX-License-Identifier: Apache-2.0
// The head of the answer is looked at before it is taken, so that its end is found exactly.
#include "gateway/tunnel.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <string_view>
#include <utility>

#include "base/ascii.h"

namespace sbx {
namespace {

constexpr auto kLimit = std::chrono::seconds(30);  // the proxy may wait for the server
constexpr std::string_view kHeadEnd = "\r\n\r\n";

std::string connect_request(const std::string& destination, const std::string& authorization) {
  std::string text = "CONNECT " + destination + " HTTP/1.1\r\nHost: " + destination + "\r\n";
  if (!authorization.empty()) text += "Proxy-Authorization: Basic " + authorization + "\r\n";
  return text + "\r\n";
}

// "200" of "HTTP/1.1 200 Connection established"; empty: it is no HTTP.
std::string_view status_of(std::string_view head) {
  constexpr std::string_view kVersion = "HTTP/1.";
  if (!head.starts_with(kVersion) || head.size() < kVersion.size() + 5) return {};
  const std::string_view status = head.substr(kVersion.size() + 2, 3);
  const bool is_number = std::all_of(status.begin(), status.end(), is_digit);
  return is_number ? status : std::string_view();
}

}  // namespace

Tunnel::Tunnel(Loop& loop, OwnedFd proxy, const std::string& destination,
               const std::string& authorization, OnDone done)
    : loop_(loop),
      proxy_(std::move(proxy)),
      request_(connect_request(destination, authorization)),
      done_(std::move(done)) {}

void Tunnel::start() {
  limit_ = loop_.after(kLimit, [this] { finish("no answer"); });
  watch_ = loop_.watch(proxy_.get(), EPOLLIN | EPOLLOUT,
                       [this](std::uint32_t events) { on_ready(events); });
  if (!watch_.is_on()) finish("epoll_ctl failed");
}

void Tunnel::on_ready(std::uint32_t events) {
  if (written_ < request_.size() && !write_some()) return finish("the connection was lost");
  if ((events & ~std::uint32_t{EPOLLOUT}) != 0) read_some();
}

bool Tunnel::write_some() {
  const ssize_t size = send(proxy_.get(), request_.data() + written_, request_.size() - written_,
                            MSG_NOSIGNAL | MSG_DONTWAIT);
  if (size < 0) return errno == EAGAIN || errno == EINTR;
  written_ += static_cast<std::size_t>(size);
  if (written_ == request_.size()) watch_.want(EPOLLIN);
  return true;
}

void Tunnel::read_some() {
  std::array<char, 4096> chunk;  // filled by recv
  const ssize_t size = recv(proxy_.get(), chunk.data(), chunk.size(), MSG_PEEK | MSG_DONTWAIT);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size <= 0) return finish("the connection was lost");
  const std::size_t had = head_.size();
  head_.append(chunk.data(), static_cast<std::size_t>(size));
  const std::size_t end = head_.find(kHeadEnd, had - std::min(had, kHeadEnd.size()));
  const bool is_whole = end != std::string::npos;
  if (is_whole) head_.resize(end + kHeadEnd.size());
  // What was looked at is there.
  if (recv(proxy_.get(), chunk.data(), head_.size() - had, MSG_DONTWAIT) < 0) {
    return finish("the connection was lost");
  }
  if (is_whole) return judge();
  if (head_.size() > kMostHeadBytes) finish("too long an answer");
}

void Tunnel::judge() {
  const std::string_view status = status_of(head_);
  if (status.empty()) return finish("its answer is no HTTP");
  if (status.starts_with('1')) return head_.clear();  // the final one follows
  finish(status.starts_with('2') ? "" : "it answered " + std::string(status));
}

void Tunnel::finish(const std::string& why) {
  limit_.stop();
  watch_.stop();
  if (!why.empty()) proxy_.reset();
  done_(std::move(proxy_), why);
}

}  // namespace sbx
