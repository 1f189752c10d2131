// SPDX-License-Identifier: Apache-2.0
// Which policy a tool runs under: the operator's profile where one is named, else the tool's own.
#pragma once

#include <string>
#include <string_view>

#include "options.h"
#include "policy/policy.h"
#include "session/session.h"
#include "tools/tool_runner.h"
#include "verbs.h"

namespace sbx {

// The options with the tool's profile, unless --profile or SBX_PROFILE names one.
RunOptions tool_options(const RunOptions& options, const Environment& environment,
                        std::string_view tool);

// As prepare_session(), for one tool. Errors: those of prepare_session().
Result<SessionOptions> prepare_tool(const RunOptions& options, const Invocation& invocation,
                                    std::string_view tool);

// For a session that serves several tools. Both must outlive what is returned.
ToolRunner::FindPolicy tool_policies(const RunOptions& options, const Invocation& invocation);

}  // namespace sbx
