// SPDX-License-Identifier: Apache-2.0
// Replays the fuzz corpora of sbx-http's parsers.
#include "support/corpus.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "../fuzz/http/properties.h"

namespace sbx::http {
namespace {

// Whole, and cut at every length up to a bound.
int replay(const std::string& target, const std::function<void(std::string_view)>& check) {
  const auto files = corpus_files("http/corpus/" + target);
  for (const CorpusFile& file : files) {
    check(file.bytes);
    for (std::size_t size = 0; size < std::min<std::size_t>(file.bytes.size(), 300); ++size) {
      check(std::string_view(file.bytes).substr(0, size));
    }
  }
  return static_cast<int>(files.size());
}

TEST(HttpCorpus, HoldsForEveryMessage) { EXPECT_GT(replay("message", check_message), 15); }
TEST(HttpCorpus, HoldsForEveryTarget) { EXPECT_GT(replay("target", check_target), 15); }
TEST(HttpCorpus, HoldsForEveryFrame) { EXPECT_GT(replay("frames", check_frames), 6); }
TEST(HttpCorpus, HoldsForEveryRedactedStream) { EXPECT_GT(replay("redactor", check_redactor), 3); }

}  // namespace
}  // namespace sbx::http
