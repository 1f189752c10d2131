// SPDX-License-Identifier: Apache-2.0
// git's configuration and index as bytes → what leads git on; bytes that are neither give nothing.
#include "host/git_files.h"

#include <gtest/gtest.h>

#include <random>

#include "../../fuzz/host/properties.h"
#include "support/corpus.h"

namespace sbx {
namespace {

std::string number(unsigned value, int size) {
  std::string out;
  for (int i = size - 1; i >= 0; --i) {
    out += static_cast<char>(static_cast<unsigned char>(value >> (8 * i)));
  }
  return out;
}

std::string entry(const std::string& name, unsigned mode) {
  std::string out = std::string(24, '\0') + number(mode, 4) + std::string(12 + 20, 'i');
  out += number(static_cast<unsigned>(name.size()), 2) + name;
  return out + std::string(8 - out.size() % 8, '\0');
}

std::string index(unsigned count, const std::string& rest) {
  return "DIRC" + number(2, 4) + number(count, 4) + rest + std::string(20, 'c');
}

TEST(GitConfig, SharesWhoAndHowAndNothingThatRunsOrIsSecret) {
  const std::string text =
      "[User] Name = \"A \\\"B\\\" #C\"\n\temail = a@b ; comment\n\tsigningKey = K\n"
      "[include]\n path = x\n[includeIf \"gitdir:~/\"]\n path = y\n"
      "[core]\n pager = less\n editor = vi\n sshCommand = s\n fsmonitor = f\n hooksPath = h\n"
      " autocrlf\n askPass = p\n"
      "[credential]\n helper = store\n[credential \"https://x\"]\n helper = !run\n"
      "[http]\n extraHeader = secret\n proxy = p\n[http \"https://x\"]\n cookieFile = c\n"
      "[alias]\n st = status\n run = !sh -c x\n log2 = \"log\\n--all\"\n"
      "[filter \"lfs\"]\n smudge = git-lfs\n[diff \"pdf\"]\n textconv = t\n[diff]\n external = e\n"
      " algorithm = histogram\n[merge \"d\"]\n driver = d\n[commit]\n gpgSign = true\n"
      "[gpg]\n program = g\n[color \"diff\"]\n meta = red\n[sendemail]\n smtpPass = s\n"
      "[url \"git@h:\"]\n insteadOf = https://h/\n[url \"https://u:p@h/\"]\n insteadOf = h:\n"
      "[url \"https://h/\"]\n insteadOf = https://u:p@h/\n[difftool \"x\"]\n cmd = x\n";
  EXPECT_EQ(shareable_git_config(text),
            "[user]\n\tname = \"A \\\"B\\\" #C\"\n[user]\n\temail = \"a@b\"\n"
            "[core]\n\tautocrlf\n[alias]\n\tst = \"status\"\n[alias]\n\tlog2 = \"log\\n--all\"\n"
            "[diff]\n\talgorithm = \"histogram\"\n[color \"diff\"]\n\tmeta = \"red\"\n"
            "[url \"git@h:\"]\n\tinsteadof = \"https://h/\"\n");
}

TEST(GitConfig, SharesNoAliasThatTakesSettingsAlongOrRunsWhatItSays) {
  for (const char* alias :
       {"-c http.extraHeader=x fetch", "-c core.pager=less log", "--config-env=a=B fetch",
        "rebase -x make", "rebase -ix make", "rebase --exec=make", "rebase --ex make",
        "rebase '-x' make", "bisect run make", "submodule foreach make", "log !x",
        "difftool --extcmd=x", "fetch --upload-pack=x", "push --receive-pack=x", "grep -Oless -cx",
        "grep --open-files-in-pager=x", "fetch https://h/?private_token=x", "log --author=token"}) {
    EXPECT_EQ(shareable_git_config("[alias]\n a = \"" + std::string(alias) + "\"\n"), "") << alias;
  }
  for (const char* alias : {"commit -v", "log --oneline --graph", "push -u origin HEAD",
                            "rebase -i --autosquash", "log --pretty='%h %s'", "branch -vv"}) {
    EXPECT_EQ(shareable_git_config("[alias]\n a = \"" + std::string(alias) + "\"\n"),
              "[alias]\n\ta = \"" + std::string(alias) + "\"\n");
  }
}

TEST(GitConfig, SharesNothingThatMayHoldASecretWhereverItStands) {
  for (const char* url : {"https://host/?private_token=x", "https://u@host/",
                          "https://h/glpat-abc/", "https://h/ghp_abc/", "https://h/password/x"}) {
    EXPECT_EQ(shareable_git_config("[url \"" + std::string(url) + "\"]\n insteadOf = h:\n"), "");
    EXPECT_EQ(shareable_git_config("[url \"h:\"]\n insteadOf = " + std::string(url) + "\n"), "");
  }
  EXPECT_EQ(shareable_git_config("[pretty]\n a = format:Bearer x\n"), "");
  EXPECT_EQ(shareable_git_config("[user]\n name = A. Secretan\n"),
            "[user]\n\tname = \"A. Secretan\"\n");
}

TEST(GitConfig, FindsIncludesAndTheDirectoryOfHooksHoweverTheyAreWritten) {
  const GitConfigPaths found = read_git_config(
      "# include.path = no\n[INCLUDE] path = a ; comment\n[includeIf \"gitdir:~/x]\"]\n\tPath=\" b "
      "\\\""
      "\\n\"c\\\nd\n[core]\nbare\nHooksPath = first\nhookspath=\"se#cond\"\n[other \"include\"]\n"
      "path = no\n[extensions]\nobjectformat = SHA256");
  EXPECT_EQ(found.includes, (std::vector<std::string>{"a", " b \"\ncd"}));
  EXPECT_EQ(found.hooks_path, "se#cond");
  EXPECT_TRUE(found.has_sha256);
}

TEST(GitIndex, NamesGitlinksOnly) {
  const Gitlinks found = read_gitlinks(
      index(3, entry("a", 0100644) + entry("b/sub", 0160000) + entry("lengthy-name", 0160000)), 20,
      10);
  EXPECT_EQ(found.paths, (std::vector<std::string>{"b/sub", "lengthy-name"}));
  EXPECT_TRUE(found.is_whole);
  EXPECT_TRUE(found.shared.empty());
}

TEST(GitIndex, SaysThatThereAreMoreThanWanted) {
  const std::string two = entry("a", 0160000) + entry("b", 0160000);
  EXPECT_FALSE(read_gitlinks(index(2, two), 20, 1).is_whole);
  EXPECT_FALSE(read_gitlinks(index(1, entry("", 0160000)), 20, 9).is_whole);
}

TEST(GitIndex, NamesTheSharedIndexThatItBuildsOn) {
  const std::string link =
      "TREE" + number(2, 4) + "xx" + "link" + number(22, 4) + std::string(20, '\xab') + "xx";
  EXPECT_EQ(read_gitlinks(index(1, entry("a", 0100644) + link), 20, 9).shared.substr(0, 4), "abab");
}

std::string prefixed_entry(const std::string& name, unsigned mode) {
  return std::string(24, '\0') + number(mode, 4) + std::string(12 + 20, 'i') + number(1, 2) +
         std::string(1, '\0') + name + std::string(1, '\0');
}

TEST(GitIndex, ANameThatNoFileCanHaveIsNotKept) {
  std::string rest = prefixed_entry(std::string(8000, 'a'), 0100644);
  for (int i = 0; i < 9; ++i) rest += prefixed_entry("b", 0160000);
  std::string bytes = index(10, rest);
  bytes[7] = 4;
  EXPECT_TRUE(read_gitlinks(bytes, 20, 9).paths.empty());
}

TEST(GitFiles, TheCorporaAreReplayed) {
  const auto files = corpus_files("host/git_files_corpus");
  EXPECT_GE(files.size(), 9U);
  for (const CorpusFile& file : files) EXPECT_TRUE(git_files_hold(file.bytes)) << file.path;
  const auto maps = corpus_files("host/maps_corpus");
  EXPECT_GE(maps.size(), 3U);
  for (const CorpusFile& file : maps) EXPECT_TRUE(maps_hold(file.bytes)) << file.path;
}

TEST(GitFiles, TakeAnyBytes) {
  std::mt19937 random(1);
  const std::string good = index(2, entry("a", 0160000) + entry("b", 0160000));
  for (int i = 0; i < 20000; ++i) {
    std::string bytes = good;
    for (int change = 0; change < 4; ++change) {
      bytes[random() % bytes.size()] = static_cast<char>(random() & 255U);
    }
    bytes[7] = static_cast<char>(2 + random() % 3);
    bytes.resize(random() % bytes.size());
    EXPECT_LE(read_gitlinks(bytes, 20, 9).paths.size(), 9U);
    (void)read_git_config(bytes);
  }
  (void)read_git_config("[");
  (void)read_git_config("[a \"\\");
  (void)read_git_config("a = \"\\");
}

}  // namespace
}  // namespace sbx
