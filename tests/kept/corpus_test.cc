// SPDX-License-Identifier: Apache-2.0
// Every file of the fuzzer's corpus, cut short at every byte as well.
#include "support/corpus.h"

#include <gtest/gtest.h>

namespace sbx {
namespace {

TEST(KeptCorpus, ReplaysWithoutABreach) {
  const auto files = corpus_files("kept/corpus");
  EXPECT_GE(files.size(), 3U);
  for (const CorpusFile& file : files) {
    for (std::size_t size = 0; size <= file.bytes.size(); ++size) {
      EXPECT_TRUE(fuzz_target_holds(std::string_view(file.bytes).substr(0, size))) << file.path;
    }
  }
}

}  // namespace
}  // namespace sbx
