// SPDX-License-Identifier: Apache-2.0
// What make_plan decides, one promise a test; whole plans are compared in golden_test.cc.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>

#include "base/text.h"
#include "plan/sample_plan.h"
#include "support/dump_plan.h"
#include "sys/kernel.h"

namespace sbx::testing {
namespace {

LaunchPlan must_plan(const Sample& sample) {
  Result<LaunchPlan> plan = sample.plan();
  if (!plan.ok()) throw std::runtime_error(error_line(plan.error()));
  return std::move(plan).value();
}

Sample with_roots(const std::string& roots) {
  return written_sample(R"("filesystem": {"protect": [], "roots": [)" + roots + "]}");
}

TEST(Planner, MapsIdsThenMountsThenPivotsThenForksTheCommand) {
  const LaunchPlan plan = must_plan(shipped_sample("default"));
  EXPECT_LT(first_of<op::DieWithParent>(plan), first_of<op::WriteFile>(plan));
  EXPECT_STREQ(plan.text(all_of<op::WriteFile>(plan).at(0).path), "/proc/self/setgroups");
  EXPECT_EQ(first_of<op::WriteFile>(plan), 1);
  EXPECT_LT(first_of<op::WriteFile>(plan), first_of<op::Mount>(plan));
  EXPECT_LT(last_of<op::Bind>(plan), first_of<op::Pivot>(plan));
  EXPECT_LT(first_of<op::WriteFile>(plan), first_of<op::MakeNetwork>(plan));
  EXPECT_LT(first_of<op::MakeNetwork>(plan), first_of<op::Mount>(plan)) << "beside the mounts";
  EXPECT_LT(first_of<op::Pivot>(plan), first_of<op::JoinNetwork>(plan));
  EXPECT_LT(first_of<op::JoinNetwork>(plan), first_of<op::ForkCommand>(plan));
  EXPECT_LT(first_of<op::NotDumpable>(plan), first_of<op::ForkCommand>(plan));
}

TEST(Planner, DropsCapabilitiesAfterTheLastMountAndLoadsTheFilterLast) {
  const LaunchPlan plan = must_plan(shipped_sample("default"));
  EXPECT_LT(first_of<op::ForkCommand>(plan), first_of<op::NoNewPrivs>(plan));
  EXPECT_LT(first_of<op::NoNewPrivs>(plan), first_of<op::LandlockCreate>(plan));
  EXPECT_LT(first_of<op::LandlockRestrict>(plan), first_of<op::DropCapabilities>(plan));
  EXPECT_LT(first_of<op::DropCapabilities>(plan), first_of<op::CloseDescriptors>(plan));
  EXPECT_LT(first_of<op::CloseDescriptors>(plan), first_of<op::Seccomp>(plan));
  EXPECT_EQ(first_of<op::Execute>(plan) + 1, static_cast<int>(plan.ops.size()));
}

TEST(Planner, GivesTheSamePlanForTheSameInput) {
  const Sample sample = shipped_sample("default");
  EXPECT_EQ(dump_plan(must_plan(sample)), dump_plan(must_plan(sample)));
}

TEST(Planner, DoesNotDependOnTheOrderOfRoots) {
  const std::string a = R"({"path": "/data", "access": "ro"})";
  const std::string b = R"({"path": "/data/out", "access": "rw"})";
  const std::string c = R"({"path": "/data/out/secret", "access": "none"})";
  const std::string w = R"({"path": "${workspace}", "access": "rw"})";
  const std::string one = dump_plan(must_plan(with_roots(a + "," + b + "," + c + "," + w)));
  const std::string two = dump_plan(must_plan(with_roots(w + "," + c + "," + b + "," + a)));
  // Landlock's rules are a set: their order alone may differ.
  const auto mounts = [](const std::string& dump) { return dump.substr(0, dump.find("pivot")); };
  EXPECT_EQ(mounts(one), mounts(two));
  EXPECT_EQ(one.size(), two.size());
}

TEST(Planner, LetsTheMostSpecificPathWin) {
  const LaunchPlan plan = must_plan(
      with_roots(R"({"path": "${workspace}", "access": "rw"}, {"path": "/data", "access": "ro"},
                    {"path": "/data/out", "access": "rw"},
                    {"path": "/data/out/secret", "access": "none"})"));
  ASSERT_NE(step_at(plan, "data/out"), nullptr);
  EXPECT_TRUE(is_read_only(step_at(plan, "data")));
  EXPECT_FALSE(is_read_only(step_at(plan, "data/out")));
  const Op* mask = step_at(plan, "data/out/secret");
  ASSERT_NE(mask, nullptr);
  ASSERT_TRUE(mask->is<op::BindInside>());
  EXPECT_STREQ(plan.text(mask->as<op::BindInside>()->source), "proc/masks/empty");
  EXPECT_LT(step_at(plan, "data"), step_at(plan, "data/out"));
  EXPECT_LT(step_at(plan, "data/out"), mask);
}

TEST(Planner, DoesNotMakeAHiddenPathExistWhereNothingShowsIt) {
  const LaunchPlan plan = must_plan(with_roots(
      R"({"path": "${workspace}", "access": "rw"}, {"path": "/nowhere", "access": "none"})"));
  EXPECT_EQ(step_at(plan, "nowhere"), nullptr);
}

TEST(Planner, RefusesAWorkingDirectoryThatNothingShows) {
  Sample sample = shipped_sample("default");
  sample.request.cwd = "/somewhere/else";
  const auto plan = sample.plan();
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().code, ErrorCode::kCwdNotVisible);
}

TEST(Planner, RefusesAHiddenWorkingDirectory) {
  Sample sample = with_roots(
      R"({"path": "${workspace}", "access": "rw"}, {"path": "${workspace}/a", "access": "none"})");
  sample.request.cwd = "/home/user/work/a/b";
  const auto plan = sample.plan();
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().code, ErrorCode::kCwdNotVisible);
}

TEST(Planner, RefusesAHiddenWorkingDirectoryWithoutMountsToo) {
  Sample sample = with_roots(
      R"({"path": "${workspace}", "access": "rw"}, {"path": "${workspace}/a", "access": "none"})");
  OperatorFlags flags;
  flags.allow_degraded = true;
  apply_flags(sample, flags);
  sample.policy.sandbox.isolation.require = {};
  take_namespaces(sample.facts);
  for (const char* cwd : {"/home/user/work/a", "/somewhere/else"}) {
    sample.request.cwd = cwd;
    const auto plan = sample.plan();
    ASSERT_FALSE(plan.ok()) << cwd;
    EXPECT_EQ(plan.error().code, ErrorCode::kCwdNotVisible);
  }
  sample.request.cwd = "/home/user/work/deep/down";
  EXPECT_TRUE(sample.plan().ok());
}

TEST(Planner, AcceptsAWorkingDirectoryBelowARoot) {
  Sample sample = shipped_sample("default");
  for (const char* cwd : {"/home/user/work/deep/down", "/tmp", "/usr/share", "/"}) {
    sample.request.cwd = cwd;
    EXPECT_TRUE(sample.plan().ok()) << cwd;
  }
}

TEST(Planner, SaysInPwdWhereTheCommandStarts) {
  const auto pwd = [](const Sample& sample) {
    const LaunchPlan plan = sample.plan().value();
    const auto at = std::find_if(plan.environment.begin(), plan.environment.end(),
                                 [](const std::string& e) { return e.starts_with("PWD="); });
    return at == plan.environment.end() ? std::string() : *at;
  };
  Sample sample = shipped_sample("default");
  EXPECT_EQ(pwd(sample), "PWD=/home/user/work");
  sample.environment["PWD"] = "/home/user";
  sample.request.cwd = "/usr/share";
  EXPECT_EQ(pwd(sample), "PWD=/usr/share");
  sample.policy.run.environment.set["PWD"] = sample.environment["PWD"] = "/elsewhere";
  EXPECT_EQ(pwd(sample), "PWD=/elsewhere");  // the operator's word
}

TEST(Planner, ProtectsAPathReadOnlyAndItsParentsAsMountPoints) {
  const LaunchPlan plan = must_plan(shipped_sample("default"));
  EXPECT_TRUE(is_read_only(step_at(plan, "home/user/work/.git/hooks")));
  const Op* parent = step_at(plan, "home/user/work/.git");
  ASSERT_NE(parent, nullptr);
  EXPECT_FALSE(is_read_only(parent));
  EXPECT_LT(parent, step_at(plan, "home/user/work/.git/hooks"));
}

TEST(Planner, ReportsAMissingProtectedPathWhereTheProfileSaysSo) {
  const LaunchPlan plan = must_plan(shipped_sample("default"));
  ASSERT_FALSE(plan.report_created.empty());
  EXPECT_EQ(plan.report_created.front().node.path, "/home/user/work/.mcp.json");
  EXPECT_EQ(plan.report_created.back().node.path, "/home/user/work/.git/config");
  EXPECT_TRUE(plan.stubs.empty());
}

TEST(Planner, HoldsThePlaceOfAMissingProtectedPathByAStub) {
  const LaunchPlan plan = must_plan(written_sample(R"("filesystem": {"protect": [".bashrc"]})"));
  ASSERT_EQ(plan.stubs, std::vector<std::string>{"/home/user/work/.bashrc"});
  EXPECT_TRUE(is_read_only(step_at(plan, "home/user/work/.bashrc")));
}

TEST(Planner, NamesNothingOfWhatCanAllBeWritten) {
  const Sample sample = written_sample(R"("filesystem": {"protect": ["must"]})");
  PlanInput input{sample.policy, sample.request, sample.facts, sample.view, sample.environment};
  const std::string work = kWorkspace;
  input.named = {work + "/src/x", work + "/must/other", work, "/srv/x"};
  const Result<LaunchPlan> plan = make_plan(input);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan.value().named, (std::vector<std::string>{work + "/must/other", work, "/srv/x"}));
}

