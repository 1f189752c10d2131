// SPDX-License-Identifier: Apache-2.0
// Every file of the plan fuzzer's corpus, through the fuzzer's own entry point, on every machine.
#include "support/corpus.h"

#include <gtest/gtest.h>

namespace sbx {
namespace {

TEST(PlanCorpus, ReplaysWithoutABreachOnEveryMachine) {
  auto files = corpus_files("plan/corpus");
  EXPECT_GE(files.size(), 10U);
  for (CorpusFile& file : files) {
    ASSERT_FALSE(file.bytes.empty()) << file.path;
    for (int machine = 0; machine < 256; ++machine) {
      file.bytes[0] = static_cast<char>(machine);
      EXPECT_TRUE(fuzz_target_holds(file.bytes)) << file.path;
    }
  }
}

}  // namespace
}  // namespace sbx
