// SPDX-License-Identifier: Apache-2.0
// A failed step → the code, the words and the hint that a person gets. Pure: nothing is started.
#include <gtest/gtest.h>

#include <cerrno>

#include "launch/spawn.h"
#include "plan/builder.h"

namespace sbx {
namespace {

// A plan of one operation, that failed.
template <Operation T>
Error error_of(T operation, int error, const std::string& argument = "") {
  PlanBuilder builder;
  if constexpr (requires { operation.path; }) operation.path = builder.text(argument);
  builder.add(operation);
  builder.plan().argv = {argument.starts_with("./") ? argument : "tool", "--flag"};
  builder.plan().cwd = argument;
  SharedState state{};
  state.failed_step = 1;
  state.failed_errno = error;
  return step_error(builder.plan(), state);
}

TEST(StepError, SaysThatAProgramDoesNotExistInside) {
  for (const int number : {ENOENT, ENOTDIR}) {
    const Error error = error_of(op::Execute{}, number);
    EXPECT_EQ(error.code, ErrorCode::kNotFound);
    EXPECT_EQ(error.message, "no such program inside the sandbox: tool");
    EXPECT_EQ(error.where, "execve");
    EXPECT_EQ(error.hint, "show its directory with --ro, or name it by its full path");
    EXPECT_EQ(error.sys_errno, number);
  }
}

TEST(StepError, SaysOfAPathThatWhatItNeedsMayBeMissing) {
  const Error error = error_of(op::Execute{}, ENOENT, "./tool");
  EXPECT_EQ(error.code, ErrorCode::kNotFound);
  EXPECT_NE(error.hint.find("interpreter"), std::string::npos);
}

TEST(StepError, SaysThatAProgramCannotBeExecuted) {
  const Error error = error_of(op::Execute{}, EACCES);
  EXPECT_EQ(error.code, ErrorCode::kNotExecutable);
  EXPECT_EQ(error.message, "tool cannot be executed: EACCES: Permission denied");
  EXPECT_NE(error.hint.find("noexec"), std::string::npos) << error.hint;
  EXPECT_EQ(error.sys_errno, EACCES);
}

TEST(StepError, SaysWhatTheKernelTakesWhereACommandIsTooLong) {
  const Error error = error_of(op::Execute{}, E2BIG);
  EXPECT_EQ(error.code, ErrorCode::kNotExecutable);
  EXPECT_EQ(error.message,
            "the command is longer than the kernel takes at an exec: E2BIG: Argument list too "
            "long");
  EXPECT_NE(error.hint.find("128 KiB"), std::string::npos) << error.hint;
}

TEST(StepError, NamesTheWorkingDirectoryThatIsNotShown) {
  const Error error = error_of(op::ChangeDir{}, ENOENT, "/hidden");
  EXPECT_EQ(error.code, ErrorCode::kCwdNotVisible);
  EXPECT_EQ(error.message,
            "the command cannot start in /hidden, which inside the sandbox is no directory that it "
            "may enter: ENOENT: No such file or directory");
  EXPECT_EQ(error.where, "--cwd");
  EXPECT_EQ(error.sys_errno, ENOENT);
}

TEST(StepError, NamesTheLimitsThatKeepTheCommandFromBeingForked) {
  const Error error = error_of(op::ForkCommand{}, EAGAIN);
  EXPECT_EQ(error.code, ErrorCode::kSetupFailed);
  EXPECT_NE(error.message.find("EAGAIN"), std::string::npos) << error.message;
  EXPECT_NE(error.hint.find("ulimit -u"), std::string::npos) << error.hint;
}

TEST(StepError, AdvisesToRunAgainWhenAPathWasReplaced) {
  const Error error = error_of(op::Bind{}, ESTALE, "/project");
  EXPECT_EQ(error.code, ErrorCode::kSetupFailed);
  EXPECT_EQ(error.hint, "the path was replaced while the sandbox was built: run again");
  EXPECT_EQ(error.sys_errno, ESTALE);
}

TEST(StepError, SaysWhatAnOverlayCannotShow) {
  const Error error = error_of(op::Mount{FileSystem::kOverlay, {}, {}, 0}, EINVAL);
  EXPECT_EQ(error.code, ErrorCode::kSetupFailed);
  EXPECT_NE(error.hint.find("--layer NAME"), std::string::npos) << error.hint;
  const Error other = error_of(op::Mount{FileSystem::kTmpfs, {}, {}, 0}, EINVAL);
  EXPECT_EQ(other.hint.find("--layer NAME"), std::string::npos) << other.hint;
}

TEST(StepError, TellsAnyOtherStepWithItsArguments) {
  const Error error = error_of(op::MakeDir{}, EROFS, "/mnt/place");
  EXPECT_EQ(error.code, ErrorCode::kSetupFailed);
  EXPECT_EQ(error.where, "make_dir /mnt/place 0000");
  EXPECT_EQ(error.message,
            "set-up step failed: make_dir /mnt/place 0000: EROFS: Read-only file system");
  EXPECT_NE(error.hint.find("doctor"), std::string::npos) << error.hint;
}

TEST(StepError, PicksTheStepThatFailedAmongMany) {
  PlanBuilder builder;
  builder.add(op::NotDumpable{});
  builder.add(op::ForkCommand{});
  builder.add(op::NewSession{});
  SharedState state{};
  state.failed_step = 3;
  state.failed_errno = EPERM;
  EXPECT_EQ(step_error(builder.plan(), state).where, "new_session");
}

}  // namespace
}  // namespace sbx
