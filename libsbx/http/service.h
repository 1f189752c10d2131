// SPDX-License-Identifier: Apache-2.0
// Service: the supervisor's messages → connections, and back what has happened to them.
//
// A message is words with a NUL between them, the first of one letter. From the supervisor:
//   S trust_path pid                    + rules, environment, state: what to start with
//   C id name port                      + the client's socket, the server's
//   P 0                                 are you there
//   Q question 1|0                      the operator's answer
//   V index                             + a pipe that a command's output comes from
// To it:
//   E where message hint                it cannot start
//   R size count (name placeholder)… dropped…  + the trust bundle of that size, Java's store: ready
//   T id                                taken
//   X id number time method host path status sent received rule
//   D id operation target grant
//   Z id bytes_out bytes_in             the connection has ended
//   O 0                                 I am here
//   A question method url size rule     may it
//   V index                             run that command anew
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/loop.h"
#include "base/owned_fd.h"
#include "http/connection.h"
#include "http/judge.h"
#include "profile/profile.h"

namespace sbx::http {

using Words = std::vector<std::string>;
bool send_words(int socket, const Words& words, int fd = -1);

class Service : public Context {
 public:
  Service(const NetworkProfile& network, Credentials credentials,
          std::unique_ptr<Authority> authority, OwnedFd control);
  // Until the supervisor goes. Errors: kSetupFailed.
  Status open();
  void run();

  Loop& loop() override { return loop_; }
  const Rules& rules() const override { return rules_; }
  Credentials& credentials() override { return credentials_; }
  Authority& authority() override { return *authority_; }
  void tell_exchange(const Peer& peer, std::size_t number, const HttpExchange& exchange) override;
  void tell_denial(const Peer& peer, const std::string& operation, const std::string& target,
                   const std::string& grant) override;
  void ask(const Peer& peer, const Judged& judged, const std::string& size, Answer answer) override;
  void renew_values(const Peer& peer, std::function<void()> then) override;

 private:
  using Clock = std::chrono::steady_clock;
  struct Question {
    Answer answer;
    Loop::Timer limit;
  };
  // Of a credential whose command is run again.
  struct Renewal {
    Clock::time_point read_at;
    bool is_asked = false;
    OwnedFd pipe;
    std::string text;
    Loop::Watch watch;
    Loop::Timer limit;
    std::vector<std::function<void()>> waiting;
  };

  void on_control();
  bool take_message();
  void add(const Words& words, OwnedFd client, OwnedFd server);
  void answer(std::uint64_t question, bool is_allowed);
  void say(Words words);
  void flush();
  void read_renewal(std::size_t index);
  void end_renewal(std::size_t index);

  Rules rules_;
  Credentials credentials_;
  std::unique_ptr<Authority> authority_;
  OwnedFd control_;
  Loop loop_;
  Loop::Watch watch_;
  bool is_over_ = false;
  std::deque<Words> unsent_;
  std::map<std::uint32_t, std::shared_ptr<Connection>> connections_;
  std::map<std::uint64_t, Question> questions_;
  std::uint64_t next_question_ = 1;
  std::vector<Renewal> renewals_;
};

}  // namespace sbx::http
