// SPDX-License-Identifier: Apache-2.0
// Replays the fuzz corpora of sbx-report's pages.
#include "support/corpus.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "../fuzz/page/properties.h"

namespace sbx::page {
namespace {

// Whole, and cut at every length up to a bound.
int replay(const std::string& target, const std::function<void(std::string_view)>& check) {
  const auto files = corpus_files("page/corpus/" + target);
  for (const CorpusFile& file : files) {
    check(file.bytes);
    for (std::size_t size = 0; size < std::min<std::size_t>(file.bytes.size(), 600); size += 3) {
      check(std::string_view(file.bytes).substr(0, size));
    }
  }
  return static_cast<int>(files.size());
}

TEST(PageCorpus, HoldsForEveryLog) { EXPECT_GT(replay("log", check_log), 10); }
TEST(PageCorpus, HoldsForEveryPlan) { EXPECT_GT(replay("plan", check_plan), 5); }

}  // namespace
}  // namespace sbx::page
