// SPDX-License-Identifier: Apache-2.0
// Thousands of real commands: package scripts, recipes, CI steps and maintainer scripts. Those that
// are asked about or denied are listed with a reason in expected_asked.txt; "wrong:" says that a
// careful reader would not ask.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>

#include "guard/sample_policy.h"

namespace sbx::guard {
namespace {

constexpr const char* kDirectory = SBX_SOURCE_DIR "/tests/guard/";

std::string with_newlines(std::string text) {
  static const std::string kSign = "⏎";
  for (std::size_t at = text.find(kSign); at != std::string::npos; at = text.find(kSign)) {
    text.replace(at, kSign.size(), "\n");
  }
  return text;
}

TEST(Corpus, OfRealCommandsIsAskedAboutAsAReaderWould) {
  std::map<std::string, std::string> expected;  // command → reason
  std::ifstream list(std::string(kDirectory) + "expected_asked.txt");
  for (std::string line; std::getline(list, line);) {
    const std::size_t tab = line.find('\t');
    if (line.starts_with("# ") || tab == std::string::npos) continue;
    expected[line.substr(tab + 1)] = line.substr(0, tab);
  }
  const Policy policy = sample_policy();
  int total = 0;
  int wrong = 0;
  std::set<std::string> asked;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(kDirectory) + "corpus")) {
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with("## ")) continue;
      ++total;
      const Judgement judgement = judge_text(policy, with_newlines(line));
      if (judgement.verdict == Verdict::kAllow) continue;
      asked.insert(line);
      const auto reason = expected.find(line);
      EXPECT_NE(reason, expected.end()) << judgement.findings.front().id << ": " << line;
      if (reason == expected.end() || reason->second.starts_with("wrong:") ||
          reason->second.starts_with("doubtful:")) {
        ++wrong;
      }
    }
  }
  for (const auto& [command, reason] : expected) {
    EXPECT_TRUE(asked.contains(command)) << "no longer asked (" << reason << "): " << command;
  }
  RecordProperty("total", total);
  RecordProperty("wrong", wrong);
  EXPECT_GE(total, 3000);
  EXPECT_LT(wrong * 1000, total * 2);
}

TEST(Corpus, OfWhatIsAllowedASampleWasReadForMisses) {
  const Policy policy = sample_policy();
  std::ifstream list(std::string(kDirectory) + "read_allowed.txt");
  int total = 0;
  int misses = 0;
  for (std::string line; std::getline(list, line);) {
    const std::size_t tab = line.find('\t');
    if (line.starts_with("# ") || tab == std::string::npos) continue;
    const std::string command = line.substr(tab + 1);
    ++total;
    EXPECT_EQ(judge_text(policy, with_newlines(command)).verdict, Verdict::kAllow) << command;
    misses += line.starts_with("miss:") ? 1 : 0;
  }
  EXPECT_EQ(total, 300);
  EXPECT_EQ(misses, 0);
}

}  // namespace
}  // namespace sbx::guard
