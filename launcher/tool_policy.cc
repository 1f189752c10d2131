// SPDX-License-Identifier: Apache-2.0
// The tool's name stands for the profile; the flags and variables count as for every run.
#include "tool_policy.h"

#include "prepare.h"
#include "tools/tool.h"

namespace sbx {

RunOptions tool_options(const RunOptions& options, const Environment& environment,
                        std::string_view tool) {
  RunOptions out = options;
  const auto named = environment.find("SBX_PROFILE");
  const bool is_named =
      !options.profile.empty() || (named != environment.end() && !named->second.empty());
  if (!is_named) out.profile = tool_profile(tool);
  return out;
}

Result<SessionOptions> prepare_tool(const RunOptions& options, const Invocation& invocation,
                                    std::string_view tool) {
  return prepare_session(tool_options(options, invocation.environment, tool), invocation, tool);
}

ToolRunner::FindPolicy tool_policies(const RunOptions& options, const Invocation& invocation) {
  return [&options, &invocation](std::string_view tool) -> Result<SharedPolicy> {
    SBX_TRY(SessionOptions out, prepare_tool(options, invocation, tool));
    return std::move(out.policy);
  };
}

}  // namespace sbx
