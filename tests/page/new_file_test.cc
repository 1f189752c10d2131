// SPDX-License-Identifier: Apache-2.0
#include "page/new_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/files.h"

namespace sbx::page {
namespace {

class NewFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "sbx-new-file-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    directory_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string path(const char* name) const { return directory_ / name; }
  std::string content(const char* name) const { return read_file(path(name), 100).value(); }
  long entries() const {
    return std::distance(std::filesystem::directory_iterator(directory_), {});
  }

  std::filesystem::path directory_;
};

TEST_F(NewFileTest, TakesItsPlaceOnlyWhenItIsKept) {
  std::ofstream(path("page")) << "old";
  {
    auto file = NewFile::make(path("page"));
    ASSERT_TRUE(file.ok());
    ASSERT_EQ(write(file.value().fd(), "new", 3), 3);
    EXPECT_EQ(content("page"), "old");
    ASSERT_TRUE(file.value().keep().ok());
  }
  EXPECT_EQ(content("page"), "new");
  EXPECT_EQ(entries(), 1);
}

TEST_F(NewFileTest, LeavesNothingWhereItIsNotKept) {
  { ASSERT_TRUE(NewFile::make(path("page")).ok()); }
  EXPECT_EQ(entries(), 0);
}

TEST_F(NewFileTest, RefusesWhatIsNoRegularFile) {
  std::ofstream(path("victim")) << "whole";
  ASSERT_EQ(symlink(path("victim").c_str(), path("link").c_str()), 0);
  ASSERT_EQ(symlink(path("nowhere").c_str(), path("dangling").c_str()), 0);
  ASSERT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
  ASSERT_EQ(mkdir(path("directory").c_str(), 0700), 0);
  for (const char* name :
       {"link", "dangling", "fifo", "directory", "directory/", "no/page", ".."}) {
    const auto file = NewFile::make(path(name));
    ASSERT_FALSE(file.ok()) << name;
    EXPECT_EQ(file.error().code, ErrorCode::kOutputUnwritable) << name;
  }
  EXPECT_EQ(content("victim"), "whole");
  EXPECT_EQ(entries(), 5);
}

}  // namespace
}  // namespace sbx::page
