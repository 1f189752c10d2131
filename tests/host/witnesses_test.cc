// SPDX-License-Identifier: Apache-2.0
// What change times tell of entries and contents, and when they cannot tell.
#include "host/witnesses.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "support/temp_dir.h"

namespace sbx {
namespace {

void rest() { std::this_thread::sleep_for(std::chrono::milliseconds(150)); }
void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

class WitnessesTest : public testing::Test {
 protected:
  void SetUp() override {
    write(file_, "old");
    std::filesystem::create_directory(directory_ + "/below");
    rest();
    witnesses_.entry(file_);
    ASSERT_TRUE(witnesses_.are_unchanged());
  }

  test::TempDir temporary_;
  std::string directory_ = temporary_.path();
  std::string file_ = directory_ + "/file";
  Witnesses witnesses_;
};

TEST_F(WitnessesTest, WhatComesGoesOrIsReplacedIsTold) {
  write(directory_ + "/another", "x");
  EXPECT_FALSE(witnesses_.are_unchanged());
  rest();
  Witnesses more;
  more.entry(file_);
  EXPECT_TRUE(more.are_unchanged());
  std::filesystem::rename(directory_ + "/another", file_);
  EXPECT_FALSE(more.are_unchanged());
}

TEST_F(WitnessesTest, WhatIsWrittenInPlaceIsToldByTheFileAlone) {
  Witnesses more;
  more.content(file_);
  write(file_, "new");
  EXPECT_TRUE(witnesses_.are_unchanged());
  EXPECT_FALSE(more.are_unchanged());
}

TEST_F(WitnessesTest, WhatIsMissingIsToldByWhatIsAboveIt) {
  Witnesses more;
  more.entry(directory_ + "/below/not/yet");
  EXPECT_TRUE(more.are_unchanged());
  std::filesystem::create_directory(directory_ + "/below/not");
  EXPECT_FALSE(more.are_unchanged());
}

TEST_F(WitnessesTest, AnotherDirectoryInItsPlaceIsTold) {
  std::filesystem::rename(directory_, directory_ + ".old");
  std::filesystem::create_directory(directory_);
  EXPECT_FALSE(witnesses_.are_unchanged());
  std::filesystem::remove(directory_);
  std::filesystem::rename(directory_ + ".old", directory_);
}

// Two changes within one tick of the file system's clock bear one time.
TEST_F(WitnessesTest, WhatHasJustChangedTellsNothing) {
  write(directory_ + "/now", "x");
  Witnesses more;
  more.entry(file_);
  EXPECT_FALSE(more.are_unchanged());
}

TEST_F(WitnessesTest, NothingIsToldOnceTheyGaveUp) {
  witnesses_.give_up();
  EXPECT_FALSE(witnesses_.are_unchanged());
}

}  // namespace
}  // namespace sbx
