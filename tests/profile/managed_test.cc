// SPDX-License-Identifier: Apache-2.0
// Files of the managed policy: which are read, and what stops everything.
#include "profile/managed.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "support/host_rules.h"

namespace sbx {
namespace {

Result<ManagedFile> parse(std::string_view text) { return parse_managed(text, "/m/a.json"); }

TEST(ParseManaged, TakesWhatItsTableSays) {
  const ManagedFile file =
      parse(R"({"name": "site", "filesystem": {"max": [{"path": "//srv/./a/", "access": "ro"}]},
                "network": {"mode": "allowlist", "allow": ["a.org:443"]},
                "isolation": {"require": ["seccomp"]}, "limits": {"pids": 9},
                "profiles": {"forbid": ["unconfined"]}, "audit": {"file": "/var/log/sbx"}})")
          .value();
  EXPECT_EQ(file.name, "site");
  EXPECT_EQ(file.filesystem.max,
            (std::vector<PathMaximum>{{"/srv/a", Access::kReadOnly, "/m/a.json"}}));
  EXPECT_EQ(file.network.mode, NetworkMode::kAllowlist);
  EXPECT_EQ(file.network.allow, host_rules({"a.org:443"}));
  EXPECT_EQ(file.isolation.require, std::vector<Layer>{Layer::kSeccomp});
  EXPECT_EQ(file.limits.pids, 9);
  EXPECT_EQ(file.profiles.forbid, std::vector<std::string>{"unconfined"});
  EXPECT_EQ(file.audit.file, "/var/log/sbx");
  EXPECT_EQ(file.mark.sha256.size(), 64U);
}

TEST(ParseManaged, SaysWhereAndWhatWouldMendIt) {
  const auto said = [](std::string_view text) {
    const auto file = parse(text);
    return file.ok() ? "" : file.error().message + " (" + file.error().hint + ")";
  };
  EXPECT_NE(said(R"({"limits": {"pid": 1}})").find("/limits/pid"), std::string::npos);
  EXPECT_NE(said(R"({"limits": {"pid": 1}})").find("pids"), std::string::npos);
  EXPECT_NE(said(R"({"filesystem": {"max": [{"path": "a", "access": "ro"}]}})")
                .find("/filesystem/max/0/path"),
            std::string::npos);
  EXPECT_NE(said(R"({"filesystem": {"max": [{"path": "/a"}]}})").find("access"), std::string::npos);
  EXPECT_NE(said("{").find("/m/a.json"), std::string::npos);
  EXPECT_NE(said(R"({"network": {"mode": "open", "allow": []}})").find("/network/allow"),
            std::string::npos);
}

TEST(MostAccess, TakesTheMostSpecificOfAFileAndTheLeastOfAll) {
  const std::vector<PathMaximum> maxima = {{"/", Access::kReadOnly, "one"},
                                           {"/home", Access::kReadWrite, "one"},
                                           {"/home/a/.ssh", Access::kNone, "one"},
                                           {"/home/b", Access::kReadOnly, "two"}};
  EXPECT_EQ(most_access(maxima, "/srv"), Access::kReadOnly);
  EXPECT_EQ(most_access(maxima, "/home/a/x"), Access::kReadWrite);
  EXPECT_EQ(most_access(maxima, "/home/a/.ssh/id"), Access::kNone);
  EXPECT_EQ(most_access(maxima, "/home/a/.sshd"), Access::kReadWrite);
  EXPECT_EQ(most_access(maxima, "/home/b/x"), Access::kReadOnly);
  EXPECT_EQ(most_access_within(maxima, "/home"), Access::kNone);
  EXPECT_EQ(most_access({}, "/"), Access::kReadWrite);
}

TEST(CheckForbidden, LooksAtAllNames) {
  ManagedFile file;
  file.mark.path = "/m/a.json";
  file.profiles.forbid = {"unconfined"};
  EXPECT_TRUE(check_forbidden({file}, {"default", "agent-settings"}, {}).ok());
  const Status status = check_forbidden({file}, {"unconfined", "own"}, {});
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("/m/a.json"), std::string::npos);
}

TEST(CheckForbidden, KnowsAFileByEveryPathThatLeadsToIt) {
  char name[] = "/tmp/sbx-forbidden-XXXXXX";
  const std::string top = mkdtemp(name);
  std::filesystem::create_directory(top + "/x");
  std::ofstream(top + "/w.json") << "{}";
  std::ofstream(top + "/copy.json") << "{}";
  std::ofstream(top + "/x/heir.json") << R"({"extends": "../w.json"})";
  std::filesystem::create_symlink("w.json", top + "/soft.json");
  std::filesystem::create_hard_link(top + "/w.json", top + "/hard.json");
  const ProfileSearch search{{top}};
  for (const char* forbidden : {"w", "/w.json", "/x/../w.json", "/soft.json"}) {
    ManagedFile file;
    file.profiles.forbid = {forbidden[0] == '/' ? top + forbidden : forbidden};
    const auto is_free = [&](const std::string& profile) {
      return check_forbidden({file}, load_profile(profile, search).value().names, search).ok();
    };
    for (const char* path :
         {"/w.json", "/x/../w.json", "//w.json", "/soft.json", "/hard.json", "/x/heir.json"}) {
      EXPECT_FALSE(is_free(top + path)) << forbidden << " " << path;
    }
    EXPECT_FALSE(is_free("w")) << forbidden;
    EXPECT_TRUE(is_free("default")) << forbidden;
    EXPECT_TRUE(is_free(top + "/copy.json")) << forbidden;
  }
  // Not installed: its name is known behind a symlink all the same.
  ManagedFile file;
  file.profiles.forbid = {"w"};
  const LoadedProfile soft = load_profile(top + "/soft.json", {}).value();
  EXPECT_FALSE(check_forbidden({file}, soft.names, {}).ok());
  // And by the name that it gives itself.
  std::ofstream(top + "/innocent.json") << R"({"name": "w"})";
  const LoadedProfile named = load_profile(top + "/innocent.json", {}).value();
  EXPECT_FALSE(check_forbidden({file}, named.names, {}).ok());
  std::filesystem::remove_all(top);
}

class ReadManagedTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/sbx-managed-XXXXXX";
    top_ = mkdtemp(name);
    directory_ = top_ + "/managed.d";
    mkdir(directory_.c_str(), 0755);
    write("b.json", R"({"name": "b"})");
    write("a.json", R"({"name": "a"})");
    write("c.txt", "{");
    write(".d.json", "{");
  }
  void TearDown() override { std::filesystem::remove_all(top_); }
  void write(const std::string& name, const std::string& text) {
    std::ofstream(directory_ + "/" + name) << text;
    chmod((directory_ + "/" + name).c_str(), 0644);
  }
  std::string message() {
    const auto managed = read_managed(directory_);
    return managed.ok() ? "" : managed.error().message;
  }
  bool says(std::string_view words) { return message().find(words) != std::string::npos; }

  std::string top_;
  std::string directory_;
};

TEST_F(ReadManagedTest, ReadsWhatIsRootsByNameAndNothingOfAnybodyElses) {
  const auto managed = read_managed(directory_);
  if (geteuid() != 0) {
    ASSERT_FALSE(managed.ok());
    EXPECT_NE(managed.error().message.find("not to root"), std::string::npos);
    return;
  }
  ASSERT_TRUE(managed.ok()) << managed.error().message;
  ASSERT_EQ(managed.value().size(), 2U);
  EXPECT_EQ(managed.value()[0].name, "a");
  EXPECT_EQ(managed.value()[1].mark.path, directory_ + "/b.json");
}

TEST_F(ReadManagedTest, NeedsNoDirectory) {
  EXPECT_TRUE(read_managed(top_ + "/nothing").value().empty());
  EXPECT_TRUE(read_managed("/nonexistent/managed.d").value().empty());
}

TEST_F(ReadManagedTest, StopsWhereOthersMayWrite) {
  if (geteuid() != 0) return;
  chmod((directory_ + "/a.json").c_str(), 0664);
  EXPECT_TRUE(says("a.json: others than root may write it"));
  chmod((directory_ + "/a.json").c_str(), 0644);
  chmod(directory_.c_str(), 0757);
  EXPECT_TRUE(says("managed.d: others than root may write it"));
  chmod(directory_.c_str(), 0755);
  chmod(top_.c_str(), 0777);
  EXPECT_TRUE(says("others than root may write it"));
  chmod(top_.c_str(), 0755);
  EXPECT_EQ(message(), "");
  for (const std::string& path : {directory_ + "/a.json", directory_, top_}) {
    ASSERT_EQ(chown(path.c_str(), 12345, 12345), 0);
    EXPECT_TRUE(says("it belongs to user 12345")) << path;
    ASSERT_EQ(chown(path.c_str(), 0, 0), 0);
  }
}

TEST_F(ReadManagedTest, StopsAtWhatIsNoFile) {
  if (geteuid() != 0) return;
  std::filesystem::remove(directory_ + "/a.json");
  mkfifo((directory_ + "/a.json").c_str(), 0644);
  EXPECT_TRUE(says("not a regular file"));
  std::filesystem::remove(directory_ + "/a.json");
  std::filesystem::create_symlink(directory_ + "/b.json", directory_ + "/a.json");
  EXPECT_NE(message(), "");
  std::filesystem::remove(directory_ + "/a.json");
  write("a.json", std::string(2 << 20, ' '));
  EXPECT_TRUE(says("larger than 1 MiB"));
}

TEST_F(ReadManagedTest, StopsWhereThereAreTooManyFiles) {
  if (geteuid() != 0) return;
  for (int i = 0; i < 254; ++i) write(std::to_string(i) + ".json", "{}");
  EXPECT_EQ(message(), "");
  write("more.json", "{}");
  EXPECT_TRUE(says("more than 256 files"));
}

TEST_F(ReadManagedTest, HoldsWhatASymlinkLeadsToAsWell) {
  if (geteuid() != 0) return;
  std::filesystem::create_directory(top_ + "/real");
  std::filesystem::create_symlink(top_ + "/real", top_ + "/link");
  write("a.json", R"({"filesystem": {"max": [{"path": ")" + top_ +
                      R"(/link", "access": "none"}, {"path": ")" + top_ +
                      R"(/real", "access": "rw"}]}})");
  const Managed managed = read_managed(directory_).value();
  EXPECT_EQ(most_access(managed[0].filesystem.max, top_ + "/real/x"), Access::kNone);
  write("a.json",
        R"({"filesystem": {"max": [{"path": ")" + top_ + R"(/link/missing", "access": "none"}]}})");
  const Managed later = read_managed(directory_).value();
  EXPECT_EQ(most_access(later[0].filesystem.max, top_ + "/real/missing"), Access::kNone);
}

}  // namespace
}  // namespace sbx
