// SPDX-License-Identifier: Apache-2.0
// A session's server and what goes to it and comes from it, without ever blocking. One lane here,
// one for each node on a cluster.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "helper.h"
#include "rpc/framing.h"
#include "slurm.h"

namespace sbx::batch {

// What a call was answered with.
struct Answer {
  std::uint64_t call = 0;
  std::string result;          // JSON text; empty: it is an error
  std::optional<Error> error;  // of the call, or of the server's start
};

class Lane {
 public:
  // Errors: those of Helper::start().
  static Result<Lane> start(const std::string& program, const std::vector<std::string>& flags);

  // A server of another machine.
  explicit Lane(Child child) : child_(std::move(child)) {}

  int fd() const { return helper_ ? helper_->socket() : child_.socket(); }
  // What kept it from starting, where it has said nothing over its stream.
  std::string complaint() const { return helper_ ? "" : child_.complaint(); }
  bool wants_to_write() const { return !out_.empty(); }
  bool is_open() const { return is_open_; }
  void give_up() { is_open_ = false; }
  // It does not end by itself, as one that hangs.
  void kill() {
    if (helper_) helper_->kill();
  }
  void call(std::uint64_t id, std::string_view method, std::string_view params);
  void cancel(std::uint64_t id);
  void write();
  void read();
  // The next that has come. A line with an error and no call: the server does not start.
  std::optional<Answer> next();

 private:
  explicit Lane(Helper helper) { helper_.emplace(std::move(helper)); }

  std::optional<Helper> helper_;
  Child child_;
  LineReader in_{kMostAnswerBytes};
  LineQueue out_;
  bool is_open_ = true;
  bool has_spoken_ = false;
};

}  // namespace sbx::batch
