// SPDX-License-Identifier: Apache-2.0
// What the helpers for small files promise.
#include "base/files.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <set>
#include <thread>

#include "base/hex.h"
#include "support/temp_dir.h"

namespace sbx {
namespace {

TEST(RealPath, LeadsThroughSymlinks) {
  const test::TempDir dir;
  const std::string real = real_path(dir.directory("there")).value();
  EXPECT_EQ(real_path(dir.symlink("link", "there")).value(), real);
}

TEST(RealPath, SaysWhyThereIsNone) {
  const test::TempDir dir;
  EXPECT_EQ(real_path(dir.at("missing")).error().sys_errno, ENOENT);
  EXPECT_EQ(real_path(dir.symlink("loop", "loop")).error().sys_errno, ELOOP);
}

TEST(WriteAll, WaitsForADescriptorThatDoesNotBlock) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
  OwnedFd in(ends[0]);
  const OwnedFd out(ends[1]);
  const std::string text(std::size_t{1} << 20, 'x');  // more than a pipe holds
  std::string read_back;
  std::thread reader([&] {
    char buffer[4096];
    while (read_back.size() < text.size()) {
      const ssize_t size = read(in.get(), buffer, sizeof buffer);
      if (size > 0) read_back.append(buffer, static_cast<std::size_t>(size));
    }
  });
  EXPECT_TRUE(write_all(out.get(), text));
  reader.join();
  EXPECT_TRUE(read_back == text);
}

TEST(WriteAll, SaysWhyNot) {
  const OwnedFd full(open("/dev/full", O_WRONLY | O_CLOEXEC));
  EXPECT_TRUE(write_all(full.get(), ""));
  EXPECT_FALSE(write_all(full.get(), "x"));
  EXPECT_EQ(errno, ENOSPC);
}

TEST(Companion, LiesBesideTheProgram) {
  const std::string self = real_path("/proc/self/exe").value();
  EXPECT_EQ(companion(self.substr(self.rfind('/') + 1)).value(), self);
}

TEST(Companion, ThatIsMissingIsNamed) {
  const Error error = companion("sbx-no-such-program").error();
  EXPECT_EQ(error.code, ErrorCode::kPathNotFound);
  EXPECT_NE(error.hint.find("install sbx-no-such-program beside "), std::string::npos)
      << error.hint;
}

TEST(ReadFile, EndsWithTheFile) {
  const test::TempDir dir;
  const std::string text(10'000, 'x');
  EXPECT_EQ(read_file(dir.file("long", text), 1 << 20).value(), text);
  EXPECT_EQ(read_file(dir.file("empty", ""), 1 << 20).value(), "");
}

TEST(ReadFile, EndsAtTheBound) {
  const test::TempDir dir;
  const std::string path = dir.file("file", "0123456789");
  EXPECT_EQ(read_file(path, 4).value(), "0123");
  EXPECT_EQ(read_file(path, 10).value(), "0123456789");
  EXPECT_EQ(read_file(path, 11).value(), "0123456789");
}

TEST(ReadFile, ReadsWhatSaysThatItIsEmpty) {
  EXPECT_NE(read_file("/proc/self/status", 4096).value().find("\nPid:"), std::string::npos);
}

TEST(ReadFile, WaitsForNoWriter) {
  const test::TempDir dir;
  ASSERT_EQ(mkfifo(dir.at("fifo").c_str(), 0600), 0);
  EXPECT_EQ(read_file(dir.at("fifo"), 16).value(), "");
}

TEST(ReadFile, SaysWhatFailed) {
  const test::TempDir dir;
  EXPECT_EQ(read_file(dir.at("missing"), 16).error().sys_errno, ENOENT);
  EXPECT_EQ(read_file(dir.path(), 16).error().sys_errno, EISDIR);
}

void expect_listed(const test::TempDir& dir, const std::set<std::string>& names) {
  for (const std::string& name : names) (void)dir.file(name, "");
  Listing listing(dir.path());
  std::multiset<std::string> found;
  while (const dirent* entry = listing.next()) found.insert(entry->d_name);
  EXPECT_EQ(errno, 0);
  EXPECT_EQ(found, std::multiset<std::string>(names.begin(), names.end()));
}

TEST(Listing, HasEveryNameOnce) {
  const test::TempDir dir;
  const std::set<std::string> names = {"a", "..b", "...", ".c"};
  expect_listed(dir, names);
}

// More than one getdents64(2) gives at once.
TEST(Listing, HasTheNamesOfALargeDirectory) {
  const test::TempDir dir;
  std::set<std::string> names;
  for (int i = 0; i < 1000; ++i) names.insert(std::to_string(i) + std::string(60, 'n'));
  expect_listed(dir, names);
}

TEST(Listing, OfADirectoryThatIsRemovedMeanwhileIsAtItsEnd) {
  const test::TempDir dir;
  const std::string path = dir.directory("gone");
  Listing listing(path);
  ASSERT_TRUE(listing.is_open());
  ASSERT_EQ(rmdir(path.c_str()), 0);
  EXPECT_EQ(listing.next(), nullptr);
  EXPECT_EQ(errno, 0);
}

TEST(Listing, IsClosedWhereThereIsNoDirectory) {
  const test::TempDir dir;
  Listing listing(dir.at("missing"));
  EXPECT_EQ(errno, ENOENT);
  EXPECT_FALSE(listing.is_open());
  EXPECT_EQ(listing.next(), nullptr);
}

TEST(Listing, FollowsNoLinkWhereItMayNot) {
  const test::TempDir dir;
  (void)dir.directory("there");
  (void)dir.symlink("link", "there");
  const OwnedFd top(open(dir.path().c_str(), O_PATH | O_CLOEXEC));
  EXPECT_TRUE(Listing(top.get(), "link").is_open());
  EXPECT_FALSE(Listing(top.get(), "link", O_NOFOLLOW).is_open());
}

TEST(Files, TellWhatIsReadyAndWhatHasEnded) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const OwnedFd read_end(ends[0]);
  OwnedFd write_end(ends[1]);
  EXPECT_TRUE(is_ready(write_end.get(), POLLOUT));
  EXPECT_FALSE(is_ready(read_end.get(), POLLIN));
  ASSERT_TRUE(write_all(write_end.get(), "x"));
  EXPECT_TRUE(is_ready(read_end.get(), POLLIN));
  EXPECT_FALSE(is_ready(read_end.get(), 0));
  write_end.reset();
  EXPECT_TRUE(is_ready(read_end.get(), 0));
  EXPECT_FALSE(is_ready(-1, POLLIN));
  EXPECT_FALSE(is_ready(ends[1], POLLOUT));  // closed
}

TEST(Files, TellWhereANameLeadsThatLeadsNowhereYet) {
  const test::TempDir dir;
  (void)dir.directory("d");
  (void)dir.symlink("link", "d/made");
  (void)dir.symlink("chain", dir.at("link"));
  (void)dir.symlink("d/up", "../gone/../e");
  (void)dir.symlink("loop", "loop");
  const auto leads = [&](const char* name) { return real_destination(dir.at(name)); };
  EXPECT_EQ(leads("d"), dir.at("d"));
  EXPECT_EQ(leads("new/x"), dir.at("new/x"));
  EXPECT_EQ(leads("link"), dir.at("d/made"));
  EXPECT_EQ(leads("link/./x"), dir.at("d/made/x"));
  EXPECT_EQ(leads("chain/x"), dir.at("d/made/x"));
  EXPECT_EQ(leads("d/up"), dir.at("e"));
  EXPECT_EQ(leads("loop"), "");
}

TEST(Hex, HasTwoDigitsAByte) {
  EXPECT_EQ(to_hex(std::string_view("\x00\x0f\xa5\xff", 4)), "000fa5ff");
  EXPECT_TRUE(is_hex("0123456789abcdef"));
  EXPECT_EQ(from_hex("00ff7A"), std::string("\0\xff\x7a", 3));
  EXPECT_EQ(from_hex("0g"), "");
  EXPECT_FALSE(is_hex("0A"));
}

}  // namespace
}  // namespace sbx
