// SPDX-License-Identifier: Apache-2.0
// HttpProcess: the one sbx-http of a session, seen from the supervisor. It is started with the
// policy's rules and the operator's environment, handed connections, asked whether it still
// answers, and replaced when it does not. This process never has a secret that it did not have
// already: what a new one needs of the old one's (the authority's key, values, placeholders) lies
// in a file in memory that only these read.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/loop.h"
#include "base/owned_fd.h"
#include "base/result.h"
#include "gateway/http_gate.h"
#include "policy/environment.h"
#include "policy/http.h"
#include "policy/policy.h"

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

class HttpProcess : public HttpSession, public HttpGate {
 public:
  static constexpr std::chrono::seconds kLookEvery{5};
  static constexpr std::chrono::seconds kPatience{61};  // sbx-http asks for sixty

  // Resolves every credential. What was one of the operator's variables, or held such a value, is
  // taken out of `inherited` and of this process's own environment. Errors: kBadValue with the
  // pointer of a credential's source; kPathNotFound where sbx-http is not installed; kSetupFailed.
  static Result<std::shared_ptr<HttpProcess>> start(const SandboxPolicy& policy,
                                                    Environment& inherited);
  ~HttpProcess() override;
  HttpProcess(const HttpProcess&) = delete;
  HttpProcess& operator=(const HttpProcess&) = delete;

  // With all that it was waiting for.
  void end();

  bool covers(std::string_view name, int port) const override;
  bool covers_name(std::string_view name) const override;
  bool hand_over(HttpPair pair, std::weak_ptr<HttpSink> sink) override;

  // Its reports are taken where this loop runs; to be called anew when it may be another process.
  void watch_in(Loop& loop, Loop::Watch& watch);
  void take_reports();
  // One that has ended, or has not answered since the last look but one, is replaced.
  void look_after();

  // Answers a question with answer(); without it, or where it gives false, nobody can be asked.
  using Ask = std::function<bool(std::uint64_t id, const HttpQuestion& question)>;
  void set_ask(Ask ask) { ask_ = std::move(ask); }
  void answer(std::uint64_t id, bool is_allowed);

 private:
  using Clock = std::chrono::steady_clock;
  struct Held {
    HttpPair pair;  // until it is taken
    std::weak_ptr<HttpSink> sink;
  };
  struct Renewal {
    pid_t pid;
    Clock::time_point until;
  };
  using Words = std::vector<std::string>;

  HttpProcess() = default;
  Status launch();
  Status await_ready();
  bool send(const Words& words, const std::vector<int>& fds = {});
  bool send_pair(std::uint32_t id, const Held& held);
  bool take_report();
  void handle(const Words& words);
  void renew(std::size_t index);
  void reap_renewals(Clock::time_point now);
  void lose();

  std::vector<HostRule> hosts_;
  std::vector<std::vector<std::string>> commands_;  // of credentials; empty: none
  OwnedFd rules_;
  OwnedFd environ_;
  OwnedFd state_;
  OwnedFd control_;
  pid_t pid_ = -1;
  std::uint64_t generation_ = 0;
  std::vector<Renewal> renewing_;
  int unanswered_ = 0;
  std::uint32_t next_id_ = 1;
  std::map<std::uint32_t, Held> connections_;
  Ask ask_;
};

}  // namespace sbx
