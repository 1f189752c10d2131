// SPDX-License-Identifier: Apache-2.0
// Names and paths to profiles, chains of parents, and what is refused on the way.
#include "profile/store.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

namespace sbx {
namespace {

namespace fs = std::filesystem;

class Store : public testing::Test {
 protected:
  Store() {
    std::string pattern = (fs::temp_directory_path() / "sbx-profile-XXXXXX").string();
    directory_ = ::mkdtemp(pattern.data());
    search_.directories = {directory_ + "/absent", directory_};
  }
  ~Store() override { fs::remove_all(directory_); }
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(directory_ + "/" + name) << text;
    return directory_ + "/" + name;
  }

  Profile load(const std::string& name) const {
    auto loaded = load_profile(name, search_);
    EXPECT_TRUE(loaded.ok()) << error_line(loaded.error());
    return loaded.ok() ? loaded.value().profile : Profile{};
  }

  Error refuse(const std::string& name) const {
    auto loaded = load_profile(name, search_);
    EXPECT_FALSE(loaded.ok());
    return loaded.ok() ? Error{} : loaded.error();
  }

  std::string directory_;
  ProfileSearch search_;
};

TEST_F(Store, FindsShippedProfilesBeforeInstalledOnes) {
  write("default.json", R"({"limits": {"pids": 7}})");
  auto loaded = load_profile("default", search_);
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(loaded.value().source, "shipped:default");
  EXPECT_EQ(loaded.value().profile.limits.pids, 1024);
  EXPECT_EQ(load(directory_ + "/default.json").limits.pids, 7) << "by its path it is a file";
}

TEST_F(Store, FindsInstalledProfilesByNameAndTakesTheStemAsTheirName) {
  const std::string path = write("team.json", R"({"limits": {"pids": 7}})");
  auto loaded = load_profile("team", search_);
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(loaded.value().source, path);
  EXPECT_EQ(loaded.value().profile.name, "team");
}

TEST_F(Store, GivesAProfileWithoutAParentTheValuesOfDefault) {
  write("team.json", "{}");
  Profile team = load("team");
  const Profile standard = load("default");
  EXPECT_EQ(team.filesystem.roots.size(), 1U);
  EXPECT_EQ(team.isolation.require, standard.isolation.require);
  EXPECT_EQ(team.limits.memory_mb, 4096);
  EXPECT_EQ(team.description, "") << "a description is not inherited";
}

TEST_F(Store, ResolvesParentsRelativeToTheFileAndByName) {
  fs::create_directory(directory_ + "/sub");
  write("base.json", R"({"extends": "strict", "commands": {"deny": ["x"]}})");
  const std::string child =
      write("sub/child.json", R"({"extends": "../base.json", "commands": {"+deny": ["y"]}})");
  const Profile profile = load(child);
  EXPECT_EQ(profile.commands.deny, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(profile.seccomp.mode, SeccompMode::kStrict);
  write("named.json", R"({"extends": "base"})");
  EXPECT_EQ(load("named").commands.deny, std::vector<std::string>{"x"});
  write("beside.json", R"({"extends": "base.json"})");
  EXPECT_EQ(load("beside").commands.deny, std::vector<std::string>{"x"});
}

TEST_F(Store, LaysAListOfParentsOverEachOtherInOrder) {
  write("one.json", R"({"limits": {"pids": 1, "open_files": 10}, "commands": {"deny": ["a"]}})");
  write("two.json", R"({"limits": {"pids": 2}, "commands": {"+deny": ["b"]}})");
  write("both.json", R"({"extends": ["strict", "one", "./two.json"],
                         "commands": {"+deny": ["c"]}, "description": "mine"})");
  const Profile both = load("both");
  EXPECT_EQ(both.commands.deny, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(both.limits.pids, 2);
  EXPECT_EQ(both.limits.open_files, 10);
  EXPECT_EQ(both.limits.memory_mb, 512) << "of strict";
  EXPECT_EQ(both.seccomp.mode, SeccompMode::kStrict) << "`default` is not laid over it again";
  EXPECT_EQ(both.name, "both");
  EXPECT_EQ(both.description, "mine");
  write("none.json", R"({"extends": []})");
  EXPECT_EQ(load("none").limits.pids, 1024) << "as without the key";
}

TEST_F(Store, BringsTheParentsOfLaterOnesOnlyWhereTheyAreNamed) {
  write("base.json", R"({"limits": {"pids": 5}, "commands": {"deny": ["base"]}})");
  write("over.json", R"({"extends": "base", "commands": {"+deny": ["over"]}})");
  write("all.json", R"({"extends": ["strict", "over", "base"]})");
  const Profile all = load("all");
  EXPECT_EQ(all.limits.pids, 5);
  EXPECT_EQ(all.commands.deny, (std::vector<std::string>{"base", "over"})) << "each once";
  EXPECT_EQ(all.seccomp.mode, SeccompMode::kStrict);
  write("wide.json", R"({"extends": ["strict", "build"]})");
  EXPECT_EQ(load("wide").seccomp.mode, SeccompMode::kStrict) << "build's parent is there already";
  EXPECT_EQ(load("wide").network.mode, NetworkMode::kAllowlist);
}

TEST_F(Store, BoundsAndChecksWhatAListNames) {
  write("a.json", R"({"extends": ["default", "b"]})");
  write("b.json", R"({"extends": ["default", "a"]})");
  EXPECT_EQ(refuse("a").code, ErrorCode::kProfileCycle);
  write("bad.json", R"({"limits": {"pids": 0}})");
  write("uses.json", R"({"extends": ["default", "bad", "gone", 7]})");
  const auto errors = validate_profile_file(directory_ + "/uses.json", search_);
  ASSERT_EQ(errors.size(), 3U);
  EXPECT_EQ(errors[0].where, "/extends/3");
  EXPECT_NE(errors[1].message.find("bad.json"), std::string::npos);
  EXPECT_EQ(errors[2].code, ErrorCode::kProfileNotFound);
  EXPECT_EQ(errors[2].where, "/extends/2");
  std::string many = R"({"extends": ["default")";
  for (int i = 0; i < 70; ++i) {
    write("m" + std::to_string(i) + ".json", "{}");
    many += ", \"m" + std::to_string(i) + "\"";
  }
  write("many.json", many + "]}");
  const auto counted = validate_profile_file(directory_ + "/many.json", search_);
  ASSERT_EQ(counted.size(), 1U);
  EXPECT_EQ(counted[0].code, ErrorCode::kProfileCycle);
}

TEST_F(Store, LaysAdditionsOverTheProfileAndKeepsItsName) {
  write("team.json", R"({"description": "ours", "limits": {"pids": 7}})");
  write("more.json", R"({"limits": {"pids": 9}, "network": {"mode": "none"}})");
  const auto plain = load_profile("team", search_);
  const std::vector<std::string> with = {"node", "more"};
  const auto loaded = load_profile("team", search_, with);
  ASSERT_TRUE(plain.ok() && loaded.ok());
  const Profile& profile = loaded.value().profile;
  EXPECT_EQ(profile.name, "team");
  EXPECT_EQ(profile.description, "ours");
  EXPECT_EQ(profile.limits.pids, 9);
  EXPECT_EQ(profile.network.mode, NetworkMode::kNone) << "no preset: its word stands";
  EXPECT_NE(loaded.value().sha256(), plain.value().sha256());
  EXPECT_EQ(loaded.value().files,
            (std::vector<std::string>{directory_ + "/team.json", directory_ + "/more.json"}));
  const std::vector<std::string> twice = {"node", "node"};
  EXPECT_EQ(load_profile("team", search_, twice).value().sha256(),
            load_profile("team", search_, std::vector<std::string>{"node"}).value().sha256());
  const auto gone = load_profile("team", search_, std::vector<std::string>{"nod"});
  ASSERT_FALSE(gone.ok());
  EXPECT_EQ(gone.error().where, "--with");
  EXPECT_EQ(gone.error().hint, "did you mean \"node\"?");
}

TEST_F(Store, PresetsRaiseTheNetworkAndNeverLowerAnything) {
  const std::vector<std::string> with = {"node"};
  const Profile raised = load_profile("default", search_, with).value().profile;
  EXPECT_EQ(raised.network.mode, NetworkMode::kAllowlist);
  const Profile build = load_profile("build", search_, with).value().profile;
  EXPECT_GT(build.network.allow.size(), raised.network.allow.size());
  EXPECT_EQ(load_profile("network", search_, with).value().profile.network.mode,
            NetworkMode::kOutbound);
  write("open.json", R"({"extends": ["default", "node"], "network": {"mode": "open"}})");
  EXPECT_EQ(load("open").network.mode, NetworkMode::kOpen);
  write("shut.json", R"({"extends": ["default", "node"], "network": {"mode": "none"}})");
  EXPECT_EQ(load("shut").network.mode, NetworkMode::kNone) << "the profile has the last word";
  write("own.json", R"({"filesystem": {"+roots": [{"path": "${home}/.nvm", "access": "rw"}]}})");
  const Profile own = load_profile("own", search_, with).value().profile;
  int named = 0;
  for (const Root& root : own.filesystem.roots) {
    if (root.path != "${home}/.nvm") continue;
    ++named;
    EXPECT_EQ(root.access, Access::kReadWrite);
  }
  EXPECT_EQ(named, 1) << "a root that the profile names stays as it is";
}

TEST_F(Store, RefusesAnInstalledProfileWithTheNameOfAPreset) {
  write("docker.json", "{}");
  EXPECT_EQ(refuse("docker").code, ErrorCode::kBadValue);
  EXPECT_FALSE(load_profile("default", search_, std::vector<std::string>{"docker"}).ok());
  EXPECT_EQ(load(directory_ + "/docker.json").name, "docker") << "by its path it is a file";
}

TEST_F(Store, KeepsAppendedRootsAfterTheParents) {
  write("data.json", R"({"filesystem": {"+roots": [{"path": "/data/", "access": "none"}]}})");
  const auto roots = load("data").filesystem.roots;
  ASSERT_EQ(roots.size(), 2U);
  EXPECT_EQ(roots[0].path, "${workspace}");
  EXPECT_EQ(roots[1].path, "/data");
  EXPECT_EQ(roots[1].access, Access::kNone);
  EXPECT_EQ(roots[1].where, "/filesystem/roots/1");
}

TEST_F(Store, RefusesCycles) {
  write("a.json", R"({"extends": "b"})");
  write("b.json", R"({"extends": "./a.json"})");
  const Error error = refuse("a");
  EXPECT_EQ(error.code, ErrorCode::kProfileCycle);
  EXPECT_EQ(error.where, "/extends");
  write("self.json", R"({"extends": "self"})");
  EXPECT_EQ(refuse("self").code, ErrorCode::kProfileCycle);
  fs::create_symlink(directory_ + "/self2.json", directory_ + "/alias.json");
  write("self2.json", R"({"extends": "alias"})");
  EXPECT_EQ(refuse("self2").code, ErrorCode::kProfileCycle);
}

TEST_F(Store, RefusesChainsOfMoreThanSixteen) {
  write("p0.json", "{}");
  for (int i = 1; i <= 20; ++i) {
    write("p" + std::to_string(i) + ".json", R"({"extends": "p)" + std::to_string(i - 1) + R"("})");
  }
  EXPECT_EQ(load("p15").limits.pids, 1024);
  EXPECT_EQ(refuse("p16").code, ErrorCode::kProfileCycle);
  EXPECT_EQ(refuse("p20").code, ErrorCode::kProfileCycle);
}

TEST_F(Store, NamesTheNearestProfileWhenThereIsNone) {
  const Error error = refuse("defualt");
  EXPECT_EQ(error.code, ErrorCode::kProfileNotFound);
  EXPECT_EQ(error.hint, "did you mean \"default\"?");
  write("backend.json", "{}");
  EXPECT_EQ(refuse("backand").hint, "did you mean \"backend\"?");
  EXPECT_EQ(refuse(directory_ + "/none.json").code, ErrorCode::kProfileNotFound);
  EXPECT_EQ(refuse("").code, ErrorCode::kProfileNotFound);
  EXPECT_EQ(refuse(std::string("default\0", 8)).code, ErrorCode::kProfileNotFound);
  write("orphan.json", R"({"extends": "gone"})");
  const Error orphan = refuse("orphan");
  EXPECT_EQ(orphan.code, ErrorCode::kProfileNotFound);
  EXPECT_EQ(orphan.where, "/extends");
}

TEST_F(Store, RefusesWhatIsNoRegularFileWithoutBlocking) {
  ASSERT_EQ(::mkfifo((directory_ + "/fifo.json").c_str(), 0600), 0);
  EXPECT_EQ(refuse("fifo").code, ErrorCode::kPathRefused);
  EXPECT_EQ(refuse(directory_ + "/").code, ErrorCode::kPathRefused);
  EXPECT_EQ(refuse("/dev/zero").code, ErrorCode::kPathRefused);
}

TEST_F(Store, FollowsSymlinksToProfiles) {
  write("real.json", R"({"limits": {"pids": 9}})");
  fs::create_symlink("real.json", directory_ + "/link.json");
  EXPECT_EQ(load("link").limits.pids, 9);
}

TEST_F(Store, RefusesAFileOverOneMebibyte) {
  const std::string fits = R"({"description": ")" + std::string((1 << 20) - 20, 'x') + "\"}";
  write("fits.json", fits);
  EXPECT_EQ(load("fits").name, "fits");
  write("large.json", fits + std::string(20, ' '));
  EXPECT_EQ(refuse("large").code, ErrorCode::kTooLarge);
}

TEST_F(Store, CountsTheErrorsBehindTheFirst) {
  const Error error = refuse(write("bad.json", R"({"a": 1, "b": 2, "c": 3})"));
  EXPECT_EQ(error.code, ErrorCode::kUnknownField);
  EXPECT_NE(error.message.find("bad.json"), std::string::npos);
  EXPECT_NE(error.message.find("and 2 more"), std::string::npos);
}

TEST_F(Store, ValidatesTextWithItsParentsErrors) {
  write("parent.json", R"({"limits": {"pids": 0}})");
  const auto errors = validate_profile_text(R"({"extends": "parent.json", "x": 1})",
                                            directory_ + "/child.json", {});
  ASSERT_EQ(errors.size(), 2U);
  EXPECT_EQ(errors[0].where, "/x");
  EXPECT_EQ(errors[1].where, "/limits/pids");
  EXPECT_NE(errors[1].message.find("parent.json"), std::string::npos);
  EXPECT_TRUE(validate_profile_text("{}", "", {}).empty());
  EXPECT_EQ(validate_profile_text("[", "", {}).front().code, ErrorCode::kBadJson);
  EXPECT_EQ(validate_profile_file(directory_ + "/parent.json", {}).front().code,
            ErrorCode::kOutOfRange);
  EXPECT_EQ(validate_profile_file(directory_ + "/gone.json", {}).front().code,
            ErrorCode::kProfileNotFound);
}

TEST_F(Store, PrintsTheVerdictOfAValidationAsJson) {
  EXPECT_EQ(validation_json({}), R"({"valid":true,"errors":[]})");
  const auto answer = nlohmann::json::parse(
      validation_json(validate_profile_text(R"({"lmits": {}})", "x.json", {})));
  EXPECT_EQ(answer["valid"], false);
  EXPECT_EQ(answer["errors"][0]["code"], "unknown_field");
  EXPECT_EQ(answer["errors"][0]["where"], "/lmits");
  EXPECT_NE(answer["errors"][0]["hint"].get<std::string>().find("limits"), std::string::npos);
  EXPECT_TRUE(answer["errors"][0]["message"].is_string());
}

TEST_F(Store, ListsShippedAndInstalledProfiles) {
  write("team.json", R"({"description": "ours"})");
  write("broken.json", "{");
  write("default.json", "{}");
  write("notes.txt", "");
  const auto all = list_profiles(search_);
  std::map<std::string, ProfileSummary> by_name;
  for (const ProfileSummary& one : all) by_name.emplace(one.name, one);
  EXPECT_EQ(by_name.size(), all.size()) << "no name twice";
  EXPECT_EQ(by_name["team"].description, "ours");
  EXPECT_EQ(by_name["team"].source, directory_ + "/team.json");
  EXPECT_EQ(by_name["default"].source, "shipped:default");
  EXPECT_FALSE(by_name["default"].is_preset);
  EXPECT_TRUE(by_name["python"].is_preset);
  EXPECT_EQ(by_name["python"].source, "preset:python");
  const auto& opens = by_name["python"].opens;
  const std::string hosts = "network.allow: pypi.org:443, files.pythonhosted.org:443";
  EXPECT_NE(std::find(opens.begin(), opens.end(), hosts), opens.end());
  EXPECT_TRUE(by_name["broken"].description.starts_with("does not load"));
  EXPECT_FALSE(by_name.contains("notes"));
}

}  // namespace
}  // namespace sbx
