// SPDX-License-Identifier: Apache-2.0
// What the checked rules look at: a rule and a spec → the argument check behind a call, or the
// plain verdict where this spec leaves nothing to check. Values only.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <variant>

#include "plan/filter.h"
#include "plan/filter_emit.h"
#include "plan/filter_tables.h"

namespace sbx {

// SECCOMP_RET_* of an action under this spec.
std::uint32_t action_return(FilterAction action, const FilterSpec& spec);

std::variant<FilterAction, ArgCheck> rule_verdict(CallRule rule, const FilterSpec& spec);

// Whether the supervisor hears of a rule's allowed calls, and lets them go on.
bool rule_reports(CallRule rule, const FilterSpec& spec);

// Where a rule's calls keep a mode for a file, and the flags without which it is not looked at;
// nullopt for a rule of calls without a mode.
struct ModeArgs {
  std::uint8_t mode;
  std::optional<std::uint8_t> open_flags;
};
std::optional<ModeArgs> mode_args(CallRule rule);

// Where a rule's calls keep an owner, with the group behind it; nullopt for one of other calls.
std::optional<std::uint8_t> owner_arg(CallRule rule);

// The bits of a mode that are refused, and the open flags that make a file.
inline constexpr std::uint32_t kSetIdBits = S_ISUID | S_ISGID;
inline constexpr std::uint32_t kMakesFile = O_CREAT | (O_TMPFILE & ~O_DIRECTORY);

}  // namespace sbx
