// SPDX-License-Identifier: Apache-2.0
// Made-up upper directories beside the host's → the list of what would have changed.
#include "host_files/changes.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "support/temp_dir.h"

namespace sbx {
namespace {

using Lines = std::vector<std::string>;

// A host directory "lower" and the "upper" one that lies over it.
class Changes : public ::testing::Test {
 protected:
  Changes() {
    dir_.directory("lower");
    dir_.directory("upper");
  }

  // "kind path", the path being relative to the host directory.
  Lines lines() {
    std::vector<OwnedFd> uppers;
    uppers.push_back(open_directory("upper"));
    Lines out;
    for (const Change& change : list_changes({dir_.at("lower")}, uppers, parted_)) {
      const std::string prefix = dir_.at("lower") + "/";
      const bool inside = change.path.starts_with(prefix);
      out.push_back(change.kind + " " + (inside ? change.path.substr(prefix.size()) : change.path));
    }
    return out;
  }

  OwnedFd open_directory(const std::string& name) const {
    OwnedFd fd(::open(dir_.at(name).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    EXPECT_TRUE(fd.is_open());
    return fd;
  }

  test::TempDir dir_;
  Parted parted_;
};

TEST_F(Changes, AreNoneForAnEmptyUpperDirectory) {
  dir_.file("lower/file", "x");
  EXPECT_EQ(lines(), Lines());
}

TEST_F(Changes, TellWhatWasCreatedSortedByPath) {
  dir_.file("upper/z", "x");
  dir_.file("upper/new/inner/file", "x");
  ASSERT_EQ(::mkfifo(dir_.at("upper/fifo").c_str(), 0600), 0);
  EXPECT_EQ(lines(), (Lines{"created fifo", "created new", "created new/inner",
                            "created new/inner/file", "created z"}));
}

TEST_F(Changes, TellWhatWasModifiedAndNotTheDirectoriesOnTheWay) {
  dir_.file("lower/a/b/file", "old");
  dir_.file("upper/a/b/file", "new");
  EXPECT_EQ(lines(), Lines{"modified a/b/file"});
}

TEST_F(Changes, TellADirectoryWhoseModeChanged) {
  dir_.directory("lower/a/b");
  dir_.directory("upper/a/b");
  ASSERT_EQ(::chmod(dir_.at("upper/a").c_str(), 0700), 0);
  ASSERT_EQ(::chmod(dir_.at("lower/a").c_str(), 0755), 0);
  EXPECT_EQ(lines(), Lines{"modified a"});
}

TEST_F(Changes, TellWhatAnotherKindOfFileReplaced) {
  dir_.file("lower/file", "x");
  dir_.file("upper/file/inner", "x");
  dir_.file("lower/directory/gone", "x");
  dir_.file("upper/directory", "x");
  dir_.file("lower/link", "x");
  dir_.symlink("upper/link", "elsewhere");
  EXPECT_EQ(lines(), (Lines{"replaced directory", "deleted directory/gone", "replaced file",
                            "created file/inner", "replaced link"}));
}

TEST_F(Changes, TellADirectoryThatWasRemovedAndMadeAnew) {
  dir_.file("lower/a/old", "x");
  dir_.file("upper/a/new", "x");
  if (::setxattr(dir_.at("upper/a").c_str(), "user.overlay.opaque", "y", 1, 0) != 0) {
    GTEST_SKIP() << "no user xattrs on this file system: " << std::strerror(errno);
  }
  dir_.file("lower/a/both/old", "x");
  dir_.file("upper/a/both/new", "x");
  dir_.file("lower/a/same", "x");
  dir_.file("upper/a/same", "x");
  dir_.file("lower/a/gone/inner", "x");
  EXPECT_EQ(lines(), (Lines{"created a/both/new", "deleted a/both/old", "deleted a/gone",
                            "deleted a/gone/inner", "created a/new", "deleted a/old"}));
}

TEST_F(Changes, TellWhatWasDeleted) {
  dir_.file("lower/a/file", "x");
  dir_.file("lower/directory/inner/file", "x");
  dir_.symlink("lower/directory/link", dir_.at("lower/a"));
  dir_.directory("upper/a");
  for (const char* name : {"upper/a/file", "upper/directory", "upper/never-was"}) {
    // Since Linux 5.8 a whiteout needs no privilege (mknod(2), commit a3c751a50fe6).
    if (::mknod(dir_.at(name).c_str(), S_IFCHR | 0600, makedev(0, 0)) != 0) {
      GTEST_SKIP() << "no character device 0:0 can be made here: " << std::strerror(errno);
    }
  }
  EXPECT_EQ(lines(), (Lines{"deleted a/file", "deleted directory", "deleted directory/inner",
                            "deleted directory/inner/file", "deleted directory/link"}));
}

TEST_F(Changes, DoNotFollowSymlinks) {
  dir_.file("outside/secret", "x");
  dir_.symlink("upper/link", dir_.at("outside"));
  dir_.directory("lower/directory");
  dir_.symlink("upper/directory", dir_.at("outside"));
  EXPECT_EQ(lines(), (Lines{"replaced directory", "created link"}));
}

TEST_F(Changes, RepairNamesThatAreNotUtf8) {
  dir_.file("upper/a\xff", "x");
  EXPECT_EQ(lines(), Lines{"created a\uFFFD"});
}

TEST_F(Changes, StopAtABoundAndSaySo) {
  const OwnedFd upper = open_directory("upper");
  for (int i = 0; i < 10'005; ++i) {
    const int made = ::mknodat(upper.get(), ("f" + std::to_string(i)).c_str(), S_IFREG | 0600, 0);
    ASSERT_EQ(made, 0) << std::strerror(errno);
  }
  const Lines found = lines();
  EXPECT_EQ(found.size(), 10'000U);
  EXPECT_EQ(found.back(), "truncated …");
}

// `levels` directories within one another, and a file in the last.
void make_deep(const std::string& top, int levels) {
  OwnedFd at(::open(top.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (int i = 0; i < levels; ++i) {
    ASSERT_EQ(::mkdirat(at.get(), "d", 0755), 0) << std::strerror(errno);
    at.reset(::openat(at.get(), "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  const OwnedFd file(::openat(at.get(), "f", O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  ASSERT_TRUE(file.is_open());
}

TEST_F(Changes, GoDeepAndSayWhereTheyGoNoDeeper) {
  make_deep(dir_.at("lower"), 90);
  make_deep(dir_.at("upper"), 90);
  std::string path;
  for (int i = 0; i < 90; ++i) path += "d/";
  dir_.file("upper/" + path + "new", "x");
  EXPECT_EQ(lines(), Lines{"created " + path + "new"});
  // Where the descriptors do not reach it is as below kDeepest.
  struct rlimit files {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
  for (const rlim_t most : {90, 91}) {  // at either of a directory's two descriptors
    struct rlimit few = files;
    few.rlim_cur = most;
    setrlimit(RLIMIT_NOFILE, &few);
    EXPECT_EQ(lines(), Lines{"truncated …"}) << most;
    setrlimit(RLIMIT_NOFILE, &files);
  }
}

TEST_F(Changes, ListEveryUpperDirectoryBelowItsOwnHostDirectory) {
  dir_.directory("lower2");
  dir_.directory("upper2");
  dir_.file("upper/b", "x");
  dir_.file("upper2/a", "x");
  std::vector<OwnedFd> uppers;
  uppers.push_back(open_directory("upper2"));
  uppers.push_back(open_directory("upper"));
  const std::vector<Change> found =
      list_changes({dir_.at("lower2"), dir_.at("lower")}, uppers, parted_);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].path, dir_.at("lower/b"));
  EXPECT_EQ(found[1].path, dir_.at("lower2/a"));
}

TEST_F(Changes, NameWhatIsPartedFromItsOtherNames) {
  for (const char* name : {"a", "b", "c", "one"}) dir_.file(std::string("lower/") + name, "old");
  for (const char* name : {"a", "b", "c"}) {
    ASSERT_EQ(link(dir_.at(std::string("lower/") + name).c_str(),
                   dir_.at(std::string("lower/other-") + name).c_str()),
              0);
  }
  lines();
  EXPECT_EQ(parted_.text("overlay"), "");
  dir_.file("upper/one", "new");
  dir_.file("upper/a", "new");
  dir_.directory("upper/c");
  lines();
  EXPECT_EQ(parted_.text("overlay"),
            "overlay: its other names keep the former content: " + dir_.at("lower/a"));
  dir_.file("upper/b", "new");
  parted_ = {};
  lines();
  EXPECT_TRUE(parted_.text("overlay").ends_with(" and 1 more"));
}

TEST_F(Changes, NamePathsBelowTheRootWithOneSlash) {
  dir_.file("upper/sbx-no-such-name", "x");
  std::vector<OwnedFd> uppers;
  uppers.push_back(open_directory("upper"));
  const std::vector<Change> found = list_changes({"/"}, uppers, parted_);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].path, "/sbx-no-such-name");
}

}  // namespace
}  // namespace sbx