TEST(Planner, HoldsTheParentsOfANarrowerRootBelowAWritableHost) {
  const LaunchPlan plan = must_plan(with_roots(
      R"({"path": "/", "access": "rw"}, {"path": "${workspace}", "access": "rw"},
         {"path": "/data/out/secret", "access": "none"})"));
  for (const char* parent : {"data", "data/out"}) {
    ASSERT_NE(step_at(plan, parent), nullptr) << parent;
    EXPECT_FALSE(is_read_only(step_at(plan, parent))) << parent;
  }
  EXPECT_LT(step_at(plan, "data/out"), step_at(plan, "data/out/secret"));
}

TEST(Planner, RefusesARequiredLayerThatCannotBeHadWithTheMend) {
  Sample sample = shipped_sample("default");
  for (const Layer layer :
       {Layer::kUser, Layer::kMount, Layer::kPid, Layer::kNet, Layer::kSeccomp, Layer::kLandlock}) {
    sample.facts = full_facts();
    sample.facts.obstacles[static_cast<std::size_t>(layer)] = {"the reason", "the mend", 1};
    for (const Fallback fallback : {Fallback::kRefuse, Fallback::kDegrade}) {
      sample.policy.sandbox.isolation.fallback = fallback;
      const auto plan = sample.plan();
      ASSERT_FALSE(plan.ok()) << layer_name(layer);
      EXPECT_EQ(plan.error().code, ErrorCode::kLayerUnavailable);
      EXPECT_EQ(plan.error().hint, "the mend");
      EXPECT_NE(plan.error().message.find(layer_name(layer)), std::string::npos);
      EXPECT_NE(plan.error().message.find("the reason"), std::string::npos);
    }
  }
}

TEST(Planner, RefusesALayerThatIsNotRequiredUnlessTheFallbackIsDegrade) {
  Sample sample = shipped_sample("default");  // ipc and uts are not required
  sample.facts.obstacles[static_cast<std::size_t>(Layer::kIpc)] = {"the reason", "", 1};
  EXPECT_EQ(sample.plan().error().code, ErrorCode::kLayerUnavailable);
  sample.policy.sandbox.isolation.fallback = Fallback::kDegrade;
  const LaunchPlan plan = must_plan(sample);
  EXPECT_FALSE(plan.wanted.has(Layer::kIpc));
  ASSERT_TRUE(is_degraded(plan, "ipc"));
}

TEST(Planner, NeverRunsWithPrivilegeThatCannotBeDropped) {
  for (const Layer layer : {Layer::kCapabilities, Layer::kNoNewPrivs}) {
    Sample sample =
        written_sample(R"("isolation": {"require": ["seccomp"], "fallback": "degrade"})");
    sample.facts.obstacles[static_cast<std::size_t>(layer)] = {"the reason", "", 1};
    EXPECT_EQ(sample.plan().error().code, ErrorCode::kLayerUnavailable) << layer_name(layer);
  }
}

TEST(Planner, RefusesToRequireWhatTheProfileTurnsOff) {
  Sample sample = written_sample(R"("isolation": {"namespaces": ["user", "mount"]})");
  const auto plan = sample.plan();
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().code, ErrorCode::kLayerUnavailable);
  EXPECT_EQ(plan.error().where, "/isolation/require");
}

