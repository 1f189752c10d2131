// SPDX-License-Identifier: Apache-2.0
// A document laid over its parent.
#include "profile/decode.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "json/check.h"
#include "profile/fields.h"
#include "support/decode_profile.h"
#include "support/host_rules.h"

namespace sbx {
namespace {

using nlohmann::json;

Profile extend(const char* parent, const char* child) {
  Profile profile = decode_profile(json::parse(parent));
  EXPECT_TRUE(apply_document(json::parse(child), profile).empty()) << child;
  return profile;
}

TEST(ApplyDocument, MergesObjectsKeyByKeyAndReplacesLists) {
  const Profile merged =
      extend(R"({"limits": {"pids": 1, "cpu_ms": 2}, "commands": {"deny": ["a", "b"]}})",
             R"({"limits": {"pids": 9}, "commands": {"deny": ["c"]}})");
  EXPECT_EQ(merged.limits.pids, 9);
  EXPECT_EQ(merged.limits.cpu_ms, 2);
  EXPECT_EQ(merged.commands.deny, std::vector<std::string>{"c"});
}

TEST(ApplyDocument, ReplacesListsOfObjectsAndOfLayers) {
  const Profile merged = extend(
      R"({"filesystem": {"roots": [{"path": "/a", "access": "rw", "optional": true}, {"path": "/b"}]},
          "isolation": {"require": ["user", "net"]}, "network": {"host_ports": [1, 2]}})",
      R"({"filesystem": {"roots": [{"path": "/c"}]}, "isolation": {"require": ["pid"]},
          "network": {"host_ports": []}})");
  ASSERT_EQ(merged.filesystem.roots.size(), 1U);
  EXPECT_EQ(merged.filesystem.roots[0].path, "/c");
  EXPECT_EQ(merged.filesystem.roots[0].access, Access::kReadOnly);
  EXPECT_FALSE(merged.filesystem.roots[0].optional);
  EXPECT_TRUE(merged.isolation.require.has(Layer::kPid));
  EXPECT_FALSE(merged.isolation.require.has(Layer::kUser));
  EXPECT_TRUE(merged.network.host_ports.empty());
}

TEST(ApplyDocument, AppendsToTheParentsList) {
  EXPECT_EQ(extend(R"({"commands": {"deny": ["a"]}})", R"({"commands": {"+deny": ["b", "a"]}})")
                .commands.deny,
            (std::vector<std::string>{"a", "b", "a"}));
  EXPECT_EQ(extend(R"({"commands": {}})", R"({"commands": {"+deny": ["b"]}})").commands.deny,
            std::vector<std::string>{"b"});
  const Profile merged =
      extend(R"({"isolation": {"require": ["user"]}})", R"({"isolation": {"+require": ["net"]}})");
  EXPECT_TRUE(merged.isolation.require.has(Layer::kUser));
  EXPECT_TRUE(merged.isolation.require.has(Layer::kNet));
}

TEST(ApplyDocument, MergesEnvironmentVariablesByName) {
  EXPECT_EQ(extend(R"({"environment": {"set": {"A": "1", "B": "2"}}})",
                   R"({"environment": {"set": {"B": "3"}}})")
                .environment.set,
            (std::map<std::string, std::string>{{"A", "1"}, {"B", "3"}}));
}

TEST(ApplyDocument, LetsNullReplaceAValueAndAValueReplaceNull) {
  const Profile merged =
      extend(R"({"limits": {"pids": 1, "cpu_ms": null}, "commands": {"allow": ["ls"]},
                 "audit": {"file": "/log"}})",
             R"({"limits": {"pids": null, "cpu_ms": 5}, "commands": {"allow": null},
                 "audit": {"file": null}})");
  EXPECT_EQ(merged.limits.pids, std::nullopt);
  EXPECT_EQ(merged.limits.cpu_ms, 5);
  EXPECT_EQ(merged.commands.allow, std::nullopt);
  EXPECT_EQ(merged.audit.file, "");
}

TEST(ApplyDocument, DoesNotInheritWhatIsTheParentsOwn) {
  const Profile merged =
      extend(R"({"$schema": "s", "name": "p", "description": "d", "extends": "x"})", "{}");
  EXPECT_EQ(merged.name, "");
  EXPECT_EQ(merged.description, "");
}

TEST(ApplyDocument, RefusesToAppendToNull) {
  Profile profile = decode_profile(json::parse(R"({"commands": {"allow": null}})"));
  const auto errors = apply_document(json::parse(R"({"commands": {"+allow": ["ls"]}})"), profile);
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors[0].code, ErrorCode::kBadValue);
  EXPECT_EQ(errors[0].where, "/commands/+allow");
}

TEST(ApplyDocument, ReadsHostsWhereverOneStands) {
  const auto errors_of = [](const std::string& host) {
    const json network = {
        {"allow", {host}},
        {"http", {{{"host", host}}}},
        {"credentials", {{{"name", "K"}, {"host", host}, {"from", {{"env", "E"}}}}}}};
    return check_fields({{"network", network}}, kProfileSpec, "");
  };
  const std::vector<Error> refused = errors_of("a b");
  ASSERT_EQ(refused.size(), 3U);
  EXPECT_EQ(refused[0].where, "/network/allow/0");
  EXPECT_EQ(refused[1].where, "/network/credentials/0/host");
  EXPECT_EQ(refused[2].where, "/network/http/0/host");
  EXPECT_EQ(errors_of("A.org:443").size(), 0U);
  const Profile profile = decode_profile(json::parse(
      R"({"network": {"allow": ["A.org:443", "*.b.org"], "http": [{"host": "10.0.0.1"}]}})"));
  EXPECT_EQ(profile.network.allow, host_rules({"a.org:443", "*.b.org"}));
  EXPECT_EQ(profile.network.http.at(0).host, host_rule("10.0.0.1"));
  const json again = json::parse(profile_to_json(profile));
  EXPECT_EQ(again["network"]["allow"], json({"a.org:443", "*.b.org"}));
}

TEST(Settle, GivesPathsOneFormAndSaysWhereTheyStand) {
  const Profile profile =
      decode_profile(json::parse(R"({"filesystem": {"roots": [{"path": "/"}, {"path": "/data//"}],
                                     "protect": [".git/hooks/", {"path": "x/"}]}})"));
  EXPECT_EQ(profile.filesystem.roots[0].path, "/");
  EXPECT_EQ(profile.filesystem.roots[1].path, "/data");
  EXPECT_EQ(profile.filesystem.roots[1].where, "/filesystem/roots/1");
  EXPECT_EQ(profile.filesystem.protect[0].path, ".git/hooks");
  EXPECT_EQ(profile.filesystem.protect[1].where, "/filesystem/protect/1");
}

}  // namespace
}  // namespace sbx
