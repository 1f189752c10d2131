// SPDX-License-Identifier: Apache-2.0
// The merge of a child into its parent.
#include "profile/extend.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace sbx {
namespace {

using nlohmann::json;

json extend(const char* parent, const char* child) {
  json merged = json::parse(parent);
  EXPECT_TRUE(extend_document(merged, json::parse(child)).empty()) << child;
  return merged;
}

TEST(Extend, MergesObjectsKeyByKeyAndReplacesLists) {
  EXPECT_EQ(extend(R"({"limits": {"pids": 1, "cpu_ms": 2}, "commands": {"deny": ["a", "b"]}})",
                   R"({"limits": {"pids": 9}, "commands": {"deny": ["c"]}})"),
            json::parse(R"({"limits": {"pids": 9, "cpu_ms": 2}, "commands": {"deny": ["c"]}})"));
}

TEST(Extend, AppendsToTheParentsList) {
  EXPECT_EQ(extend(R"({"commands": {"deny": ["a"]}})", R"({"commands": {"+deny": ["b", "a"]}})"),
            json::parse(R"({"commands": {"deny": ["a", "b", "a"]}})"));
  EXPECT_EQ(extend(R"({"commands": {}})", R"({"commands": {"+deny": ["b"]}})"),
            json::parse(R"({"commands": {"deny": ["b"]}})"));
}

TEST(Extend, MergesEnvironmentVariablesByName) {
  EXPECT_EQ(extend(R"({"environment": {"set": {"A": "1", "B": "2"}}})",
                   R"({"environment": {"set": {"B": "3"}}})"),
            json::parse(R"({"environment": {"set": {"A": "1", "B": "3"}}})"));
}

TEST(Extend, LetsNullReplaceAValueAndAValueReplaceNull) {
  EXPECT_EQ(extend(R"({"limits": {"pids": 1, "cpu_ms": null}})",
                   R"({"limits": {"pids": null, "cpu_ms": 5}})"),
            json::parse(R"({"limits": {"pids": null, "cpu_ms": 5}})"));
}

TEST(Extend, DoesNotInheritWhatIsTheParentsOwn) {
  EXPECT_EQ(extend(R"({"$schema": "s", "name": "p", "description": "d", "extends": "x"})", "{}"),
            json::object());
}

TEST(Extend, RefusesToAppendToNull) {
  json merged = json::parse(R"({"commands": {"allow": null}})");
  const auto errors = extend_document(merged, json::parse(R"({"commands": {"+allow": ["ls"]}})"));
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors[0].code, ErrorCode::kBadValue);
  EXPECT_EQ(errors[0].where, "/commands/+allow");
}

}  // namespace
}  // namespace sbx
