// SPDX-License-Identifier: Apache-2.0
// Every file of the fuzz target's corpus.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "../../fuzz/screen/properties.h"

namespace sbx {
namespace {

TEST(ScreenCorpus, Holds) {
  int count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(SBX_SOURCE_DIR "/fuzz/screen/corpus/screen")) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    EXPECT_TRUE(screen_holds(bytes) && frames_hold(bytes)) << entry.path();
    ++count;
  }
  EXPECT_GT(count, 5);
}

}  // namespace
}  // namespace sbx
