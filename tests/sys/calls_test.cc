// SPDX-License-Identifier: Apache-2.0
// openat2(2) as it is asked here, and open_by_names() in its place: the same file or the same
// error.
#include "sys/calls.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "base/owned_fd.h"
#include "support/temp_dir.h"

namespace sbx::test {
namespace {

// What an open gave: a file and whether it is open for reading, or an error.
std::string told(int opened) {
  const int error = errno;
  const OwnedFd fd(opened);
  if (!fd.is_open()) return std::strerror(error);
  struct stat info {};
  if (fstat(fd.get(), &info) != 0) return "fstat fails";
  return std::to_string(info.st_dev) + ":" + std::to_string(info.st_ino) + " " +
         std::to_string(fcntl(fd.get(), F_GETFL) & (O_PATH | O_ACCMODE)) +
         std::to_string(fcntl(fd.get(), F_GETFD));
}

int by_kernel(int dirfd, const char* path, const sys::OpenHow& how) {
  return static_cast<int>(::syscall(SYS_openat2, dirfd, path, &how, sizeof how));
}

TEST(OpenByNames, AnswersAsTheKernelDoes) {
  const TempDir dir;
  const std::string& top = dir.path();
  ASSERT_EQ(mkdir((top + "/d").c_str(), 0700), 0);
  ASSERT_EQ(mkdir((top + "/d/e").c_str(), 0700), 0);
  ASSERT_EQ(mknod((top + "/d/e/f").c_str(), S_IFREG | 0600, 0), 0);
  ASSERT_EQ(symlink("d", (top + "/to_d").c_str()), 0);
  ASSERT_EQ(symlink("f", (top + "/d/e/to_f").c_str()), 0);
  ASSERT_EQ(symlink("nowhere", (top + "/d/dangling").c_str()), 0);
  const OwnedFd at(open(top.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (::syscall(SYS_openat2, at.get(), ".", nullptr, 0) != 0 && errno == ENOSYS) {
    GTEST_SKIP() << "no openat2 here";
  }
  const std::string too_long(300, 'x');
  for (const std::string& name :
       {std::string("d"), std::string("d/e/f"), std::string("d//e/./f"), std::string("d/e/f/g"),
        std::string("to_d"), std::string("to_d/e/f"), std::string("d/e/to_f"),
        std::string("d/dangling"), std::string("d/dangling/x"), std::string("d/none"),
        std::string("none/d"), std::string("."), std::string("./d/."), std::string(""),
        "d/" + too_long, too_long + "/d"}) {
    for (const int flags :
         {O_PATH | O_CLOEXEC, O_PATH | O_NOFOLLOW | O_CLOEXEC, O_RDONLY | O_CLOEXEC,
          O_RDONLY | O_NOFOLLOW | O_CLOEXEC, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC}) {
      for (const std::uint64_t resolve :
           {sys::kResolveNoSymlinks, sys::kResolveNoSymlinks | sys::kResolveNoMagiclinks,
            sys::kResolveNoSymlinks | sys::kResolveNoMagiclinks | sys::kResolveBeneath,
            std::uint64_t{0}}) {
        const sys::OpenHow how{static_cast<std::uint64_t>(flags), 0, resolve};
        SCOPED_TRACE(testing::Message()
                     << name.substr(0, 20) << " flags " << flags << " resolve " << resolve);
        EXPECT_EQ(told(sys::open_by_names(at.get(), name.c_str(), how)),
                  told(by_kernel(at.get(), name.c_str(), how)));
        const std::string whole = top + "/" + name;
        EXPECT_EQ(told(sys::open_by_names(AT_FDCWD, whole.c_str(), how)),
                  told(by_kernel(AT_FDCWD, whole.c_str(), how)));
      }
    }
  }
}

TEST(OpenByNames, MakesAFileAndLeadsNowhereElse) {
  const TempDir dir;
  const OwnedFd at(open(dir.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const sys::OpenHow make{O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600,
                          sys::kResolveBeneath | sys::kResolveNoSymlinks};
  EXPECT_TRUE(OwnedFd(sys::open_by_names(at.get(), "made", make)).is_open());
  struct stat info {};
  ASSERT_EQ(stat((dir.path() + "/made").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600U);
  for (const char* const path : {"../made", "..", "/etc/passwd"}) {
    const sys::OpenHow how{O_PATH | O_CLOEXEC, 0, sys::kResolveBeneath | sys::kResolveNoSymlinks};
    EXPECT_EQ(sys::open_by_names(at.get(), path, how), -1) << path;
    EXPECT_EQ(errno, EXDEV) << path;
  }
  for (const std::uint64_t resolve : {sys::kResolveInRoot, sys::kResolveNoMagiclinks,
                                      sys::kResolveNoSymlinks | sys::kResolveCached}) {
    const sys::OpenHow how{O_PATH | O_CLOEXEC, 0, resolve};
    EXPECT_EQ(sys::open_by_names(at.get(), "made", how), -1);
    EXPECT_EQ(errno, ENOSYS);
  }
}

}  // namespace
}  // namespace sbx::test
