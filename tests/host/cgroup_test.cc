// SPDX-License-Identifier: Apache-2.0
// Tests of host/cgroup on a faked tree: which directory is found, and what is written where. What
// the kernel does with it is tested under QEMU.
#include "host/cgroup.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "support/temp_dir.h"

namespace sbx {
namespace {

using test::slurp;
using test::TempDir;

constexpr pid_t kPid = 4242;

// A user's service that was delegated to: /sys/fs/cgroup is `tree` here.
class Cgroup : public ::testing::Test {
 protected:
  Cgroup() {
    places_.mountinfo = dir_.at("mountinfo");
    places_.self = dir_.at("self");
    places_.pid = kPid;
    places_.check_kernel = false;
    dir_.file("mountinfo", "21 1 0:5 / /proc rw - proc proc rw\n31 21 0:28 / " + dir_.path() +
                               "/tree rw,nosuid shared:4 - cgroup2 cgroup2 rw\n");
    dir_.file("self", "1:name=systemd:/x\n0::/user/box\n");
    make_node("tree/user/box");
  }

  void make_node(const std::string& node) {
    dir_.directory(node);
    dir_.file(node + "/cgroup.type", "domain\n");
    dir_.file(node + "/cgroup.procs", "4242\n");
    dir_.file(node + "/cgroup.controllers", "cpu memory pids\n");
    dir_.file(node + "/cgroup.subtree_control", "\n");
  }

