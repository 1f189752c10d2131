// SPDX-License-Identifier: Apache-2.0
// Profile and flags become a policy: paths, variables, and which of the two wins.
#include "policy/policy.h"

#include <gtest/gtest.h>

#include <memory>

#include "policy/http.h"
#include "profile/default_profile.h"
#include "support/host_rules.h"

namespace sbx {
namespace {

const PolicyContext kContext{"/home/ann/work", "/home/ann"};

Result<Policy> with_root(const std::string& path) {
  Profile profile;
  profile.filesystem.roots = {{path, Access::kReadWrite, false, "/filesystem/roots/0"}};
  return make_policy(profile, {}, kContext);
}

TEST(NormalPath, IsAbsoluteWithoutDotsOrRepeatedSlashes) {
  EXPECT_EQ(normal_path("/a//b/./c/", "/", "").value(), "/a/b/c");
  EXPECT_EQ(normal_path("sub/dir", "/base", "").value(), "/base/sub/dir");
  EXPECT_EQ(normal_path("/", "/", "").value(), "/");
  EXPECT_EQ(normal_path("./", "/base", "").value(), "/base");
  EXPECT_EQ(normal_path("/a/..b/c..", "/", "").value(), "/a/..b/c..");
}

TEST(NormalPath, RefusesWhatLeadsUpOrIsNoPath) {
  for (const std::string& path :
       {std::string("/a/../b"), std::string(".."), std::string("/a/.."), std::string(),
        std::string("/a\0b", 4), "/" + std::string(5000, 'a')}) {
    const auto normal = normal_path(path, "/", "here");
    ASSERT_FALSE(normal.ok()) << path;
    EXPECT_EQ(normal.error().code, ErrorCode::kPathRefused);
    EXPECT_EQ(normal.error().where, "here");
  }
}

TEST(IsBelow, ComparesWholeComponents) {
  EXPECT_TRUE(is_below("/a/b", "/a"));
  EXPECT_TRUE(is_below("/a", "/a"));
  EXPECT_TRUE(is_below("/a", "/"));
  EXPECT_FALSE(is_below("/ab", "/a"));
  EXPECT_FALSE(is_below("/a", "/a/b"));
}

TEST(Policy, ReplacesVariablesInRoots) {
  EXPECT_EQ(with_root("${workspace}").value().sandbox.filesystem.roots[0].path, "/home/ann/work");
  EXPECT_EQ(with_root("${home}/.cache").value().sandbox.filesystem.roots[0].path,
            "/home/ann/.cache");
  EXPECT_EQ(with_root("${tmp}/x").value().sandbox.filesystem.roots[0].path, "/tmp/x");
}

TEST(Policy, LeavesOutOptionalRootsAndSocketsWhoseVariableHasNoValue) {
  Profile profile;
  profile.filesystem.roots = {{"${xauthority}", Access::kReadOnly, true, ""},
                              {"${runtime}/x", Access::kReadOnly, true, ""}};
  profile.network.unix_sockets = {"${ssh_agent}", "${runtime}/wayland-0", "/run/a"};
  const Policy without = make_policy(profile, {}, kContext).value();
  EXPECT_EQ(without.sandbox.network.unix_sockets, std::vector<std::string>{"/run/a"});
  ASSERT_EQ(without.sandbox.filesystem.roots.size(), 1U) << "the listed socket";
  PolicyContext context = kContext;
  context.runtime = "/run/user/1";
  context.ssh_agent = "/tmp/agent";
  context.xauthority = "/home/ann/.Xauthority";
  const Policy with = make_policy(profile, {}, context).value();
  EXPECT_EQ(with.sandbox.network.unix_sockets,
            (std::vector<std::string>{"/tmp/agent", "/run/user/1/wayland-0", "/run/a"}));
  EXPECT_EQ(with.sandbox.filesystem.roots[0].path, "/home/ann/.Xauthority");
  EXPECT_EQ(with.sandbox.filesystem.roots[1].path, "/run/user/1/x");
  profile.filesystem.roots[0].optional = false;
  EXPECT_EQ(make_policy(profile, {}, kContext).error().code, ErrorCode::kPathRefused);
}

TEST(Policy, WarnsOfAContainerRuntimesSocket) {
  Profile profile;
  profile.network.unix_sockets = {"/run/docker.sock", "/run/a"};
  const Policy policy = make_policy(profile, {}, kContext).value();
  ASSERT_EQ(policy.run.warnings.size(), 1U);
  EXPECT_NE(policy.run.warnings[0].find("/run/docker.sock"), std::string::npos);
}

TEST(Policy, WarnsOfAnEntryForThePortOfNames) {
  Profile profile;
  profile.network.mode = NetworkMode::kAllowlist;
  profile.network.allow = host_rules({"192.0.2.1:53", "192.0.2.1:5353", "a.org"});
  const Policy policy = make_policy(profile, {}, kContext).value();
  ASSERT_EQ(policy.run.warnings.size(), 1U);
  EXPECT_NE(policy.run.warnings[0].find("port 53 is the sandbox's own"), std::string::npos);
  profile.network.allow.erase(profile.network.allow.begin());
  EXPECT_EQ(make_policy(profile, {}, kContext).value().run.warnings.size(), 0U);
  OperatorFlags flags;
  flags.host_ports = {53};
  const Policy with_port = make_policy(profile, flags, kContext).value();
  ASSERT_EQ(with_port.run.warnings.size(), 1U);
  EXPECT_TRUE(with_port.run.warnings[0].starts_with("network.host_ports: port 53 is the sandbox"));
  flags.network = NetworkMode::kOpen;
  EXPECT_EQ(make_policy({}, flags, kContext).value().run.warnings.size(), 0U);
}

TEST(Policy, WarnsOfACredentialSoShortThatAnswersHoldItByChance) {
  const auto session = std::make_shared<HttpSession>();
  session->placeholders = {{"SHORT", "1234567"}, {"LONG", "12345678"}};
  const Policy policy = with_http(make_policy(Profile(), {}, kContext).value(), session);
  ASSERT_EQ(policy.run.warnings.size(), 1U);
  EXPECT_NE(policy.run.warnings[0].find("SHORT"), std::string::npos);
}

TEST(Policy, RefusesAWritableRootThatHoldsTheCaches) {
  PolicyContext context = kContext;
  context.caches = "/home/ann/.local/state/sbx/caches";
  Profile profile;
  profile.caches["npm"] = {"~/.npm", CacheShare::kUser, ""};
  EXPECT_TRUE(make_policy(profile, {}, context).ok());
  for (const char* path : {"/home/ann/.local", "/home/ann/.local/state/sbx/caches"}) {
    profile.filesystem.roots = {{path, Access::kReadWrite, false, ""}};
    const auto refused = make_policy(profile, {}, context);
    ASSERT_FALSE(refused.ok()) << path;
    EXPECT_EQ(refused.error().code, ErrorCode::kPathRefused) << path;
    EXPECT_EQ(refused.error().where, "/caches") << path;
  }
}

TEST(Policy, RefusesHttpThatNothingCoversOrThatIsNotForACredential) {
  NetworkProfile whole;
  whole.mode = NetworkMode::kAllowlist;
  whole.allow = host_rules({"a.org", "[::1]", "127.0.0.1"});
  whole.host_ports = {80};
  whole.http.emplace_back().host = host_rule("a.org:443");
  Credential& credential = whole.credentials.emplace_back();
  credential.name = "KEY";
  credential.host = host_rule("a.org");
  credential.header = "Authorization";
  credential.from.env = "SECRET";
  ASSERT_TRUE(check_http(whole).ok());

  const auto refuses = [&](const char* where, const auto& change) {
    NetworkProfile network = whole;
    change(network.http[0], network.credentials[0]);
    const Status status = check_http(network);
    ASSERT_FALSE(status.ok()) << where;
    EXPECT_EQ(status.error().code, ErrorCode::kBadValue) << where;
    EXPECT_EQ(status.error().where, where);
  };
  // An entry without a port stands for 80 and 443; and the host's own ports are beyond every rule.
  for (const char* host : {"a.org:8443", "[::1]", "[::1]:80", "127.0.0.1"}) {
    refuses("/network/http/0/host",
            [&](HttpRule& rule, Credential&) { rule.host = host_rule(host); });
    refuses("/network/credentials/0/host",
            [&](HttpRule&, Credential& one) { one.host = host_rule(host); });
  }
  refuses("/network/credentials/0/header",
          [](HttpRule&, Credential& one) { one.header = "Content_Length"; });
  refuses("/network/credentials/0/basic", [](HttpRule&, Credential& one) {
    one.header.reset();
    one.basic = "us\1er";
  });
  refuses("/network/credentials/0/name",
          [](HttpRule&, Credential& one) { one.name = "LD_PRELOAD"; });
}

// Whether a rule of network.http for `host` is covered by one entry of network.allow.
bool is_covered(const char* allowed, const char* host, std::vector<int> host_ports = {}) {
  NetworkProfile network;
  network.mode = NetworkMode::kAllowlist;
  network.allow = host_rules({allowed});
  network.host_ports = std::move(host_ports);
  network.http.emplace_back().host = host_rule(host);
  return check_http(network).ok();
}

TEST(Policy, CoversAHostOfHttpByWhatLetsItThrough) {
  using Pairs = std::vector<std::pair<const char*, const char*>>;
  for (const auto& [allowed, host] : Pairs{{"a.org:80", "a.org"},
                                           {"a.org", "a.org:80"},
                                           {"*.a.org", "x.a.org"},
                                           {"*.a.org", "*.a.org"},
                                           {"*.a.org", "*.x.a.org:443"},
                                           {"10.0.0.0/8", "10.1.2.3"}}) {
    EXPECT_TRUE(is_covered(allowed, host)) << allowed << " " << host;
  }
  for (const auto& [allowed, host] : Pairs{{"a.org:8443", "a.org"},
                                           {"a.org", "*.a.org"},
                                           {"a.org", "b.org"},
                                           {"*.a.org", "a.org"},
                                           {"*.x.a.org", "*.a.org"},
                                           {"*.a.org", "xa.org"},
                                           {"10.0.0.0/8", "11.1.2.3"},
                                           {"10.0.0.0/8", "10.0.0.0/8"},
                                           {"0.0.0.0/0", "a.org"},
                                           {"a.org", "10.1.2.3"}}) {
    EXPECT_FALSE(is_covered(allowed, host)) << allowed << " " << host;
  }
  EXPECT_TRUE(is_covered("127.0.0.1", "127.0.0.1:443", {80}));
  EXPECT_FALSE(is_covered("127.0.0.1", "127.0.0.1:443", {443}));
  EXPECT_FALSE(is_covered("localhost", "localhost", {443}));
}

TEST(Policy, TakesHttpOnlyWhereItCounts) {
  NetworkProfile network;
  network.mode = NetworkMode::kAllowlist;
  network.allow = host_rules({"a.org"});
  network.http.emplace_back().host = host_rule("a.org");
  const auto refused_path = [&](const char* path) {
    network.http[0].paths = std::vector<std::string>{"/fine/**", path};
    const Status status = check_http(network);
    return status.ok() ? "" : status.error().where;
  };
  for (const char* path : {"/a%2Fb", "/a/*", "/a%20b", "/..a"}) EXPECT_EQ(refused_path(path), "");
  for (const char* path : {"/a%zz", "/a%2", "/a/../b", "/a/%2e%2E/b", "/./a", "/a\\b", "/a%00"})
    EXPECT_EQ(refused_path(path), "/network/http/0/paths/1") << path;
  network.http[0].paths.reset();
  for (const NetworkMode mode : {NetworkMode::kNone, NetworkMode::kOutbound, NetworkMode::kOpen}) {
    network.mode = mode;
    ASSERT_FALSE(check_http(network).ok());
    EXPECT_EQ(check_http(network).error().where, "/network/http");
  }
}

TEST(Policy, TakesNoNameForACredentialThatMeansSomethingElse) {
  NetworkProfile network;
  network.mode = NetworkMode::kAllowlist;
  network.allow = host_rules({"a.org"});
  Credential& one = network.credentials.emplace_back();
  one.host = host_rule("a.org");
  one.header = "Authorization";
  one.from.env = "SECRET";
  for (const char* name : {"PATH", "PWD", "SSL_CERT_FILE", "HTTPS_PROXY", "https_proxy", "SBX_X"}) {
    network.credentials[0].name = name;
    ASSERT_FALSE(check_http(network).ok()) << name;
    EXPECT_EQ(check_http(network).error().where, "/network/credentials/0/name") << name;
  }
  network.credentials[0].name = "SBY_X";
  EXPECT_TRUE(check_http(network).ok());
  network.credentials.push_back(network.credentials[0]);
  ASSERT_FALSE(check_http(network).ok());
  EXPECT_EQ(check_http(network).error().where, "/network/credentials/1/name");
}

TEST(Policy, GivesTheShellNoTextThatItWouldTakeForItsOptions) {
  const Policy policy = make_policy(Profile(), {}, kContext).value();
  Request request;
  for (const char* command : {"-c ls", "+x"}) {
    request.command = command;
    const std::vector<std::string> argv = request_argv(policy, request);
    EXPECT_EQ(argv, (std::vector<std::string>{argv[0], "-c", "--", command}));
  }
  request.command = "ls -l";
  EXPECT_EQ(request_argv(policy, request).size(), 3U);
}

TEST(Policy, TakesNoPathThatTheKernelWouldNot) {
  const std::string name = "/" + std::string(250, 'a');
  std::string path;
  while (path.size() + name.size() < 4096) path += name;
  EXPECT_TRUE(normal_path(path, "/", "x").ok());
  EXPECT_FALSE(normal_path(path + name, "/", "x").ok());
  EXPECT_FALSE(normal_path(path.substr(1), "/" + std::string(99, 'b'), "x").ok());
}

TEST(Policy, TakesACredentialFromOneSourceIntoOnePlace) {
  NetworkProfile whole;
  whole.mode = NetworkMode::kAllowlist;
  whole.allow = host_rules({"a.org"});
  Credential& credential = whole.credentials.emplace_back();
  credential.name = "KEY";
  credential.host = host_rule("a.org");
  credential.header = "Authorization";
  credential.from.env = "SECRET";
  const auto refused_at = [&](const auto& change) {
    NetworkProfile network = whole;
    change(network.credentials[0]);
    const Status status = check_http(network);
    return status.ok() ? "" : status.error().where;
  };
  const std::string where = "/network/credentials/0";
  EXPECT_EQ(refused_at([](Credential& one) { one.header.reset(); }), where);
  EXPECT_EQ(refused_at([](Credential& one) { one.query = "key"; }), where);
  for (const char* const value :
       {"Bearer", " ${secret}", "${secret} ", "${secret}${secret}", "${other} ${secret}",
        "${secret} ${other}", "\x7f${secret}", "\xc3\xa4${secret}", "\t${secret}"}) {
    EXPECT_EQ(refused_at([&](Credential& one) { one.value = value; }), where + "/value") << value;
  }
  EXPECT_EQ(refused_at([](Credential& one) { one.value = "Bearer ${secret}"; }), "");
  EXPECT_EQ(refused_at([](Credential& one) {
              one.header.reset();
              one.query = "key";
              one.value = "${secret}";
            }),
            where + "/value");
  const std::string from = where + "/from";
  using Words = std::vector<std::string>;
  EXPECT_EQ(refused_at([](Credential& one) { one.from.env.reset(); }), from);
  EXPECT_EQ(refused_at([](Credential& one) { one.from.file = "/k"; }), from);
  EXPECT_EQ(refused_at([](Credential& one) { one.from.ttl_s = 60; }), from);
  for (const Words& words : {Words{}, Words{""}, Words{"", "x"}}) {
    EXPECT_EQ(refused_at([&](Credential& one) { one.from = {{}, {}, words, {}}; }), from);
  }
  EXPECT_EQ(refused_at([](Credential& one) { one.from = {{}, {}, Words{"pass"}, 60}; }), "");
}

TEST(Policy, RefusesRootsThatAreNotAbsoluteOrLeadUp) {
  for (const char* path : {"relative", "${unknown}/x", "${workspace}/../other", "x${workspace}"}) {
    const auto policy = with_root(path);
    ASSERT_FALSE(policy.ok()) << path;
    EXPECT_EQ(policy.error().code, ErrorCode::kPathRefused);
    EXPECT_EQ(policy.error().where, "/filesystem/roots/0");
  }
}

TEST(Policy, RefusesAVariableThatStandsForNothing) {
  Profile profile;
  profile.filesystem.roots = {{"${home}/x", Access::kReadOnly, false, "here"}};
  const auto policy = make_policy(profile, {}, {"/work", ""});
  ASSERT_FALSE(policy.ok());
  EXPECT_NE(policy.error().message.find("${home}"), std::string::npos);
}

TEST(Policy, ReplacesARootByAFlagForTheSamePathAndKeepsTheOthers) {
  Profile profile;
  profile.filesystem.roots = {{"${workspace}", Access::kReadWrite, false, ""},
                              {"/data", Access::kReadOnly, false, ""}};
  OperatorFlags flags;
  flags.roots = {{"/home/ann/work/", Access::kReadOnly, false, "--ro"}};
  const Policy policy = make_policy(profile, flags, kContext).value();
  ASSERT_EQ(policy.sandbox.filesystem.roots.size(), 2U);
  EXPECT_EQ(policy.sandbox.filesystem.roots[0].path, "/data");
  EXPECT_EQ(policy.sandbox.filesystem.roots[1].access, Access::kReadOnly);
}

TEST(Policy, TheDefaultMemoryIsAtMostHalfOfTheMachines) {
  const std::int64_t default_memory = default_profile().limits.memory_mb.value();
  PolicyContext context = kContext;
  const auto memory = [&](std::int64_t machine_mb, std::int64_t profile_mb) {
    Profile profile;
    profile.limits.memory_mb = profile_mb;
    context.machine_memory_mb = machine_mb;
    return make_policy(profile, {}, context).value().sandbox.limits.memory_mb;
  };
  EXPECT_EQ(memory(64'000, default_memory), default_memory);
  EXPECT_EQ(memory(3'000, default_memory), 1'500);
  EXPECT_EQ(memory(0, default_memory), default_memory);
  EXPECT_EQ(memory(3'000, 8192), 8192);
  OperatorFlags flags;
  flags.limits.memory_mb = default_memory;
  Profile profile;
  profile.limits.memory_mb = default_memory;
  EXPECT_EQ(make_policy(profile, flags, context).value().sandbox.limits.memory_mb, default_memory);
}

TEST(Policy, LowersWhatIsRequiredToWhatAWeakerTierStandsOn) {
  Profile profile = default_profile();
  OperatorFlags flags;
  flags.lower_required = true;
  flags.no_timeout = true;
  const Policy policy = make_policy(profile, flags, kContext).value();
  LayerSet left;
  left.add(Layer::kSeccomp);
  left.add(Layer::kLandlock);
  EXPECT_EQ(policy.sandbox.isolation.require, left);
  EXPECT_EQ(policy.sandbox.isolation.namespaces, profile.isolation.namespaces);
  EXPECT_EQ(policy.run.limits.timeout_ms, std::nullopt);
  flags.require = std::vector{Layer::kNet};
  left.add(Layer::kNet);
  EXPECT_EQ(make_policy(profile, flags, kContext).value().sandbox.isolation.require, left);
}

TEST(Policy, NamesTheFilesThatSteerAndRecordTheRun) {
  Profile profile;
  profile.audit.file = "/log/a";
  OperatorFlags flags;
  flags.own_files = {"/p.json"};
  PolicyContext context = kContext;
  context.warnings = {"first"};
  profile.network.unix_sockets = {"/run/docker.sock"};
  const RunPolicy run = make_policy(profile, flags, context).value().run;
  EXPECT_EQ(run.own_files, (std::vector<std::string>{"/p.json", "/log/a"}));
  ASSERT_EQ(run.warnings.size(), 2U);
  EXPECT_EQ(run.warnings[0], "first");
}

TEST(Policy, HidesDirectories) {
  const Policy policy = make_policy({}, {}, kContext).value();
  const Policy hidden = with_hidden(policy, {"/run/a"}, "whose");
  ASSERT_EQ(hidden.sandbox.filesystem.roots.size(), policy.sandbox.filesystem.roots.size() + 1);
  const Root expected{"/run/a", Access::kNone, true, "whose"};
  EXPECT_EQ(hidden.sandbox.filesystem.roots.back(), expected);
  EXPECT_FALSE(hidden.sandbox == policy.sandbox);
}

TEST(Policy, LetsFlagsWinOverTheProfile) {
  Profile profile;
  profile.limits.timeout_ms = 1000;
  profile.limits.memory_mb = 64;
  profile.limits.output_kb = 4;
  profile.environment.set = {{"A", "profile"}, {"B", "profile"}};
  OperatorFlags flags;
  flags.limits.timeout_ms = 5000;
  flags.output_bytes = 10;
  flags.set_env = {{"A", "flag"}};
  flags.scrub = ScrubMode::kStrict;
  flags.require = {Layer::kCgroup};
  flags.allow_degraded = true;
  const Policy policy = make_policy(profile, flags, kContext).value();
  EXPECT_EQ(policy.run.limits.timeout_ms, 5000);
  EXPECT_EQ(policy.sandbox.limits.memory_mb, 64);
  EXPECT_EQ(policy.run.output_bytes, 10);
  EXPECT_EQ(policy.run.environment.set.at("A"), "flag");
  EXPECT_EQ(policy.run.environment.set.at("B"), "profile");
  EXPECT_EQ(policy.run.environment.scrub, ScrubMode::kStrict);
  EXPECT_TRUE(policy.sandbox.isolation.require.has(Layer::kCgroup));
  EXPECT_EQ(policy.sandbox.isolation.fallback, Fallback::kDegrade);
}

TEST(Policy, MakesAnAllowlistOfAnAllowedHost) {
  OperatorFlags flags;
  flags.allow_hosts = {"example.org:443"};
  const Policy policy = make_policy({}, flags, kContext).value();
  EXPECT_EQ(policy.sandbox.network.mode, NetworkMode::kAllowlist);
  EXPECT_EQ(policy.sandbox.network.allow, host_rules({"example.org:443"}));
}

TEST(Policy, TakesTheNetNamespaceAwayFromAnOpenNetworkOnly) {
  Profile profile;
  profile.isolation.namespaces.add(Layer::kNet);
  profile.isolation.require.add(Layer::kNet);
  OperatorFlags flags;
  EXPECT_TRUE(
      make_policy(profile, flags, kContext).value().sandbox.isolation.namespaces.has(Layer::kNet));
  flags.network = NetworkMode::kOpen;
  const Policy open = make_policy(profile, flags, kContext).value();
  EXPECT_FALSE(open.sandbox.isolation.namespaces.has(Layer::kNet));
  EXPECT_FALSE(open.sandbox.isolation.require.has(Layer::kNet));
  flags.require = std::vector<Layer>{Layer::kNet};  // by name: the planner then refuses the run
  EXPECT_TRUE(
      make_policy(profile, flags, kContext).value().sandbox.isolation.require.has(Layer::kNet));
}

TEST(HomeInside, IsTheCallersOwnPathUnlessThatWouldCoverTheSystem) {
  const auto home = [](const std::string& path) {
    return make_policy({}, {}, {"/work", path}).value().sandbox.home;
  };
  EXPECT_EQ(home("/home/ann"), "/home/ann");
  EXPECT_EQ(home("/root"), "/root");
  EXPECT_EQ(home("/var/home/ann"), "/var/home/ann");
  EXPECT_EQ(home("/var/lib/jenkins"), "/var/lib/jenkins");
  EXPECT_EQ(home("/tmp/u"), "/tmp/u");
  for (const char* path :
       {"", "/", "/tmp", "/usr/home/ann", "/var", "/var/lib", "/var/lib/dpkg/info",
        "/var/cache/man", "/var/tmp/u", "/run/u", "/nonexistent", "/dev", "/etc/x", "/home/../etc",
        "/libx32/u", "/gnu/store/x"}) {
    EXPECT_EQ(home(path), "/home/sandbox") << path;
  }
  Profile none;
  none.filesystem.home = HomeMode::kNone;
  EXPECT_EQ(make_policy(none, {}, kContext).value().sandbox.home, "");
}

TEST(RequestArgv, RunsACommandThroughTheProfilesShell) {
  Policy policy;
  policy.sandbox.commands.shell = "sh";
  Request request;
  request.command = "echo a | cat";
  EXPECT_EQ(request_argv(policy, request), (std::vector<std::string>{"sh", "-c", "echo a | cat"}));
  request.argv = {"ls", "-l"};
  EXPECT_EQ(request_argv(policy, request), (std::vector<std::string>{"ls", "-l"}));
}

TEST(Policy, TheHostsHomeIsARootUnlessOneShowsItAlready) {
  const auto roots = [](const std::string& home, std::vector<Root> given, Base base) {
    Profile profile;
    profile.filesystem.home = HomeMode::kHost;
    profile.filesystem.base = base;
    profile.filesystem.roots = std::move(given);
    return make_policy(profile, {}, {"/work", home}).value().sandbox.filesystem.roots;
  };
  const auto shown = roots("/home/ann", {}, Base::kSystem);
  ASSERT_EQ(shown.size(), 1U);
  EXPECT_EQ(shown[0].path, "/home/ann");
  EXPECT_EQ(shown[0].access, Access::kReadOnly);
  EXPECT_TRUE(shown[0].optional);
  const Root above{"/home", Access::kReadWrite, false, "/filesystem/roots/0"};
  const Root hidden{"/home", Access::kNone, false, "/filesystem/roots/0"};
  EXPECT_EQ(roots("/home/ann", {above}, Base::kSystem).size(), 1U);
  EXPECT_EQ(roots("/home/ann", {hidden}, Base::kSystem).size(), 2U);
  EXPECT_TRUE(roots("/home/ann", {}, Base::kHost).empty());
  for (const char* own : {"/", "/etc", "/dev/x", "/proc", "/sys", ""}) {
    EXPECT_TRUE(roots(own, {}, Base::kSystem).empty()) << own;
  }
}

TEST(Policy, TheOperatorsHomeIsTheCommands) {
  OperatorFlags flags;
  EXPECT_EQ(command_home(make_policy({}, flags, {"/work", "/home/ann"}).value()), "/home/ann");
  flags.set_env["HOME"] = "/own";
  EXPECT_EQ(command_home(make_policy({}, flags, {"/work", "/home/ann"}).value()), "/own");
  flags.set_env["HOME"] = "relative";
  EXPECT_EQ(command_home(make_policy({}, flags, {"/work", "/home/ann"}).value()), "");
}

}  // namespace
}  // namespace sbx
