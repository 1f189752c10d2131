// SPDX-License-Identifier: Apache-2.0
// Every destructive rule is held to its own examples, through the whole of judge().
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "guard/rule.h"
#include "guard/sample_policy.h"

namespace sbx::guard {
namespace {

// One command a line; \n within one stands for a newline.
std::vector<std::string> commands_of(std::string_view examples) {
  std::vector<std::string> out;
  for (const std::string_view line : split(examples, '\n')) {
    std::string command(line);
    for (std::size_t at = command.find("\\n"); at != std::string::npos; at = command.find("\\n")) {
      command.replace(at, 2, "\n");
    }
    out.push_back(std::move(command));
  }
  return out;
}

bool asks(const Judgement& judgement, std::string_view id) {
  return std::any_of(judgement.findings.begin(), judgement.findings.end(),
                     [&](const Finding& f) { return f.id == id && f.verdict == Verdict::kAsk; });
}

Policy below_a_repository() {
  Policy policy = sample_policy();
  policy.run.is_below_repository = true;
  return policy;
}

TEST(DestructiveRules, AskAboutTheirExamples) {
  const Policy policy = below_a_repository();
  for (const auto table : destructive_rules()) {
    for (const Rule& rule : table) {
      for (const std::string& command : commands_of(rule.examples)) {
        EXPECT_TRUE(asks(judge_text(policy, command), rule.id)) << rule.id << ": " << command;
      }
    }
  }
}

TEST(DestructiveRules, LeaveAllFilesOfAWholeRepositoryToGit) {
  EXPECT_EQ(judge_text(sample_policy(), "git add -A; git commit -am x; git stash").verdict,
            Verdict::kAllow);
}

TEST(DestructiveRules, LeaveTheirCounterexamplesAlone) {
  const Policy policy = below_a_repository();
  for (const auto table : destructive_rules()) {
    for (const Rule& rule : table) {
      for (const std::string& command : commands_of(rule.not_examples)) {
        EXPECT_FALSE(asks(judge_text(policy, command), rule.id)) << rule.id << ": " << command;
      }
    }
  }
}

TEST(DestructiveRules, HaveNamesReasonsAndExamplesOfBothSides) {
  std::set<std::string_view> ids;
  for (const auto table : destructive_rules()) {
    for (const Rule& rule : table) {
      EXPECT_TRUE(rule.id.starts_with("destructive.")) << rule.id;
      EXPECT_TRUE(ids.insert(rule.id).second) << rule.id;
      EXPECT_FALSE(rule.reason.empty()) << rule.id;
      EXPECT_FALSE(rule.examples.empty()) << rule.id;
      EXPECT_FALSE(rule.not_examples.empty()) << rule.id;
    }
  }
}

TEST(DestructiveRules, AreSilentWhereTheProfileDoesNotAsk) {
  Policy policy = sample_policy();
  policy.sandbox.commands.ask.clear();
  EXPECT_EQ(judge_text(policy, "rm -rf /").verdict, Verdict::kAllow);
}

}  // namespace
}  // namespace sbx::guard
