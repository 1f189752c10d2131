// SPDX-License-Identifier: Apache-2.0
// The policies that the tests of the guard hold commands against.
#pragma once

#include <string>

#include "guard/verdict.h"

namespace sbx {

inline Policy sample_policy() {
  Policy policy;
  policy.workspace = "/home/me/project";
  policy.home = "/home/me";
  policy.profile.filesystem.roots = {{"/home/me/project", Access::kReadWrite, false, ""},
                                     {"/data", Access::kReadWrite, false, ""}};
  policy.profile.isolation.namespaces.add(Layer::kMount);
  policy.profile.commands.ask = {"destructive"};
  return policy;
}

inline Judgement judge_text(const Policy& policy, const std::string& command) {
  Request request;
  request.command = command;
  return judge(policy, request, policy.workspace);
}

}  // namespace sbx
