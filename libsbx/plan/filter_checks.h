// SPDX-License-Identifier: Apache-2.0
// What the checked rules look at: a rule and a spec → the argument check behind a call, or the
// plain verdict where this spec leaves nothing to check. Values only.
#pragma once

#include <cstdint>
#include <variant>

#include "plan/filter.h"
#include "plan/filter_emit.h"
#include "plan/filter_tables.h"

namespace sbx {

// SECCOMP_RET_* of an action under this spec.
std::uint32_t action_return(FilterAction action, const FilterSpec& spec);

std::variant<FilterAction, ArgCheck> rule_verdict(CallRule rule, const FilterSpec& spec);

}  // namespace sbx
