// SPDX-License-Identifier: Apache-2.0
// What counts of /proc/PID/maps, and how often.
#include "run/memory_count.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/netlink.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "base/owned_fd.h"

namespace sbx {
namespace {

constexpr const char* kNobody = "nobody";  // no entry of the directory that stands for a procfs

std::int64_t count(std::initializer_list<std::string_view> texts) {
  MemoryCount memory;
  for (const std::string_view text : texts) memory.add_maps(AT_FDCWD, kNobody, text);
  return memory.bytes();
}

TEST(MemoryCount, ASharedMappingCountsOnceByItsEnd) {
  constexpr std::string_view kWhole =
      "7f0000000000-7f0000a00000 rw-s 00000000 00:01 1025       /dev/zero (deleted)";
  constexpr std::string_view kTail =
      "7f0000000000-7f0000001000 rw-s 009ff000 00:01 1025       /dev/zero (deleted)";
  constexpr std::string_view kOther =
      "7f0000000000-7f0000a00000 ---s 00000000 00:01 1026       /memfd:a b (deleted)";
  EXPECT_EQ(count({kWhole}), 0xa00000);
  EXPECT_EQ(count({kTail}), 0xa00000);
  EXPECT_EQ(count({kWhole, kTail, kWhole}), 0xa00000);
  EXPECT_EQ(count({kWhole, kOther}), 2 * 0xa00000);
}

TEST(MemoryCount, MappingsFarIntoTheirFilesNeverAddUpToLess) {
  constexpr std::string_view kFar[] = {
      "7f0000000000-7f0000001000 rw-s 7ffffffffffff000 00:01 1 /memfd:a (deleted)",
      "7f0000000000-7f0000001000 rw-s 7fffffffffffe000 00:01 2 /memfd:a (deleted)",
      "7f0000000000-7f0000001000 rw-s 7fffffffffffe000 00:01 3 /memfd:a (deleted)"};
  constexpr std::int64_t kMachine = std::int64_t{1} << 50;
  EXPECT_GT(count({kFar[0]}), kMachine);
  EXPECT_GT(count({kFar[0], kFar[1]}), kMachine);
  EXPECT_GT(count({kFar[1], kFar[2]}), kMachine);
  EXPECT_GT(count({kFar[0], kFar[1], kFar[2]}), kMachine);
}

TEST(MemoryCount, FilesAndPrivateMemoryAreNotCountedBySize) {
  EXPECT_EQ(count({"7f0000000000-7f0000a00000 rw-p 00000000 00:00 0 ",
                   "7f0000000000-7f0000a00000 rw-p 00000000 00:00 0          [heap]",
                   "7f0000000000-7f0000a00000 r--s 00000000 08:01 77         /usr/lib/locale/C"}),
            0);
}

TEST(MemoryCount, WhatIsNoMappingCountsNothing) {
  EXPECT_EQ(count({"", "\n\n", "/memfd:", "a b c d e /dev/zero (deleted)",
                   "7f0000000000 rw-s 0 0001 1025 /dev/zero (deleted)"}),
            0);
}

TEST(MemoryCount, AFileInMemoryCountsWhatItHoldsHoweverOftenItIsSeen) {
  const OwnedFd proc(open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const OwnedFd file(memfd_create("memory_count_test", MFD_CLOEXEC));
  ASSERT_TRUE(proc.is_open() && file.is_open());
  const std::string self = std::to_string(getpid());
  MemoryCount before;
  before.add_open(proc.get(), self);
  before.add_mapped(proc.get(), self);
  ASSERT_EQ(ftruncate(file.get(), 64 << 20), 0);
  const std::string text(1 << 20, 'x');
  ASSERT_EQ(write(file.get(), text.data(), text.size()), 1 << 20);
  void* const map = mmap(nullptr, 64 << 20, PROT_READ, MAP_SHARED, file.get(), 0);
  ASSERT_NE(map, MAP_FAILED);
  MemoryCount after;
  for (int i = 0; i < 2; ++i) {
    after.add_mapped(proc.get(), self);
    after.add_open(proc.get(), self);
  }
  munmap(map, 64 << 20);
  EXPECT_EQ(after.bytes() - before.bytes(), 1 << 20);
}

TEST(SocketBytes, WhatWaitsCountsWhoeverHasClosed) {
  const OwnedFd diag(
      socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG));
  ASSERT_TRUE(diag.is_open());
  int ends[2] = {-1, -1};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
  OwnedFd sender(ends[0]);
  OwnedFd receiver(ends[1]);
  std::string text(100'000, 'x');
  // What others of the machine have waiting counts too, and may go meanwhile.
  bool counts = false;
  bool counts_closed = false;
  for (int attempt = 0; attempt < 20 && !(counts && counts_closed); ++attempt) {
    if (!sender.is_open()) {
      ASSERT_EQ(recv(receiver.get(), text.data(), text.size(), MSG_WAITALL), 100'000);
      ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
      sender.reset(ends[0]);
      receiver.reset(ends[1]);
    }
    const std::int64_t before = socket_bytes(diag.get());
    ASSERT_EQ(send(sender.get(), text.data(), text.size(), 0), 100'000);
    counts = socket_bytes(diag.get()) >= before + 100'000;
    sender.reset();
    counts_closed = socket_bytes(diag.get()) >= before + 100'000;
  }
  EXPECT_TRUE(counts);
  EXPECT_TRUE(counts_closed);
}

TEST(SocketBytes, ManySocketsAreLeftOffWhenItIsLateAndCountedWholeTheNextTime) {
  const OwnedFd diag(
      socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG));
  ASSERT_TRUE(diag.is_open());
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
  const OwnedFd sender(pair[0]);
  const OwnedFd receiver(pair[1]);
  const std::string text(100'000, 'x');
  ASSERT_EQ(send(sender.get(), text.data(), text.size(), 0), 100'000);
  std::vector<OwnedFd> more;
  more.reserve(800);
  for (int i = 0; i < 800; ++i) more.emplace_back(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_TRUE(more.back().is_open());
  int asked = 0;
  const auto is_late = [&] { return ++asked > 1; };  // after a piece of the first answer
  socket_bytes(diag.get(), is_late);
  EXPECT_LE(asked, 10);
  EXPECT_GE(socket_bytes(diag.get()), 100'000);
}

TEST(MemoryCount, ManyDescriptorsAreLeftOffWhenItIsLate) {
  const OwnedFd proc(open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  std::vector<OwnedFd> more;
  more.reserve(800);
  for (int i = 0; i < 800; ++i) more.emplace_back(memfd_create("many", MFD_CLOEXEC));
  ASSERT_TRUE(proc.is_open() && more.back().is_open());
  for (const OwnedFd& file : more) ASSERT_EQ(ftruncate(file.get(), 4096), 0);
  int asked = 0;
  MemoryCount memory([&] { return ++asked > 20; });
  memory.add_open(proc.get(), "self");
  EXPECT_EQ(asked, 21);
}

}  // namespace
}  // namespace sbx
