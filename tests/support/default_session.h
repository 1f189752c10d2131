// SPDX-License-Identifier: Apache-2.0
// A session of the profile `default` with a workspace of its own, for tests that run real commands.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <string>

#include "profile/store.h"
#include "session/session.h"

namespace sbx {

class DefaultSession {
 public:
  DefaultSession() {
    signal(SIGPIPE, SIG_IGN);
    char path[] = "/tmp/sbx-session-test-XXXXXX";
    EXPECT_NE(mkdtemp(path), nullptr);
    workspace = path;
    PolicyContext context;
    context.workspace = workspace;
    options.policy = std::make_shared<const Policy>(
        make_policy(load_profile("default", ProfileSearch{}).value().profile, OperatorFlags{},
                    context)
            .value());
    options.facts = read_quick_facts(nullptr);
    options.inherited = {{"PATH", "/usr/bin:/bin"}};
  }
  ~DefaultSession() { std::filesystem::remove_all(workspace); }
  DefaultSession(const DefaultSession&) = delete;
  DefaultSession& operator=(const DefaultSession&) = delete;

  void change(const std::function<void(Policy&)>& edit) {
    auto policy = std::make_shared<Policy>(*options.policy);
    edit(*policy);
    options.policy = std::move(policy);
  }

  std::string workspace;
  SessionOptions options;
};

// Steps what has poll_fd(), deadline() and step() until it is enough, at most for a minute.
template <typename Driven, typename AfterStep>
void drive(Driven& driven, const std::function<bool()>& is_enough, AfterStep after_step) {
  using Clock = std::chrono::steady_clock;
  const auto limit = Clock::now() + std::chrono::seconds(60);
  while (!is_enough()) {
    ASSERT_LT(Clock::now(), limit) << "it has not happened";
    const auto until = std::min(driven.deadline().value_or(limit), limit);
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
    pollfd waiting{driven.poll_fd(), POLLIN, 0};
    poll(&waiting, 1, std::max(0, static_cast<int>(left.count())));
    driven.step();
    after_step();
  }
}
template <typename Driven>
void drive(Driven& driven, const std::function<bool()>& is_enough) {
  drive(driven, is_enough, [] {});
}

}  // namespace sbx
