// SPDX-License-Identifier: Apache-2.0
// Realm: one policy of the session: its rules, its credentials and the renewal of their values, its
// authority. A connection belongs to one realm, as the supervisor says, and has no way to another.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/loop.h"
#include "base/owned_fd.h"
#include "http/judge.h"
#include "http/start.h"

namespace sbx::http {

class Service;

class Realm : public Context {
 public:
  Realm(Service& service, std::size_t number, Started started);

  Loop& loop() override;
  const Rules& rules() const override { return rules_; }
  Credentials& credentials() override { return credentials_; }
  Authority& authority() override { return *authority_; }
  void tell_exchange(const Peer& peer, std::size_t number, const HttpExchange& exchange) override;
  void tell_denial(const Peer& peer, const std::string& operation, const std::string& target,
                   const std::string& grant) override;
  std::uint64_t ask(const Peer& peer, const Judged& judged, const std::string& size,
                    Answer answer) override;
  void withdraw(std::uint64_t question) override;
  void renew_values(const Peer& peer, std::function<void()> then) override;

  // What the command of that credential has printed; whether it has ended well.
  void take_renewal(std::size_t index, bool is_good, OwnedFd pipe);

 private:
  using Clock = std::chrono::steady_clock;
  // Of a credential whose command is run again.
  struct Renewal {
    Clock::time_point read_at;
    bool is_asked = false;
    OwnedFd pipe;
    std::string text;
    Loop::Watch watch;
    Loop::Timer limit;
    std::vector<std::pair<Peer, std::function<void()>>> waiting;
  };
  void read_renewal(std::size_t index);
  void end_renewal(std::size_t index, const std::string& failure);

  Service& service_;
  std::size_t number_;
  Rules rules_;
  Credentials credentials_;
  std::unique_ptr<Authority> authority_;
  OwnedFd state_;
  std::vector<Renewal> renewals_;
};

}  // namespace sbx::http
