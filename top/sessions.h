// SPDX-License-Identifier: Apache-2.0
// Sessions: every session of the user that answers, asked again and again without waiting for any:
// its tasks, and what waits there for a person.
#pragma once

#include <poll.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "session_client.h"

namespace sbx {

class SessionWatch {
 public:
  using Take = std::function<void(const nlohmann::json& answer, bool is_error)>;

  SessionWatch(std::string name, SessionClient client);

  const std::string& name() const { return name_; }
  pid_t pid() const { return pid_; }
  bool is_operator() const { return is_operator_; }
  const std::vector<nlohmann::json>& tasks() const { return tasks_; }
  const std::vector<nlohmann::json>& approvals() const { return approvals_; }

  void ask(const char* method, const nlohmann::json& params, Take take);
  // What is known of its tasks is asked for anew, unless that has not been answered yet.
  void refresh();
  int fd() const { return client_.fd(); }
  // Takes what has come. False: it has gone.
  bool read();

 private:
  std::string name_;
  SessionClient client_;
  pid_t pid_ = 0;
  bool is_operator_ = false;
  bool is_sent_ = true;
  bool is_listing_ = false;
  bool is_asking_ = false;
  std::map<unsigned, Take> asked_;
  std::vector<nlohmann::json> tasks_;
  std::vector<nlohmann::json> approvals_;
};

class Sessions {
 public:
  // `only`: the name of the one that is shown; empty: all.
  Sessions(std::string only, Environment environment)
      : only_(std::move(only)), environment_(std::move(environment)) {}

  // Finds those that have come, and asks all of them. Errors: where none can be looked for.
  Status refresh();
  // Descriptors that are ready when there is something to read.
  std::vector<struct pollfd> waits() const;
  // Whether anything has come, or gone.
  bool read(const std::vector<struct pollfd>& ready);

  const std::vector<std::unique_ptr<SessionWatch>>& all() const { return sessions_; }
  SessionWatch* find(const std::string& name) const;  // null: it has gone
  // Why one that is there cannot be shown; empty: all are.
  const std::string& trouble() const { return trouble_; }

 private:
  std::string only_;
  Environment environment_;
  std::vector<std::unique_ptr<SessionWatch>> sessions_;
  struct Deaf {
    std::chrono::steady_clock::time_point until;  // it is left be
    std::string why;
  };
  std::map<std::string, Deaf> deaf_;
  std::string trouble_;
};

}  // namespace sbx
