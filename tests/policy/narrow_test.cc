// SPDX-License-Identifier: Apache-2.0
// The managed policy narrows hosts and limits, and widens nothing.
#include "policy/narrow.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "gateway/rules.h"
#include "policy/policy.h"
#include "profile/default_profile.h"
#include "support/corpus.h"
#include "support/host_rules.h"

namespace sbx {
namespace {

std::string common(const std::string& a, const std::string& b) {
  const auto rule = both(parse_host_rule(a).value(), parse_host_rule(b).value());
  return rule ? host_rule_text(*rule) : "none";
}

TEST(Both, IsTheNarrowerOfTwoThatMeet) {
  EXPECT_EQ(common("a.org:443", "A.org:443"), "a.org:443");
  EXPECT_EQ(common("a.org:443", "a.org:80"), "none");
  EXPECT_EQ(common("x.a.org:1", "*.a.org:1"), "x.a.org:1");
  EXPECT_EQ(common("*.a.org:1", "x.a.org:1"), "x.a.org:1");
  EXPECT_EQ(common("*.b.a.org:1", "*.a.org:1"), "*.b.a.org:1");
  EXPECT_EQ(common("*.a.org:1", "*.a.org:1"), "*.a.org:1");
  EXPECT_EQ(common("a.org:1", "*.a.org:1"), "none");
  EXPECT_EQ(common("xa.org:1", "*.a.org:1"), "none");
  EXPECT_EQ(common("10.1.0.0/16:1", "10.0.0.0/8:1"), "10.1.0.0/16:1");
  EXPECT_EQ(common("10.0.0.0/8:1", "10.1.2.3:1"), "10.1.2.3:1");
  EXPECT_EQ(common("10.0.0.0/8:1", "11.0.0.0/8:1"), "none");
  EXPECT_EQ(common("[2001:db8::/32]:1", "[2001:db8:1::/48]:1"), "[2001:db8:1::/48]:1");
  EXPECT_EQ(common("10.1.2.3:1", "a.org:1"), "none");
}

TEST(HostRule, IsWrittenAsItIsRead) {
  for (const char* text : {"a.org", "*.a.org:443", "10.0.0.0/8", "10.1.2.3:22", "[2001:db8::/32]:1",
                           "[2001:db8::1]:443", "2001:db8::1", "0.0.0.0/0:80"}) {
    const auto rule = parse_host_rule(text);
    ASSERT_TRUE(rule) << text;
    EXPECT_EQ(host_rule_text(*rule), text);
    EXPECT_EQ(parse_host_rule(host_rule_text(*rule)), rule);
  }
}

// A name resolves to an address of its own; whether a connection to it would be let through.
struct Destination {
  std::string name;  // empty: the address as it is
  Endpoint endpoint;
};

bool reaches(const SandboxPolicy& policy, const Destination& to) {
  static const std::vector<IpNetwork> kOwn = {ipv4(10, 1, 2, 3)};
  if (policy.network.mode == NetworkMode::kOpen) return true;
  const Rules rules(policy.network.mode, policy.network.allow, policy.network.host_ports);
  if (to.name.empty()) {
    return rules.is_host_port(to.endpoint) ||
           (policy.network.mode != NetworkMode::kNone && rules.allows_literal(to.endpoint, kOwn));
  }
  return policy.network.mode != NetworkMode::kNone &&
         rules.allows_name(to.name, to.endpoint.port) && rules.allows_resolved(to.endpoint, kOwn);
}

class Random {
 public:
  std::size_t below(std::size_t count) { return engine_() % count; }
  bool once_in(std::size_t count) { return below(count) == 0; }
  template <typename T, std::size_t N>
  T pick(const std::array<T, N>& from) {
    return from[below(N)];
  }
  std::vector<HostRule> hosts() {
    static constexpr auto kHosts = std::to_array<const char*>(
        {"a.org", "*.a.org", "x.a.org:443", "*.x.a.org:443", "a.org:22", "0.0.0.0/0",
         "0.0.0.0/1:22", "127.0.0.0/8:22", "10.0.0.0/8", "10.1.0.0/16:22", "10.1.2.3:22",
         "127.0.0.1:22", "localhost:22", "[::1]:22", "169.254.0.0/16:80", "8.8.8.8"});
    std::vector<HostRule> out;
    for (std::size_t i = below(5); i > 0; --i) out.push_back(host_rule(pick(kHosts)));
    return out;
  }

