// SPDX-License-Identifier: Apache-2.0
// Approvals: what a person has allowed, by the digest of exactly that request under exactly that
// policy. Only the operator's side grants; a request can but name what was granted. Values only.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "guard/verdict.h"
#include "policy/policy.h"

namespace sbx {

// SHA-256 over the command, its directory, environment, input and files, what it may reach, the
// policy, and the rules that asked. Not over what changes nothing of what was approved: the
// policy's own limits of time and output, its audit log, what is traced. 64 hex digits.
std::string approval_digest(const Policy& policy, const Request& request, const std::string& cwd,
                            const guard::Judgement& judgement);

// What a digest was asked for: all that it covers.
struct Question {
  std::string digest;
  Policy policy;
  Request request;
  std::string cwd;
  std::vector<Finding> rules;
};

// One thread.
class Approvals {
 public:
  using Clock = std::chrono::system_clock;  // a digest may be handed to another process
  static constexpr std::chrono::minutes kLifetime{10};
  static constexpr std::size_t kMaxOpen = 1024;  // beyond it the oldest is forgotten
  // Of questions, which are forgotten likewise.
  static constexpr std::size_t kMostQuestions = 128;
  static constexpr std::size_t kMostQuestionBytes = std::size_t{32} << 20;

  // Records outside of this process that a digest is used: true the first time, false after that.
  using Record = std::function<Result<bool>(const std::string& digest)>;

  explicit Approvals(Record record, std::function<Clock::time_point()> now = Clock::now)
      : record_(std::move(record)), now_(std::move(now)) {}

  // What is older than the lifetime, from the future or no digest counts for nothing.
  void grant(std::string_view digest);
  // Whether a digest was granted that is of this request (approval_digest()), `named` itself where
  // that is not empty. It is used up by that. Errors: where its use could not be recorded.
  Result<bool> take(std::string_view named, std::string_view request);

  // Remembers what is asked, until it is decided or too old to be granted.
  void note(Question question);
  const std::deque<Question>& questions();  // the oldest first
  // Whether there was such a question: it has been decided.
  bool close(std::string_view digest);

 private:
  bool is_current(std::string_view digest) const;

  Record record_;
  std::function<Clock::time_point()> now_;
  std::set<std::string, std::less<>> granted_;  // the oldest first: a digest opens with its time
  std::deque<Question> questions_;
};

// What a person approves: the time, the nonce, and a hash over both and the request's digest, so
// that each time it is asked is one of its own. 64 hex digits.
std::string stamp_approval(std::string_view request, Approvals::Clock::time_point now,
                           std::uint64_t nonce);
// When it was made; nullopt: it is none.
std::optional<Approvals::Clock::time_point> approval_time(std::string_view digest);

}  // namespace sbx