  TempDir dir_;
  CgroupPlaces places_;
};

TEST_F(Cgroup, ADelegatedSubtreeHeldAloneIsUsableAfterAMove) {
  const CgroupFacts facts = find_cgroup_in(places_);
  EXPECT_EQ(facts.base, dir_.at("tree/user/box")) << facts.reason;
  EXPECT_TRUE(facts.must_move);
  EXPECT_EQ(facts.reason, "");
}

TEST_F(Cgroup, ControllersAlreadyEnabledNeedNoMove) {
  dir_.file("tree/user/box/cgroup.subtree_control", "memory pids\n");
  const CgroupFacts facts = find_cgroup_in(places_);
  EXPECT_EQ(facts.base, dir_.at("tree/user/box"));
  EXPECT_FALSE(facts.must_move);
}

TEST_F(Cgroup, OtherProcessesInItForbidTheMove) {
  dir_.file("tree/user/box/cgroup.procs", "4242\n4243\n");
  const CgroupFacts facts = find_cgroup_in(places_);
  EXPECT_EQ(facts.base, "");
  EXPECT_NE(facts.reason.find("holds other processes"), std::string::npos) << facts.reason;
}

TEST_F(Cgroup, ChildrenOfThisProcessMoveAlong) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(30);
    for (;;) ::pause();
  }
  const std::string pids = std::to_string(::getpid()) + "\n" + std::to_string(child) + "\n";
  places_.pid = ::getpid();
  dir_.file("tree/user/box/cgroup.procs", pids);
  CgroupFacts facts = find_cgroup_in(places_);
  EXPECT_TRUE(facts.must_move) << facts.reason;
  dir_.file("tree/user/box/sbx-supervisor-" + std::to_string(::getpid()) + "/cgroup.procs", "");
  const Status entered = enter_leaf(facts);
  EXPECT_TRUE(entered.ok());
  // A fake file keeps what was written last.
  EXPECT_EQ(slurp(leaf_path(facts) + "/cgroup.procs"), std::to_string(child));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

TEST_F(Cgroup, LeavingTakesTheControllersBackUnlessAnotherNeedsThem) {
  const CgroupFacts facts = find_cgroup_in(places_);
  const std::string leaf = leaf_path(facts);
  for (const bool is_needed : {true, false}) {
    ASSERT_EQ(::mkdir(leaf.c_str(), 0700), 0);
    dir_.file("tree/user/box/cgroup.subtree_control", "");
    const std::string other = facts.base + "/other";
    if (is_needed) {
      ASSERT_EQ(::mkdir(other.c_str(), 0700), 0);
    }
    EXPECT_TRUE(leave_leaf(leaf));
    EXPECT_EQ(slurp(facts.base + "/cgroup.subtree_control"), is_needed ? "" : "-memory -pids");
    EXPECT_NE(::access(leaf.c_str(), F_OK), 0);
    ::rmdir(other.c_str());
  }
}

TEST_F(Cgroup, TheRootOfTheHierarchyMayHoldOtherProcesses) {
  dir_.file("tree/user/box/cgroup.procs", "1\n4242\n4243\n");
  ASSERT_EQ(::unlink(dir_.at("tree/user/box/cgroup.type").c_str()), 0);
  EXPECT_NE(find_cgroup_in(places_).base, "");
}

TEST_F(Cgroup, MissingControllersAreNamed) {
  dir_.file("tree/user/box/cgroup.controllers", "cpu memoryx pids\n");
  EXPECT_NE(find_cgroup_in(places_).reason.find("no memory and pids controllers"),
            std::string::npos);
}

TEST_F(Cgroup, WithoutWriteAccessItIsNotDelegated) {
  ASSERT_EQ(::chmod(dir_.path().c_str(), 0755), 0);
  ASSERT_EQ(::chmod(dir_.at("tree/user/box").c_str(), 0555), 0);
  const bool root = ::geteuid() == 0;
  ASSERT_EQ(root ? ::seteuid(65534) : 0, 0);
  const CgroupFacts facts = find_cgroup_in(places_);
  ASSERT_EQ(root ? ::seteuid(0) : 0, 0);
  ASSERT_EQ(::chmod(dir_.at("tree/user/box").c_str(), 0755), 0);
  EXPECT_EQ(facts.base, "");
  EXPECT_NE(facts.reason.find("not delegated"), std::string::npos) << facts.reason;
}

TEST_F(Cgroup, EscapesInTheMountPointAreUndone) {
  make_node("with space\t/user/box");
  dir_.file("mountinfo",
            "31 21 0:28 / " + dir_.path() + "/with\\040space\\011 rw - cgroup2 cgroup2 rw\n");
  EXPECT_EQ(find_cgroup_in(places_).base, dir_.at("with space\t/user/box"));
}

TEST_F(Cgroup, APartOfTheHierarchyIsFoundWhereItIsMounted) {
  make_node("part/box");
  dir_.file("mountinfo", "31 21 0:28 /user " + dir_.path() + "/part rw - cgroup2 cgroup2 rw\n");
  EXPECT_EQ(find_cgroup_in(places_).base, dir_.at("part/box"));
  dir_.file("self", "0::/username/box\n");
  EXPECT_NE(find_cgroup_in(places_).reason.find("not visible"), std::string::npos);
  dir_.file("self", "0::/../box\n");
  EXPECT_NE(find_cgroup_in(places_).reason.find("not visible"), std::string::npos);
}

TEST_F(Cgroup, WithoutVersionTwoThereIsAReason) {
  dir_.file("self", "4:memory:/x\n");
  EXPECT_NE(find_cgroup_in(places_).reason.find("no line 0::"), std::string::npos);
  dir_.file("mountinfo", "31 21 0:28 / /sys/fs/cgroup rw - cgroup cgroup rw,memory\n");
  EXPECT_EQ(find_cgroup_in(places_).reason, "no cgroup2 file system is mounted");
  dir_.file("mountinfo", "nonsense\n - cgroup2 \n1 2 - cgroup2 c rw\n");
  EXPECT_EQ(find_cgroup_in(places_).reason, "no cgroup2 file system is mounted");
}

TEST_F(Cgroup, AMountThatIsNotTheKernelsIsRefused) {
  places_.check_kernel = true;
  EXPECT_EQ(find_cgroup_in(places_).base, "");
}

TEST_F(Cgroup, OnThisMachineThereIsABaseOrAReason) {
  const CgroupFacts facts = find_cgroup();
  EXPECT_NE(facts.base.empty(), facts.reason.empty());
}

TEST_F(Cgroup, MovingWritesThisProcessAndTheControllers) {
  CgroupFacts facts = find_cgroup_in(places_);
  const std::string leaf = facts.base + "/sbx-supervisor-" + std::to_string(::getpid());
  dir_.file("tree/user/box/sbx-supervisor-" + std::to_string(::getpid()) + "/cgroup.procs", "");
  EXPECT_EQ(leaf_path(facts), leaf);
  const Status entered = enter_leaf(facts);
  ASSERT_TRUE(entered.ok()) << Status(entered).error().message;
  EXPECT_FALSE(facts.must_move);
  EXPECT_EQ(slurp(leaf + "/cgroup.procs"), std::to_string(::getpid()));
  EXPECT_EQ(slurp(facts.base + "/cgroup.subtree_control"), "+memory +pids");
}

TEST_F(Cgroup, ABoxHasANameOfItsOwnAndGoesAway) {
  const CgroupFacts facts = find_cgroup_in(places_);
  const Result<CgroupBox> one = make_box(new_box_path(facts).value(), {});
  const Result<CgroupBox> two = make_box(new_box_path(facts).value(), {});
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_NE(one.value().path, two.value().path);
  EXPECT_TRUE(one.value().path.starts_with(facts.base + "/sbx-" + std::to_string(::getpid())));
  EXPECT_TRUE(one.value().directory.is_open());
  for (const Result<CgroupBox>* box : {&one, &two}) {
    EXPECT_TRUE(remove_box(box->value()).ok());
    EXPECT_TRUE(remove_box(box->value()).ok()) << "gone already";
    EXPECT_NE(::access(box->value().path.c_str(), F_OK), 0);
  }
}

// A fake directory has none of the kernel's files, so the limits cannot be written.
TEST_F(Cgroup, ALimitThatCannotBeSetMakesNoBox) {
  const CgroupFacts facts = find_cgroup_in(places_);
  const Result<CgroupBox> box = make_box(new_box_path(facts).value(), {1 << 20, 0});
  ASSERT_FALSE(box.ok());
  EXPECT_EQ(box.error().code, ErrorCode::kSetupFailed);
  EXPECT_NE(box.error().message.find("memory.max: ENOENT"), std::string::npos)
      << box.error().message;
  for (const auto& entry : std::filesystem::directory_iterator(facts.base)) {
    EXPECT_FALSE(entry.path().filename().string().starts_with("sbx-")) << entry.path();
  }
}

TEST_F(Cgroup, EventsAreReadByTheirKeys) {
  const Result<CgroupBox> made = make_box(new_box_path(find_cgroup_in(places_)).value(), {});
  ASSERT_TRUE(made.ok());
  const CgroupBox& box = made.value();
  EXPECT_FALSE(read_memory_events(box).has_value());
  const std::string inside = box.path.substr(dir_.path().size() + 1);
  dir_.file(inside + "/memory.events", "low 0\nmax 3\noom 2\noom_kill 7\noom_group_kill 1\n");
  dir_.file(inside + "/pids.events", "max 12\n");
  EXPECT_EQ(read_memory_events(box)->oom_kill, 7U);
  EXPECT_EQ(read_memory_events(box)->max, 3U);
  EXPECT_EQ(read_pids_events(box), 12U);
}

TEST_F(Cgroup, KillingUsesTheKernelsFileOrTheListOfProcesses) {
  const Result<CgroupBox> made = make_box(new_box_path(find_cgroup_in(places_)).value(), {});
  ASSERT_TRUE(made.ok());
  const std::string inside = made.value().path.substr(dir_.path().size() + 1);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(30);
    for (;;) ::pause();
  }
  dir_.file(inside + "/cgroup.procs", std::to_string(child) + "\n");
  // The faked list stays as it is, so the bounded rounds end in an error; the child is dead.
  EXPECT_FALSE(kill_box(made.value()).ok());
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  dir_.file(inside + "/cgroup.procs", "");
  EXPECT_TRUE(kill_box(made.value()).ok());
  dir_.file(inside + "/cgroup.kill", "");
  EXPECT_TRUE(kill_box(made.value()).ok());
  EXPECT_EQ(slurp(made.value().path + "/cgroup.kill"), "1");
}

}  // namespace
}  // namespace sbx
