// SPDX-License-Identifier: Apache-2.0
// Tasks as lines of a table; a result as `run` has it. What commands wrote comes as plain text.
#include "task_text.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "base/text.h"
#include "base/utf8.h"
#include "json/reader.h"
#include "json/text_at.h"
#include "model/exit_status.h"
#include "output/terminal_text.h"
#include "report/account.h"
#include "session_client.h"
#include "session_verbs.h"

namespace sbx {
namespace {

using nlohmann::json;

constexpr std::size_t kLongestCommand = 60;

double number_of(const json& object, const char* key) {
  const json& value = member(object, key);
  return value.is_number() ? value.get<double>() : 0;
}

std::string whole(double value) { return std::to_string(static_cast<long long>(value)); }

std::string plain(std::string_view text) {
  TerminalText filter(TerminalText::Kind::kText);
  std::string out = filter.append(text);
  out += filter.finish();
  if (!filter.is_fresh_line()) out += '\n';
  return out;
}

RunStatus status_named(std::string_view name) {
  const auto* const at = std::find(std::begin(kRunStatuses), std::end(kRunStatuses), name);
  return at == std::end(kRunStatuses) ? RunStatus::kError
                                      : static_cast<RunStatus>(at - std::begin(kRunStatuses));
}

// What fills the disk of a run with a layer is that, as far as an answer tells.
std::optional<Limit> limit_named(std::string_view name, bool has_layer) {
  if (name.empty()) return std::nullopt;
  for (const LimitRow& row : kLimits) {
    if (row.ended == name && (row.limit != Limit::kTmp || !has_layer)) return row.limit;
  }
  return std::nullopt;
}

template <typename Take>
void for_each(const json& list, Take take) {
  if (!list.is_array()) return;
  for (const json& entry : list) take(entry);
}

// What a person hears of it: one that waits for approval has no task, and --json has the rest.
Outcome read_outcome(const json& answer) {
  Outcome outcome;
  outcome.status = status_named(text_at(answer, "status"));
  outcome.duration_ms = member(answer, "duration_ms").is_number()
                            ? number_of(answer, "duration_ms")
                            : number_of(answer, "uptime_seconds") * 1000;
  const json& code = member(answer, "exit_code");
  if (code.is_number_integer()) outcome.exit_code = code.get<int>();
  outcome.signal = signal_number(text_at(answer, "signal")).value_or(0);
  outcome.limit = limit_named(text_at(answer, "limit"), member(answer, "layer").is_object());
  if (const json& error = member(answer, "error"); error.is_object()) {
    outcome.error = read_error(error, ErrorCode::kSessionFailed);
  }
  for_each(member(answer, "denials"), [&](const json& denial) {
    const double count = number_of(denial, "count");
    const auto layer = refuser_of_name(text_at(denial, "layer"));
    if (!layer) return;
    outcome.denials.push_back({*layer, text_at(denial, "operation"), text_at(denial, "target"),
                               static_cast<std::uint64_t>(count), text_at(denial, "program"),
                               text_at(denial, "grant")});
  });
  for_each(member(member(answer, "sandbox"), "degraded"), [&](const json& missing) {
    outcome.sandbox.degraded.push_back({text_at(missing, "what"), text_at(missing, "reason")});
  });
  return outcome;
}

TaskText result_text(const json& answer) {
  return {plain(text_at(answer, "stdout")),
          plain(text_at(answer, "stderr")) + task_account(answer)};
}

// "running 12 s", "exited 0"
std::string state_of(const json& task) {
  const std::string status = text_at(task, "status");
  const json& code = member(task, "exit_code");
  if (code.is_number_integer()) return status + " " + std::to_string(code.get<int>());
  if (status == "running") return status + " " + whole(number_of(task, "uptime_seconds")) + " s";
  const std::string signal = text_at(task, "signal");
  return signal.empty() ? status : status + " " + signal;
}

std::string table(const json& tasks) {
  std::string text;
  for_each(tasks, [&](const json& task) {
    std::string state = state_of(task);
    state.resize(std::max<std::size_t>(state.size(), 16), ' ');
    std::string command = escape_control_bytes(text_at(task, "command"));
    command.resize(valid_utf8_prefix(std::string_view(command).substr(0, kLongestCommand)));
    text += text_at(task, "task_id") + "  " + state + "  " + command + "\n";
  });
  return text.empty() ? "no tasks\n" : text;
}

std::string list_text(const json& answer) {
  if (!answer.contains("sessions")) return table(member(answer, "tasks"));
  std::string text;
  for_each(member(answer, "sessions"), [&](const json& session) {
    text += "session " + text_at(session, "session") + ": " + text_at(session, "profile") + ", " +
            escape_control_bytes(text_at(session, "workspace")) + "\n" +
            table(member(session, "tasks"));
  });
  return text.empty() ? "no sessions\n" : text;
}

}  // namespace

std::string dropped_text(const json& answer) {
  const double dropped = number_of(answer, "dropped");
  return dropped > 0 ? "sbx-run: " + whole(dropped) + " bytes before are forgotten\n" : "";
}

std::string task_account(const json& answer) { return account_text(read_outcome(answer), false); }

TaskText task_text(std::string_view method, const json& answer) {
  if (!answer.is_object()) return {};
  if (answer.contains("tasks") || answer.contains("sessions")) return {list_text(answer), ""};
  if (method == "output") {
    return {plain(text_at(answer, "stdout")),
            plain(text_at(answer, "stderr")) + dropped_text(answer)};
  }
  if (method == "screen") {
    // The program paints it.
    std::string text = text_at(answer, "text");
    while (text.ends_with('\n')) text.pop_back();
    return {plain(text), ""};
  }
  if (method == "stdin") return {"wrote " + whole(number_of(answer, "written")) + " bytes\n", ""};
  if (method == "resize") {
    return {whole(number_of(answer, "cols")) + " by " + whole(number_of(answer, "rows")) + "\n",
            ""};
  }
  if (method == "reset") {
    const json& cleared = member(answer, "workspace_cleared");
    const bool is_cleared = cleared.is_boolean() && cleared.get<bool>();
    return {
        std::string("every task is ended") + (is_cleared ? ", and the workspace empty\n" : "\n"),
        ""};
  }
  if (method == "start" && !answer.contains("status")) {
    return {"started " + text_at(answer, "task_id") + "\n", ""};
  }
  return result_text(answer);
}

}  // namespace sbx
