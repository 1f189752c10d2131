// SPDX-License-Identifier: Apache-2.0
// A setting of a grant becomes the flag that says the same, where there is one.
#include "report/account.h"

#include <signal.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/text.h"
#include "json/reader.h"
#include "model/exit_status.h"
#include "model/grant.h"
#include "output/terminal_text.h"

namespace sbx {
namespace {

using Json = nlohmann::json;

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

// The flag that says what one entry of the setting says; empty where none does.
std::string flag_of(std::string_view setting, const Json& entry) {
  const auto word = [](const Json& value) {
    if (value.is_number_integer()) return std::to_string(value.get<std::int64_t>());
    return value.is_string() ? shell_word(value.get_ref<const std::string&>()) : std::string();
  };
  if (setting == "filesystem.roots" && entry.is_object()) {
    return "--" + word(entry.value("access", Json())) + " " + word(entry.value("path", Json()));
  }
  if (setting == "network.allow") return "--allow-host " + word(entry);
  if (setting == "network.host_ports") return "--host-port " + word(entry);
  if (setting == "network.mode") return "--net " + word(entry);
  return setting == "limits.tmp_mb" ? "--tmp-size " + word(entry) + "M" : "";
}

// As a command line takes it; empty where no flag says it. What JSON escapes no terminal shows.
std::string flag_of(std::string_view grant) {
  if (grant.starts_with("--")) return std::string(grant);
  const GrantParts parts = grant_parts(grant);
  Json entries = parse_json(parts.value);
  if (entries.is_discarded() || parts.value.find('\\') != parts.value.npos) return "";
  if (!entries.is_array()) entries = Json::array({entries});
  std::string flags;
  for (const Json& entry : entries) {
    const std::string flag = flag_of(parts.setting, entry);
    if (flag.empty()) return "";
    flags += (flags.empty() ? "" : " ") + flag;
  }
  return flags;
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
