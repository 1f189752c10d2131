// SPDX-License-Identifier: Apache-2.0
// Logs on the host: the spill of one run, lines that many append, the directories they lie in.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "host_files/append_file.h"
#include "host_files/places.h"
#include "host_files/spill.h"
#include "support/temp_dir.h"

namespace sbx {
namespace {

namespace fs = std::filesystem;

class Logs : public testing::Test {
 protected:
  void SetUp() override {
    std::string path = (fs::temp_directory_path() / "sbx-logs-XXXXXX").string();
    ASSERT_NE(mkdtemp(path.data()), nullptr);
    base_ = fs::canonical(path);
  }
  void TearDown() override { fs::remove_all(base_); }

  static unsigned mode_of(const fs::path& path) {
    struct stat info {};
    EXPECT_EQ(lstat(path.c_str(), &info), 0) << path;
    return info.st_mode & 07777;
  }
  // What `body` answers in a process that may write no file beyond `bytes`.
  template <typename Body>
  static bool holds_with_file_limit(rlim_t bytes, Body body) {
    const pid_t child = fork();
    if (child == 0) {
      signal(SIGXFSZ, SIG_IGN);
      const struct rlimit limit { bytes, bytes };
      _exit(setrlimit(RLIMIT_FSIZE, &limit) == 0 && body() ? 0 : 1);
    }
    int status = 0;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }

  fs::path base_;
};

TEST_F(Logs, SpillKeepsWhatItIsGivenInAFileOfItsOwn) {
  Spill spill({(base_ / "state/sbx/logs").string()}, 1'700'000'000'000, 1000);
  spill.append("out\n");
  spill.append("err\n");
  ASSERT_TRUE(spill.finish().ok());
  EXPECT_TRUE(spill.path().starts_with((base_ / "state/sbx/logs/run-01700000000000-").string()));
  EXPECT_EQ(test::slurp(spill.path()), "out\nerr\n");
  EXPECT_EQ(mode_of(spill.path()), 0600U);
  EXPECT_EQ(mode_of(base_ / "state/sbx/logs"), 0700U);
  EXPECT_EQ(spill.left_out(), 0U);
}

TEST_F(Logs, SpillSaysWhatItsCapLeftOut) {
  Spill spill({(base_ / "logs").string()}, 1, 10);
  spill.append("0123456");
  spill.append("789abc");
  spill.append("def");
  ASSERT_TRUE(spill.finish().ok());
  EXPECT_EQ(spill.left_out(), 6U);
  EXPECT_EQ(test::slurp(spill.path()), "0123456789\n[... 6 bytes left out: output.spill_mb ...]\n");
}

TEST_F(Logs, SpillKeepsTheFailureOfAFullDisk) {
  EXPECT_TRUE(holds_with_file_limit(8, [&] {
    Spill spill({(base_ / "logs").string()}, 1, 1000);
    spill.append("01234");
    spill.append("56789");
    spill.append("more");
    const Status status = spill.finish();
    return !status.ok() && status.error().code == ErrorCode::kSpillFailed &&
           test::slurp(spill.path()) == "01234567";
  }));
}

TEST_F(Logs, SpillUsesNoDirectoryThatOthersMayWriteOrThatIsALink) {
  fs::create_directory(base_ / "open");
  ASSERT_EQ(chmod((base_ / "open").c_str(), 0777), 0);
  fs::create_directory(base_ / "real");
  fs::create_directory_symlink(base_ / "real", base_ / "link");
  Spill spill({(base_ / "open").string(), (base_ / "link").string(), (base_ / "good").string()}, 1,
              1000);
  EXPECT_TRUE(spill.path().starts_with((base_ / "good").string())) << spill.path();
  EXPECT_TRUE(spill.finish().ok());
  EXPECT_TRUE(fs::is_empty(base_ / "open"));
  EXPECT_TRUE(fs::is_empty(base_ / "real"));

  Spill none({(base_ / "open").string()}, 1, 1000);
  none.append("lost");
  EXPECT_EQ(none.path(), "");
  ASSERT_FALSE(none.finish().ok());
}

TEST_F(Logs, SpillUsesNoDirectoryOfAnotherUser) {
  if (geteuid() != 0) GTEST_SKIP() << "root alone makes one";
  const std::string theirs = (base_ / "theirs").string();
  ASSERT_EQ(mkdir(theirs.c_str(), 0700), 0);
  ASSERT_EQ(chown(theirs.c_str(), 65534, 65534), 0);
  const Spill spill({theirs, (base_ / "good").string()}, 1, 1000);
  EXPECT_TRUE(spill.path().starts_with((base_ / "good").string())) << spill.path();
  EXPECT_TRUE(fs::is_empty(theirs));
}

TEST_F(Logs, OldSpillsGo) {
  fs::create_directory(base_ / "logs");
  for (std::size_t i = 0; i < kKeptLogs + 5; ++i) {
    const std::string digits = std::to_string(1000 + i);
    std::ofstream(base_ / "logs" / ("run-0000000000" + digits + "-00000000.log")) << "x";
  }
  std::ofstream(base_ / "logs/other") << "kept";
  Spill spill({(base_ / "logs").string()}, 1'700'000'000'000, 1000);
  ASSERT_TRUE(spill.finish().ok());
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(base_ / "logs")) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names.size(), kKeptLogs + 1);
  EXPECT_EQ(names.front(), "other");
  EXPECT_EQ(names.at(1), "run-00000000001006-00000000.log");
  EXPECT_TRUE(fs::exists(spill.path()));
}