TEST(Planner, DoesWithoutLandlockOnlyWhereItsModeIsAuto) {
  Sample sample = written_sample(R"("isolation": {"require": []})");
  sample.facts.landlock_abi = 0;
  sample.facts.obstacles[static_cast<std::size_t>(Layer::kLandlock)] = {"no Landlock", "", 38};
  EXPECT_EQ(sample.plan().error().code, ErrorCode::kLayerUnavailable);
  sample.policy.sandbox.isolation.fallback = Fallback::kDegrade;
  EXPECT_EQ(sample.plan().error().code, ErrorCode::kLayerUnavailable)
      << "landlock.mode require is a requirement, whatever the fallback";
  sample.policy.sandbox.landlock.mode = LandlockMode::kAuto;
  const LaunchPlan plan = must_plan(sample);
  EXPECT_TRUE(is_degraded(plan, "landlock"));
  EXPECT_EQ(first_of<op::LandlockCreate>(plan), -1);
}

TEST(Planner, LandlockHoldsUnixSocketsFromAbi9UnlessSomeAreListed) {
  const auto files = [](const Sample& sample) {
    return all_of<op::LandlockCreate>(must_plan(sample)).at(0).files;
  };
  Sample sample = shipped_sample("default");
  sample.facts.landlock_abi = 8;
  EXPECT_EQ(files(sample) & sys::kLandlockFsResolveUnix, 0U);
  sample.facts.landlock_abi = 9;
  EXPECT_NE(files(sample) & sys::kLandlockFsResolveUnix, 0U);
  Sample open = sample;
  open.policy.sandbox.network.mode = NetworkMode::kOpen;
  EXPECT_EQ(files(open) & sys::kLandlockFsResolveUnix, 0U);
  sample.policy.sandbox.network.unix_sockets = {"/run/some.sock"};
  EXPECT_EQ(files(sample) & sys::kLandlockFsResolveUnix, 0U);
}

