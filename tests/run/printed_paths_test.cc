// SPDX-License-Identifier: Apache-2.0
#include "run/printed_paths.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "../../fuzz/run/properties.h"
#include "support/corpus.h"

namespace sbx {
namespace {

class PrintedRefusals : public testing::Test {
 protected:
  // Each as "OPERATION TARGET GRANT'S-PATH ACCESS".
  std::vector<std::string> find(const std::string& printed) {
    std::vector<std::string> out;
    for (const Denial& denial : printed_refusals(plan_, policy_, printed, known_, failed_)) {
      EXPECT_EQ(denial.layer, Refuser::kMount);
      EXPECT_EQ(denial.count, 1U);
      std::string grant = denial.grant;
      const std::size_t begin = grant.find("{\"path\": \"");
      const std::size_t middle = grant.find("\", \"access\": \"");
      if (begin != std::string::npos && middle != std::string::npos) {
        grant = grant.substr(begin + 10, middle - begin - 10) + " " + grant.substr(middle + 14, 2);
      }
      out.push_back(denial.operation + " " + denial.target + " " + grant);
    }
    return out;
  }
  using Found = std::vector<std::string>;

  void SetUp() override {
    plan_.wanted.add(Layer::kMount);
    plan_.shown = {
        {"/w", "rw"}, {"/w/secret", "none"}, {"/w/sub/.env", "none"}, {"/w/a b/key", "none"}};
  }
  LaunchPlan plan_;
  Policy policy_;
  std::vector<Denial> known_;
  bool failed_ = true;
};

TEST_F(PrintedRefusals, OfWhatIsHiddenAreNamedInTheWordsOfPrograms) {
  const Found env = {"open /w/sub/.env /w/sub/.env ro"};
  for (const char* line : {"grep: ./sub/.env: Permission denied", "cat: .env: Permission denied",
                           "cp: cannot open 'sub/.env' for reading: Permission denied",
                           "tar: sub/.env: Cannot open: Permission denied",
                           "PermissionError: [Errno 13] Permission denied: '/w/sub/.env'",
                           "Error: EACCES: permission denied, open '/w/sub/.env'",
                           "open ../w/sub/.env: permission denied", "EACCES: /w/sub/.env",
                           "bash: line 1: sub/.env: Permission denied"}) {
    EXPECT_EQ(find(line), env) << line;
  }
  const Found secret = {"open /w/secret /w/secret ro"};
  EXPECT_EQ(find("find: \xe2\x80\x98./secret\xe2\x80\x99: Permission denied\n"), secret);
  EXPECT_EQ(find("cat: secret/key: Permission denied\n"), secret);
  EXPECT_EQ(find("cat: 'a b/key': Permission denied\n"), Found{"open /w/a b/key /w/a b/key ro"});
}

TEST_F(PrintedRefusals, AreNotOfOtherFiles) {
  for (const char* line :
       {"cat: sub/.env.old: Permission denied", "cat: other/.env: Permission denied",
        "cat: secrets: Permission denied", "cat: my.env: Permission denied",
        "sub/.env: No such file or directory", "cat: /etc/shadow: Permission denied",
        "cat: /sub/.env: Permission denied", "touch: /w/secret: Read-only file system",
        "touch: /w/new: Read-only file system", "touch: /none/x: Read-only file system",
        "touch: usr/x: Read-only file system", "touch: x/usr/y: Read-only file system",
        "/usr/bin/tool: Can't write: Read-only file system",
        "choom: failed to set score adjust value: Read-only file system", "/usr/x: denied", "/",
        ""}) {
    EXPECT_EQ(find(line), Found{}) << line;
  }
}

TEST_F(PrintedRefusals, OfWhatIsShownReadOnlyAreNamedInTheWordsOfPrograms) {
  plan_.shown.emplace_back("/usr", "ro");
  const std::string may = geteuid() == 0 ? "/usr rw" : "";  // no root lets do what the host refuses
  const Found made = {"open /usr/x~ " + may};
  for (const char* line :
       {"ldconfig: Can't create temporary cache file /usr/x~: Read-only file system",
        "OSError: [Errno 30] Read-only file system: '/usr/x~'",
        "open /usr/x~: read-only file system",
        "Error: EROFS: read-only file system, open '/usr/x~'",
        "bash: line 1: /usr/x~: Read-only file system", "/usr/x~: Read-only file system",
        "/usr/sbin/ldconfig: cannot create /usr/x~: Read-only file system",
        "mv: cannot move '/w/a' to '/usr/../usr/x~': Read-only file system"}) {
    EXPECT_EQ(find(line), made) << line;
  }
  EXPECT_EQ(find("touch: cannot touch '/usr/a b': Read-only file system"),
            Found{"open /usr/a b " + may});
  EXPECT_EQ(find("mkdir: \xe2\x80\x98/usr/a b\xe2\x80\x99: Read-only file system"),
            Found{"open /usr/a b " + may});
  EXPECT_EQ(find("touch: /usr/bin: Read-only file system"),
            Found{"open /usr/bin " + std::string(geteuid() == 0 ? "/usr/bin rw" : "")});
  failed_ = false;
  EXPECT_EQ(find("touch: /usr/bin: Read-only file system"), Found{});
  failed_ = true;
  // Told of already, by itself or by what it was to take the place of.
  for (const char* target : {"/usr/x", "/usr/lib/.x.tmp", "/usr/lib"}) {
    known_ = {{Refuser::kMount, "open", target, 1, "sed", ""}};
    const bool says_as_much = std::string_view(target) != "/usr/x";
    EXPECT_EQ(find("sed: /usr/lib/x: Read-only file system").empty(), says_as_much) << target;
  }
}

TEST_F(PrintedRefusals, AreOnceEachAndFew) {
  for (int i = 0; i < 40; ++i) plan_.shown.emplace_back("/w/" + std::to_string(i) + "/k", "none");
  std::string printed;
  for (int i = 0; i < 40; ++i) {
    for (const char* prefix : {"cat: ", "cat: ./"}) {
      printed += prefix + std::to_string(i) + "/k: Permission denied\n";
    }
  }
  EXPECT_EQ(find(printed).size(), 32U);
  std::string many;
  for (int i = 0; i < 64; ++i) many += "cat: other: Permission denied\n";
  EXPECT_EQ(find(many + "cat: secret: Permission denied\n"), Found{});
  EXPECT_EQ(find(std::string(1024, ' ') + "secret: Permission denied"), Found{});
  known_ = {{Refuser::kMount, "open", "/w/secret", 1, "cat", ""}};
  EXPECT_EQ(find("cat: secret: Permission denied"), Found{});
  plan_.wanted = {};
  known_.clear();
  EXPECT_EQ(find("cat: secret: Permission denied"), Found{});
}

TEST(PrintedRefusalsCorpus, IsReplayed) {
  const auto files = corpus_files("run/printed_corpus");
  EXPECT_GE(files.size(), 4U);
  for (const auto& file : files) EXPECT_TRUE(printed_refusals_hold(file.bytes)) << file.path;
}

}  // namespace
}  // namespace sbx
