// SPDX-License-Identifier: Apache-2.0
// A setting of a grant becomes the flag that says the same, where there is one.
#include "report/account.h"

#include <signal.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/text.h"
#include "model/exit_status.h"
#include "model/grant.h"
#include "output/terminal_text.h"

namespace sbx {
namespace {

constexpr std::size_t kMostLines = 20;  // of refusals, of changes
constexpr std::size_t kMostExecLines = 10;
constexpr std::size_t kMostPathLines = 3;

struct LimitWords {
  Limit limit;
  std::string_view sentence;
  std::string_view flag;
  std::string_view key;
};
constexpr LimitWords kLimitWords[] = {
    {Limit::kMemory, "ran out of memory", "--memory SIZE", "memory_mb"},
    {Limit::kPids, "ran out of processes", "--pids COUNT", "pids"},
    {Limit::kCpu, "ran out of CPU time", "--cpu-time TIME", "cpu_ms"},
    {Limit::kFile, "a file grew too large", "--file-size SIZE", "file_kb"},
    {Limit::kTmp, "the private /tmp and home are full", "--tmp-size SIZE", "tmp_mb"},
};

// The advice, where no managed file has lowered the limit: a flag would be lowered as well.
std::string unless_managed(const Outcome& outcome, std::string_view key, std::string advice) {
  const std::string lowered = "limits." + std::string(key) + " lowered by ";
  for (const std::string& warning : outcome.sandbox.warnings) {
    if (warning.starts_with(lowered)) return warning.substr(lowered.size()) + " gives no more";
  }
  return advice;
}

std::string limit_sentence(const Outcome& outcome, const std::string& after) {
  const std::optional<Limit> limit = outcome.limit;
  for (const LimitWords& row : kLimitWords) {
    if (row.limit == limit) {
      return std::string(row.sentence) + after + "; " +
             unless_managed(outcome, row.key, std::string(row.flag) + " gives more");
    }
  }
  if (limit != Limit::kLayer) return "reached a limit" + after;
  return "the layer is full" + after + "; limits.layer_mb of the profile gives more";
}

// By which of the signals that ask it to end, as its exit status says.
std::string cancel_sentence(const Outcome& outcome) {
  const int signal = outcome.exit_status - 128;
  if (signal == SIGINT) return "interrupted";
  return signal > 0 ? "told to end by " + std::string(signal_name(signal)) : "cancelled";
}

std::string tenths(double value) {
  const auto tenths = static_cast<long long>(std::llround(value * 10));
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10);
}

std::string duration_text(double ms) {
  if (ms < 1000) return std::to_string(std::llround(ms)) + " ms";
  if (ms < 60'000) return tenths(ms / 1000) + " s";
  const long long seconds = std::llround(ms / 1000);
  return std::to_string(seconds / 60) + " min " + std::to_string(seconds % 60) + " s";
}

// The JSON string that begins at `at`; empty where it has escapes, or is none.
std::string_view plain_string(std::string_view text, std::size_t at) {
  if (at >= text.size() || text[at] != '"') return {};
  const std::string_view rest = text.substr(at + 1);
  const std::size_t end = rest.find_first_of("\"\\");
  return end == std::string_view::npos || rest[end] == '\\' ? std::string_view{}
                                                            : rest.substr(0, end);
}

// `filesystem.roots += [{"path": "/a", "access": "ro"}, …]` → "--ro /a …".
std::string root_flags(std::string_view grant) {
  constexpr std::string_view kPath = "{\"path\": ";
  constexpr std::string_view kAccess = "\", \"access\": ";
  std::string flags;
  for (std::size_t at = grant.find(kPath); at != std::string_view::npos;
       at = grant.find(kPath, at + 1)) {
    const std::string_view path = plain_string(grant, at + kPath.size());
    const std::size_t behind = at + kPath.size() + 1 + path.size();
    if (path.empty() || !grant.substr(behind).starts_with(kAccess)) return "";
    const std::string_view access = plain_string(grant, behind + kAccess.size());
    if (access != "ro" && access != "rw") return "";
    flags += (flags.empty() ? "--" : " --") + std::string(access) + " " + shell_word(path);
  }
  return flags;
}

// The flag that says what the setting says; empty where none does.
std::string flag_of(std::string_view grant) {
  if (grant.starts_with("--")) return std::string(grant);
  if (grant.starts_with("filesystem.roots += ")) return root_flags(grant);
  if (grant.starts_with(kWithItsMode)) grant.remove_prefix(kWithItsMode.size());
  constexpr std::string_view kHosts = "network.allow += [";
  if (grant.starts_with(kHosts)) {
    const std::string_view host = plain_string(grant, kHosts.size());
    return host.empty() ? "" : "--allow-host " + shell_word(host);
  }
  constexpr std::string_view kPorts = "network.host_ports += [";
  if (grant.starts_with(kPorts) && grant.ends_with(']')) {
    return "--host-port " +
           std::string(grant.substr(kPorts.size(), grant.size() - 1 - kPorts.size()));
  }
  constexpr std::string_view kTmp = "limits.tmp_mb = ";
  if (grant.starts_with(kTmp)) {
    return "--tmp-size " + std::string(grant.substr(kTmp.size())) + "M";
  }
  constexpr std::string_view kNetwork = "network.mode = ";
  if (grant.starts_with(kNetwork)) {
    const std::string_view mode = plain_string(grant, kNetwork.size());
    if (!mode.empty()) return "--net " + std::string(mode);
  }
  return "";
}

std::string grant_text(std::string_view grant) {
  const std::string flag = flag_of(grant);
  return flag.empty() ? std::string(grant) + " in the profile" : flag;
}

bool is_finding(const Denial& denial) {
  // What happened, not what was refused, has a name of several words.
  return denial.layer == Refuser::kMount && denial.operation.find('_') != std::string::npos;
}

// Its grant is no setting, but what to do.
bool is_advice(const Denial& denial) { return is_finding(denial) && flag_of(denial.grant).empty(); }

std::string approval_sentence(const Approval& approval) {
  std::string text = "waits for approval";
  for (const Finding& finding : approval.rules) {
    text += (&finding == approval.rules.data() ? ": " : ", ") + finding.reason;
    if (!finding.target.empty()) text += ": " + finding.target;
  }
  if (!approval.unused.empty()) text += "; " + approval.unused;
  return text + "; run it once with --approve " + approval.digest;
}

// What happened comes first: a command that is refused a thousand things hides none of it.
std::vector<const Denial*> by_weight(const std::vector<Denial>& denials) {
  std::vector<const Denial*> out(denials.size());
  std::transform(denials.begin(), denials.end(), out.begin(),
                 [](const Denial& denial) { return &denial; });
  std::stable_partition(out.begin(), out.end(),
                        [](const Denial* denial) { return is_finding(*denial); });
  return out;
}

// A mark of ours within a line would look like the begin of another one.
std::string without_marks(std::string_view sentence) {
  std::string text = escape_control_bytes(sentence);
  for (std::size_t at = text.find(kAccountMark); at != std::string::npos;
       at = text.find(kAccountMark, at)) {
    text.replace(at, kAccountMark.size(), "\\xc2\\xb6");
  }
  return text;
}

class Lines {
 public:
  explicit Lines(bool colours) : colours_(colours) {}

  void add(std::string_view label, const char* colour, const std::string& sentence) {
    text_ += std::string(kAccountMark) + " ";
    text_ += colours_ ? "\x1b[" + std::string(colour) + "m" + std::string(label) + "\x1b[0m"
                      : std::string(label);
    text_ += ": " + without_marks(sentence) + "\n";
  }
  void more(std::size_t count, std::string_view what) {
    if (count == 0) return;
    add("and", "0", std::to_string(count) + " more " + std::string(what) + "; --json lists all");
  }
  std::string take() { return std::move(text_); }

 private:
  bool colours_;
  std::string text_;
};

constexpr const char* kGood = "1;32";
constexpr const char* kBad = "1;31";
constexpr const char* kNote = "1;33";

}  // namespace

std::string refusal_sentence(const Denial& denial) {
  std::string text = denial.operation;
  std::replace(text.begin(), text.end(), '_', ' ');
  if (denial.operation == "connect") text += " to";
  if (denial.operation == "dns") text = "look up";
  if (!denial.target.empty()) text += " " + denial.target;
  if (!denial.grant.empty() && is_advice(denial)) {
    text += "; to let it pass, " + denial.grant;
  } else if (!denial.grant.empty()) {
    text += "; allow it with " + grant_text(denial.grant);
  }
  if (denial.count > 1) text += " (" + std::to_string(denial.count) + " times)";
  return text;
}

std::string end_sentence(const Outcome& outcome) {
  const std::string after = " after " + duration_text(outcome.duration_ms);
  switch (outcome.status) {
    case RunStatus::kExited:
      return "exited with " + std::to_string(outcome.exit_code.value_or(0)) + after;
    case RunStatus::kSignaled:
      return "ended by " + std::string(signal_name(outcome.signal)) + after;
    case RunStatus::kTimedOut:
      return "timed out" + after + "; " +
             unless_managed(outcome, "timeout_ms",
                            "--timeout TIME gives it more, --timeout none all it takes");
    case RunStatus::kLimit:
      return limit_sentence(outcome, after);
    case RunStatus::kCancelled:
      return outcome.error ? error_line(*outcome.error) : cancel_sentence(outcome) + after;
    case RunStatus::kKilled:
      return outcome.error ? error_line(*outcome.error) : "killed from outside" + after;
    case RunStatus::kNeedsApproval:
      if (outcome.approval) return approval_sentence(*outcome.approval);
      break;
    case RunStatus::kRunning:
      return "runs since " + duration_text(outcome.duration_ms);
    case RunStatus::kDenied:
    case RunStatus::kError:
      break;
  }
  return outcome.error ? error_line(*outcome.error) : std::string(run_status_name(outcome.status));
}

std::string account_text(const Outcome& outcome, bool colours) {
  Lines lines(colours);
  const bool is_well = outcome.status == RunStatus::kExited && outcome.exit_code.value_or(1) == 0;
  const bool waits = outcome.status == RunStatus::kNeedsApproval;
  lines.add("sbx-run", is_well ? kGood : waits ? kNote : kBad, end_sentence(outcome));
  if (outcome.status == RunStatus::kExited && outcome.limit) {
    lines.add("limit", kNote, limit_sentence(outcome, ""));
  }
  std::size_t shown = 0;
  for (const Denial* const denial : by_weight(outcome.denials)) {
    if (++shown > kMostLines) break;
    lines.add(is_finding(*denial) ? "noticed" : "refused", kNote, refusal_sentence(*denial));
  }
  lines.more(outcome.denials.size() - std::min(outcome.denials.size(), kMostLines), "refusals");
  for (const Degradation& missing : outcome.sandbox.degraded) {
    lines.add("degraded", kNote, missing.what + ": " + missing.reason);
  }
  std::size_t of_path = 0;
  for (const std::string& warning : outcome.sandbox.warnings) {
    // That a program may be another one than outside is of interest where something went wrong.
    const bool is_of_path = warning.starts_with("PATH: ");
    if (is_of_path && (is_well || ++of_path > kMostPathLines)) continue;
    lines.add("warning", kNote, warning);
  }
  lines.more(of_path - std::min(of_path, kMostPathLines), "directories of PATH");
  if (outcome.redactions.count > 0) {
    lines.add("redacted", kNote,
              std::to_string(outcome.redactions.count) +
                  " in the output: " + join(outcome.redactions.rules, ", "));
  }
  if (outcome.changes) {
    const auto& changes = *outcome.changes;
    lines.add("kept apart", "1",
              std::to_string(changes.size()) + " changes; the files themselves are as they were");
    for (std::size_t i = 0; i < std::min(changes.size(), kMostLines); ++i) {
      lines.add(changes[i].kind, "0", changes[i].path);
    }
    lines.more(changes.size() - std::min(changes.size(), kMostLines), "changes");
  }
  return lines.take();
}

std::string exec_account(const Outcome& outcome) {
  const bool has_ended_itself =
      outcome.status == RunStatus::kExited || outcome.status == RunStatus::kSignaled;
  std::string text;
  const auto add = [&text](const std::string& line) {
    text += "sbx-run: " + escape_control_bytes(line) + "\n";
  };
  if (!has_ended_itself && !outcome.error) {
    add(std::string(run_status_name(outcome.status)) + ": " + end_sentence(outcome));
  }
  // Of a program that is not shown the refusal says what shows it.
  const bool is_told = outcome.error && outcome.error->code != ErrorCode::kNotFound;
  if (outcome.exit_status == 0 || (!has_ended_itself && is_told)) return text;
  const std::vector<const Denial*> denials = by_weight(outcome.denials);
  for (std::size_t i = 0; i < std::min(denials.size(), kMostExecLines); ++i) {
    const Denial& denial = *denials[i];
    add((is_finding(denial) ? "noticed: " : "refused: ") + refusal_sentence(denial));
  }
  if (outcome.denials.size() > kMostExecLines) {
    add("and " + std::to_string(outcome.denials.size() - kMostExecLines) +
        " more refusals; --result-file FILE has all");
  }
  return text;
}

}  // namespace sbx
