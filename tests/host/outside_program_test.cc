// SPDX-License-Identifier: Apache-2.0
#include "host/outside_program.h"

#include <gtest/gtest.h>

#include "support/temp_dir.h"

namespace sbx {
namespace {

class OutsideProgram : public testing::Test {
 protected:
  void SetUp() override {
    const std::string give = place_.file("work/bin/give", "#!/bin/sh\n", 0755);
    place_.file("aside/good", "#!/bin/sh\n", 0755);
    place_.file("aside/give", "no program");
    place_.file("other/give", "#!/bin/sh\n", 0755);
    place_.symlink("aside/link", give);
    place_.symlink("aside/bin", place_.at("work/bin"));
    place_.symlink("root", place_.at("work"));
    place_.symlink("work/swap", place_.at("aside/good"));  // which it can lead elsewhere
    place_.symlink("work/aside", place_.at("aside"));
    policy_ = with_root("work", Access::kReadWrite);
  }
  Policy with_root(const std::string& name, Access access) {
    Policy policy;
    policy.sandbox.filesystem.roots = {{place_.at(name), access, false, ""}};
    return policy;
  }
  // The words, or what is wrong with them.
  std::string command(const Policy& policy, std::vector<std::string> words,
                      const std::string& search_path = "") {
    const auto made = outside_command(policy, search_path, std::move(words), "/from");
    if (!made.ok()) return made.error().where + ": " + made.error().message;
    std::string text;
    for (const std::string& word : made.value()) text += (text.empty() ? "" : " ") + word;
    return text;
  }
  std::string refused(const std::string& word) const {
    return "/from: what the command inside can write would be run or read outside: " + word;
  }

  test::TempDir place_;
  Policy policy_;
};

TEST_F(OutsideProgram, IsNotLookedForWhereTheCommandCanWrite) {
  const std::string bin = place_.at("work/bin");
  EXPECT_EQ(outside_search_path(policy_, bin + ":" + place_.at("aside/bin") + ":" +
                                             place_.at("work/aside") + ":bin::." + ":" +
                                             place_.at("aside") + ":/usr/bin"),
            place_.at("aside") + ":/usr/bin");
  EXPECT_EQ(outside_search_path(policy_, bin), "/usr/bin:/bin");
  EXPECT_EQ(outside_search_path(with_root("work", Access::kReadOnly), bin), bin);
  EXPECT_EQ(outside_search_path(with_root("root", Access::kReadWrite), bin), "/usr/bin:/bin");
}

TEST_F(OutsideProgram, IsNoneThatTheCommandCanWrite) {
  const std::string good = place_.at("aside/good");
  const std::string give = place_.at("work/bin/give");
  EXPECT_EQ(command(policy_, {good, "x", place_.at("work/none")}),
            good + " x " + place_.at("work/none"));
  EXPECT_EQ(command(with_root("work", Access::kReadOnly), {give}), give);
  for (const std::string& bad :
       {give, place_.at("aside/link"), place_.at("aside/bin/give"), place_.at("work/swap")}) {
    EXPECT_EQ(command(policy_, {bad}), refused(bad));
    EXPECT_EQ(command(policy_, {good, bad}), refused(bad));
  }
  EXPECT_EQ(command(with_root("root", Access::kReadWrite), {give}), refused(give));
  EXPECT_EQ(command(policy_, {"./good"}), "/from: a relative path: ./good");
}

TEST_F(OutsideProgram, IsTheFirstThatCanBeExecuted) {
  const std::string path = place_.at("aside") + ":" + place_.at("other");
  EXPECT_EQ(command(policy_, {"give"}, path), place_.at("other/give"));
  EXPECT_EQ(command(policy_, {"nowhere"}, path), "nowhere");
  const std::string bin = place_.at("work/bin");
  EXPECT_EQ(command(policy_, {"give"}, bin), refused(bin + "/give"));
}

}  // namespace
}  // namespace sbx
