// SPDX-License-Identifier: Apache-2.0
// A FilterSpec → the filter's program: the tables' verdict for every number, then the operator's
// names on top, then runs of equal verdicts for the emitter. libseccomp is asked only for names
// that the tables do not hold.
#include "plan/filter.h"

#include <linux/audit.h>
#include <linux/bpf_common.h>
#include <seccomp.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <deque>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "base/text.h"
#include "plan/filter_checks.h"
#include "plan/filter_emit.h"
#include "plan/filter_tables.h"

namespace sbx {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kAuditArch = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kAuditArch = AUDIT_ARCH_AARCH64;
#else
#error "the filter knows x86_64 and aarch64"
#endif

// x32 numbers carry this bit under the native architecture's name.
constexpr std::uint32_t kX32Bit = 0x40000000U;

// Of those that a kernel of ours may run beside its own.
constexpr std::pair<std::uint32_t, std::string_view> kForeign[] = {
    {SCMP_ARCH_X86, "i386"}, {SCMP_ARCH_X32, "x32"}, {SCMP_ARCH_ARM, "arm"}};

struct Verdict {
  FilterAction action = FilterAction::kUnknown;
  const ArgCheck* check = nullptr;  // decides in the action's place
  bool is_reported = false;         // where it is allowed

  friend bool operator==(const Verdict&, const Verdict&) = default;
};

struct Verdicts {
  std::array<Verdict, kCallLimit> of;
  std::deque<ArgCheck> checks;         // what the verdicts point at
  const ArgCheck* own_exec = nullptr;  // that of execve
};

void apply_tables(const FilterSpec& spec, Verdicts& verdicts) {
  for (const CallGroup& group : call_groups()) {
    auto decided = rule_verdict(group.rule, spec);
    Verdict verdict;
    verdict.is_reported = rule_reports(group.rule, spec);
    if (auto* check = std::get_if<ArgCheck>(&decided)) {
      verdict.check = &verdicts.checks.emplace_back(std::move(*check));
      if (group.rule == CallRule::kCheckExec) verdicts.own_exec = verdict.check;
    } else {
      verdict.action = *std::get_if<FilterAction>(&decided);
    }
    for (const Call& call : group.calls)
      verdicts.of[static_cast<std::size_t>(call.number)] = verdict;
  }
  if (!spec.read_only) return;
  for (const Call& call : attribute_calls()) {
    verdicts.of[static_cast<std::size_t>(call.number)] = {FilterAction::kRefuse};
  }
}

Error unknown_name(const std::string& name, std::string where) {
  std::vector<std::string_view> known;
  for (const CallGroup& group : call_groups()) {
    for (const Call& call : group.calls) known.push_back(call.name);
  }
  Error error;
  error.code = ErrorCode::kBadValue;
  error.message = "no system call is named \"" + escape_control_bytes(name) + "\"";
  error.where = std::move(where);
  if (auto nearest = nearest_name(name, known)) {
    error.hint = "did you mean \"" + std::string(*nearest) + "\"?";
  }
  return error;
}

// nullopt: a call of other architectures, which this one answers with ENOSYS whatever is said.
Result<std::optional<int>> number_of(const std::string& name, const char* list, std::size_t index) {
  if (const Call* call = find_call(name)) return std::optional<int>(call->number);
  // A name with a zero byte in it must not pass for the part before it.
  const bool plain = name.find('\0') == std::string::npos;
  const int number = plain ? seccomp_syscall_resolve_name(name.c_str()) : __NR_SCMP_ERROR;
  if (number == __NR_SCMP_ERROR) {
    return unknown_name(name, std::string("/seccomp/") + list + "/" + std::to_string(index));
  }
  if (number < 0 || number >= kCallLimit) return std::optional<int>();
  return std::optional<int>(number);
}

Status apply_names(const std::vector<std::string>& names, const char* list, FilterAction action,
                   Verdicts& verdicts) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    SBX_TRY(const std::optional<int> number, number_of(names[i], list, i));
    if (number) verdicts.of[static_cast<std::size_t>(*number)] = {action};
  }
  return {};
}

std::vector<CallRun> runs_of(const Verdicts& verdicts, const FilterSpec& spec) {
  std::vector<CallRun> runs;
  const Verdict* previous = nullptr;
  for (std::size_t number = 0; number < verdicts.of.size(); ++number) {
    const Verdict& verdict = verdicts.of[number];
    if (previous != nullptr && *previous == verdict) continue;
    const auto first = static_cast<std::uint32_t>(number);
    runs.push_back({first, action_return(verdict.action, spec), verdict.check});
    previous = &verdict;
  }
  const std::uint32_t unknown = action_return(FilterAction::kUnknown, spec);
  if (*previous != Verdict{}) runs.push_back({kCallLimit, unknown, nullptr});
#if defined(__x86_64__)
  // A tracer that skips a call sets the number to -1, which is no x32 call.
  runs.push_back({kX32Bit, action_return(FilterAction::kKill, spec), nullptr});
  runs.push_back({0xffffffffU, unknown, nullptr});
#endif
  return runs;
}

