// SPDX-License-Identifier: Apache-2.0
// The measured table: hundreds of commands of both kinds, each with the verdict it must get.
#include <gtest/gtest.h>

#include "base/files.h"
#include "guard/verdict_table.h"

namespace sbx::guard {
namespace {

TEST(VerdictTable, GivesEachCommandItsVerdict) {
  const std::map<std::string, Policy> known = verdict_policies();
  std::map<std::string, int> counts;
  int right = 0;
  int total = 0;
  for (const VerdictRow& row : read_verdicts(SBX_SOURCE_DIR "/tests/guard/verdicts.txt")) {
    ASSERT_TRUE(known.contains(row.policy)) << row.policy;
    const Judgement judgement = judge_text(known.at(row.policy), row.command);
    const std::string got = verdict_name(judgement.verdict);
    EXPECT_EQ(got, row.verdict) << row.command << "\n  "
                                << (judgement.findings.empty() ? ""
                                                               : judgement.findings.front().id);
    right += got == row.verdict ? 1 : 0;
    ++total;
    ++counts[row.verdict];
  }
  RecordProperty("right", right);
  RecordProperty("total", total);
  EXPECT_GE(total, 400);
  EXPECT_GE(counts["allow"], 150);
  EXPECT_GE(counts["ask"] + counts["deny"], 150);
  // What the page says of the table.
  const Result<std::string> page = read_file(SBX_SOURCE_DIR "/docs/commands.md", 1 << 20);
  ASSERT_TRUE(page.ok());
  for (const std::string& said :
       {"holds " + std::to_string(total) + " commands",
        std::to_string(counts["allow"]) + " that are allowed, " + std::to_string(counts["ask"]) +
            " asked about, " + std::to_string(counts["deny"]) + " denied"}) {
    EXPECT_NE(page.value().find(said), std::string::npos) << "docs/commands.md: " << said;
  }
}

}  // namespace
}  // namespace sbx::guard
