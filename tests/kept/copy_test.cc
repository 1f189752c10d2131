// SPDX-License-Identifier: Apache-2.0
// A copy is its tree, by however many threads it is made; what keeps it from that is an error or
// said.
#include "kept/copy.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/fs.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>

#include "base/files.h"
#include "host_files/remove_tree.h"

namespace sbx {
namespace {

class Copies : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/sbx-copy-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    base_ = pattern;
    ASSERT_EQ(mkdir(from().c_str(), 0755), 0);
    ASSERT_EQ(mkdir(to().c_str(), 0755), 0);
    copy_.threads = GetParam();
  }
  void TearDown() override { remove_tree(base_); }

  std::string from() const { return base_ + "/from"; }
  std::string to() const { return base_ + "/to"; }

  void put(const std::string& name, const std::string& text, mode_t mode = 0644) const {
    std::ofstream(from() + "/" + name) << text;
    ASSERT_EQ(chmod((from() + "/" + name).c_str(), mode), 0);
  }
  void make(const std::string& name) const {
    ASSERT_EQ(mkdir((from() + "/" + name).c_str(), 0755), 0);
  }
  Status copy() { return copy_tree(from(), to(), copy_, records_); }

  // Path → kind, mode, time of its last change, content.
  static void list(const std::string& top, const std::string& below,
                   std::map<std::string, std::string>& out) {
    Listing listing(top + below);
    while (const dirent* entry = listing.next()) {
      const std::string path = below + "/" + entry->d_name;
      struct stat info {};
      ASSERT_EQ(lstat((top + path).c_str(), &info), 0);
      std::string text = std::to_string(info.st_mode) + " " + std::to_string(info.st_mtim.tv_sec) +
                         "." + std::to_string(info.st_mtim.tv_nsec) + " ";
      if (S_ISREG(info.st_mode)) {
        const Result<std::string> content = read_file(top + path, std::size_t{1} << 24);
        text += content.ok() ? content.value() : "?";
      }
      out.emplace(path, std::move(text));
      if (S_ISDIR(info.st_mode)) list(top, path, out);
    }
  }
  static std::map<std::string, std::string> tree(const std::string& top) {
    std::map<std::string, std::string> out;
    list(top, "", out);
    return out;
  }

  std::string base_;
  TreeCopy copy_;
  BaseRecords records_;
};

TEST_P(Copies, AreTheTree) {
  for (int i = 0; i < 20; ++i) {
    const std::string directory = "d" + std::to_string(i);
    make(directory);
    for (int j = 0; j < 60; ++j) {
      put(directory + "/" + std::to_string(j),
          std::string(static_cast<std::size_t>(i * j * 7), 'x'), j % 3 == 0 ? 0755 : 0600);
    }
    make(directory + "/below");
    put(directory + "/below/file", "b");
    ASSERT_EQ(chmod((from() + "/" + directory).c_str(), i % 2 == 0 ? 0555 : 0750), 0);
  }
  put(std::string(255, 'n'), "long");
  put("\xff\n\x1b", "strange");
  ASSERT_EQ(symlink("/etc", (from() + "/link").c_str()), 0);
  ASSERT_EQ(mkfifo((from() + "/fifo").c_str(), 0640), 0);
  ASSERT_TRUE(copy().ok());
  EXPECT_EQ(tree(to()), tree(from()));
  EXPECT_EQ(copy_.left_out, 0U);
  EXPECT_EQ(records_.all().size(), tree(from()).size());
  EXPECT_GT(copy_.bytes, 0);
  std::array<char, 16> target{};
  EXPECT_EQ(readlink((to() + "/link").c_str(), target.data(), target.size()), 4);
}

