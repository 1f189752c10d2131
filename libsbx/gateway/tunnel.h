// SPDX-License-Identifier: Apache-2.0
// Tunnel: a connection to an upstream HTTP proxy → one through it, made with CONNECT (RFC 9110,
// 9.3.6). Never blocks, and reads nothing that comes behind the proxy's answer.
#pragma once

#include <functional>
#include <string>

#include "base/loop.h"
#include "base/owned_fd.h"

namespace sbx {

class Tunnel {
 public:
  // A socket that is not open: `why` there is none. Must not destroy the tunnel; bury it.
  using OnDone = std::function<void(OwnedFd socket, const std::string& why)>;

  // `destination`: "name:port"; `authorization` may be empty.
  Tunnel(Loop& loop, OwnedFd proxy, const std::string& destination,
         const std::string& authorization, OnDone done);
  void start();

  static constexpr std::size_t kMostHeadBytes = 16384;

 private:
  void on_ready(std::uint32_t events);
  bool write_some();
  void read_some();
  void judge();
  void finish(const std::string& why);

  Loop& loop_;
  OwnedFd proxy_;
  std::string request_;
  std::size_t written_ = 0;
  std::string head_;  // of the answer
  OnDone done_;
  Loop::Watch watch_;
  Loop::Timer limit_;
};

}  // namespace sbx