 private:
  std::mt19937 engine_{20261};
};

constexpr auto kModes = std::to_array(
    {NetworkMode::kNone, NetworkMode::kAllowlist, NetworkMode::kOutbound, NetworkMode::kOpen});

std::vector<Destination> destinations() {
  std::vector<Destination> out;
  for (const char* name : {"", "a.org", "x.a.org", "y.x.a.org", "localhost", "b.org"}) {
    for (const char* address :
         {"8.8.8.8", "10.1.2.3", "10.1.9.9", "127.0.0.1", "169.254.169.254", "::1", "200.0.0.1"}) {
      for (const int port : {22, 80, 443}) {
        out.push_back({name, {parse_ip(address).value(), static_cast<std::uint16_t>(port)}});
      }
    }
  }
  return out;
}

TEST(Narrow, ReachesNothingThatWasNotReachedBefore) {
  Random random;
  std::size_t reached = 0;
  std::size_t lost = 0;
  for (int round = 0; round < 2000; ++round) {
    Profile profile = default_profile();
    profile.network.mode = random.pick(kModes);
    profile.network.allow = random.hosts();
    if (random.once_in(3)) profile.network.host_ports = {22};
    PolicyContext context{"/home/ann/work", "/home/ann"};
    const auto whole = make_policy(profile, {}, context);
    for (std::size_t files = 1 + random.below(2); files > 0; --files) {
      ManagedFile file;
      file.mark = {"/m.json", ""};
      if (random.once_in(2)) file.network.mode = random.pick(kModes);
      if (random.once_in(2)) file.network.allow = random.hosts();
      context.managed.push_back(std::move(file));
    }
    const auto narrowed = make_policy(profile, {}, context);
    ASSERT_TRUE(whole.ok() && narrowed.ok());
    for (const Destination& to : destinations()) {
      const bool before = reaches(whole.value().sandbox, to);
      const bool after = reaches(narrowed.value().sandbox, to);
      reached += after ? 1 : 0;
      lost += before && !after ? 1 : 0;
      ASSERT_TRUE(before || !after) << round << " " << to.name << " "
                                    << ip_text(to.endpoint.address) << ":" << to.endpoint.port;
    }
  }
  EXPECT_GT(reached, 1000U);
  EXPECT_GT(lost, 1000U);
}

bool warns(const Policy& policy, std::string_view words) {
  const auto& warnings = policy.run.warnings;
  return std::any_of(warnings.begin(), warnings.end(), [&](const std::string& warning) {
    return warning.find(words) != warning.npos;
  });
}

TEST(Narrow, HoldsFlagsAndCeilingsToo) {
  ManagedFile file;
  file.mark = {"/m.json", "d"};
  file.limits.pids = 10;
  file.limits.file_kb = 2;
  file.limits.timeout_ms = 500;
  PolicyContext context{"/home/ann/work", "/home/ann"};
  context.managed = {file};
  OperatorFlags flags;
  flags.limits.pids = 100;
  flags.file_bytes = 1 << 20;
  flags.no_timeout = true;
  const Policy policy = make_policy(default_profile(), flags, context).value();
  EXPECT_EQ(policy.sandbox.limits.pids, 10);
  EXPECT_EQ(policy.sandbox.file_bytes, 2048);
  EXPECT_EQ(policy.run.limits.timeout_ms, 500);
  EXPECT_EQ(policy.run.ceilings.timeout_ms, 500);
  EXPECT_EQ(policy.run.managed, std::vector<ManagedMark>{file.mark});
  EXPECT_EQ(policy.run.warnings.size(), 3U);
  flags.limits.pids = 5;
  EXPECT_EQ(make_policy(default_profile(), flags, context).value().sandbox.limits.pids, 5);
  flags.file_bytes = 512;  // a smaller one is not widened
  EXPECT_EQ(make_policy(default_profile(), flags, context).value().sandbox.file_bytes, 512);
}

TEST(Narrow, TheLeastOfSeveralFilesHolds) {
  std::vector<ManagedFile> files(2);
  files[0].mark = {"/a.json", ""};
  files[1].mark = {"/b.json", ""};
  files[0].limits.timeout_ms = 500;
  files[1].limits.timeout_ms = 9000;
  for (const bool is_turned : {false, true}) {
    PolicyContext context{"/home/ann/work", "/home/ann"};
    context.managed = is_turned ? std::vector{files[1], files[0]} : files;
    const Policy policy = make_policy(default_profile(), {}, context).value();
    EXPECT_EQ(policy.run.limits.timeout_ms, 500);
    const ManagedLimit& limit = policy.run.managed_limits.find("timeout_ms")->second;
    EXPECT_EQ(limit.most, 500);
    EXPECT_EQ(limit.file, "/a.json");
  }
}

TEST(Narrow, RequiresWhatHoldsItAndRefusesWhereThatIsOff) {
  ManagedFile file;
  file.mark = {"/m.json", ""};
  file.filesystem.max = {{"/srv", Access::kReadOnly, "/m.json"}};
  file.isolation.require = {Layer::kIpc};
  PolicyContext context{"/home/ann/work", "/home/ann"};
  context.managed = {file};
  Profile profile = default_profile();
  profile.isolation.require = {};
  profile.landlock.mode = LandlockMode::kAuto;
  OperatorFlags flags;
  flags.lower_required = true;
  const Policy policy = make_policy(profile, flags, context).value();
  EXPECT_TRUE(policy.sandbox.isolation.require.has(Layer::kMount));
  EXPECT_TRUE(policy.sandbox.isolation.require.has(Layer::kIpc));
  profile.isolation.namespaces.remove(Layer::kMount);
  const auto refused = make_policy(profile, flags, context);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kManagedPolicy);
}

TEST(Narrow, TakesAwaySocketsDevicesAndCachesThatMayNotBeWritten) {
  ManagedFile file;
  file.mark = {"/m.json", ""};
  file.filesystem.max = {{"/", Access::kReadOnly, "/m.json"},
                         {"/home/ann/work", Access::kReadWrite, "/m.json"}};
  PolicyContext context{"/home/ann/work", "/home/ann"};
  context.managed = {file};
  context.caches = "/home/ann/.local/state/sbx/caches";
  Profile profile = default_profile();
  profile.caches["npm"] = {"~/.npm", CacheShare::kUser, ""};
  profile.network.unix_sockets = {"/run/a.sock", "/home/ann/work/b.sock"};
  profile.filesystem.devices = {"/dev/fuse", "/dev/dri/*"};
  const Policy policy = make_policy(profile, {}, context).value();
  EXPECT_EQ(policy.sandbox.network.unix_sockets, std::vector<std::string>{"/home/ann/work/b.sock"});
  EXPECT_TRUE(policy.sandbox.filesystem.devices.empty());
  EXPECT_TRUE(policy.sandbox.caches.empty());
  for (const char* gone : {"unix_sockets: /run/a.sock", "devices: /dev/fuse", "devices: /dev/dri/*",
                           "caches: /home/ann/.local/state/sbx/caches/npm"}) {
    EXPECT_TRUE(warns(policy, gone)) << gone;
  }
}

TEST(Narrow, SaysWhatBecomesOfPortsAndPatterns) {
  ManagedFile file;
  file.mark = {"/m.json", ""};
  file.network.mode = NetworkMode::kNone;
  file.filesystem.max = {{"/", Access::kReadOnly, "/m.json"}};
  PolicyContext context{"/home/ann/work", "/home/ann"};
  context.managed = {file};
  Profile profile = default_profile();
  profile.network.host_ports = {8080};
  Root pattern;
  pattern.path = "${workspace}/d*";
  pattern.access = Access::kReadWrite;
  profile.filesystem.roots.push_back(std::move(pattern));
  const Policy policy = make_policy(profile, {}, context).value();
  EXPECT_TRUE(policy.sandbox.network.host_ports.empty());
  EXPECT_TRUE(warns(policy, "network.host_ports: 8080 taken away by /m.json"));
  EXPECT_TRUE(warns(policy, "roots: /home/ann/work/d* lowered from rw to ro by /m.json"));
}

TEST(Narrow, SaysWhichHostsAreFewerNow) {
  ManagedFile file;
  file.mark = {"/m.json", ""};
  file.network.allow = host_rules({"a.org:443", "b.org"});
  PolicyContext context{"/home/ann/work", "/home/ann"};
  context.managed = {file};
  Profile profile = default_profile();
  profile.network.mode = NetworkMode::kAllowlist;
  profile.network.allow = host_rules({"a.org", "b.org"});
  const Policy policy = make_policy(profile, {}, context).value();
  EXPECT_TRUE(warns(policy, "network.allow: a.org narrowed by /m.json"));
  EXPECT_FALSE(warns(policy, "network.allow: b.org"));
}

// A port of the host's is one of its loopback, which the file has to list.
TEST(Narrow, LeavesThePortsOfTheHostsThatTheFileLists) {
  const auto left = [](std::initializer_list<std::string_view> allow) {
    ManagedFile file;
    file.mark = {"/m.json", ""};
    file.network.allow = host_rules(allow);
    PolicyContext context{"/home/ann/work", "/home/ann"};
    context.managed = {file};
    Profile profile = default_profile();
    profile.network.mode = NetworkMode::kAllowlist;
    profile.network.host_ports = {22, 80, 443, 8080};
    return make_policy(profile, {}, context).value().sandbox.network.host_ports;
  };
  EXPECT_EQ(left({"127.0.0.1:22", "localhost"}), (std::vector<int>{22, 80, 443}));
  EXPECT_EQ(left({"0.0.0.0/0:8080"}), std::vector<int>{8080});
  EXPECT_EQ(left({"a.org:22", "*.localhost:80", "10.0.0.0/8:443", "127.0.0.2:8080"}),
            std::vector<int>());
}

TEST(Narrow, LeavesNothingOfHttpWhereThereIsNoNetwork) {
  ManagedFile file;
  file.mark = {"/m.json", ""};
  file.network.mode = NetworkMode::kNone;
  PolicyContext context{"/home/ann/work", "/home/ann"};
  context.managed = {file};
  Profile profile = default_profile();
  profile.network.mode = NetworkMode::kAllowlist;
  profile.network.allow = host_rules({"a.org"});
  profile.network.http.emplace_back().host = host_rule("a.org");
  Credential& credential = profile.network.credentials.emplace_back();
  credential.name = "KEY";
  credential.host = host_rule("a.org");
  credential.query = "key";
  credential.from.env = "SECRET";
  const NetworkProfile network = make_policy(profile, {}, context).value().sandbox.network;
  EXPECT_EQ(network.mode, NetworkMode::kNone);
  EXPECT_TRUE(network.http.empty());
  EXPECT_TRUE(network.credentials.empty());
}

TEST(ManagedCorpus, ReplaysWithoutABreach) {
  const auto files = corpus_files("managed/corpus");
  EXPECT_GE(files.size(), 20U);
  for (const CorpusFile& file : files) EXPECT_TRUE(fuzz_target_holds(file.bytes)) << file.path;
}

}  // namespace
}  // namespace sbx
