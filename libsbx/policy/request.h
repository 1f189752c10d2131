// SPDX-License-Identifier: Apache-2.0
// Policy + Request → the Policy of one run. The caller may lower what the operator set, and raise a
// limit only up to the profile's ceilings. Values only: no I/O, no JSON, no environment.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "policy/policy.h"

namespace sbx {

// Of a request that names none: a task has only what the managed policy holds all to, and a shell
// that is kept for calls none, since each of these has its own.
enum class TimeLimit : std::uint8_t { kOfPolicy, kManaged, kNone };

// What the request changes: limits, network, variables. Its files, stdin, cwd and description are
// the run's. Errors, with `where` a pointer into the params: kAboveCeiling naming the value, the
// ceiling and its setting; kNotGranted naming the setting; kPathRefused for a cwd with "..".
// The same policy where nothing changes.
Result<SharedPolicy> apply_request(const SharedPolicy& policy, const Request& request,
                                   TimeLimit unnamed = TimeLimit::kOfPolicy);

// Whether the error is a refusal of the operator's (status `denied`) and no mistake in the params.
// Only /network is one: what is asked for there may be granted, and the answer says how.
bool is_network_refusal(const Error& error);

// The same error in the words of a request: a flag that the request's field stands for becomes the
// pointer to that field.
Error named_by_request(Error error);

// What the operator would add to grant the network: a profile path and value.
inline constexpr std::string_view kNetworkGrant = R"(network.mode = "outbound")";

}  // namespace sbx
