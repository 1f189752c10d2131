// SPDX-License-Identifier: Apache-2.0
// One look at the text for each of them.
#include "run/unreported.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

#include "base/text.h"
#include "guard/places.h"
#include "host/git_outside.h"
#include "model/grant.h"
#include "profile/fields.h"
#include "run/git_settings.h"
#include "run/missing_programs.h"
#include "shell/reading.h"

namespace sbx {
namespace {

// What a program prints that met a limit: the C library's words, Go's, Node's, a shell's for a
// child that was ended.
struct LimitWords {
  Limit limit;
  std::array<std::string_view, 3> words;  // some may be empty
};

constexpr LimitWords kLimitWords[] = {
    {Limit::kOpenFiles, {"oo many open files", "EMFILE", "open files: cannot modify limit"}},
    {Limit::kFile, {"ile too large", "File size limit exceeded", "EFBIG"}},
    {Limit::kTmp, {"o space left on device", "ENOSPC"}},
};

// A disk of the host's may be full as well: only where a place of temporary files is named.
bool names_scratch(std::string_view line) {
  const std::size_t tmp = line.find("/tmp/");
  const bool is_top = tmp != line.npos &&
                      (tmp == 0 || std::isalnum(static_cast<unsigned char>(line[tmp - 1])) == 0);
  return is_top || line.find("/dev/shm/") != line.npos;
}

// Whether git printed of the remote that is this directory, by whatever name, that it is not there.
bool is_not_found(std::string_view directory, std::string_view printed) {
  constexpr std::string_view kNoRepository = "' does not appear to be a git repository";
  const std::size_t end = printed.find(kNoRepository);
  if (end == printed.npos) return false;
  const std::size_t begin = printed.substr(0, end).rfind('\'');
  if (begin == printed.npos) return false;
  // As far as it is known without the directory that it is relative to.
  const std::string named = guard::resolve_path(printed.substr(begin + 1, end - begin - 1), "/");
  return directory.ends_with(named);
}

bool pushes(const Request& request) {
  const auto holds = [](const std::string& text) { return text.find("push") != text.npos; };
  return holds(request.command) || std::any_of(request.argv.begin(), request.argv.end(), holds);
}

bool is_said(const LimitWords& row, std::string_view printed) {
  for (const std::string_view line : split(printed, '\n')) {
    if (row.limit == Limit::kTmp && !names_scratch(line)) continue;
    for (const std::string_view word : row.words) {
      if (!word.empty() && line.find(word) != line.npos) return true;
    }
  }
  return false;
}

// The most open files that the text itself asks for, as `ulimit -Sn 4096`; 0 where it does not.
std::int64_t asked_open_files(const Request& request) {
  std::int64_t most = 0;
  const shell::Reading reading =
      request.argv.empty() ? shell::read_shell(request.command) : shell::read_argv(request.argv);
  for (const shell::Command& command : reading.commands) {
    const auto& words = command.words;
    if (words.size() < 3 || words[0].text != "ulimit") continue;
    const std::string& flags = words[1].text;
    if (!flags.starts_with('-') || !flags.ends_with('n')) continue;
    std::int64_t asked = 0;
    const std::string& text = words[2].text;
    const auto end = std::from_chars(text.data(), text.data() + text.size(), asked);
    if (end.ec == std::errc() && *end.ptr == '\0') most = std::max(most, asked);
  }
  return most;
}

}  // namespace

const std::string& complaints(const Outcome& outcome) {
  const bool is_elsewhere = outcome.err.text.empty() && outcome.exit_code != 0;
  return is_elsewhere ? outcome.out.text : outcome.err.text;
}

Denial met_limit(Limit limit, const SandboxPolicy& sandbox, std::int64_t asked) {
  const auto met = [](Refuser layer, const char* what, std::string target, const char* key,
                      std::int64_t most) {
    return Denial{layer, what, std::move(target),
                  1,     "",   std::string(key) + " = " + std::to_string(2 * most)};
  };
  if (limit == Limit::kOpenFiles) {
    const std::int64_t most = sandbox.limits.open_files.value_or(0);
    Denial denial =
        met(Refuser::kCommand, "open", "more than " + std::to_string(most) + " open files",
            "limits.open_files", most);
    if (asked > most) denial.grant = "limits.open_files = " + std::to_string(asked);
    if (asked > kMostOpenFiles) denial.grant.clear();
    return denial;
  }
  if (limit == Limit::kFile) {
    const std::int64_t most_kb = (sandbox.file_bytes.value_or(0) + 1023) / 1024;
    return met(Refuser::kCommand, "write",
               "a file of more than " + std::to_string(most_kb) + " KiB", "limits.file_kb",
               most_kb);
  }
  return met(Refuser::kMount, "write", "/tmp", "limits.tmp_mb", sandbox.limits.tmp_mb.value_or(0));
}

std::vector<Limit> printed_limits(const std::vector<LimitReport>& limits,
                                  std::string_view printed) {
  std::vector<Limit> out;
  for (const LimitWords& row : kLimitWords) {
    const bool is_held = std::any_of(limits.begin(), limits.end(), [&](const LimitReport& report) {
      return report.limit == row.limit && report.enforcer != Enforcer::kNone;
    });
    if (is_held && is_said(row, printed)) out.push_back(row.limit);
  }
  return out;
}

std::vector<Denial> unreported_refusals(const RunAsSeen& run) {
  const View& view = run.sandbox.view;
  const std::string& printed = complaints(run.outcome);
  std::vector<Denial> out;
  const auto add = [&](std::vector<Denial> more) {
    std::move(more.begin(), more.end(), std::back_inserter(out));
  };
  for (const Denial& denial : view.git_denied) {
    const bool is_setting = denial.operation == kGitInclude || denial.operation == kGitSetting;
    if (denial.operation == kGitRemote) {
      if (!is_not_found(denial.target, printed)) continue;
      out.push_back(denial);
      if (pushes(run.request)) out.back().grant = root_grant(std::span(&denial.target, 1), "rw");
    } else if (!is_setting || names_git(run.request)) {
      out.push_back(denial);
    }
  }
  add(refused_git_settings(run.request, view, run.policy.sandbox.filesystem.overlay, printed,
                           run.outcome.started_at_ms));
  for (const auto& refused : {refused_git_clone(run.request, run.policy.sandbox.workspace,
                                                run.sandbox.plan.stubs, printed),
                              missing_git_setting(run.policy.sandbox.filesystem, run.home,
                                                  run.request, run.outcome, printed),
                              refused_git_upkeep(view, printed)}) {
    if (refused) out.push_back(*refused);
  }
  // Of all that may not be written in /proc the only thing that a program of the system says.
  if (printed.find("choom: failed to set score adjust value: Read-only file system") !=
      printed.npos) {
    out.push_back({Refuser::kMount, "open", "/proc/PID/oom_score_adj", 1, "", ""});
  }
  const auto path = run.environment.find("PATH");
  if (path != run.environment.end()) {
    add(missing_programs(run.request, path->second, run.policy, view, printed));
  }
  const auto& error = run.outcome.error;
  const bool has_run = !error || error->code != ErrorCode::kNotFound;
  for (Denial& denial : unfound_programs(run.request, has_run, run.policy, view, printed)) {
    const auto is_same = [&](const Denial& known) {
      return known.operation == denial.operation && known.target == denial.target;
    };
    const auto& told = run.outcome.denials;
    if (std::none_of(told.begin(), told.end(), is_same)) out.push_back(std::move(denial));
  }
  if (!run.reports_execs) {
    add(refused_programs(run.sandbox.plan.denied_programs, run.policy, printed));
  }
  const auto& limits = run.policy.sandbox.limits;
  for (const Limit limit : printed_limits(run.sandbox.plan.limits, printed)) {
    const bool is_none = limit == Limit::kTmp && limits.tmp_mb.value_or(0) == 0;
    if (is_none || run.outcome.limit == limit) continue;
    const std::int64_t asked = limit == Limit::kOpenFiles ? asked_open_files(run.request) : 0;
    if (asked > 0 && asked < limits.open_files.value_or(0)) continue;  // its own limit, met first
    out.push_back(met_limit(limit, run.policy.sandbox, asked));
  }
  return out;
}

}  // namespace sbx
