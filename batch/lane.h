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

namespace sbx::batch {

// What a call was answered with.
struct Answer {
  std::uint64_t call = 0;
  std::string result;          // JSON text; empty: it is an error
  std::optional<Error> error;  // of the call, or of the server's start
};

class Lane {
 public:
  // Errors: kNotFound, kSetupFailed.
  static Result<Lane> start(const std::string& program, const std::vector<std::string>& flags);

  int fd() const { return helper_.socket(); }
  bool wants_to_write() const { return !out_.empty(); }
  bool is_open() const { return is_open_; }
  void call(std::uint64_t id, std::string_view method, std::string_view params);
  void cancel(std::uint64_t id);
  void write();
  void read();
  // The next that has come. A line with an error and no call: the server does not start.
  std::optional<Answer> next();

 private:
  explicit Lane(Helper helper) : helper_(std::move(helper)) {}

  Helper helper_;
  LineReader in_{std::size_t{256} << 20};
  LineQueue out_;
  bool is_open_ = true;
};

}  // namespace sbx::batch