TEST(Planner, LandlockHoldsUdpFromAbi10WhereThereIsNoNetworkNamespace) {
  Sample sample =
      written_sample(R"("isolation": {"require": ["seccomp", "landlock"], "fallback": "degrade"})");
  sample.facts.landlock_abi = 9;
  EXPECT_EQ(all_of<op::LandlockCreate>(must_plan(sample)).at(0).network, 0U);
  take_namespaces(sample.facts);
  EXPECT_EQ(all_of<op::LandlockCreate>(must_plan(sample)).at(0).network, 3U);
  sample.facts.landlock_abi = 10;
  EXPECT_EQ(all_of<op::LandlockCreate>(must_plan(sample)).at(0).network, 15U);
}

TEST(Planner, NamesEveryLayerThatIsLost) {
  Sample sample =
      written_sample(R"("isolation": {"require": ["seccomp", "landlock"], "fallback": "degrade"})");
  take_namespaces(sample.facts);
  const LaunchPlan plan = must_plan(sample);
  for (const char* layer : {"user", "mount", "pid", "net", "ipc", "uts", "cgroup", "tree"}) {
    EXPECT_TRUE(is_degraded(plan, layer)) << layer;
  }
  EXPECT_EQ(plan.clone_flags, 0U);
  EXPECT_FALSE(plan.has_pid_namespace);
  for (const Layer layer :
       {Layer::kSeccomp, Layer::kLandlock, Layer::kNoNewPrivs, Layer::kCapabilities}) {
    EXPECT_TRUE(plan.wanted.has(layer)) << layer_name(layer);
  }
}

TEST(Planner, GuardsTheNetworkByLandlockWithoutANamespace) {
  Sample sample =
      written_sample(R"("isolation": {"require": ["seccomp", "landlock"], "fallback": "degrade"})");
  const LaunchPlan whole = must_plan(sample);
  EXPECT_EQ(all_of<op::LandlockCreate>(whole).at(0).network, 0U);
  take_namespaces(sample.facts);
  const LaunchPlan degraded = must_plan(sample);
  EXPECT_NE(all_of<op::LandlockCreate>(degraded).at(0).network, 0U);
}

