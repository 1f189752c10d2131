// SPDX-License-Identifier: Apache-2.0
#include "trace/file_call.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "plan/filter.h"
#include "trace/inside_paths.h"

namespace sbx {
namespace {

sys::SeccompNotif call(long number, std::initializer_list<std::uint64_t> args) {
  sys::SeccompNotif notification{};
  notification.pid = static_cast<std::uint32_t>(getpid());
  notification.data.nr = static_cast<std::int32_t>(number);
  std::copy(args.begin(), args.end(), notification.data.args);
  return notification;
}

constexpr std::uint64_t kHere = static_cast<std::uint64_t>(static_cast<std::int64_t>(AT_FDCWD));

TEST(FileCall, OpeningForReadingIsNotOpeningForWriting) {
  const auto read = files_of(call(SYS_openat, {kHere, 100, O_RDONLY | O_CLOEXEC}));
  ASSERT_EQ(read.size(), 1U);
  EXPECT_EQ(read[0].need, FileNeed::kRead);
  EXPECT_EQ(read[0].dirfd, AT_FDCWD);
  EXPECT_EQ(read[0].address, 100U);
  EXPECT_TRUE(read[0].follows);
  const auto made = files_of(call(SYS_openat, {7, 100, O_WRONLY | O_CREAT | O_NOFOLLOW}));
  EXPECT_EQ(made[0].need, FileNeed::kWrite);
  EXPECT_EQ(made[0].dirfd, 7);
  EXPECT_TRUE(made[0].creates);
  EXPECT_FALSE(made[0].is_exclusive);
  EXPECT_TRUE(files_of(call(SYS_openat, {7, 100, O_RDWR | O_CREAT | O_EXCL}))[0].is_exclusive);
  EXPECT_FALSE(made[0].follows);
  EXPECT_EQ(files_of(call(SYS_openat, {kHere, 100, O_RDONLY | O_TRUNC}))[0].need, FileNeed::kWrite);
  EXPECT_EQ(files_of(call(SYS_openat, {kHere, 100, O_PATH}))[0].need, FileNeed::kLook);
}

TEST(FileCall, Openat2KeepsItsFlagsInMemory) {
  const std::uint64_t how[3] = {O_WRONLY, 0, 0};
  const auto files =
      files_of(call(SYS_openat2, {kHere, 100, reinterpret_cast<std::uint64_t>(how), sizeof how}));
  ASSERT_EQ(files.size(), 1U);
  EXPECT_EQ(files[0].need, FileNeed::kWrite);
  EXPECT_TRUE(files_of(call(SYS_openat2, {kHere, 100, 8, 24})).empty());
}

TEST(FileCall, ARenameNamesTwoFiles) {
  const auto files = files_of(call(SYS_renameat2, {3, 100, 4, 200, 0}));
  ASSERT_EQ(files.size(), 2U);
  EXPECT_EQ(files[0].need, FileNeed::kRemove);
  EXPECT_EQ(files[0].dirfd, 3);
  EXPECT_EQ(files[1].need, FileNeed::kReplace);
  EXPECT_EQ(files[1].dirfd, 4);
  EXPECT_EQ(files[1].address, 200U);
}

TEST(FileCall, RemovingADirectoryIsToldFromRemovingAFile) {
  EXPECT_STREQ(files_of(call(SYS_unlinkat, {kHere, 100, 0}))[0].operation, "unlink");
  EXPECT_STREQ(files_of(call(SYS_unlinkat, {kHere, 100, AT_REMOVEDIR}))[0].operation, "rmdir");
}

TEST(FileCall, EveryCallThatTheFilterReportsIsKnown) {
  FilterSpec spec;
  spec.report_paths = true;
  const auto filter = compile_filter(spec);
  ASSERT_TRUE(filter.ok());
  const std::uint64_t how[3] = {};
  for (const int number : filter.value().reported_calls) {
    const auto files =
        files_of(call(number, {0, 0, reinterpret_cast<std::uint64_t>(how), 0, 0, 0}));
    EXPECT_FALSE(files.empty()) << syscall_name(number);
  }
  EXPECT_GT(filter.value().reported_calls.size(), 20U);
}

TEST(InsidePaths, AreReadToTheirEndAndNoFurther) {
  const auto tid = static_cast<std::uint32_t>(getpid());
  const auto read = [&](const std::string& text) {
    return read_path(tid, reinterpret_cast<std::uint64_t>(text.c_str()));
  };
  EXPECT_EQ(read("/usr/bin/env"), "/usr/bin/env");
  EXPECT_EQ(read(""), "");
  EXPECT_EQ(read(std::string(4000, 'x')), std::string(4000, 'x'));
  EXPECT_EQ(read(std::string(5000, 'x')), std::nullopt);
  for (const std::uint64_t address : {std::uint64_t{0}, std::uint64_t{8}, ~std::uint64_t{0},
                                      ~std::uint64_t{0} - 4095, std::uint64_t{1} << 63}) {
    EXPECT_EQ(read_path(tid, address), std::nullopt) << address;
  }
}

TEST(InsidePaths, BeginWhereTheProcessStandsOrAtItsDescriptor) {
  const auto tid = static_cast<std::uint32_t>(getpid());
  const OwnedFd usr(open("/usr", O_PATH | O_CLOEXEC));
  EXPECT_EQ(absolute_path(tid, AT_FDCWD, "/etc/x"), "/etc/x");
  EXPECT_EQ(absolute_path(tid, usr.get(), "bin/env"), "/usr/bin/env");
  EXPECT_EQ(absolute_path(tid, usr.get(), ""), "/usr");
  EXPECT_EQ(absolute_path(tid, 999'999, "x"), std::nullopt);
  int ends[2] = {-1, -1};
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const OwnedFd reader(ends[0]);
  const OwnedFd writer(ends[1]);
  EXPECT_EQ(absolute_path(tid, reader.get(), "x"), std::nullopt);
}

}  // namespace
}  // namespace sbx
