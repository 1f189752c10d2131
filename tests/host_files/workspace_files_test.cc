// SPDX-License-Identifier: Apache-2.0
// Files of a request in a workspace that is hostile: all of them or none, and none outside.
#include "host_files/workspace_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "support/temp_dir.h"

namespace sbx {
namespace {

namespace fs = std::filesystem;

class WorkspaceFiles : public testing::Test {
 protected:
  void SetUp() override {
    std::string path = (fs::temp_directory_path() / "sbx-files-XXXXXX").string();
    ASSERT_NE(mkdtemp(path.data()), nullptr);
    base_ = fs::canonical(path);
    work_ = base_ / "work";
    fs::create_directory(work_);
    add_root(work_, Access::kReadWrite);
  }
  void TearDown() override { fs::remove_all(base_); }

  void add_root(const fs::path& path, Access access) {
    view_.roots.push_back({Node{path.string(), NodeKind::kDirectory, 0, 0}, access, "", false});
  }
  void add_protect(const fs::path& path) {
    ViewProtect protect;
    protect.root = work_.string();
    protect.node = Node{path.string(), NodeKind::kDirectory, 0, 0};
    view_.protects.push_back(protect);
  }

  Status write(const std::vector<RequestFile>& files,
               std::optional<std::int64_t> file_bytes = std::nullopt) {
    return write_workspace_files(work_.string(), files, view_, file_bytes);
  }

  // The refusal, after a look that nothing of the request was written.
  Error refused(std::vector<RequestFile> files,
                std::optional<std::int64_t> file_bytes = std::nullopt) {
    files.insert(files.begin(), RequestFile{"first", "1", {}});
    const auto before = listing();
    const Status status = write(files, file_bytes);
    EXPECT_EQ(listing(), before);
    if (status.ok()) {
      ADD_FAILURE() << "accepted";
      return {};
    }
    return status.error();
  }

  std::vector<std::string> listing() const {
    std::vector<std::string> out;
    for (const auto& entry : fs::recursive_directory_iterator(base_)) {
      out.push_back(entry.path().lexically_relative(base_).string());
    }
    std::sort(out.begin(), out.end());
    return out;
  }

  static unsigned mode_of(const fs::path& path) {
    struct stat info {};
    EXPECT_EQ(lstat(path.c_str(), &info), 0);
    return info.st_mode & 07777;
  }

