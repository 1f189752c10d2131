// SPDX-License-Identifier: Apache-2.0
// Every file of the fuzzer's corpus, cut short at every byte as well.
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

TEST(BwrapCorpus, ReplaysWithoutABreach) {
  int replayed = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(SBX_SOURCE_DIR "/fuzz/bwrap/corpus")) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    for (std::size_t size = 0; size <= bytes.size(); ++size) {
      EXPECT_EQ(LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), size),
                0);
    }
    ++replayed;
  }
  EXPECT_GE(replayed, 12);
}

}  // namespace