TEST(Planner, GrantsNothingOfAHiddenPathWithoutMounts) {
  Sample sample = with_roots(
      R"({"path": "${workspace}", "access": "rw"}, {"path": "${workspace}/a", "access": "none"})");
  sample.policy.sandbox.isolation.require = {};
  sample.policy.sandbox.isolation.fallback = Fallback::kDegrade;
  take_namespaces(sample.facts);
  const LaunchPlan plan = must_plan(sample);
  std::vector<std::string> granted;
  for (const auto& rule : all_of<op::LandlockAllow>(plan))
    granted.emplace_back(plan.text(rule.path));
  const auto has = [&](std::string_view path) {
    return std::find(granted.begin(), granted.end(), path) != granted.end();
  };
  EXPECT_FALSE(has("/home/user/work"));
  EXPECT_FALSE(has("/home/user/work/a"));
  EXPECT_TRUE(has("/home/user/work/aside"));
  const std::string files = reasons_of(plan, "files");
  EXPECT_NE(files.find("/home/user/work", files.find("cannot be listed")), std::string::npos);
}

TEST(Planner, NamesWhatLandlockWithoutMountsDoesNotListWhereNothingIsWritableToo) {
  Sample sample = with_roots(
      R"({"path": "${workspace}", "access": "ro"}, {"path": "${workspace}/a", "access": "none"})");
  sample.policy.sandbox.isolation.require = {};
  sample.policy.sandbox.isolation.fallback = Fallback::kDegrade;
  take_namespaces(sample.facts);
  EXPECT_NE(reasons_of(must_plan(sample), "files").find("/home/user/work"), std::string::npos);
}

TEST(Planner, NamesWhatCanBeDoneToProcessesOutside) {
  Sample sample = shipped_sample("default");
  sample.policy.sandbox.isolation.require = {};
  sample.policy.sandbox.isolation.fallback = Fallback::kDegrade;
  EXPECT_EQ(reasons_of(must_plan(sample), "processes"), "");
  const auto lose = [&](Layer layer) {
    sample.facts.obstacles[static_cast<std::size_t>(layer)] = {"no", "", 1};
    return reasons_of(must_plan(sample), "processes");
  };
  const std::string without_pid = lose(Layer::kPid);
  EXPECT_NE(without_pid.find("affinity"), std::string::npos);
  EXPECT_EQ(without_pid.find("prlimit"), std::string::npos);
  EXPECT_EQ(without_pid.find("signals"), std::string::npos);
  EXPECT_NE(lose(Layer::kSeccomp).find("prlimit"), std::string::npos);
  sample.facts.landlock_abi = 5;
  EXPECT_NE(reasons_of(must_plan(sample), "processes").find("signals"), std::string::npos);
}

TEST(Planner, NamesTheSocketsOfTheHostThatCanBeReachedInEachTier) {
  const auto told = [](bool has_namespaces, int abi) {
    Sample sample = shipped_sample("default");
    sample.policy.sandbox.isolation.require = {};
    sample.policy.sandbox.isolation.fallback = Fallback::kDegrade;
    sample.facts.seccomp_notify = false;
    sample.facts.landlock_abi = abi;
    if (!has_namespaces) take_namespaces(sample.facts);
    const std::string reasons = reasons_of(must_plan(sample), "unix_sockets");
    std::string kinds;
    for (const char* kind : {"shows in a root", "in a root or not", "abstract"}) {
      if (reasons.find(kind) != std::string::npos) kinds += std::string(kind) + ";";
    }
    return kinds;
  };
  EXPECT_EQ(told(true, 5), "shows in a root;");
  EXPECT_EQ(told(true, 9), "");
  EXPECT_EQ(told(false, 5), "in a root or not;abstract;");
  EXPECT_EQ(told(false, 8), "in a root or not;");
  EXPECT_EQ(told(false, 9), "");
}

