// SPDX-License-Identifier: Apache-2.0
// Whether a path is looked at: on a mount of its own whose names nobody has asked for yet.
#include "run/at_hand.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <string>

#include "support/temp_dir.h"

namespace sbx {
namespace {

constexpr int kCannot = 77;

// In a mount namespace of its own, where `top` holds an overlay, `top`/merged, with a program in
// it. An overlay's names are new to the kernel, wherever what lies below them is kept.
int in_an_overlay(const std::string& top, const std::function<int()>& look) {
  const pid_t child = fork();
  if (child == 0) {
    const std::string uid = std::to_string(geteuid());
    const std::string gid = std::to_string(getegid());
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) _exit(kCannot);
    std::ofstream("/proc/self/uid_map") << uid << ' ' << uid << " 1";
    std::ofstream("/proc/self/setgroups") << "deny";
    std::ofstream("/proc/self/gid_map") << gid << ' ' << gid << " 1";
    mount("", "/", "", MS_REC | MS_PRIVATE, nullptr);
    if (mount("none", top.c_str(), "tmpfs", 0, nullptr) != 0) _exit(kCannot);
    for (const char* name : {"/lower", "/upper", "/work", "/merged", "/lower/inner"}) {
      mkdir((top + name).c_str(), 0755);
    }
    std::ofstream(top + "/lower/inner/prog") << "x";
    const std::string parts =
        "lowerdir=" + top + "/lower,upperdir=" + top + "/upper,workdir=" + top + "/work,userxattr";
    if (mount("none", (top + "/merged").c_str(), "overlay", 0, parts.c_str()) != 0) _exit(kCannot);
    _exit(look());
  }
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(AtHand, NamesThatAreNotCachedAreLookedAtOnALocalMount) {
  const test::TempDir scratch;
  const std::string& top = scratch.path();
  const int result = in_an_overlay(top, [&] { return is_at_hand(top + "/merged/inner/prog"); });
  if (result == kCannot) GTEST_SKIP() << "no overlay can be mounted here";
  EXPECT_EQ(result, 1);
}

TEST(AtHand, AMountWithinIsNotEntered) {
  const test::TempDir scratch;
  const std::string& top = scratch.path();
  // A link that leads from one mount to another: nothing says who keeps that one.
  const int result = in_an_overlay(top, [&] {
    if (symlink((top + "/merged/inner").c_str(), (top + "/lower/link").c_str()) != 0)
      return kCannot;
    return static_cast<int>(is_at_hand(top + "/merged/link/prog"));
  });
  if (result == kCannot) GTEST_SKIP() << "no overlay can be mounted here";
  EXPECT_EQ(result, 0);
}

}  // namespace
}  // namespace sbx
