// SPDX-License-Identifier: Apache-2.0
// FileView over a root that is an ordinary directory, or this machine's own.
#include "trace/file_view.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "model/grant.h"
#include "plan/operations.h"
#include "support/temp_dir.h"
#include "sys/kernel.h"

namespace sbx {
namespace {

NamedFile wants(FileNeed need) {
  NamedFile file;
  file.operation = "open";
  file.need = need;
  return file;
}

std::string one_root(const std::string& path, std::string_view access) {
  return root_grant({&path, 1}, access);
}

using test::TempDir;

// The sandbox shows an almost empty directory; the host has /etc/passwd.
class HiddenHost : public ::testing::Test {
 protected:
  HiddenHost() { plan_.wanted.add(Layer::kMount); }

  TempDir directory_;
  LaunchPlan plan_;
  Policy policy_;
  OwnedFd root_{open(directory_.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
  FileView view_{plan_, policy_, root_};
};

TEST_F(HiddenHost, NamesWhatTheHostHasWithTheGrantThatShowsIt) {
  const auto read = view_.refusal(wants(FileNeed::kRead), "/etc/../etc/passwd");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->layer, Refuser::kMount);
  EXPECT_EQ(read->target, "/etc/passwd");
  EXPECT_EQ(read->grant, "filesystem.roots += [{\"path\": \"/etc/passwd\", \"access\": \"ro\"}]");
  const auto write = view_.refusal(wants(FileNeed::kWrite), "/etc/passwd");
  ASSERT_TRUE(write);
  // No root lets the command do what the host refuses the caller.
  EXPECT_EQ(write->grant, geteuid() == 0 ? one_root("/etc/passwd", "rw") : "");
}

TEST_F(HiddenHost, OffersNothingThatTheCallerMayNotDoItself) {
  const bool is_root = geteuid() == 0;
  const auto grant = [&](FileNeed need, const std::string& path) {
    const auto refusal = view_.refusal(wants(need), path);
    EXPECT_TRUE(refusal) << path;
    return refusal ? refusal->grant : "";
  };
  EXPECT_EQ(grant(FileNeed::kCreate, "/usr/new"), is_root ? one_root("/usr", "rw") : "");
  EXPECT_EQ(grant(FileNeed::kRead, "/root"), is_root ? one_root("/root", "ro") : "");
  EXPECT_EQ(grant(FileNeed::kRead, "/usr"), one_root("/usr", "ro"));
  // The mode of its own file is its own to change.
  const TempDir outside;
  const std::string file = outside.path() + "/closed";
  ASSERT_TRUE(OwnedFd(open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0)).is_open());
  EXPECT_EQ(grant(FileNeed::kChange, file), one_root(file, "rw"));
}

TEST_F(HiddenHost, NamesWhatHoldsASymlinkAndWhatItLeadsTo) {
  const TempDir outside;
  const std::string& top = outside.path();
  ASSERT_EQ(mkdir((top + "/real").c_str(), 0700), 0);
  ASSERT_EQ(symlink("real", (top + "/link").c_str()), 0);
  ASSERT_EQ(symlink("real/none", (top + "/dangling").c_str()), 0);
  ASSERT_TRUE(
      OwnedFd(open((top + "/real/file").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600)).is_open());
  const auto grant = [&](const char* access, const std::string& path) {
    return "filesystem.roots += [" + root_entry(top, "ro") + ", " + root_entry(top + path, access) +
           "]";
  };
  EXPECT_EQ(view_.refusal(wants(FileNeed::kRead), top + "/link/file")->grant,
            grant("ro", "/real/file"));
  EXPECT_EQ(view_.refusal(wants(FileNeed::kRead), top + "/link")->grant, grant("ro", "/real"));
  EXPECT_EQ(view_.refusal(wants(FileNeed::kWrite), top + "/link/file")->grant,
            grant("rw", "/real/file"));
}

TEST_F(HiddenHost, NamesTheDirectoryWhereAnEntryGoes) {
  const auto remove = view_.refusal(wants(FileNeed::kRemove), "/etc/passwd");
  ASSERT_TRUE(remove);
  EXPECT_EQ(remove->grant, geteuid() == 0 ? one_root("/etc", "rw") : "");
  EXPECT_FALSE(view_.refusal(wants(FileNeed::kRemove), "/etc/no-such-file"));
}

TEST_F(HiddenHost, NamesThatDirectoryWithoutTheWayToIt) {
  const TempDir outside;
  outside.file("d/file", "x");
  ASSERT_EQ(mkdir((outside.path() + "/d/inner").c_str(), 0700), 0);
  const std::string grant = "filesystem.roots += [" + root_entry(outside.path() + "/d", "rw") + "]";
  const std::string way = outside.path() + "/x/../d/";
  for (const char* operation : {"unlink", "rename", "rmdir"}) {
    NamedFile entry = wants(FileNeed::kRemove);
    entry.operation = operation;
    const auto refusal = view_.refusal(entry, way + "file");
    ASSERT_TRUE(refusal) << operation;
    EXPECT_EQ(refusal->grant, grant) << operation;
    EXPECT_EQ(refusal->target, outside.path() + "/d/file") << operation;
  }
  // Nowhere can a directory be removed as a file: what was meant is to go into it.
  NamedFile entry = wants(FileNeed::kRemove);
  entry.operation = "unlink";
  EXPECT_EQ(view_.refusal(entry, outside.path() + "/d")->grant, grant);
}

TEST_F(HiddenHost, PassesOverWhatIsNowhere) {
  EXPECT_FALSE(view_.refusal(wants(FileNeed::kRead), "/nowhere/at/all"));
  EXPECT_FALSE(view_.refusal(wants(FileNeed::kLook), "/etc/no-such-file"));
}

TEST_F(HiddenHost, PassesOverWhatDiffersInsideWhateverTheProfileSays) {
  for (const char* path : {"/proc/1/status", "/dev/shm/x", "/dev/pts/0", "/dev/fd/0"}) {
    EXPECT_FALSE(view_.refusal(wants(FileNeed::kRead), path)) << path;
  }
}

TEST_F(HiddenHost, GrantsADeviceAsADevice) {
  const auto refusal = view_.refusal(wants(FileNeed::kRead), "/dev/null");
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->grant, "filesystem.devices += [\"/dev/null\"]");
}

TEST_F(HiddenHost, FollowsALinkThatLeadsToWhatIsNotShown) {
  directory_.symlink("link", "/etc/passwd");
  directory_.symlink("link2", "link");
  const auto refusal = view_.refusal(wants(FileNeed::kRead), "/link2");
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->target, "/etc/passwd");
  directory_.symlink("loop", "loop");
  EXPECT_FALSE(view_.refusal(wants(FileNeed::kRead), "/loop"));
}