  fs::path base_;
  fs::path work_;
  View view_;
};

// C5
TEST_F(WorkspaceFiles, AreWrittenWithTheirModesAndParents) {
  const std::string bytes("\0\xff", 2);
  const mode_t before = umask(077);
  const Status status = write({{"a.txt", "text", {}},
                               {"deep/er/run.sh", "#!/bin/sh\n", 0755},
                               {"./b//c", bytes, 0600},
                               {"empty", "", 0444}});
  umask(before);
  ASSERT_TRUE(status.ok()) << error_line(status.error());
  EXPECT_EQ(test::slurp(work_ / "a.txt"), "text");
  EXPECT_EQ(mode_of(work_ / "a.txt"), 0644U);
  EXPECT_EQ(mode_of(work_ / "deep/er/run.sh"), 0755U);
  EXPECT_EQ(mode_of(work_ / "deep/er"), 0755U);
  EXPECT_EQ(test::slurp(work_ / "b/c"), bytes);
  EXPECT_EQ(mode_of(work_ / "b/c"), 0600U);
  EXPECT_EQ(mode_of(work_ / "empty"), 0444U);
  EXPECT_EQ(listing().size(), 8U);  // and nothing else
}

TEST_F(WorkspaceFiles, ReplaceARegularFileWhole) {
  std::ofstream(work_ / "old") << "old text";
  fs::create_hard_link(work_ / "old", base_ / "other name");
  ASSERT_TRUE(write({{"old", "new", {}}}).ok());
  EXPECT_EQ(test::slurp(work_ / "old"), "new");
  EXPECT_EQ(test::slurp(base_ / "other name"), "old text");
  EXPECT_EQ(listing().size(), 3U);
}

TEST_F(WorkspaceFiles, LeaveNothingStagedWhereTheirWriterIsKilled) {
  fs::create_directory(work_ / "d");
  const auto before = listing();
  const pid_t writer = fork();
  if (writer == 0) {
    // The second one's SIGXFSZ ends it while the first one is staged.
    const struct rlimit none { 0, 0 };
    const struct rlimit few { 4, 4 };
    setrlimit(RLIMIT_CORE, &none);
    setrlimit(RLIMIT_FSIZE, &few);
    (void)!write({{"one", "1", {}}, {"d/two", "too much", {}}}).ok();
    _exit(1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(writer, &status, 0), writer);
  ASSERT_TRUE(WIFSIGNALED(status)) << "it has not been killed";
  for (int i = 0; i < 1000 && listing() != before; ++i) usleep(10'000);
  EXPECT_EQ(listing(), before);
}

TEST_F(WorkspaceFiles, WithBadPathsAreRefused) {
  const std::string nul("a\0b", 3);
  const std::string long_name(256, 'x');
  for (const std::string& path :
       {std::string("/etc/x"), (work_ / "x").string(), std::string("../x"),
        std::string("a/../../x"), std::string(".."), std::string("."), std::string(""),
        std::string("a/"), nul, long_name, std::string("a/..")}) {
    const Error error = refused({{path, "x", {}}});
    EXPECT_EQ(error.code, ErrorCode::kPathRefused) << path;
    EXPECT_EQ(error.where, "/files/1/path") << path;
  }
}

TEST_F(WorkspaceFiles, OfOnePathOrBelowEachOtherAreRefused) {
  EXPECT_EQ(refused({{"a", "1", {}}, {"./a", "2", {}}}).where, "/files/2/path");
  EXPECT_EQ(refused({{"a/b", "1", {}}, {"a", "2", {}}}).where, "/files/1/path");
}

TEST_F(WorkspaceFiles, NeverFollowASymlink) {
  fs::create_directory(base_ / "outside");
  std::ofstream(base_ / "outside/file") << "kept";
  fs::create_directory(work_ / "real");
  fs::create_directory_symlink(base_ / "outside", work_ / "out");
  fs::create_directory_symlink("real", work_ / "in");
  fs::create_symlink(base_ / "outside/file", work_ / "link");
  fs::create_symlink(base_ / "outside/new", work_ / "dangling");
  for (const char* path : {"out/x", "out/deep/x", "in/x", "link", "dangling", "dangling/x"}) {
    EXPECT_EQ(refused({{path, "x", {}}}).code, ErrorCode::kPathRefused) << path;
  }
  EXPECT_EQ(test::slurp(base_ / "outside/file"), "kept");
}

TEST_F(WorkspaceFiles, NeverReplaceWhatIsNoFile) {
  fs::create_directory(work_ / "dir");
  ASSERT_EQ(mkfifo((work_ / "fifo").c_str(), 0644), 0);
  std::ofstream(work_ / "file") << "x";
  for (const char* path : {"dir", "fifo", "file/below", "fifo/below"}) {
    EXPECT_EQ(refused({{path, "x", {}}}).code, ErrorCode::kPathRefused) << path;
  }
  if (geteuid() == 0 && mknod((work_ / "device").c_str(), S_IFCHR | 0600, makedev(1, 3)) == 0) {
    EXPECT_EQ(refused({{"device", "x", {}}}).code, ErrorCode::kPathRefused);
  }
}

TEST_F(WorkspaceFiles, KeepOutOfPlacesThatThePolicyDoesNotLetBeWritten) {
  for (const char* name : {"ro", "hidden", ".git"}) fs::create_directory(work_ / name);
  add_root(work_ / "ro", Access::kReadOnly);
  add_root(work_ / "hidden", Access::kNone);
  add_root(work_ / "ro/but", Access::kReadWrite);
  add_protect(work_ / ".git/hooks");
  for (const char* path :
       {"ro/x", "ro/deep/x", "hidden/x", ".git/hooks", ".git/hooks/pre-commit"}) {
    const Error error = refused({{path, "x", {}}});
    EXPECT_EQ(error.code, ErrorCode::kPathRefused) << path;
    EXPECT_EQ(error.where, "/files/1/path");
  }
  EXPECT_TRUE(write({{".git/description", "x", {}}, {"ro/but/x", "x", {}}}).ok());
  view_.roots.clear();
  EXPECT_EQ(refused({{"x", "x", {}}}).code, ErrorCode::kPathRefused);
}

TEST_F(WorkspaceFiles, TakeNoPlaceOnTheWayToWhatIsProtected) {
  add_protect(work_ / "a/b/secret");  // none of it is there
  for (const char* path : {"a", "a/b"}) {
    EXPECT_EQ(refused({{path, "x", {}}}).code, ErrorCode::kPathRefused) << path;
  }
  EXPECT_TRUE(write({{"a/c", "x", {}}}).ok());
}

// C3
TEST_F(WorkspaceFiles, AreBoundedEachAndTogether) {
  EXPECT_TRUE(write({{"a", "12345678", {}}}, 8).ok());
  const Error error = refused({{"b", "123456789", {}}}, 8);
  EXPECT_EQ(error.code, ErrorCode::kTooLarge);
  EXPECT_EQ(error.where, "/files/1/content");
  EXPECT_NE(error.message.find("9 bytes, above the limit of 8"), std::string::npos);

  const std::string large(static_cast<std::size_t>(kMostFileBytes / 2), 'x');
  EXPECT_EQ(refused({{"a", large, {}}, {"b", large, {}}}).code, ErrorCode::kTooLarge);
  std::vector<RequestFile> many(kMostFiles + 1);
  EXPECT_EQ(refused(many).code, ErrorCode::kTooLarge);
}

TEST_F(WorkspaceFiles, HaveNoSetuidBits) {
  EXPECT_EQ(refused({{"a", "x", 04755}}).where, "/files/1/mode");
}

TEST_F(WorkspaceFiles, AreAllTakenBackWhereOneCannotBeWritten) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  fs::create_directory(work_ / "shut");
  std::ofstream(work_ / "old") << "old text";
  fs::permissions(work_ / "shut", fs::perms::owner_read | fs::perms::owner_exec);
  const Error error = refused({{"old", "new", {}}, {"new/dir/file", "x", {}}, {"shut/x", "x", {}}});
  fs::permissions(work_ / "shut", fs::perms::owner_all);
  EXPECT_EQ(error.code, ErrorCode::kSetupFailed);
  EXPECT_EQ(error.where, "/files/3/path");
  EXPECT_EQ(test::slurp(work_ / "old"), "old text");
}

// The step that fails comes after files were renamed: what they replaced comes back.
TEST_F(WorkspaceFiles, BringTheOldOnesBack) {
  if (geteuid() != 0) GTEST_SKIP() << "needs a sticky directory of another user's: run as root";
  std::ofstream(work_ / "old") << "old text";
  fs::create_directory(work_ / "sticky");
  std::ofstream(work_ / "sticky/theirs") << "theirs";
  ASSERT_EQ(chmod((work_ / "sticky").c_str(), 01777), 0);
  ASSERT_EQ(chmod(base_.c_str(), 0755), 0);
  ASSERT_EQ(chmod(work_.c_str(), 0777), 0);
  const auto before = listing();
  const pid_t child = fork();
  if (child == 0) {
    if (setgid(1000) != 0 || setuid(1000) != 0) _exit(2);
    const Status status =
        write({{"old", "new", {}}, {"fresh/file", "x", {}}, {"sticky/theirs", "mine", {}}});
    // "old" is root's in a directory without the sticky bit, so it was renamed by then.
    _exit(!status.ok() && status.error().where == "/files/2/path" ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(listing(), before);
  EXPECT_EQ(test::slurp(work_ / "old"), "old text");
  EXPECT_EQ(test::slurp(work_ / "sticky/theirs"), "theirs");
}

}  // namespace
}  // namespace sbx