TEST_F(Logs, PlacesThatTheCommandCannotWriteComeFirst) {
  Policy policy;
  const std::string home = base_;
  policy.sandbox.filesystem.roots = {{home, Access::kReadWrite, false, ""},
                                     {home + "/safe", Access::kReadOnly, false, ""}};
  const Environment plain = {{"HOME", home}, {"TMPDIR", "/scratch"}};
  EXPECT_TRUE(log_places(plain, policy).front().starts_with("/scratch/sbx-logs-"));
  const Environment own = {{"HOME", home}, {"XDG_STATE_HOME", home + "/safe"}};
  EXPECT_EQ(log_places(own, policy).front(), home + "/safe/sbx/logs");
  EXPECT_EQ(log_places(plain, Policy{}).front(), home + "/.local/state/sbx/logs");
  EXPECT_EQ(workspace_places({{"HOME", home}}).front(), home + "/.cache/sbx/workspaces");
  EXPECT_EQ(workspace_places({{"HOME", home}, {"XDG_CACHE_HOME", "/c"}}).front(),
            "/c/sbx/workspaces");
  EXPECT_TRUE(workspace_places({{"HOME", "relative"}}).front().starts_with("/tmp/sbx-workspaces-"));
}

TEST_F(Logs, LieInNoHomeThatIsNotThere) {
  const std::string home = base_ / "missing";
  const std::string tmp = "/tmp/sbx-workspaces-";
  const auto first = [](const Environment& all) { return workspace_places(all).front(); };
  EXPECT_TRUE(first({{"HOME", home}}).starts_with(tmp));
  EXPECT_TRUE(first({{"HOME", home}, {"XDG_CACHE_HOME", home + "/cache"}}).starts_with(tmp));
  EXPECT_TRUE(first({{"HOME", base_}, {"XDG_CACHE_HOME", "/missing/a/b"}}).starts_with(tmp));
  // In one that is there everything is made.
  const std::string deep = base_ / "a/b/cache";
  EXPECT_EQ(first({{"HOME", base_}, {"XDG_CACHE_HOME", deep}}), deep + "/sbx/workspaces");
}

TEST_F(Logs, LinesOfManyWritersStayWhole) {
  const std::string path = base_ / "audit";
  constexpr int kWriters = 4;
  constexpr int kLines = 50;
  for (int writer = 0; writer < kWriters; ++writer) {
    if (fork() != 0) continue;
    auto file = AppendFile::open(path, "--audit");
    bool good = file.ok();
    for (int i = 0; good && i < kLines; ++i) {
      good = file.value()
                 .append_line(
                     std::string(writer % 2 == 0 ? 100 : 9000, static_cast<char>('a' + writer)))
                 .ok();
    }
    _exit(good ? 0 : 1);
  }
  for (int writer = 0; writer < kWriters; ++writer) {
    int status = 1;
    ASSERT_GT(wait(&status), 0);
    EXPECT_EQ(status, 0);
  }
  std::ifstream file(path);
  std::string line;
  int lines = 0;
  while (std::getline(file, line)) {
    ++lines;
    EXPECT_EQ(line, std::string(line.size(), line.front()));
    EXPECT_EQ(line.size(), (line.front() - 'a') % 2 == 0 ? 100U : 9000U);
  }
  EXPECT_EQ(lines, kWriters * kLines);
  EXPECT_EQ(mode_of(path), 0600U);
}

TEST_F(Logs, AppendFollowsNoLinkAndWaitsForNoFifo) {
  std::ofstream(base_ / "real") << "";
  fs::create_symlink(base_ / "real", base_ / "link");
  ASSERT_EQ(mkfifo((base_ / "fifo").c_str(), 0600), 0);
  const OwnedFd reader(open((base_ / "fifo").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  for (const fs::path& path :
       {base_ / "link", base_ / "fifo", base_, fs::path("/dev/null"), base_ / "no/such"}) {
    const auto file = AppendFile::open(path.string(), "/audit/file");
    ASSERT_FALSE(file.ok()) << path;
    EXPECT_EQ(file.error().code, ErrorCode::kOutputUnwritable);
    EXPECT_EQ(file.error().where, "/audit/file");
  }
}

TEST_F(Logs, ALineThatDoesNotFitLeavesNothing) {
  const std::string path = base_ / "audit";
  EXPECT_TRUE(holds_with_file_limit(150, [&] {
    auto file = AppendFile::open(path, "--audit");
    if (!file.ok() || !file.value().append_line(std::string(99, 'a')).ok()) return false;
    const Status status = file.value().append_line(std::string(99, 'b'));
    return !status.ok() && status.error().code == ErrorCode::kOutputUnwritable;
  }));
  EXPECT_EQ(test::slurp(path), std::string(99, 'a') + "\n");
}

TEST_F(Logs, AHeldLockDoesNotStopALine) {
  const std::string path = base_ / "audit";
  auto file = AppendFile::open(path, "--audit");
  ASSERT_TRUE(file.ok());
  const OwnedFd other(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(flock(other.get(), LOCK_EX), 0);
  EXPECT_TRUE(file.value().append_line(std::string(9000, 'x')).ok());
  EXPECT_EQ(fs::file_size(path), 9001U);
}

TEST_F(Logs, ALineBehindOneThatACrashCutShortIsOnALineOfItsOwn) {
  const std::string path = base_ / "log";
  std::ofstream(path) << "{\"torn";
  AppendFile log = AppendFile::open(path, "audit.file").value();
  ASSERT_TRUE(log.append_line("one").ok());
  ASSERT_TRUE(log.append_line("two").ok());
  EXPECT_EQ(test::slurp(path), "{\"torn\none\ntwo\n");
}

}  // namespace
}  // namespace sbx