TEST_F(HiddenHost, GrantsTheRootThatIsThereAlreadyByItsOwnEntry) {
  policy_.sandbox.filesystem.roots.push_back({"/etc/passwd", Access::kNone, false, "", false});
  const auto refusal = view_.refusal(wants(FileNeed::kRead), "/etc/passwd");
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->grant,
            "filesystem.roots += [{\"path\": \"/etc/passwd\", \"access\": \"ro\"}]");
}

// The sandbox's root is this machine's: what is there is looked at.
class ShownHost : public ::testing::Test {
 protected:
  std::string at(const std::string& name) const { return directory_.at(name); }

  TempDir directory_;
  LaunchPlan plan_;
  Policy policy_;
  OwnedFd root_{open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)};
  FileView view_{plan_, policy_, root_};
};

TEST_F(ShownHost, LetsPassWhatNoLayerRefuses) {
  plan_.wanted.add(Layer::kMount);
  directory_.file("file", "x", 0644);
  for (const FileNeed need : {FileNeed::kLook, FileNeed::kRead, FileNeed::kWrite, FileNeed::kChange,
                              FileNeed::kRemove, FileNeed::kReplace}) {
    EXPECT_FALSE(view_.refusal(wants(need), at("file"))) << static_cast<int>(need);
  }
  EXPECT_FALSE(view_.refusal(wants(FileNeed::kCreate), at("new")));
}

