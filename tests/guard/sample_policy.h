// SPDX-License-Identifier: Apache-2.0
// The policies that the tests of the guard hold commands against.
#pragma once

#include <string>

#include "guard/verdict.h"

namespace sbx {

inline Policy sample_policy() {
  Policy policy;
  policy.sandbox.workspace = "/home/me/project";
  policy.sandbox.home = "/home/me";
  policy.sandbox.filesystem.roots = {{"/home/me/project", Access::kReadWrite, false, ""},
                                     {"/data", Access::kReadWrite, false, ""}};
  policy.sandbox.isolation.namespaces.add(Layer::kMount);
  policy.sandbox.commands.ask = {"destructive"};
  return policy;
}

inline guard::Judgement judge_text(const Policy& policy, const std::string& command) {
  Request request;
  request.command = command;
  return guard::judge(policy, request).value();
}

}  // namespace sbx