void count(const Verdicts& verdicts, CompiledFilter& filter) {
  const ArgCheck* const own_exec = verdicts.own_exec;
  for (std::size_t number = 0; number < verdicts.of.size(); ++number) {
    const Verdict& verdict = verdicts.of[number];
    if (verdict.is_reported) filter.reported_calls.push_back(static_cast<int>(number));
    const bool is_own_exec = own_exec != nullptr && verdict.check == own_exec;
    if (is_own_exec || verdict.action == FilterAction::kAllow ||
        verdict.action == FilterAction::kReport) {
      ++filter.allowed_calls;
    } else if (verdict.check != nullptr || verdict.action == FilterAction::kMediate) {
      ++filter.checked_calls;
    } else if (verdict.action == FilterAction::kRefuse) {
      ++filter.refused_calls;
    }
  }
}

std::string name_by_number(std::uint32_t arch, int number) {
  // libseccomp has names for negative numbers too: those of calls that an architecture lacks.
  char* name = number < 0 ? nullptr : seccomp_syscall_resolve_num_arch(arch, number);
  if (name == nullptr) return "syscall_" + std::to_string(number);
  std::string text(name);
  std::free(name);
  return text;
}

}  // namespace

CallFault fault_of(int number, std::span<const std::uint64_t, 6> arguments,
                   const std::optional<OwnIds>& own_ids) {
  for (const CallGroup& group : call_groups()) {
    const std::optional<ModeArgs> mode = mode_args(group.rule);
    const std::optional<std::uint8_t> owner = owner_arg(group.rule);
    const auto is_it = [&](const Call& call) { return call.number == number; };
    if ((!mode && !owner) || std::none_of(group.calls.begin(), group.calls.end(), is_it)) continue;
    if (mode) {
      const std::uint64_t flags = mode->open_flags ? arguments[*mode->open_flags] : kMakesFile;
      const bool is_refused =
          (arguments[mode->mode] & kSetIdBits) != 0 && (flags & kMakesFile) != 0;
      return is_refused ? CallFault::kSetIdBit : CallFault::kNone;
    }
    const auto is_foreign = [&](std::uint64_t argument, std::uint32_t own) {
      const auto id = static_cast<std::uint32_t>(argument);
      return id != kUnchanged && id != own;
    };
    const bool is_refused = own_ids && (is_foreign(arguments[*owner], own_ids->uid) ||
                                        is_foreign(arguments[*owner + 1U], own_ids->gid));
    return is_refused ? CallFault::kForeignId : CallFault::kNone;
  }
  return CallFault::kNone;
}

Result<CompiledFilter> compile_filter(const FilterSpec& spec) {
  CompiledFilter filter;
  filter.audit_arch = kAuditArch;
  Verdicts verdicts;
  apply_tables(spec, verdicts);
  SBX_CHECK_OK(apply_names(spec.allow, "allow", FilterAction::kAllow, verdicts));
  SBX_CHECK_OK(apply_names(spec.deny, "deny", FilterAction::kRefuse, verdicts));
  if (spec.mode == SeccompMode::kOff) return filter;
  filter.program =
      emit_filter(kAuditArch, action_return(FilterAction::kKill, spec), runs_of(verdicts, spec));
  count(verdicts, filter);
  return filter;
}

std::optional<std::string> foreign_call(std::uint32_t audit_arch, int number) {
  std::uint32_t arch = audit_arch;
  if (arch == kAuditArch) {
    const bool is_x32 =
        kAuditArch == AUDIT_ARCH_X86_64 && static_cast<std::uint32_t>(number) >= kX32Bit;
    if (!is_x32) return std::nullopt;
    arch = SCMP_ARCH_X32;
  }
  const auto* const known = std::find_if(std::begin(kForeign), std::end(kForeign),
                                         [&](const auto& row) { return row.first == arch; });
  if (known == std::end(kForeign)) {
    return "architecture " + std::to_string(arch) + " syscall_" + std::to_string(number);
  }
  return std::string(known->second) + " " + name_by_number(known->first, number);
}

std::string syscall_name(int number) {
  if (const Call* call = find_call(number)) return std::string(call->name);
  return name_by_number(SCMP_ARCH_NATIVE, number);
}

}  // namespace sbx
