// SPDX-License-Identifier: Apache-2.0
// Tests of host/obstacles: causes that are known for certain come before those that are guessed by
// where sbx-run runs.
#include "host/obstacles.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace sbx {
namespace {

struct Case {
  const char* what;
  Layer layer;
  Attempt attempt;
  HostHints hints;
  const char* reason;
  const char* hint;
};

TEST(Obstacles, WhatIsCertainIsSaidInAContainerToo) {
  HostHints container;
  container.surroundings = Surroundings::kDocker;
  HostHints unmapped = container;
  unmapped.is_unmapped = true;
  HostHints unreadable = container;
  unreadable.is_proc_of_root = true;
  HostHints bare_root = container;
  bare_root.privileged = true;
  bare_root.lacks_setfcap = true;
  HostHints chroot;
  chroot.surroundings = Surroundings::kChroot;
  const Attempt map_refused{"write(/proc/self/uid_map)", EPERM, false};
  const Case cases[] = {
      {"no id",
       Layer::kUser,
       {"clone(CLONE_NEWUSER)", EPERM, false},
       unmapped,
       "is not mapped",
       "--map-current-user"},
      {"mode 711",
       Layer::kUser,
       {"write(/proc/self/setgroups, \"deny\")", EACCES, false},
       unreadable,
       "cannot be read by the caller",
       "chmod a+r"},
      {"no capabilities", Layer::kUser, map_refused, bare_root, "root without CAP_SETFCAP",
       "--cap-add SETFCAP"},
      {"Landlock",
       Layer::kMount,
       {"mount(NULL, \"/\", NULL, MS_REC|MS_PRIVATE)", EPERM, false},
       container,
       "a Landlock domain in force",
       "outside of it"},
      {"a closed /proc",
       Layer::kUser,
       {"write(/proc/self/uid_map)", EROFS, false},
       container,
       "/proc is missing or read-only",
       "mount -t proc proc /proc"},
      {"no /proc",
       Layer::kUser,
       {"write(/proc/self/uid_map)", ENOENT, false},
       chroot,
       "/proc is missing or read-only",
       "mount -t proc proc /proc"},
      {"nothing known", Layer::kUser, map_refused, container, "this container has neither",
       "--security-opt"},
  };
  for (const Case& one : cases) {
    const Obstacle obstacle = explain(one.layer, one.attempt, one.hints);
    EXPECT_NE(obstacle.reason.find(one.reason), std::string::npos)
        << one.what << ": " << obstacle.reason;
    EXPECT_NE(obstacle.hint.find(one.hint), std::string::npos) << one.what << ": " << obstacle.hint;
  }
}

// A number there would lower the host's own, and help nobody.
TEST(Obstacles, WhereTheLimitIsAmpleItIsAnotherOne) {
  HostHints ample;
  ample.max_of_layer[static_cast<int>(Layer::kUser)] = 2147483647;
  const Attempt full{"clone(CLONE_NEWUSER)", ENOSPC, false};
  const Obstacle obstacle = explain(Layer::kUser, full, ample);
  EXPECT_NE(obstacle.reason.find("an outer user namespace, sandbox or container forbids it"),
            std::string::npos)
      << obstacle.reason;
  EXPECT_NE(obstacle.hint.find("--disable-userns"), std::string::npos) << obstacle.hint;
  EXPECT_EQ(obstacle.hint.find("sysctl"), std::string::npos) << obstacle.hint;
  ample.max_of_layer[static_cast<int>(Layer::kUser)] = 14999;
  EXPECT_EQ(explain(Layer::kUser, full, ample).hint,
            "on the host: sudo sysctl -w user.max_user_namespaces=15000");
}

TEST(Obstacles, HereTheCallersIdsAreMapped) {
  const HostHints hints = read_host_hints();
  EXPECT_FALSE(hints.is_unmapped);
  EXPECT_FALSE(hints.is_proc_of_root);
}

}  // namespace
}  // namespace sbx