TEST(Planner, BoundsUserNamespacesByTheOuterProcWithoutAPidNamespace) {
  Sample sample = shipped_sample("default");
  sample.policy.sandbox.isolation.require = {};
  sample.policy.sandbox.isolation.fallback = Fallback::kDegrade;
  sample.facts.obstacles[static_cast<std::size_t>(Layer::kPid)] = {"no", "", 1};
  const auto is_bounded = [&] {
    const LaunchPlan plan = must_plan(sample);
    const auto files = all_of<op::WriteFile>(plan);
    return std::any_of(files.begin(), files.end(), [&](const op::WriteFile& file) {
      return plan.text(file.path) == std::string_view("/proc/sys/user/max_user_namespaces");
    });
  };
  EXPECT_TRUE(is_bounded());
  sample.facts.proc_mountable = false;
  EXPECT_FALSE(is_bounded());
}

TEST(Planner, GrantsReadingButNotWritingOfAProtectedPathWithoutMounts) {
  Sample sample = shipped_sample("default");
  sample.policy.sandbox.isolation.require = {};
  sample.policy.sandbox.isolation.fallback = Fallback::kDegrade;
  take_namespaces(sample.facts);
  const LaunchPlan plan = must_plan(sample);
  const auto rights = [&](std::string_view path) {
    std::uint64_t sum = 0;
    for (const auto& rule : all_of<op::LandlockAllow>(plan)) {
      if (is_below(path, plan.text(rule.path))) sum |= rule.rights;
    }
    return sum;
  };
  EXPECT_EQ(rights("/home/user/work/.git/hooks/pre-commit") & sys::kLandlockFsWriteFile, 0U);
  EXPECT_NE(rights("/home/user/work/.git/hooks/pre-commit") & sys::kLandlockFsReadFile, 0U);
  EXPECT_NE(rights("/home/user/work/aside/file") & sys::kLandlockFsWriteFile, 0U);
  EXPECT_NE(rights("/home/user/work") & sys::kLandlockFsReadDir, 0U);
  EXPECT_EQ(rights("/home/user/work") & sys::kLandlockFsMakeReg, 0U);
}

TEST(Planner, PutsTheTemporaryDirectoryOfTheSessionInThePlaceOfTmpWithoutMounts) {
  Sample sample = shipped_sample("default");
  sample.policy.sandbox.isolation.require = {};
  sample.policy.sandbox.isolation.fallback = Fallback::kDegrade;
  take_namespaces(sample.facts);
  sample.view.scratch = {"/tmp/sbx-run-1/tmp", NodeKind::kDirectory, 1, 2};
  sample.view.scratch_home = {"/tmp/sbx-run-1/home", NodeKind::kDirectory, 1, 3};
  const LaunchPlan plan = must_plan(sample);
  const auto has = [&](const std::string& entry) {
    return std::find(plan.environment.begin(), plan.environment.end(), entry) !=
           plan.environment.end();
  };
  EXPECT_TRUE(has("TMPDIR=/tmp/sbx-run-1/tmp"));
  EXPECT_TRUE(has("HOME=/tmp/sbx-run-1/home"));
  EXPECT_EQ(plan.home, "/tmp/sbx-run-1/home");
  EXPECT_TRUE(is_degraded(plan, "tmp"));
}

TEST(Planner, PutsTheHomeInTmpWhereARootShowsItsPlaceWithoutIt) {
  Sample sample = shipped_sample("default");
  ASSERT_EQ(must_plan(sample).home, sample.policy.sandbox.home);
  const std::string above =
      sample.policy.sandbox.home.substr(0, sample.policy.sandbox.home.rfind('/'));
  sample.view.roots.push_back(
      {{above, NodeKind::kDirectory, 1, 77}, Access::kReadOnly, "--ro", false});
  sample.view.home = {sample.policy.sandbox.home, NodeKind::kMissing, 0, 0};
  EXPECT_EQ(must_plan(sample).home, "/tmp");
  sample.view.home.kind = NodeKind::kDirectory;
  EXPECT_EQ(must_plan(sample).home, sample.policy.sandbox.home);
}