TEST_F(ShownHost, TakesAMaskForWhatItCovers) {
  plan_.wanted.add(Layer::kMount);
  directory_.file("mask", "", 0);
  EXPECT_FALSE(view_.refusal(wants(FileNeed::kRead), at("mask")));  // the host's own, so far
  plan_.shown.emplace_back(at("mask"), "none");
  const auto refusal = view_.refusal(wants(FileNeed::kRead), at("mask"));
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->layer, Refuser::kMount);
  EXPECT_EQ(refusal->target, at("mask"));
  EXPECT_FALSE(view_.refusal(wants(FileNeed::kLook), at("mask")));
}

TEST_F(ShownHost, NamesAStubThatStandsForWhatMustNotBeMade) {
  plan_.wanted.add(Layer::kMount);
  plan_.stubs.push_back(at("stub"));
  plan_.shown.emplace_back(at("stub"), "protected");
  directory_.file("stub", "x", 0);
  directory_.file("other", "x", 0644);
  const auto refusal = view_.refusal(wants(FileNeed::kCreate), at("stub"));
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->grant, "remove it from filesystem.protect");
  EXPECT_FALSE(view_.refusal(wants(FileNeed::kCreate), at("other")));  // EEXIST, as outside
}

TEST_F(ShownHost, OffersNoGrantForWhatSteersTheRunItself) {
  plan_.wanted.add(Layer::kMount);
  plan_.stubs.push_back(at("profile.json"));
  plan_.shown.emplace_back(at("profile.json"), "protected");
  policy_.run.own_files.push_back(at("profile.json"));
  directory_.file("profile.json", "x", 0644);
  const auto refusal = view_.refusal(wants(FileNeed::kCreate), at("profile.json"));
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->grant, "");
}

TEST_F(ShownHost, NamesWhatAnOverlayCannotCopyUp) {
  // Owned by neither the caller's user nor its group.
  std::string path = "/etc/passwd";
  if (geteuid() == 0) {
    path = directory_.file("file", "x");
    ASSERT_EQ(chown(path.c_str(), 4711, 4711), 0);
  }
  plan_.wanted.add(Layer::kUser);
  plan_.shown.emplace_back(path, "overlay");
  EXPECT_FALSE(view_.refusal(wants(FileNeed::kWrite), path));
  policy_.sandbox.filesystem.overlay = true;
  const auto refusal = view_.refusal(wants(FileNeed::kWrite), path);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->grant, "filesystem.overlay = false");
  EXPECT_FALSE(view_.refusal(wants(FileNeed::kRead), path));
}

TEST_F(ShownHost, LandlockWithoutARuleRefusesTheRightsThatItHandles) {
  plan_.wanted.add(Layer::kLandlock);
  plan_.ops.emplace_back(
      op::LandlockCreate{sys::kLandlockFsReadFile | sys::kLandlockFsWriteFile, 0, 0});
  plan_.arena = at("shown");
  plan_.ops.emplace_back(op::LandlockAllow{op::Text{0}, sys::kLandlockFsReadFile, {}});
  directory_.file("shown/file", "x", 0644);
  directory_.file("file", "x", 0644);
  NamedFile read = wants(FileNeed::kRead);
  read.landlock_rights = sys::kLandlockFsReadFile;
  NamedFile write = wants(FileNeed::kWrite);
  write.landlock_rights = sys::kLandlockFsWriteFile;
  EXPECT_FALSE(view_.refusal(read, at("shown/file")));
  const auto refusal = view_.refusal(write, at("shown/file"));
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->layer, Refuser::kLandlock);
  EXPECT_EQ(refusal->grant,
            "filesystem.roots += [{\"path\": \"" + at("shown/file") + "\", \"access\": \"rw\"}]");
  ASSERT_TRUE(view_.refusal(read, at("file")));
  EXPECT_FALSE(view_.refusal(wants(FileNeed::kLook), at("file")));
}

}  // namespace
}  // namespace sbx
