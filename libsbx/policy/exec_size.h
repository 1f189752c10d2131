// SPDX-License-Identifier: Apache-2.0
// What one execve takes: a request that is larger is refused before anybody is asked about it.
#pragma once

#include "policy/environment.h"
#include "policy/policy.h"

namespace sbx {

// One argument or variable, its end included: MAX_ARG_STRLEN, 32 pages.
inline constexpr std::size_t kMaxArgumentBytes = 128u << 10;
// All of them and their pointers, where the stack may grow to the usual 8 MiB: a quarter of it.
inline constexpr std::size_t kMaxExecBytes = 2u << 20;

// `base`: the variables that the command has beside the request's; `most`: bytes of all, where the
// caller's stack may not grow to as much. Errors: kTooLarge, with what to do instead.
Status check_exec_size(const Policy& policy, const Request& request, const Environment& base,
                       std::size_t most = kMaxExecBytes);

}  // namespace sbx