TEST(Planner, NamesWhatEnforcesEachLimit) {
  Sample sample = shipped_sample("strict");
  LaunchPlan plan = must_plan(sample);
  EXPECT_EQ(limit_enforcer(plan, "timeout"), "watch");
  EXPECT_EQ(limit_enforcer(plan, "memory"), "watch");
  EXPECT_EQ(limit_enforcer(plan, "pids"), "rlimit");
  EXPECT_EQ(limit_enforcer(plan, "open_files"), "rlimit");
  EXPECT_EQ(limit_enforcer(plan, "file"), "rlimit");
  EXPECT_EQ(limit_enforcer(plan, "output"), "watch");
  sample.facts.uid = 0;  // global root is exempt from RLIMIT_NPROC
  plan = must_plan(sample);
  EXPECT_EQ(limit_enforcer(plan, "pids"), "watch");
  sample.facts.cgroup.base = "/sys/fs/cgroup/user";
  plan = must_plan(sample);
  EXPECT_EQ(limit_enforcer(plan, "memory"), "cgroup2");
  EXPECT_EQ(limit_enforcer(plan, "pids"), "cgroup2");
}

TEST(Planner, LeavesCoreDumpsForTheCommandToAskFor) {
  const LaunchPlan plan = must_plan(shipped_sample("default"));
  const auto limits = all_of<op::SetLimit>(plan);
  const auto core = std::find_if(limits.begin(), limits.end(), [](const op::SetLimit& limit) {
    return limit.resource == RLIMIT_CORE;
  });
  ASSERT_NE(core, limits.end());
  EXPECT_EQ(core->soft, 0U);
  EXPECT_EQ(core->hard, RLIM_INFINITY);
}

TEST(Planner, MountsMessageQueuesOnlyWhereTheyAreItsOwn) {
  const auto mounts = [](const LaunchPlan& plan) {
    const auto made = all_of<op::Mount>(plan);
    return std::any_of(made.begin(), made.end(),
                       [](const op::Mount& mount) { return mount.type == FileSystem::kMqueue; });
  };
  EXPECT_TRUE(mounts(must_plan(shipped_sample("default"))));
  EXPECT_FALSE(mounts(must_plan(shipped_sample("readonly")))) << "nor is /dev/shm written there";
  const Sample shared = written_sample(
      R"("isolation": {"namespaces": ["user", "mount", "pid", "net", "uts", "cgroup"]})");
  EXPECT_FALSE(mounts(must_plan(shared))) << "they would be the host's";
}

TEST(Planner, SetsRlimitsForWhatRlimitsBound) {
  Sample sample = shipped_sample("strict");
  const LaunchPlan plan = must_plan(sample);
  std::map<int, std::uint64_t> hard;
  for (const auto& limit : all_of<op::SetLimit>(plan)) hard[limit.resource] = limit.hard;
  EXPECT_EQ(hard.count(RLIMIT_NOFILE), 0U) << "it bounds what may be sent";
  EXPECT_EQ(all_of<op::Seccomp>(plan).at(0).open_files, 256U);
  for (const char* call : {"sendmsg", "prlimit64"}) {
    const LaunchPlan before = must_plan(written_sample(
        R"("limits": {"open_files": 99}, "seccomp": {"deny": [")" + std::string(call) + R"("]})"));
    const auto limits = all_of<op::SetLimit>(before);
    EXPECT_TRUE(std::any_of(limits.begin(), limits.end(), [](const op::SetLimit& limit) {
      return limit.resource == RLIMIT_NOFILE && limit.hard == 99;
    })) << call;
    EXPECT_EQ(all_of<op::Seccomp>(before).at(0).open_files, 0U) << call;
  }
  EXPECT_EQ(hard.at(RLIMIT_FSIZE), 65536U * 1024);
  EXPECT_GE(hard.at(RLIMIT_NPROC), 64U);
}

TEST(Planner, KeepsTheHostsNetworkOutOfTheNamespacesInModeOpen) {
  Sample sample = shipped_sample("default");
  OperatorFlags flags;
  flags.network = NetworkMode::kOpen;
  apply_flags(sample, flags);
  const LaunchPlan plan = must_plan(sample);
  EXPECT_FALSE(plan.wanted.has(Layer::kNet));
  EXPECT_TRUE(plan.wanted.has(Layer::kSeccomp)) << "an open network must not take the filter off";
  EXPECT_EQ(first_of<op::MakeNetwork>(plan), -1);
  EXPECT_EQ(first_of<op::JoinNetwork>(plan), -1);
  EXPECT_EQ(plan.made_by_steps, 0U);
}

