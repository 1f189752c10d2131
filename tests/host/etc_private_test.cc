// SPDX-License-Identifier: Apache-2.0
#include "host/etc_private.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "support/temp_dir.h"

namespace {

class EtcPrivate : public testing::Test {
 protected:
  void file(const std::string& name, mode_t mode = 0644) {
    const std::string path = etc_ + "/" + name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << name;
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
  }
  std::vector<std::string> found(sbx::EtcReach reach) {
    const auto nodes = sbx::find_private(etc_, reach);
    EXPECT_TRUE(nodes.ok());
    std::vector<std::string> names;
    if (!nodes.ok()) return names;
    for (const sbx::Node& node : nodes.value()) names.push_back(node.path.substr(etc_.size() + 1));
    return names;
  }
  sbx::test::TempDir dir_;
  const std::string etc_ = std::filesystem::canonical(dir_.path()).string();
};

using enum sbx::EtcReach;
using Names = std::vector<std::string>;

TEST_F(EtcPrivate, NamesOfTheListAreFoundWithPatternsAndBelowDirectories) {
  for (const char* name : {"machine-id", "shadow-", "ssh/ssh_host_rsa_key", "ssh/ssh_config",
                           "ssl/private/key.pem", "cron.daily/job", "services", "app.keytab"}) {
    file(name);
  }
  EXPECT_EQ(found(kUser), (Names{"app.keytab", "cron.daily", "machine-id", "shadow-",
                                 "ssh/ssh_host_rsa_key", "ssl/private"}));
}

TEST_F(EtcPrivate, WhatOthersMayNotReadIsFoundByTheWalkAlone) {
  file("app/secret", 0640);
  file("app/open");
  file("shut/inner/open");
  file("listed/not", 0600);
  ASSERT_EQ(chmod((etc_ + "/shut/inner").c_str(), 0710), 0);
  ASSERT_EQ(mkfifo((etc_ + "/pipe").c_str(), 0666), 0);
  EXPECT_EQ(found(kUser), Names{});
  EXPECT_EQ(found(kMore), (Names{"app/secret", "listed/not", "pipe", "shut/inner"}));
}

TEST_F(EtcPrivate, APathIsPrivateByItsNameAboveOrByWhatOthersMay) {
  for (const char* name : {"machine-id", "services", "cron.daily/job", "app/open"}) file(name);
  file("app/secret", 0640);
  file("shut/inner/open");
  ASSERT_EQ(chmod((etc_ + "/shut/inner").c_str(), 0710), 0);
  const auto is_private = [&](const std::string& name) {
    return sbx::may_be_private(etc_, etc_ + "/" + name);
  };
  for (const char* name : {"machine-id", "cron.daily/job", "cron.daily", "cron.daily/none",
                           "app/secret", "shut/inner/open"}) {
    EXPECT_TRUE(is_private(name)) << name;
  }
  for (const char* name : {"services", "app/open", "app", "none", "x/machine-id"}) {
    EXPECT_FALSE(is_private(name)) << name;
  }
  EXPECT_FALSE(sbx::may_be_private(etc_, etc_));
  EXPECT_FALSE(sbx::may_be_private(etc_, "/machine-id"));
}

TEST_F(EtcPrivate, APrivateNameThatIsALinkHidesItsTargetToo) {
  file("mounts/table");
  ASSERT_EQ(symlink("mounts/table", (etc_ + "/fstab").c_str()), 0);
  ASSERT_EQ(symlink("/proc/version", (etc_ + "/machine-id").c_str()), 0);
  EXPECT_EQ(found(kUser), (Names{"fstab", "machine-id", "mounts/table"}));
}

TEST_F(EtcPrivate, WhatTheKernelKeepsFromTheCommandIsNotFoundAgain) {
  file("shadow", 0600);
  file("machine-id", 0604);
  EXPECT_EQ(found(kOthers), (Names{"machine-id"}));
  EXPECT_EQ(found(kUser), (Names{"machine-id", "shadow"}));  // it is the caller's own
  EXPECT_EQ(found(kMore), (Names{"machine-id", "shadow"}));
}

TEST_F(EtcPrivate, WhatLiesBelowAPrivateDirectoryIsNotNamedAgain) {
  file("wireguard/wg0.conf", 0600);
  EXPECT_EQ(found(kMore), (Names{"wireguard"}));
}

TEST_F(EtcPrivate, ADirectoryOfTheListThatIsALinkIsNotFollowed) {
  sbx::test::TempDir elsewhere;
  std::ofstream(elsewhere.path() + "/ssh_host_rsa_key") << "x";
  ASSERT_EQ(symlink(elsewhere.path().c_str(), (etc_ + "/ssh").c_str()), 0);
  EXPECT_EQ(found(kUser), Names{});
}

}  // namespace
