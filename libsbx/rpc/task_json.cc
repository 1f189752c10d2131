// SPDX-License-Identifier: Apache-2.0
// Key by key.
#include "rpc/task_json.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "base/utf8.h"
#include "json/base64.h"
#include "json/codec.h"
#include "json/writer.h"
#include "model/exit_status.h"
#include "policy/fields.h"
#include "report/json.h"
#include "report/json_parts.h"
#include "report/judgement.h"
#include "rpc/json_rpc.h"

namespace sbx {
namespace {

void write_count(JsonWriter& json, std::string_view key, std::uint64_t value) {
  json.key(key);
  json.count(value);
}
void write_flag(JsonWriter& json, std::string_view key, bool value) {
  json.key(key);
  json.boolean(value);
}

void write_exit_code(JsonWriter& json, const Task& task) {
  const Outcome* outcome = task.outcome();
  json.key("exit_code");
  if (outcome != nullptr && outcome->exit_code) {
    json.integer(*outcome->exit_code);
  } else {
    json.null();
  }
}

// Status, exit code, signal: of an ended task as its result says them.
void write_end(JsonWriter& json, const Task& task) {
  const Outcome* outcome = task.outcome();
  write_member(json, "status",
               run_status_name(outcome == nullptr ? RunStatus::kRunning : outcome->status));
  write_exit_code(json, task);
  json.key("signal");
  json.string_or_null(outcome != nullptr && outcome->signal != 0 ? signal_name(outcome->signal)
                                                                 : "");
  write_flag(json, "timed_out", outcome != nullptr && outcome->status == RunStatus::kTimedOut);
}

constexpr std::size_t kLongestListed = 1024;  // thousands of tasks, at six bytes for one byte

// Of a longer text, its beginning and how much is missing.
std::string cut_short(std::string_view text, std::size_t longest) {
  if (text.size() <= longest) return std::string(text);
  const std::size_t size = longest - cut_character_suffix(text.substr(0, longest));
  return std::string(text.substr(0, size)) + " [... " + std::to_string(text.size() - size) +
         " bytes left out ...]";
}

void write_command(JsonWriter& json, const Task& task, const Outcome& words,
                   std::size_t longest = std::string_view::npos) {
  write_member(json, "command", cut_short(words.command, longest));
  write_member(json, "cwd", cut_short(words.cwd, longest));
  json.key("description");
  if (words.description) {
    json.string(cut_short(*words.description, longest));
  } else {
    json.null();
  }
  write_member(json, "started_at", utc_time(task.started_at_ms()));
}

// What a result does not have.
void write_task(JsonWriter& json, const Task& task) {
  write_member(json, "task_id", task.id());
  json.key("pid");
  json.integer(task.pid());
  write_flag(json, "is_running", task.is_running());
  json.key("uptime_seconds");
  json.thousandths(std::llround(task.uptime_seconds() * 1000));
}

void write_text(JsonWriter& json, const TaskEvent& event) {
  json.begin_object();
  json.key("task_id");
  json.string_or_null(event.task.id());
  if (event.task.id().empty()) {
    json.key("id");
    json.verbatim(event.call_id.empty() ? "null" : event.call_id);
  }
  write_member(json, "stream", event.channel == OutputChannel::kOut ? "stdout" : "stderr");
  write_member(json, "text", event.text);
  write_count(json, "offset", event.offset);
  write_count(json, "next", event.offset + event.text.size());
  write_count(json, "dropped", event.dropped);
  json.end_object();
}

}  // namespace

void write_started(JsonWriter& json, const Task& task) {
  json.begin_object();
  write_member(json, "task_id", task.id());
  json.key("pid");
  json.integer(task.pid());
  write_member(json, "started_at", utc_time(task.started_at_ms()));
  json.end_object();
}

void write_task_status(JsonWriter& json, const Task& task) {
  json.begin_object();
  write_task(json, task);
  write_count(json, "next", task.output().end());
  write_count(json, "dropped", task.output().dropped());
  if (const Outcome* const outcome = task.outcome()) {
    write_outcome_members(json, *outcome);
  } else {
    write_end(json, task);
    const Outcome so_far = task.shown_progress();
    write_streams(json, so_far);
    write_command(json, task, so_far);
    write_denials(json, so_far.denials);
    write_connections(json, so_far);
  }
  json.end_object();
}

void write_output(JsonWriter& json, const Task& task, std::uint64_t since) {
  const TaskOutput::Text output = task.output().read(since);
  json.begin_object();
  write_member(json, "task_id", task.id());
  write_member(json, "stdout", output.out);
  write_member(json, "stderr", output.err);
  write_count(json, "next", output.next);
  write_count(json, "dropped", output.dropped);
  write_flag(json, "is_running", task.is_running());
  write_end(json, task);
  json.end_object();
}

void write_size(JsonWriter& json, TerminalSize size) {
  json.key("cols");
  json.integer(size.columns);
  json.key("rows");
  json.integer(size.rows);
}

void write_screen(JsonWriter& json, std::string_view answer) {
  TerminalSize size;
  size.columns = static_cast<int>(take_number(answer, 2));
  size.rows = static_cast<int>(take_number(answer, 2));
  const std::uint32_t row = take_number(answer, 2);
  const std::uint32_t column = take_number(answer, 2);
  const bool is_visible = take_number(answer, 1) != 0;
  json.begin_object();
  write_member(json, "text", std::string(answer));
  write_size(json, size);
  json.key("cursor");
  json.begin_object();
  write_count(json, "row", row);
  write_count(json, "col", column);
  write_flag(json, "visible", is_visible);
  json.end_object();
  json.end_object();
}

void write_attached(JsonWriter& json, const Task& task, const std::string& repaint) {
  json.begin_object();
  write_task(json, task);
  write_end(json, task);
  write_size(json, task.terminal()->size());
  write_member(json, "repaint", repaint);
  json.end_object();
}

void write_list(JsonWriter& json, const std::vector<TaskPointer>& tasks) {
  json.begin_object();
  json.key("tasks");
  json.begin_array();
  for (const TaskPointer& task : tasks) {
    json.begin_object();
    write_task(json, *task);
    write_end(json, *task);
    const Outcome& words = task->shown_words();
    write_command(json, *task, words, kLongestListed);
    const std::optional<Outcome> progress =
        task->is_running() ? std::optional(task->progress()) : std::nullopt;
    const Outcome& so_far = progress ? *progress : words;
    write_flag(json, "has_terminal", task->terminal() != nullptr);
    write_count(json, "denials", so_far.denials.size());
    write_count(json, "connections", so_far.connections.size() + so_far.unlisted_connections);
    json.end_object();
  }
  json.end_array();
  json.end_object();
}

std::string event_line(const TaskEvent& event) {
  switch (event.kind) {
    case TaskEvent::Kind::kOutput:
      return write_notification("task.output", [&](JsonWriter& json) { write_text(json, event); });
    case TaskEvent::Kind::kMatch:
      return write_notification("task.match", [&](JsonWriter& json) { write_text(json, event); });
    case TaskEvent::Kind::kCancelled:
      return write_notification("task.cancelled", [&](JsonWriter& json) {
        json.begin_object();
        write_member(json, "task_id", event.task.id());
        write_member(json, "reason", event.task.cancel_reason());
        json.end_object();
      });
    case TaskEvent::Kind::kExit:
      break;
  }
  return write_notification("task.exit", [&](JsonWriter& json) {
    json.begin_object();
    write_task(json, event.task);
    write_end(json, event.task);
    write_count(json, "next", event.task.output().end());
    if (const Outcome* const outcome = event.task.outcome()) write_denials(json, outcome->denials);
    json.end_object();
  });
}

namespace {

void write_http_members(JsonWriter& json, const std::string& digest, const HttpQuestion& question) {
  for (const auto& [name, value] : {std::pair<std::string_view, std::string_view>{"digest", digest},
                                    {"method", question.method},
                                    {"url", question.url},
                                    {"host", question.host()},
                                    {"path", question.path()},
                                    {"rule", question.rule}}) {
    json.key(name);
    json.string(value);
  }
  json.key("size");
  json.verbatim(question.size.empty() ? "null" : question.size);
}

void write_asked_at(JsonWriter& json, const std::string& digest) {
  using std::chrono::duration_cast;
  const auto made = approval_time(digest).value_or(Approvals::Clock::time_point());
  const auto since = duration_cast<std::chrono::milliseconds>(made.time_since_epoch());
  write_member(json, "asked_at", utc_time(since.count()));
}

// Every row that is in the digest. A file that is no text is shown in base64.
void write_covered(JsonWriter& json, const Question& asked) {
  nlohmann::ordered_json covered = {{"cwd", asked.cwd},
                                    {"request", digest_json(kRequestSpec, &asked.request)},
                                    {"policy", digest_json(kPolicySpec, &asked.policy)}};
  for (std::size_t i = 0; i < asked.request.files.size(); ++i) {
    const std::string& content = asked.request.files[i].content;
    nlohmann::ordered_json& file = covered["request"]["files"][i];
    if (is_valid_utf8(content)) continue;
    file.erase("content");
    file["content_base64"] = base64_encode(content);
  }
  json.key("covers");
  json.verbatim(covered.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

}  // namespace

void write_questions(JsonWriter& json, Service& service, std::string_view only) {
  json.begin_object();
  json.key("approvals");
  json.begin_array();
  for (const Question& asked : service.questions()) {
    if (!only.empty() && asked.digest != only) continue;
    json.begin_object();
    write_member(json, "kind", "command");
    write_member(json, "digest", asked.digest);
    write_asked_at(json, asked.digest);
    write_member(json, "command", asked.request.command);
    json.key("rules");
    write_rules(json, asked.rules);
    if (!only.empty()) write_covered(json, asked);
    json.end_object();
  }
  for (const auto& [digest, asked] : service.http_questions()) {
    if (!only.empty() && digest != only) continue;
    json.begin_object();
    write_member(json, "kind", "http");
    write_asked_at(json, digest);
    write_http_members(json, digest, asked.about);
    json.end_object();
  }
  json.end_array();
  json.end_object();
}

std::string question_line(const std::string& digest, const HttpQuestion& question) {
  return write_notification("approval.requested", [&](JsonWriter& json) {
    json.begin_object();
    write_http_members(json, digest, question);
    json.end_object();
  });
}

std::string question_words(const HttpQuestion& question) {
  const bool is_known = !question.size.empty();
  std::string words = question.method + " " + question.url + " (";
  words += is_known ? question.size : "a body of unknown size";
  return words += is_known ? " bytes)" : ")";
}

}  // namespace sbx