TEST(Planner, JoinsTheNetworkBeforeItIsTuned) {
  Sample sample = shipped_sample("build");
  const LaunchPlan plan = must_plan(sample);
  EXPECT_LT(first_of<op::JoinNetwork>(plan), first_of<op::TuneNetwork>(plan));
  EXPECT_LT(first_of<op::TuneNetwork>(plan), first_of<op::LocalRoutes>(plan));
  EXPECT_LT(first_of<op::ListenForDns>(plan), first_of<op::Mount>(plan));
}

TEST(Planner, LetsNoNestedUserNamespaceBeMadeUnlessTheProfileAllowsIt) {
  const auto has_bound = [](const LaunchPlan& plan) {
    const auto written = all_of<op::WriteFile>(plan);
    return std::any_of(written.begin(), written.end(), [&](const op::WriteFile& file) {
      return std::string_view(plan.text(file.path)).ends_with("sys/user/max_user_namespaces");
    });
  };
  EXPECT_TRUE(has_bound(must_plan(shipped_sample("default"))));
  EXPECT_FALSE(has_bound(must_plan(written_sample(R"("seccomp": {"allow": ["unshare"]})"))));
}

TEST(Planner, NamesTheSystemCallThatDoesNotExist) {
  Sample sample = written_sample(R"("seccomp": {"allow": ["opennat"]})");
  const auto plan = sample.plan();
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().code, ErrorCode::kBadValue);
  EXPECT_EQ(plan.error().where, "/seccomp/allow/0");
}

TEST(Planner, TriesAProgramInEveryDirectoryOfPath) {
  Sample sample = shipped_sample("default");
  sample.request.argv = {"make", "test"};
  EXPECT_EQ(must_plan(sample).executables,
            (std::vector<std::string>{"/usr/bin/make", "/bin/make"}));
  sample.request.argv = {"./configure"};
  EXPECT_EQ(must_plan(sample).executables, std::vector<std::string>{"./configure"});
}

TEST(Planner, RefusesAnEmptyProgram) {
  Sample sample = shipped_sample("default");
  sample.request.argv = {""};
  EXPECT_EQ(sample.plan().error().code, ErrorCode::kNotFound);
}

TEST(Planner, AppliesNothingInTheUnconfinedProfileAndSaysSo) {
  const LaunchPlan plan = must_plan(shipped_sample("unconfined"));
  EXPECT_TRUE(plan.wanted.empty());
  ASSERT_EQ(plan.warnings.size(), 1U);
  EXPECT_EQ(plan.warnings[0].substr(0, 10), "unconfined");
}

TEST(Planner, MakesEveryAddressLocalOnlyWhereThereIsAGateway) {
  for (const char* const mode : {"none", "allowlist", "outbound", "open"}) {
    const Sample sample = written_sample(std::string("\"network\": {\"mode\": \"") + mode + "\"}");
    const auto plan = sample.plan();
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    const bool relays = mode == std::string("allowlist") || mode == std::string("outbound");
    EXPECT_EQ(first_of<op::LocalRoutes>(plan.value()) >= 0, relays) << mode;
    EXPECT_EQ(first_of<op::ListenForDns>(plan.value()) >= 0, relays) << mode;
    EXPECT_TRUE(plan.value().mediates_connect) << mode;
    EXPECT_FALSE(is_degraded(plan.value(), "network")) << mode;
    EXPECT_FALSE(is_degraded(plan.value(), "unix_sockets")) << mode;
  }
}

TEST(Planner, SaysSoWhereConnectsCannotBeMediated) {
  Sample sample = written_sample(R"("network": {"mode": "outbound"})");
  sample.facts.seccomp_notify = false;
  const auto plan = sample.plan();
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_FALSE(plan.value().mediates_connect);
  EXPECT_TRUE(is_degraded(plan.value(), "network"));
  EXPECT_TRUE(is_degraded(plan.value(), "unix_sockets"));
}

TEST(Planner, TheOperatorsWordOnConnectStands) {
  for (const char* const list : {"allow", "deny"}) {
    const Sample sample =
        written_sample(std::string("\"seccomp\": {\"") + list + "\": [\"connect\"]}");
    EXPECT_FALSE(must_plan(sample).mediates_connect) << list;
  }
}

}  // namespace
}  // namespace sbx::testing
