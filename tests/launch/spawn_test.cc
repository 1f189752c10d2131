// SPDX-License-Identifier: Apache-2.0
// Tiny hand-made plans without namespaces, run as whoever runs the test: what the command gets, and
// what the shared page tells when a step fails. Everything that is started ends within a test.
#include "launch/spawn.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plan/builder.h"
#include "support/temp_dir.h"
#include "sys/calls.h"

namespace sbx {
namespace {

constexpr int kPatienceMs = 20'000;

// Of an operation with a path, or without one.
struct Step {
  Op op;
  std::string path;
  std::uint8_t confirms = kNoLayer;
};

void set_path(Op& op, op::Text path) {
  if (auto* const enter = op.as<op::EnterRoot>()) enter->path = path;
  if (auto* const change = op.as<op::ChangeDir>()) change->path = path;
  if (auto* const report = op.as<op::ReportFd>()) *report = {path, ReportTag::kScratch};
}

// The smallest plan that starts a program, with extra steps before the fork or behind it.
LaunchPlan tiny_plan(const std::vector<std::string>& argv, const std::vector<Step>& before = {},
                     const std::vector<Step>& behind = {}) {
  PlanBuilder builder;
  const auto add = [&](const Step& step) {
    Op op = step.op;
    set_path(op, builder.text(step.path));
    op.confirms = step.confirms;
    builder.plan().ops.push_back(op);
  };
  add({Op{op::DieWithParent{}}, ""});
  for (const Step& step : before) add(step);
  add({Op{op::ForkCommand{}}, ""});
  add({Op{op::NewSession{}}, ""});
  for (const Step& step : behind) add(step);
  add({Op{op::CloseDescriptors{}}, ""});
  add({Op{op::Execute{}}, ""});
  LaunchPlan plan = std::move(builder.plan());
  plan.argv = argv;
  plan.executables = {argv.front()};
  plan.environment = {"PATH=/usr/bin:/bin", "GREETING=hello"};
  return plan;
}

LaunchPlan shell_plan(const std::string& script) { return tiny_plan({"/bin/sh", "-c", script}); }

// As `failed_step` counts: from 1.
template <Operation T>
std::uint32_t number_of(const LaunchPlan& plan) {
  std::uint32_t number = 1;
  while (number <= plan.ops.size() && !plan.ops[number - 1].is<T>()) ++number;
  return number;
}

// A run with nothing on stdin, and stdout and stderr on a pipe.
class TinyRun {
 public:
  explicit TinyRun(const LaunchPlan& plan, bool use_clone3 = true) {
    const OwnedFd input(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    int ends[2] = {-1, -1};
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    output_.reset(ends[0]);
    const OwnedFd writing(ends[1]);
    SpawnRequest request{plan, input.get(), writing.get(), writing.get()};
    request.use_clone3 = use_clone3;
    Result<Spawned> spawned = spawn(request);
    EXPECT_TRUE(spawned.ok()) << (spawned.ok() ? "" : spawned.error().message);
    if (spawned.ok()) spawned_.emplace(std::move(spawned).value());
  }
  ~TinyRun() { wait(); }
  TinyRun(const TinyRun&) = delete;
  TinyRun& operator=(const TinyRun&) = delete;

  bool started() const { return spawned_.has_value(); }
  Spawned& spawned() { return *spawned_; }
  const SharedState& state() const { return *spawned_->state; }

  // Waits until PID 1 has ended; its exit status, or -1.
  int wait() {
    if (!started() || spawned_->pid <= 0) return status_;
    if (!becomes_ready(spawned_->pidfd.get())) {
      ADD_FAILURE() << "PID 1 did not end";
      ::kill(spawned_->pid, SIGKILL);
    }
    int status = 0;
    const pid_t pid = ::waitpid(spawned_->pid, &status, 0);
    spawned_->pid = -1;
    if (pid > 0 && WIFEXITED(status)) status_ = WEXITSTATUS(status);
    return status_;
  }

  std::string line() {
    std::string out;
    char byte = 0;
    while (!out.ends_with('\n') && becomes_ready(output_.get()) &&
           ::read(output_.get(), &byte, 1) == 1) {
      out += byte;
    }
    return out;
  }

  // What the command wrote, up to end of file, which comes when every writer has ended.
  std::string output() {
    std::string out;
    char chunk[512];
    while (becomes_ready(output_.get())) {
      const ssize_t size = ::read(output_.get(), chunk, sizeof chunk);
      if (size <= 0) return out;
      out.append(chunk, static_cast<std::size_t>(size));
    }
    ADD_FAILURE() << "the command's output did not end";
    return out;
  }

 private:
  static bool becomes_ready(int fd) {
    struct pollfd item {
      fd, POLLIN, 0
    };
    return ::poll(&item, 1, kPatienceMs) == 1;
  }

  OwnedFd output_;
  std::optional<Spawned> spawned_;
  int status_ = -1;
};

// How the command exited; -1 when it did not.
int exit_of(TinyRun& run) {
  run.wait();
  const bool exited = run.state().ended == 1 && WIFEXITED(run.state().wait_status);
  return exited ? WEXITSTATUS(run.state().wait_status) : -1;
}

// Runs a plan whose step of that kind fails: the page says which and why, and the command wrote
// nothing, for it was never executed.
template <Operation T>
void expect_failure(const LaunchPlan& plan, int error) {
  TinyRun run(plan);
  ASSERT_TRUE(run.started());
  EXPECT_EQ(run.output(), "");
  run.wait();
  EXPECT_EQ(run.state().failed_step, number_of<T>(plan));
  EXPECT_EQ(run.state().failed_errno, error);
  EXPECT_EQ(run.state().executed, 0U);
}

TEST(Spawn, RunsAProgramToItsEndWithEitherClone) {
  for (const bool use_clone3 : {true, false}) {
    const LaunchPlan plan = tiny_plan({"/bin/true"});
    TinyRun run(plan, use_clone3);
    ASSERT_TRUE(run.started());
    EXPECT_EQ(run.wait(), 0);
    EXPECT_EQ(exit_of(run), 0);
  }
}

TEST(Spawn, AttachesAMappedTreeThroughNoSymlink) {
  if (geteuid() != 0) GTEST_SKIP() << "for root, who alone maps ids";
  const test::TempDir dir;
  dir.directory("real/place");
  ASSERT_EQ(::symlink("real", dir.at("link").c_str()), 0);
  const Result<IdMap> map = IdMap::as_root({1234, 1235});
  const OwnedFd top(::open(dir.path().c_str(), O_PATH | O_CLOEXEC));
  if (!map.ok() || !map.value().tree(top.get(), 0).ok()) GTEST_SKIP() << "no idmapped mounts here";
  for (const char* const way : {"/real/place", "/link/place"}) {
    LaunchPlan plan = tiny_plan({"/bin/true"},
                                {{Op{op::PrivateMounts{}}, ""}, {Op{op::AttachMapped{{}, 0}}, ""}});
    plan.clone_flags = CLONE_NEWNS;
    Op& step = plan.ops.at(number_of<op::AttachMapped>(plan) - 1);
    step.as<op::AttachMapped>()->path = {static_cast<std::uint32_t>(plan.arena.size())};
    (plan.arena += dir.path() + way).push_back('\0');
    plan.mapped_trees.push_back({Node{dir.path(), NodeKind::kDirectory}, 0, map.value()});
    TinyRun run(plan);
    ASSERT_TRUE(run.started());
    run.wait();
    EXPECT_EQ(run.state().failed_errno.load(), way == std::string_view("/link/place") ? ELOOP : 0);
  }
}

// Between the look and the step another may have taken its place, or a symlink that of a directory
// on the way. Of the right one it is a later part of the step that fails.
TEST(Spawn, ShowsAndGrantsOnlyTheFileThatWasLookedAt) {
  const test::TempDir dir;
  dir.directory("real/place");
  dir.symlink("link", "real");
  struct stat info {};
  ASSERT_EQ(::stat(dir.at("real/place").c_str(), &info), 0);
  const op::FileId right{info.st_dev, info.st_ino};
  const op::FileId other_number{info.st_dev, info.st_ino + 1};
  const op::FileId other_device{info.st_dev + 1, info.st_ino};
  for (const bool binds : {true, false}) {
    const auto error_of = [&](const std::string& way, const op::FileId& file) {
      LaunchPlan plan = tiny_plan({"/bin/true"});
      const auto text = [&](const std::string& path) {
        const op::Text place{static_cast<std::uint32_t>(plan.arena.size())};
        (plan.arena += path).push_back('\0');
        return place;
      };
      const op::Text source = text(dir.at(way));
      const Op step = binds ? Op{op::Bind{source, text(dir.at("missing")), 0, file}}
                            : Op{op::LandlockAllow{source, sys::kLandlockFsReadDir, file}};
      plan.ops.insert(plan.ops.begin() + (binds ? 1 : 2), step);
      TinyRun run(plan);
      EXPECT_TRUE(run.started());
      run.wait();
      return static_cast<int>(run.state().failed_errno.load());
    };
    EXPECT_EQ(error_of("real/place", right), binds ? ENOENT : EBADF);
    EXPECT_EQ(error_of("real/place", other_number), ESTALE);
    EXPECT_EQ(error_of("real/place", other_device), ESTALE);
    EXPECT_EQ(error_of("link/place", right), ELOOP);
  }
}

TEST(Spawn, LeavesOneThatDoesNotEndToBeReapedWithALaterOne) {
  TinyRun slow(tiny_plan({"/bin/sleep", "60"}));
  ASSERT_TRUE(slow.started());
  const pid_t pid = slow.spawned().pid;
  const OwnedFd watch(sys::pidfd_open(pid, 0));
  reap_killed(slow.spawned(), 10, nullptr);
  EXPECT_EQ(::kill(pid, 0), 0);
  slow.spawned().lifeline.reset();
  struct pollfd ended {
    watch.get(), POLLIN, 0
  };
  EXPECT_EQ(::poll(&ended, 1, kPatienceMs), 1);
  slow.spawned().pid = -1;

  TinyRun quick(tiny_plan({"/bin/true"}));
  ASSERT_TRUE(quick.started());
  struct rusage usage {};
  reap_killed(quick.spawned(), kPatienceMs, &usage);
  for (const pid_t each : {pid, std::exchange(quick.spawned().pid, -1)}) {
    EXPECT_EQ(::waitpid(each, nullptr, WNOHANG), -1) << "nothing is left to be reaped";
  }
}

TEST(Spawn, TellsHowTheCommandEnded) {
  const LaunchPlan plan = shell_plan("exit 7");
  TinyRun run(plan);
  ASSERT_TRUE(run.started());
  EXPECT_EQ(run.wait(), 0) << "PID 1 itself ends well";
  EXPECT_EQ(exit_of(run), 7);
  EXPECT_EQ(run.state().executed, 1U);
  EXPECT_EQ(run.state().failed_step, 0U);
  EXPECT_GT(run.state().usage.ru_maxrss, 0);
}

TEST(Spawn, TellsWhichSignalEndedTheCommandThoughTheCallerIgnoresIt) {
  const LaunchPlan plan = shell_plan("kill -PIPE $$; exit 0");
  const auto before = ::signal(SIGPIPE, SIG_IGN);
  TinyRun run(plan);
  ::signal(SIGPIPE, before);
  ASSERT_TRUE(run.started());
  run.wait();
  ASSERT_EQ(run.state().ended, 1U);
  ASSERT_TRUE(WIFSIGNALED(run.state().wait_status));
  EXPECT_EQ(WTERMSIG(run.state().wait_status), SIGPIPE);
}

TEST(Spawn, GivesTheCommandItsArgumentsEnvironmentAndStandardDescriptors) {
  const LaunchPlan plan = tiny_plan(
      {"/bin/sh", "-c", "echo $GREETING $0 $1 ${HOME-none}; echo oops >&2; read x || echo end", "a",
       "b c"});
  TinyRun run(plan);
  ASSERT_TRUE(run.started());
  EXPECT_EQ(run.output(), "hello a b c none\noops\nend\n");
}

TEST(Spawn, LeavesTheCommandNoOtherDescriptor) {
  const OwnedFd high(::fcntl(STDIN_FILENO, F_DUPFD, 50));
  ASSERT_TRUE(high.is_open());
  const LaunchPlan plan = shell_plan(
      "i=3; while [ $i -lt 64 ]; do [ ! -e /proc/$$/fd/$i ] || echo $i; i=$((i+1)); done; echo .");
  TinyRun run(plan);
  ASSERT_TRUE(run.started());
  EXPECT_EQ(run.output(), ".\n");
}

TEST(Spawn, MakesTheCommandTheLeaderOfASession) {
  const LaunchPlan plan = shell_plan("set -- $(cat /proc/$$/stat); [ $6 = $$ ]");  // proc(5)
  TinyRun run(plan);
  ASSERT_TRUE(run.started());
  EXPECT_EQ(exit_of(run), 0);
}

TEST(Spawn, TriesEveryPathInTurn) {
  LaunchPlan plan = tiny_plan({"true"});
  plan.executables = {"/nonexistent/true", "/dev/null/true", "/bin/true"};
  TinyRun run(plan);
  ASSERT_TRUE(run.started());
  EXPECT_EQ(exit_of(run), 0);
}

TEST(Spawn, GivesAScriptWithoutAnInterpreterToTheShell) {
  const test::TempDir dir;
  LaunchPlan plan = tiny_plan({"script", "argument"});
  plan.executables = {dir.file("script", "echo $0 $1\n", 0755)};
  TinyRun run(plan);
  ASSERT_TRUE(run.started());
  EXPECT_EQ(run.output(), plan.executables.front() + " argument\n");
}

TEST(Spawn, StopsAtAStepBeforeTheFork) {
  const LaunchPlan plan =
      tiny_plan({"/bin/echo", "started"}, {{Op{op::EnterRoot{}}, "/nonexistent"}});
  expect_failure<op::EnterRoot>(plan, ENOENT);
}

TEST(Spawn, StopsAtAStepOfTheCommandsOwnProcess) {
  const LaunchPlan plan =
      tiny_plan({"/bin/echo", "started"}, {}, {{Op{op::ChangeDir{}}, "/dev/null"}});
  expect_failure<op::ChangeDir>(plan, ENOTDIR);
}

// Nothing lists the operations: a struct of one's own is walked like any other.
struct CountDown {
  int from;
  static constexpr OrderRule kOrder = order::anywhere;
  std::string describe(const LaunchPlan& /*plan*/) const { return "count_down"; }
  int execute(ChildContext& /*context*/) noexcept { return --from == 0 ? EDOM : 0; }
};

TEST(Spawn, ExecutesAnOperationThatOnlyItsMakerKnows) {
  const LaunchPlan plan =
      tiny_plan({"/bin/echo", "started"}, {{Op{CountDown{2}}, ""}, {Op{CountDown{1}}, ""}});
  TinyRun run(plan);
  ASSERT_TRUE(run.started());
  run.wait();
  EXPECT_EQ(run.state().failed_step, number_of<CountDown>(plan) + 1);
  EXPECT_EQ(run.state().failed_errno, EDOM);
  EXPECT_EQ(plan.ops[1].as<CountDown>()->from, 2) << "the child has its own copy";
}

TEST(Spawn, SaysThatTheProgramDoesNotExist) {
  expect_failure<op::Execute>(tiny_plan({"/nonexistent/program"}), ENOENT);
}

TEST(Spawn, SaysThatTheProgramCannotBeExecutedThoughALaterPathIsMissing) {
  const test::TempDir dir;
  LaunchPlan plan = tiny_plan({"tool"});
  plan.executables = {dir.file("tool", "echo started\n", 0644), "/nonexistent/tool"};
  expect_failure<op::Execute>(plan, EACCES);
}

TEST(Spawn, ConfirmsWhatIsInForceAndNothingBehindTheFailedStep) {
  const auto first = static_cast<std::uint8_t>(Layer::kNoNewPrivs);
  const auto second = static_cast<std::uint8_t>(Layer::kCapabilities);
  const LaunchPlan plan =
      tiny_plan({"/bin/true"}, {},
                {{Op{op::NoNewPrivs{}}, "", first}, {Op{op::ChangeDir{}}, "/nonexistent", second}});
  TinyRun run(plan);
  ASSERT_TRUE(run.started());
  run.wait();
  EXPECT_EQ(run.spawned().state->confirmed.load(), 1U << first);
}

// Made beside or, where nothing was begun, at once.
TEST(Spawn, ForksTheCommandInTheNetworkThatItsStepsMake) {
  char own[64] = {};
  ASSERT_GT(::readlink("/proc/self/ns/net", own, sizeof own - 1), 0);
  const Step begin{Op{op::MakeNetwork{}}, ""};
  const Step join{Op{op::JoinNetwork{}}, "", static_cast<std::uint8_t>(Layer::kNet)};
  for (const std::vector<Step>& steps : {std::vector<Step>{begin, join}, std::vector<Step>{join}}) {
    LaunchPlan plan = tiny_plan(
        {"/bin/sh", "-c",
         "readlink /proc/self/ns/net; grep -c : /proc/net/dev; wc -l </proc/net/if_inet6"},
        steps);
    plan.clone_flags = CLONE_NEWUSER | CLONE_NEWNET;
    plan.made_by_steps = CLONE_NEWNET;
    TinyRun run(plan);
    if (!run.started()) GTEST_SKIP() << "no user namespaces";
    const std::string network = run.line();
    EXPECT_TRUE(network.starts_with("net:[")) << network;
    EXPECT_NE(network, std::string(own) + "\n");
    EXPECT_EQ(run.line(), "1\n") << "lo alone";
    EXPECT_EQ(run.output(), "1\n") << "lo is up";
    EXPECT_EQ(exit_of(run), 0);
    EXPECT_EQ(run.state().confirmed, 1U << static_cast<unsigned>(Layer::kNet));
  }
}

TEST(Spawn, HandsOutWhatAStepReports) {
  const test::TempDir dir;
  const LaunchPlan plan = tiny_plan({"/bin/true"}, {{Op{op::ReportFd{}}, dir.path()}});
  TinyRun run(plan);
  ASSERT_TRUE(run.started());
  run.wait();
  const int control = run.spawned().control.get();
  const std::vector<Received> reports = receive_reports(control);
  ASSERT_EQ(reports.size(), 1U);
  EXPECT_EQ(reports[0].tag, ReportTag::kScratch);
  struct stat sent {};
  struct stat expected {};
  ASSERT_EQ(::fstat(reports[0].fd.get(), &sent), 0);
  ASSERT_EQ(::stat(dir.path().c_str(), &expected), 0);
  EXPECT_EQ(sent.st_ino, expected.st_ino);
  EXPECT_TRUE(receive_reports(control).empty());
  EXPECT_EQ(errno, 0) << "end of file once PID 1 has ended";
}

TEST(Spawn, EndsTheCommandAndItsDescendantsWithTheLifeline) {
  const LaunchPlan plan = shell_plan("setsid sleep 60 & echo ready; exec sleep 60");
  TinyRun run(plan);
  ASSERT_TRUE(run.started());
  EXPECT_EQ(run.line(), "ready\n");
  run.spawned().lifeline.reset();
  EXPECT_EQ(run.wait(), 0);
  EXPECT_EQ(run.output(), "") << "end of file: no sleep holds the pipe any more";
}

}  // namespace
}  // namespace sbx
