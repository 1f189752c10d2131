// SPDX-License-Identifier: Apache-2.0
// Lines of a learned profile: whatever is asked for in whatever order, all of it is granted, and
// widening stays within its named tiers.
#include "learn/lines.h"

#include <gtest/gtest.h>

#include <random>

#include "policy/policy.h"

namespace sbx::learn {
namespace {

Line root(const std::string& path, const std::string& access = "ro") {
  return {"filesystem.roots",
          {{"path", path}, {"access", access}, {"optional", true}},
          "file",
          {"cat"},
          1};
}

bool grants(const std::vector<Line>& lines, const std::string& path, bool to_write) {
  const Line* deepest = nullptr;
  for (const Line& line : lines) {
    if (line.path().empty() || !is_below(path, line.path())) continue;
    if (deepest == nullptr || line.path().size() > deepest->path().size()) deepest = &line;
  }
  return deepest != nullptr && (deepest->is_written() || !to_write);
}

bool any_directory(const std::string&) { return true; }
bool no_directory(const std::string&) { return false; }

TEST(Lines, TheWiderOfTwoForOnePathStays) {
  std::vector<Line> lines;
  EXPECT_TRUE(add_line(lines, root("/a")));
  EXPECT_FALSE(add_line(lines, root("/a")));
  EXPECT_TRUE(add_line(lines, root("/a", "rw")));
  EXPECT_FALSE(add_line(lines, root("/a")));
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_TRUE(lines[0].is_written());
}

TEST(Lines, TheWiderOfTwoForOneLimitStays) {
  std::vector<Line> lines;
  EXPECT_TRUE(add_line(lines, {"limits.tmp_mb", 8, "limit", {}, 0}));
  EXPECT_FALSE(add_line(lines, {"limits.tmp_mb", 4, "limit", {}, 0}));
  EXPECT_TRUE(add_line(lines, {"limits.tmp_mb", 16, "limit", {}, 0}));
  EXPECT_EQ(lines[0].value, 16);
  LimitsProfile limits;
  limits.timeout_ms = 100;
  EXPECT_EQ(raised_limit("disk", limits, lines, 0)->value, 32);
  EXPECT_EQ(raised_limit("timeout", limits, lines, 500)->value, 2000);
  EXPECT_FALSE(raised_limit("memory", limits, lines, 0));
}

TEST(Lines, WhatIsNoListIsSet) {
  const Document profile =
      with_lines(Document::object(), {{"filesystem.git_config", "user", "git_config", {}, 0},
                                      {"seccomp.allow", "bpf", "allow", {}, 0}});
  EXPECT_EQ(profile, Document::parse(R"({"filesystem": {"git_config": "user"},
                                        "seccomp": {"+allow": ["bpf"]}})"));
}

TEST(Lines, WhatADirectoryCoversIsNoLineOfItsOwn) {
  std::vector<Line> lines = {root("/a/one"), root("/a/two", "rw"), root("/ab"), root("/a")};
  drop_covered(lines);
  EXPECT_TRUE(grants(lines, "/a/one", false));
  EXPECT_FALSE(grants(lines, "/a/one", true));
  EXPECT_TRUE(grants(lines, "/a/two", true));
  EXPECT_EQ(lines.size(), 3U);
  EXPECT_FALSE(add_line(lines, root("/a/three")));
}

TEST(Lines, WhatIsRefusedAllTheSameIsDropped) {
  std::vector<Line> lines = {root("/a/one"), root("/b/two", "rw"), root("/c/three"), root("/d")};
  lines[3].files = 4;
  const auto dropped = drop_refused(
      lines, {{"/a/one", false}, {"/b/two", true}, {"/c/three", true}, {"/d/x", false}});
  ASSERT_EQ(dropped.size(), 2U);
  EXPECT_EQ(dropped[0].path() + dropped[1].path(), "/a/one/b/two");
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(
      drop_refused(lines, {{"/d/1", false}, {"/d/2", false}, {"/d/3", false}, {"/d/4", false}})
          .size(),
      1U);
}

TEST(Lines, FourFilesOfADirectoryStandForItWhereItMayBeShown) {
  std::vector<Line> lines = {root("/a/1"), root("/a/2"), root("/a/3")};
  EXPECT_FALSE(join_directories(lines, any_directory));
  lines.push_back(root("/a/4"));
  EXPECT_FALSE(join_directories(lines, no_directory));
  EXPECT_EQ(lines.size(), 4U);
  EXPECT_TRUE(join_directories(lines, any_directory));
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].path(), "/a");
  EXPECT_EQ(lines[0].files, 4U);
  EXPECT_FALSE(join_directories(lines, any_directory));
  // What lies at the top is never joined to "/", and what is written stays a file.
  lines = {root("/1"), root("/2"), root("/3"), root("/4")};
  EXPECT_FALSE(join_directories(lines, any_directory));
  lines = {root("/a/1", "rw"), root("/a/2", "rw"), root("/a/3", "rw"), root("/a/4", "rw")};
  EXPECT_FALSE(join_directories(lines, any_directory));
}

