// SPDX-License-Identifier: Apache-2.0
// A grant that the managed policy would take away again is not told.
#include "policy/futile_grants.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "policy/policy.h"
#include "profile/default_profile.h"
#include "support/host_rules.h"

namespace sbx {
namespace {

const PolicyContext kContext{"/home/ann/work", "/home/ann"};

Policy under(const std::vector<ManagedFile>& files, NetworkMode mode = NetworkMode::kAllowlist) {
  PolicyContext context = kContext;
  context.managed = files;
  Profile profile = default_profile();
  profile.network.mode = mode;
  return make_policy(profile, {}, context).value();
}

ManagedFile managed(const char* path) {
  ManagedFile file;
  file.mark = {path, ""};
  return file;
}

// What is left of the grant, with the warnings that come with it.
struct Left {
  std::string grant;
  std::vector<std::string> warnings;
};

Left left_of(const Policy& policy, const std::string& grant) {
  Outcome outcome;
  outcome.denials.push_back({Refuser::kMount, "open", "/x", 1, "", grant});
  drop_futile_grants(policy, outcome);
  return {outcome.denials[0].grant, outcome.sandbox.warnings};
}

void expect_dropped(const Policy& policy, const std::string& grant, const std::string& file) {
  const Left left = left_of(policy, grant);
  EXPECT_EQ(left.grant, "") << grant;
  EXPECT_EQ(left.warnings,
            std::vector<std::string>{"denials: no profile grants what " + file + " keeps back"})
      << grant;
}

void expect_kept(const Policy& policy, const std::string& grant) {
  const Left left = left_of(policy, grant);
  EXPECT_EQ(left.grant, grant);
  EXPECT_EQ(left.warnings.size(), 0U) << grant;
}

TEST(FutileGrants, OfPathsAreThoseAboveTheMost) {
  ManagedFile file = managed("/m/paths.json");
  file.filesystem.max = {{"/srv", Access::kReadOnly, file.mark.path},
                         {"/srv/secret", Access::kNone, file.mark.path},
                         {"/dev/kvm", Access::kNone, file.mark.path},
                         {"/run/docker.sock", Access::kReadOnly, file.mark.path}};
  const Policy policy = under({file});
  const auto root = [](const char* path, const char* access) {
    return std::string(R"(filesystem.roots += [{"path": ")") + path + R"(", "access": ")" + access +
           "\"}]";
  };
  expect_kept(policy, root("/srv/a", "ro"));
  expect_kept(policy, root("/opt", "rw"));
  expect_dropped(policy, root("/srv/a", "rw"), "/m/paths.json");
  expect_dropped(policy, root("/srv/secret/a", "ro"), "/m/paths.json");
  expect_dropped(policy,
                 R"(filesystem.roots += [{"path": "/opt", "access": "ro"}, )"
                 R"({"path": "/srv/b", "access": "rw"}])",
                 "/m/paths.json");
  expect_dropped(policy, R"(filesystem.devices += ["/dev/kvm"])", "/m/paths.json");
  expect_kept(policy, R"(filesystem.devices += ["/dev/fuse"])");
  expect_dropped(policy, R"(network.unix_sockets += ["/run/docker.sock"])", "/m/paths.json");
  expect_kept(policy, R"(seccomp.allow += ["mount"])");
  expect_kept(policy, "remove it from filesystem.protect");
}

TEST(FutileGrants, OfTheNetworkAreThoseThatItsFilesDoNotList) {
  ManagedFile file = managed("/m/net.json");
  file.network.allow = host_rules({"a.org:443", "127.0.0.1:5432"});
  const Policy policy = under({managed("/m/other.json"), file});
  expect_kept(policy, R"(network.allow += ["a.org:443"])");
  expect_dropped(policy, R"(network.allow += ["b.org:443"])", "/m/net.json");
  expect_dropped(policy, R"(network.mode = "allowlist", network.allow += ["b.org"])",
                 "/m/net.json");
  expect_kept(policy, "network.host_ports += [5432]");
  expect_dropped(policy, "network.host_ports += [5433]", "/m/net.json");
  expect_kept(policy, R"(network.mode = "allowlist")");

  ManagedFile none = managed("/m/none.json");
  none.network.mode = NetworkMode::kNone;
  expect_dropped(under({none}), R"(network.mode = "open")", "/m/none.json");
}

TEST(FutileGrants, OfLimitsAreThoseThatStandAtTheMost) {
  ManagedFile file = managed("/m/limits.json");
  file.limits.tmp_mb = 64;
  file.limits.open_files = 100;
  file.limits.file_kb = 1000;
  const Policy policy = under({file});
  for (const char* grant :
       {"limits.tmp_mb = 128", "limits.open_files = 200", "limits.file_kb = 2000"}) {
    expect_dropped(policy, grant, "/m/limits.json");
  }
  PolicyContext context = kContext;
  context.managed = {file};
  Profile lower = default_profile();
  lower.limits.tmp_mb = 32;
  lower.limits.open_files = 50;
  lower.limits.file_kb = 500;
  const Policy below = make_policy(lower, {}, context).value();
  for (const char* grant :
       {"limits.tmp_mb = 64", "limits.open_files = 100", "limits.file_kb = 1000"}) {
    expect_kept(below, grant);
  }
}

TEST(FutileGrants, AFileIsNamedOnce) {
  ManagedFile file = managed("/m/net.json");
  file.network.mode = NetworkMode::kNone;
  const Policy policy = under({file});
  Outcome outcome;
  for (const char* host : {"a.org", "b.org"}) {
    outcome.denials.push_back({Refuser::kNetwork, "connect", host, 1, "",
                               std::string("network.allow += [\"") + host + "\"]"});
  }
  drop_futile_grants(policy, outcome);
  EXPECT_EQ(outcome.denials[0].grant + outcome.denials[1].grant, "");
  EXPECT_EQ(outcome.sandbox.warnings.size(), 1U);
}

}  // namespace
}  // namespace sbx
