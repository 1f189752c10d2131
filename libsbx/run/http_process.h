// SPDX-License-Identifier: Apache-2.0
// HttpProcess: the one sbx-http of a session, seen from the supervisor. It is started with the
// first policy that needs it and the operator's environment, told of further policies, handed
// connections together with the policy that they are under, asked whether it still answers, and
// replaced when it does not. This process never has a secret that it did not have already: what a
// new one needs of the old one's (the authority's key, values, placeholders) lies in a file in
// memory for each policy that only these read.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/loop.h"
#include "base/owned_fd.h"
#include "base/result.h"
#include "gateway/http_gate.h"
#include "policy/environment.h"
#include "policy/http.h"

namespace sbx {

// What a rule asks the operator about.
struct HttpQuestion {
  std::string method;
  std::string url;   // without the query
  std::string size;  // of the body, in bytes; empty: not known
  std::string rule;  // JSON pointer

  std::string_view host() const;  // with the port where it is not the scheme's own
  std::string_view path() const;
};

// What the sources that are files hold, without a final newline: of credentials that nobody uses,
// so that what cannot be read, or is no secret's size, holds nothing.
std::vector<std::string> values_in_files(const std::vector<Credential>& credentials);

class HttpProcess;

// What it makes of one policy: what the sandboxes of that are shown, and which of their connections
// it reads, by the rules of that and no other.
class HttpPolicy : public HttpSession, public HttpGate {
 public:
  HttpPolicy(HttpProcess& process, std::size_t number, const NetworkProfile& network);

  HttpProcess& process() const { return process_; }
  bool covers(std::string_view name, int port) const override;
  bool covers_name(std::string_view name) const override;
  std::vector<HostRule> hosts_at(int port) const override;
  std::uint32_t hand_over(HttpPair pair, std::weak_ptr<HttpSink> sink) override;
  void refuse_more(std::uint32_t number) override;
  void finish(std::uint32_t number) override;

 private:
  HttpProcess& process_;
  std::size_t number_;
  std::vector<HostRule> hosts_;
};

class HttpProcess {
 public:
  HttpProcess() = default;
  ~HttpProcess() { end(); }
  HttpProcess(const HttpProcess&) = delete;
  HttpProcess& operator=(const HttpProcess&) = delete;

  // The same one for the same rules, credentials and `set` variables; this must outlive it.
  // Resolves every credential of a new one, with the environment of the first call and its PATH for
  // the programs of all. What was one of the operator's variables, or held such a value, is taken
  // out of `inherited` and of this process's own environment; it is named in `dropped` with what of
  // `set` holds one. Errors: kBadValue with the pointer of a credential's source; kPathNotFound
  // where sbx-http is not installed; kSetupFailed.
  Result<std::shared_ptr<HttpPolicy>> policy_for(const NetworkProfile& network,
                                                 const std::map<std::string, std::string>& set,
                                                 const std::string& search_path,
                                                 Environment& inherited);

  // With all that it was waiting for.
  void end();

  // Its reports, for whoever waits for them: readable when step() has work, which is also due then.
  // One that has ended, or has not answered twice, is replaced.
  int poll_fd() const { return loop_.fd(); }
  std::optional<Loop::Clock::time_point> deadline() const { return loop_.deadline(); }
  void step() { loop_.step(); }
  // Those that have come, now.
  void take_reports();

  // Answers a question with answer(); without it, or where it gives false, nobody can be asked. No
  // two have one number, nor those of two processes.
  using Ask = std::function<bool(std::uint64_t number, const HttpQuestion& question)>;
  void set_ask(Ask ask) { ask_ = std::move(ask); }
  // Whether the request still waits: its connection is there, and its time is not over.
  bool is_asked(std::uint64_t number) const { return questions_.contains(number); }
  // False: it does not.
  bool answer(std::uint64_t number, bool is_allowed);

 private:
  friend class HttpPolicy;
  using Clock = Loop::Clock;
  using Words = std::vector<std::string>;
  struct Child {
    pid_t pid = -1;
    OwnedFd control;
    bool send(std::initializer_list<std::string_view> words,
              std::initializer_list<int> fds = {}) const;
    void end();
  };
  struct Known {
    std::string sha256;                              // of all that it was made of
    std::vector<std::vector<std::string>> commands;  // of credentials; empty: none
    OwnedFd rules;                                   // JSON, and behind it the variables
    OwnedFd state;
    std::shared_ptr<HttpPolicy> policy;
  };
  struct Held {
    std::size_t policy = 0;
    HttpPair pair;  // until it is taken
    std::weak_ptr<HttpSink> sink;
  };
  struct Renewal {
    std::size_t policy;
    std::size_t index;
    pid_t pid;
    Clock::time_point until;
    OwnedFd output;  // what it prints: sbx-http's, once it has ended
    OwnedFd pidfd;
    Loop::Watch ended;
  };

  Status open(const Environment& inherited);
  Result<Child> start_with(const Known& known) const;
  static Status await_ready(const Child& child, Known& known);
  Status serve_by(Child child);
  bool tell_policy(std::size_t number) const;
  std::uint32_t hand_over(std::size_t policy, HttpPair pair, std::weak_ptr<HttpSink> sink);
  void tell_when_it_takes(const char* what, std::uint32_t id);
  void tell_rest();
  bool send_pair(std::uint32_t id, const Held& held) const;
  void pause();
  bool take_report();
  void handle(const Words& words);
  void ask(const void* run, const Words& words);
  void renew(std::size_t policy, std::size_t index);
  void tell_renewed(const Renewal& renewal, bool is_good) const;
  void reap_renewals(Clock::time_point now);
  void look();
  void revive();
  void lose();

  std::string trust_path_;
  OwnedFd environ_;
  std::string search_path_;
  std::vector<Known> policies_;
  Loop loop_;
  Loop::Watch watch_;
  Loop::Timer look_;
  Loop::Timer pause_;
  Child child_;
  std::list<Renewal> renewing_;
  int unanswered_ = 0;
  std::uint32_t next_id_ = 1;
  std::map<std::uint32_t, Held> connections_;
  std::uint64_t lost_ = 0;                          // processes: each numbers its questions anew
  std::map<std::uint64_t, const void*> questions_;  // the run of each that waits
  std::deque<std::pair<const char*, std::uint32_t>> untold_;
  Ask ask_;
};

}  // namespace sbx