TEST(Lines, WhateverIsAskedForIsGrantedAndNothingElseIsWritten) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::vector<Line> asked;
    std::vector<Line> lines;
    for (auto i = random() % 12; i > 0; --i) {
      std::string path;
      for (auto deep = 1 + random() % 3; deep > 0; --deep) {
        path += "/" + std::string(1, static_cast<char>('a' + random() % 3));
      }
      asked.push_back(root(path, random() % 4 == 0 ? "rw" : "ro"));
      add_line(lines, asked.back());
    }
    drop_covered(lines);
    const bool may_be_shown = random() % 2 == 0;
    join_directories(lines, may_be_shown ? any_directory : no_directory);
    for (const Line& line : asked) {
      EXPECT_TRUE(grants(lines, line.path(), line.is_written())) << line.path();
    }
    for (const Line& line : lines) {
      const bool is_asked = std::any_of(asked.begin(), asked.end(), [&](const Line& one) {
        return one.path() == line.path() && (one.is_written() || !line.is_written());
      });
      EXPECT_TRUE(is_asked || (line.tier == "directory" && may_be_shown)) << line.path();
      EXPECT_TRUE(is_asked || !line.is_written());
    }
    // Again, it is the same.
    const Document once = with_lines(Document::object(), lines);
    for (const Line& line : asked) EXPECT_FALSE(add_line(lines, line)) << line.path();
    drop_covered(lines);
    EXPECT_EQ(with_lines(Document::object(), lines), once);
    EXPECT_EQ(with_lines(once, lines), once);
  }
}

TEST(Lines, BecomeEntriesOfTheProfileThatIsThere) {
  const std::vector<Line> lines = {root("/a"),
                                   {"network.allow", "a.org:443", "host", {}, 0},
                                   {"seccomp.allow", "bpf", "allow", {}, 0},
                                   {"limits.pids", 80, "limit", {}, 0}};
  EXPECT_EQ(
      with_lines(Document::parse(R"({"extends": "default", "seccomp": {"allow": ["x"]}})"), lines)
          .dump(),
      R"({"extends":"default","seccomp":{"allow":["x","bpf"]},)"
      R"("filesystem":{"+roots":[{"path":"/a","access":"ro","optional":true}]},)"
      R"("network":{"+allow":["a.org:443"],"mode":"allowlist"},"limits":{"pids":80}})");
}

TEST(Lines, PresetsAreProposedByHowMuchTheyStandFor) {
  const auto proposals = presets_for({root("${home}/.cargo/bin/x"),
                                      root("${home}/.rustup/y"),
                                      root("${home}/.nvm/z"),
                                      root("/srv/a"),
                                      root("${home}/.volta/z", "rw"),
                                      {"network.allow", "crates.io:443", "host", {}, 0}});
  ASSERT_EQ(proposals.size(), 2U);
  EXPECT_EQ(proposals[0].preset, "rust");
  EXPECT_EQ(proposals[0].lines, 3U);
  EXPECT_EQ(proposals[1].preset, "node");
  EXPECT_TRUE(presets_for({root("/srv/a")}).empty());
}

TEST(Lines, CachesAreWholeDirectoriesBelowTheHome) {
  EXPECT_EQ(cache_of("${home}/.cargo/registry/index/x"), "${home}/.cargo/registry");
  EXPECT_EQ(cache_of("${home}/.cargo/registry"), "${home}/.cargo/registry");
  EXPECT_EQ(cache_of("${home}/.cargo/registry2"), "");
  EXPECT_EQ(cache_of("${home}/.cargo/credentials.toml"), "");
  EXPECT_EQ(cache_of("/root/.npm/x"), "");
}

}  // namespace
}  // namespace sbx::learn
