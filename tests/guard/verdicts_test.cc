// SPDX-License-Identifier: Apache-2.0
// The measured table: hundreds of commands of both kinds, each with the verdict it must get.
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "guard/sample_policy.h"

namespace sbx {
namespace {

std::map<std::string, Policy> policies() {
  std::map<std::string, Policy> out;
  out["default"] = sample_policy();
  Policy listed = sample_policy();
  listed.profile.commands.ask.clear();
  // Mission C6: the 33 names and the 8 of the network.
  listed.profile.commands.allow = {
      "awk",   "basename", "cat",  "cut", "date",   "dirname", "echo", "env",  "find",
      "grep",  "head",     "jq",   "ls",  "printf", "pwd",     "rg",   "sed",  "sort",
      "tail",  "tr",       "uniq", "wc",  "xargs",  "sleep",   "stat", "test", "true",
      "false", "mkdir",    "rm",   "cp",  "mv",     "touch"};
  listed.profile.commands.network_allow = {"curl", "wget", "ping", "nslookup",
                                           "dig",  "ssh",  "scp",  "git"};
  out["bash_exec"] = listed;
  listed.profile.network.mode = NetworkMode::kOutbound;
  out["bash_exec_network"] = listed;
  Policy readonly = sample_policy();
  readonly.profile.commands.ask.clear();
  readonly.profile.commands.readonly = true;
  out["readonly"] = readonly;
  Policy confined = sample_policy();
  confined.profile.commands.ask.clear();
  confined.profile.commands.confine_paths = true;
  out["confined"] = confined;
  Policy asking = sample_policy();
  asking.profile.commands.ask = {"terraform", "git"};
  out["ask_program"] = asking;
  return out;
}

TEST(VerdictTable, GivesEachCommandItsVerdict) {
  const std::map<std::string, Policy> known = policies();
  std::ifstream file(SBX_SOURCE_DIR "/tests/guard/verdicts.txt");
  ASSERT_TRUE(file.is_open());
  const Policy* policy = nullptr;
  std::map<std::string, int> counts;
  int right = 0;
  int total = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.starts_with("# ")) continue;
    if (line.starts_with("== ")) {
      const auto found = known.find(line.substr(3));
      ASSERT_NE(found, known.end()) << line;
      policy = &found->second;
      continue;
    }
    const std::size_t tab = line.find('\t');
    ASSERT_NE(tab, std::string::npos) << line;
    ASSERT_NE(policy, nullptr);
    std::string command = line.substr(tab + 1);
    for (std::size_t at = command.find("\\n"); at != std::string::npos;
         at = command.find("\\n", at + 1)) {
      // printf's own.
      if (at > 0 && (command[at - 1] == '%' || command[at - 1] == 's')) continue;
      command.replace(at, 2, "\n");
    }
    const Judgement judgement = judge_text(*policy, command);
    const std::string wanted = line.substr(0, tab);
    const std::string got = verdict_name(judgement.verdict);
    EXPECT_EQ(got, wanted) << command << "\n  "
                           << (judgement.findings.empty() ? "" : judgement.findings.front().id);
    right += got == wanted ? 1 : 0;
    ++total;
    ++counts[wanted];
  }
  RecordProperty("right", right);
  RecordProperty("total", total);
  EXPECT_GE(total, 400);
  EXPECT_GE(counts["allow"], 150);
  EXPECT_GE(counts["ask"] + counts["deny"], 150);
}

}  // namespace
}  // namespace sbx
