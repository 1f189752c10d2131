// SPDX-License-Identifier: Apache-2.0
// Every file of the fuzzer's corpus, through the fuzzer's own entry point.
#include "support/corpus.h"

#include <gtest/gtest.h>

namespace sbx {
namespace {

TEST(ToolsCorpus, ReplaysWithoutABreach) {
  const auto files = corpus_files("tools/corpus");
  EXPECT_GE(files.size(), 10U);
  for (const CorpusFile& file : files) EXPECT_TRUE(fuzz_target_holds(file.bytes)) << file.path;
}

}  // namespace
}  // namespace sbx
