// SPDX-License-Identifier: Apache-2.0
// Service: the supervisor's messages → connections, and back what has happened to them.
//
// A message is words with a NUL between them, the first of one letter. From the supervisor:
//   S trust_path pid                    + rules, environment, state: what to start with
//   N 0                                 + rules, state: a further policy, started by another one
//   C id policy name port               + the client's socket, the server's
//   F id                                its client is gone: hand on what it wrote, and end
//   W id                                no further request of it goes on
//   P 0                                 are you there
//   Q question 1|0                      the operator's answer
//   V policy index 1|0                  + a pipe with the output of a command that has ended, well
//   or not
// To it:
//   E where message hint                it cannot start
//   R size count (name placeholder)… dropped…  + the trust bundle of that size, Java's store: ready
//   T id                                taken; Z without it: it cannot be
//   X id number time method host path status sent received rule
//   D id operation target grant
//   Z id bytes_out bytes_in             the connection has ended
//   O 0                                 I am here
//   A id question method url size rule  may it
//   B question                          it does not wait any more
//   V policy index                      run that command anew
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/loop.h"
#include "base/owned_fd.h"
#include "http/connection.h"
#include "http/judge.h"
#include "http/realm.h"

namespace sbx::http {

using Words = std::vector<std::string>;
bool send_words(int socket, const Words& words, int fd = -1);

class Service {
 public:
  explicit Service(OwnedFd control) : control_(std::move(control)) {}
  // They are numbered from 0 on.
  void add_policy(Started started);
  // Until the supervisor goes. Errors: kSetupFailed.
  Status open();
  void run();

  Loop& loop() { return loop_; }
  void say(Words words);
  std::uint64_t ask(std::uint32_t connection, const Judged& judged, const std::string& size,
                    Context::Answer answer);
  void withdraw(std::uint64_t question);

 private:
  struct Question {
    Context::Answer answer;
    Loop::Timer limit;
  };

  void on_control();
  bool take_message();
  void add_policy(const OwnedFd& rules, OwnedFd state);
  void add(const Words& words, OwnedFd client, OwnedFd server);
  void answer(std::uint64_t question, bool is_allowed);
  void flush();

  OwnedFd control_;
  Loop loop_;
  Loop::Watch watch_;
  bool is_over_ = false;
  std::deque<Words> unsent_;
  std::vector<std::unique_ptr<Realm>> realms_;
  std::map<std::uint32_t, std::shared_ptr<Connection>> connections_;
  std::map<std::uint64_t, Question> questions_;
  std::uint64_t next_question_ = 1;
};

}  // namespace sbx::http