// Data, a hole, data and a hole.
TEST_P(Copies, KeepHolesAndAreHeldToWhatTheyTake) {
  std::ofstream file(from() + "/sparse");
  file << 'x';
  file.seekp(std::streamoff{64} << 20);
  file << 'y';
  file.close();
  ASSERT_EQ(truncate((from() + "/sparse").c_str(), off_t{200} << 20), 0);
  copy_.most_bytes = std::int64_t{1} << 20;
  ASSERT_TRUE(copy().ok());
  EXPECT_LT(copy_.bytes, 100'000);
  struct stat info {};
  ASSERT_EQ(stat((to() + "/sparse").c_str(), &info), 0);
  EXPECT_EQ(info.st_size, off_t{200} << 20);
  EXPECT_LT(info.st_blocks * 512, 100'000);
  std::ifstream copied(to() + "/sparse");
  EXPECT_EQ(copied.get(), 'x');
  EXPECT_EQ(copied.get(), 0);
  copied.seekg(std::streamoff{64} << 20);
  EXPECT_EQ(copied.get(), 'y');
}

TEST_P(Copies, KeepNamesOfOneFileTogether) {
  make("other");
  for (int i = 0; i < 200; ++i) {
    const std::string name = "f" + std::to_string(i);
    put(name, name);
    for (const std::string& more : {"g" + std::to_string(i), "other/" + name}) {
      ASSERT_EQ(link((from() + "/" + name).c_str(), (from() + "/" + more).c_str()), 0);
    }
  }
  ASSERT_TRUE(copy().ok());
  EXPECT_EQ(tree(to()), tree(from()));
  for (int i = 0; i < 200; ++i) {
    std::set<ino_t> inodes;
    for (const std::string name : {"/f", "/g", "/other/f"}) {
      struct stat info {};
      ASSERT_EQ(stat((to() + name + std::to_string(i)).c_str(), &info), 0);
      EXPECT_EQ(info.st_nlink, 3U);
      inodes.insert(info.st_ino);
      const std::int64_t stamp =
          std::int64_t{info.st_ctim.tv_sec} * 1'000'000'000 + info.st_ctim.tv_nsec;
      const BaseRecord* const record = records_.find(0, (name + std::to_string(i)).substr(1));
      ASSERT_NE(record, nullptr);
      EXPECT_EQ(record->stamp, stamp) << name << i;
    }
    EXPECT_EQ(inodes.size(), 1U);
  }
}

TEST_P(Copies, NameWhatCannotBeRead) {
  if (geteuid() == 0) GTEST_SKIP() << "root reads everything";
  make("d");
  for (int i = 0; i < 100; ++i) put("d/" + std::to_string(i), "x", i == 50 ? 0 : 0644);
  ASSERT_TRUE(copy().ok());
  EXPECT_EQ(copy_.left_out, 1U);
  EXPECT_EQ(copy_.first_left_out, "d/50");
  EXPECT_EQ(tree(to()).size(), 100U);
  EXPECT_EQ(records_.find(0, "d/50"), nullptr);
}

TEST_P(Copies, OfALayersOwnTreeAreWhole) {
  make("shut");
  put("shut/file", "in it");
  put("unread", "u", 0);
  ASSERT_EQ(chmod((from() + "/shut").c_str(), 0), 0);
  copy_.is_own = true;
  ASSERT_TRUE(copy().ok());
  EXPECT_EQ(copy_.left_out, 0U);
  for (const std::string& top : {from(), to()}) {
    struct stat info {};
    ASSERT_EQ(stat((top + "/shut").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777, 0U) << top;
    ASSERT_EQ(stat((top + "/unread").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777, 0U) << top;
    ASSERT_EQ(chmod((top + "/shut").c_str(), 0700), 0);
    ASSERT_EQ(chmod((top + "/unread").c_str(), 0600), 0);
  }
  EXPECT_EQ(read_file(to() + "/shut/file", 16).value(), "in it");
  EXPECT_EQ(read_file(to() + "/unread", 16).value(), "u");
}

TEST_P(Copies, EndAtTheirSize) {
  for (int i = 0; i < 100; ++i) put(std::to_string(i), std::string(std::size_t{64} << 10, 'x'));
  copy_.most_bytes = std::int64_t{1} << 20;
  const Status status = copy();
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("layer_mb"), std::string::npos);
  EXPECT_LT(tree(to()).size(), 40U);
}

TEST_P(Copies, EndWithASignalThatWaits) {
  for (int i = 0; i < 10; ++i) put(std::to_string(i), "x");
  sigset_t set;
  sigset_t before;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &set, &before), 0);
  ASSERT_EQ(kill(getpid(), SIGTERM), 0);
  const Status status = copy();
  int number = 0;
  EXPECT_EQ(sigwait(&set, &number), 0);
  ASSERT_EQ(pthread_sigmask(SIG_SETMASK, &before, nullptr), 0);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("interrupted"), std::string::npos);
}

TEST_P(Copies, EndWithTheirOwner) {
  put("a", "x");
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const OwnedFd owner(ends[0]);
  close(ends[1]);
  copy_.owner_pidfd = owner.get();
  const Status status = copy();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kCancelled);
  // In the midst of a file, too.
  const OwnedFd from(open((this->from() + "/a").c_str(), O_RDONLY | O_CLOEXEC));
  const OwnedFd to(open((base_ + "/b").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (ioctl(to.get(), FICLONE, from.get()) == 0) GTEST_SKIP() << "blocks are shared here";
  EXPECT_FALSE(copy_bytes(from.get(), to.get(), &copy_.owner_pidfd));
  EXPECT_EQ(errno, EINTR);
  EXPECT_TRUE(copy_bytes(from.get(), to.get()));
}

TEST_P(Copies, AreDeep) {
  std::string path = from();
  for (int i = 0; i < 300; ++i) {
    path += "/d";
    ASSERT_EQ(mkdir(path.c_str(), 0755), 0);
    if (i % 9 == 0) std::ofstream(path + "/f") << i;
  }
  ASSERT_TRUE(copy().ok());
  EXPECT_EQ(tree(to()), tree(from()));
}

// Each chain is kept open by the file at its end until that is copied.
TEST_P(Copies, HoldFewDirectoriesOpen) {
  for (int i = 0; i < 40; ++i) {
    std::string path = from() + "/" + std::to_string(i);
    ASSERT_EQ(mkdir(path.c_str(), 0755), 0);
    for (int j = 0; j < 6; ++j) {
      path += "/d";
      ASSERT_EQ(mkdir(path.c_str(), 0755), 0);
    }
    std::ofstream(path + "/f") << i;
  }
  struct rlimit was {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &was), 0);
  struct rlimit few = was;
  few.rlim_cur = 256;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  const Status status = copy();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &was), 0);
  ASSERT_TRUE(status.ok());
  EXPECT_EQ(tree(to()), tree(from()));
}

TEST_P(Copies, AreAnErrorWhereSomethingIsInTheWay) {
  for (int i = 0; i < 100; ++i) put(std::to_string(i), "x");
  ASSERT_EQ(symlink("/etc/passwd", (to() + "/70").c_str()), 0);
  const Status status = copy();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().sys_errno, EEXIST);
  EXPECT_NE(status.error().message.find("70"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Threads, Copies, testing::Values(1, 2, 4),
                         [](const auto& each) { return std::to_string(each.param); });

}  // namespace
}  // namespace sbx
