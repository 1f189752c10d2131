// SPDX-License-Identifier: Apache-2.0
// Messages on a socket pair → descriptors with their tags, end of file, or an errno.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "launch/spawn.h"

namespace sbx {
namespace {

struct Pair {
  OwnedFd ours;
  OwnedFd theirs;
  Pair() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    ours.reset(ends[0]);
    theirs.reset(ends[1]);
  }
};

struct Pipe {
  OwnedFd out;
  OwnedFd in;
  Pipe() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    out.reset(ends[0]);
    in.reset(ends[1]);
  }
};

bool is_same_file(int a, int b) {
  struct stat first {};
  struct stat second {};
  return ::fstat(a, &first) == 0 && ::fstat(b, &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

void send(int socket, std::vector<ReportTag> tags, const std::vector<int>& fds) {
  alignas(struct cmsghdr) char buffer[CMSG_SPACE(sizeof(int) * 4)] = {};
  ASSERT_LE(fds.size(), 4U);
  struct iovec data {
    tags.data(), tags.size()
  };
  struct msghdr message {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  if (!fds.empty()) {
    message.msg_control = buffer;
    message.msg_controllen = CMSG_SPACE(sizeof(int) * fds.size());
    struct cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int) * fds.size());
    std::memcpy(CMSG_DATA(header), fds.data(), sizeof(int) * fds.size());
  }
  ASSERT_EQ(::sendmsg(socket, &message, MSG_NOSIGNAL), static_cast<ssize_t>(tags.size()));
}

TEST(ReceiveReports, IsEmptyWithErrnoZeroAtEndOfFile) {
  Pair pair;
  pair.theirs.reset();
  errno = EPERM;
  const std::vector<Received> reports = receive_reports(pair.ours.get());
  EXPECT_EQ(errno, 0);
  EXPECT_TRUE(reports.empty());
}

TEST(ReceiveReports, SaysThatNothingWaits) {
  const Pair pair;
  const std::vector<Received> reports = receive_reports(pair.ours.get());
  EXPECT_EQ(errno, EAGAIN);
  EXPECT_TRUE(reports.empty());
}

TEST(ReceiveReports, SaysWhatWentWrong) {
  const Pipe pipe;
  const std::vector<Received> reports = receive_reports(pipe.out.get());
  EXPECT_EQ(errno, ENOTSOCK);
  EXPECT_TRUE(reports.empty());
}

TEST(ReceiveReports, PairsEveryDescriptorWithItsTag) {
  Pair pair;
  const Pipe first;
  const Pipe second;
  send(pair.theirs.get(), {ReportTag::kListener, ReportTag::kPty},
       {first.out.get(), second.out.get()});
  pair.theirs.reset();

  const std::vector<Received> reports = receive_reports(pair.ours.get());
  ASSERT_EQ(reports.size(), 2U);
  EXPECT_EQ(reports[0].tag, ReportTag::kListener);
  EXPECT_TRUE(is_same_file(reports[0].fd.get(), first.out.get()));
  EXPECT_EQ(reports[1].tag, ReportTag::kPty);
  EXPECT_TRUE(is_same_file(reports[1].fd.get(), second.out.get()));
  for (const Received& report : reports) {
    EXPECT_NE(::fcntl(report.fd.get(), F_GETFD) & FD_CLOEXEC, 0);
  }
  EXPECT_TRUE(receive_reports(pair.ours.get()).empty());
  EXPECT_EQ(errno, 0) << "the message, then end of file";
}

TEST(ReceiveReports, RefusesAMessageWithoutDescriptors) {
  const Pair pair;
  send(pair.theirs.get(), {ReportTag::kProc}, {});
  const std::vector<Received> reports = receive_reports(pair.ours.get());
  EXPECT_EQ(errno, EBADMSG);
  EXPECT_TRUE(reports.empty());
}

TEST(ReceiveReports, ClosesWhatItDoesNotHandOut) {
  const Pair pair;
  Pipe pipe;
  send(pair.theirs.get(), {ReportTag::kProc, ReportTag::kScratch}, {pipe.in.get()});
  pipe.in.reset();
  const std::vector<Received> reports = receive_reports(pair.ours.get());
  EXPECT_EQ(errno, EBADMSG);
  EXPECT_TRUE(reports.empty());
  char byte = 0;
  EXPECT_EQ(::read(pipe.out.get(), &byte, 1), 0) << "nobody holds the writing end any more";
}

}  // namespace
}  // namespace sbx
