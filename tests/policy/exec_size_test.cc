// SPDX-License-Identifier: Apache-2.0
// What one execve takes: the kernel's figures, held before anybody is asked.
#include "policy/exec_size.h"

#include <gtest/gtest.h>

namespace sbx {
namespace {

Request with_command(std::size_t bytes) {
  Request request;
  request.command = std::string(bytes, 'a');
  return request;
}

TEST(ExecSize, OfACommandIsOnePageListLessItsEnd) {
  const Policy policy;
  EXPECT_TRUE(check_exec_size(policy, with_command(131071), {}).ok());
  const Status refused = check_exec_size(policy, with_command(131072), {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kTooLarge);
  EXPECT_EQ(refused.error().where, "/command");
  EXPECT_FALSE(refused.error().hint.empty());
}

TEST(ExecSize, OfArgumentsAndVariablesIsAddedUp) {
  const Policy policy;
  Request request;
  request.argv.assign(15, std::string(131000, 'a'));
  EXPECT_TRUE(check_exec_size(policy, request, {}).ok());
  request.argv.emplace_back(131000, 'a');
  request.env["A"] = std::string(4096, 'a');
  EXPECT_FALSE(check_exec_size(policy, request, {}).ok());
  request.argv.resize(1);
  EXPECT_TRUE(check_exec_size(policy, request, {}).ok());
  request.env["A"] = std::string(131072, 'a');
  EXPECT_FALSE(check_exec_size(policy, request, {}).ok());
}

TEST(ExecSize, CountsTheVariablesThatTheCommandHasAnyway) {
  const Policy policy;
  Request request;
  request.argv.assign(15, std::string(131000, 'a'));
  Environment base;
  EXPECT_FALSE(check_exec_size(policy, request, base, 1000).ok());
  EXPECT_TRUE(check_exec_size(policy, request, base).ok());
  base["A"] = std::string(131060, 'a');
  EXPECT_TRUE(check_exec_size(policy, request, base).ok());
  base["B"] = std::string(4096, 'a');
  EXPECT_FALSE(check_exec_size(policy, request, base).ok());
  request.env["A"] = "";
  EXPECT_TRUE(check_exec_size(policy, request, base).ok());
}

}  // namespace
}  // namespace sbx
