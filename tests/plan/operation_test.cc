// SPDX-License-Identifier: Apache-2.0
// What a struct must have to be a step of a plan, and the words of every operation.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <memory>

#include "plan/builder.h"
#include "sys/kernel.h"

namespace sbx {

// Of external linkage: nobody uses their members but the concept.
namespace lacking {

struct Whole {
  int number = 0;
  static constexpr OrderRule kOrder = order::anywhere;
  std::string describe(const LaunchPlan& plan) const;
  int execute(ChildContext& context) const noexcept;
};
static_assert(Operation<Whole>);

struct WithoutExecute {
  static constexpr OrderRule kOrder = order::anywhere;
  static constexpr const char* kWords = "without_execute";
};
static_assert(!Operation<WithoutExecute>);

struct WithoutWords {
  int number = 0;
  static constexpr OrderRule kOrder = order::anywhere;
  int execute(ChildContext& context) const noexcept;
};
static_assert(!Operation<WithoutWords>);

struct WithoutTheWordsOfItsMember {
  int number = 0;
  static constexpr OrderRule kOrder = order::anywhere;
  static constexpr const char* kWords = "number";
  int execute(ChildContext& context) const noexcept;
};
static_assert(!Operation<WithoutTheWordsOfItsMember>);

struct WithoutOrder {
  static constexpr const char* kWords = "without_order";
  int execute(ChildContext& context) const noexcept;
};
static_assert(!Operation<WithoutOrder>);

struct MayThrow {
  static constexpr OrderRule kOrder = order::anywhere;
  static constexpr const char* kWords = "may_throw";
  int execute(ChildContext& context) const;
};
static_assert(!Operation<MayThrow>);

struct TooLarge : Whole {
  std::uint64_t more[4] = {};
};
static_assert(!Operation<TooLarge>);

struct OnTheHeap : Whole {
  std::unique_ptr<int> number;
};
static_assert(!Operation<OnTheHeap>);

}  // namespace lacking

namespace {

TEST(Operation, IsOnlyItself) {
  Op step{op::MakeDir{{7}, 0750}};
  EXPECT_TRUE(step.is<op::MakeDir>());
  EXPECT_FALSE(step.is<op::MakeLink>());
  EXPECT_EQ(step.as<op::MakeLink>(), nullptr);
  ASSERT_NE(step.as<op::MakeDir>(), nullptr);
  EXPECT_EQ(step.as<op::MakeDir>()->path.offset, 7U);
  EXPECT_EQ(step.as<op::MakeDir>()->mode, 0750U);
  const Op copy = step;
  step.as<op::MakeDir>()->mode = 0700;
  EXPECT_EQ(copy.as<op::MakeDir>()->mode, 0750U);
}

TEST(Operation, DescribesItself) {
  PlanBuilder builder;
  builder.plan().argv = {"tool", "--flag"};
  const auto expect = [&](const auto& operation, const char* words) {
    EXPECT_EQ(Op{operation}.describe(builder.plan()), words);
  };
  const op::Text a = builder.text("/a");
  const op::Text b = builder.text("/b");
  constexpr std::uint64_t kReadOnly = sys::kMountAttrReadOnly | sys::kMountAttrNosuid;
  expect(op::WriteFile{a, builder.content("one\ntwo\n")}, "write_file /a \"one…\"");
  expect(op::PrivateMounts{}, "private_mounts");
  expect(op::Mount{FileSystem::kTmpfs, a, builder.text("size=1"), 0}, "mount_tmpfs /a size=1");
  expect(op::Mount{FileSystem::kProc, a, {}, 0}, "mount_proc /a");
  expect(op::EnterRoot{a}, "enter_root /a");
  expect(op::MakeDir{a, 0755}, "make_dir /a 0755");
  expect(op::MakeFile{a, {}, 0644}, "make_file /a \"\"");
  expect(op::MakeLink{a, b}, "make_link /a -> /b");
  expect(op::BindSystem{a, b, kReadOnly}, "bind_system /a /b ro,nosuid");
  builder.plan().mapped_trees.push_back({Node{"/a"}, kReadOnly, {}});
  expect(op::AttachMapped{b, 0}, "attach_mapped /a /b ro,nosuid");
  expect(op::BindMask{a, b, true}, "bind_mask /a /b (a symlink)");
  expect(op::Bind{a, b, 0, {1, 2}}, "bind /a /b rw");
  expect(op::BindInside{a, b, 0}, "bind_inside /a /b rw");
  expect(op::MoveInside{a, b, 0}, "move_inside /a /b rw");
  expect(op::SetAttributes{a, sys::kMountAttrNoexec | sys::kMountAttrNodev},
         "set_attributes /a rw,nodev,noexec");
  expect(op::ReportFd{a, ReportTag::kProc}, "report_fd /a");
  expect(op::SizeTmpfs{a, 0, 4096}, "size_tmpfs /a 4096");
  expect(op::Halve{a, b}, "halve /a <- /b");
  expect(op::Pivot{}, "pivot");
  expect(op::MakeNetwork{}, "make_network");
  expect(op::JoinNetwork{}, "join_network");
  expect(op::LoopbackUp{}, "loopback_up");
  expect(op::TuneNetwork{true, true}, "tune_network low_ports no_echo");
  expect(op::LocalRoutes{}, "local_routes");
  expect(op::ListenForDns{}, "listen_for_dns");
  expect(op::SetHostname{a}, "set_hostname /a");
  expect(op::NotDumpable{}, "not_dumpable");
  expect(op::DieWithParent{}, "die_with_parent");
  expect(op::PrepareGuards{ReplacedMode::kStop, {}, {}}, "prepare_guards 1");
  expect(op::Watch{a, false}, "watch /a");
  expect(op::Guard{.path = a,
                   .kind = GuardKind::kBind,
                   .attributes = kReadOnly,
                   .flags = kGuardStartsAbsent},
         "guard /a bind ro,nosuid (absent)");
  expect(op::CheckGuards{}, "check_guards");
  expect(op::ForkCommand{}, "fork_command");
  expect(op::NewSession{}, "new_session");
  expect(op::OpenPty{a, 24, 80}, "open_pty /a");
  expect(op::TakePty{false}, "take_pty");
  expect(op::TakePty{true}, "take_pty job");
  expect(op::SetLimit{RLIMIT_CPU, 1, 2}, "set_limit 0 1 2");
  expect(op::ChangeDir{a}, "change_dir /a");
  expect(op::NoNewPrivs{}, "no_new_privs");
  expect(op::LandlockCreate{1, 2, 3}, "landlock_create fs=0x1 net=0x2 scopes=0x3");
  expect(op::LandlockAllow{a, 16, {}}, "landlock_allow /a 0x10");
  expect(op::LandlockAllowHeld{4, 2}, "landlock_allow_held 0x4 0x2");
  expect(op::LandlockRestrict{}, "landlock_restrict");
  expect(op::DropCapabilities{}, "drop_capabilities");
  expect(op::CloseDescriptors{}, "close_descriptors");
  expect(op::Seccomp{true, true}, "seccomp notify");
  expect(op::Seccomp{false, true}, "seccomp errno");
  expect(op::Seccomp{true, true, 256}, "seccomp notify files=256");
  expect(op::AwaitCommand{}, "await_command");
  expect(op::Execute{}, "execute tool");
}

}  // namespace
}  // namespace sbx
