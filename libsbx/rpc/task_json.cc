// SPDX-License-Identifier: Apache-2.0
// Key by key.
#include "rpc/task_json.h"

#include <cstdio>

#include "json/writer.h"
#include "model/exit_status.h"
#include "report/json.h"
#include "report/json_parts.h"

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

void write_command(JsonWriter& json, const Task& task) {
  write_member(json, "command", task.request().command);
  write_member(json, "cwd", task.cwd());
  json.key("description");
  if (task.request().description) {
    json.string(*task.request().description);
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
  char seconds[48];
  std::snprintf(seconds, sizeof seconds, "%.3f", task.uptime_seconds());
  json.key("uptime_seconds");
  json.verbatim(seconds);
}

StreamText kept(std::string text, const TaskOutput& output, OutputChannel channel) {
  StreamText stream;
  stream.text = std::move(text);
  stream.bytes = output.written(channel);
  stream.truncated = output.has_dropped(channel);
  return stream;
}

}  // namespace

std::string started_json(const Task& task) {
  std::string text;
  JsonWriter json(text);
  json.begin_object();
  write_member(json, "task_id", task.id());
  json.key("pid");
  json.integer(task.pid());
  write_member(json, "started_at", utc_time(task.started_at_ms()));
  json.end_object();
  return text;
}

std::string status_json(const Task& task) {
  TaskOutput::Text output = task.output().read(0);
  std::string text;
  JsonWriter json(text);
  json.begin_object();
  write_task(json, task);
  write_count(json, "next", output.next);
  write_count(json, "dropped", output.dropped);
  if (task.outcome() == nullptr) {
    write_end(json, task);
    write_member(json, "stdout", output.out);
    write_member(json, "stderr", output.err);
    write_command(json, task);
    json.end_object();
    return text;
  }
  Outcome outcome = *task.outcome();
  const std::uint64_t out_bytes = outcome.out.bytes;
  const std::uint64_t err_bytes = outcome.err.bytes;
  outcome.out = kept(std::move(output.out), task.output(), OutputChannel::kOut);
  outcome.err = kept(std::move(output.err), task.output(), OutputChannel::kErr);
  outcome.out.bytes = out_bytes;
  outcome.err.bytes = err_bytes;
  // The result's own members follow those of the task.
  const std::string result = outcome_to_json(outcome);
  text += ',';
  text.append(result, 1);
  return text;
}

std::string output_json(const Task& task, std::uint64_t since) {
  const TaskOutput::Text output = task.output().read(since);
  std::string text;
  JsonWriter json(text);
  json.begin_object();
  write_member(json, "task_id", task.id());
  write_member(json, "stdout", output.out);
  write_member(json, "stderr", output.err);
  write_count(json, "next", output.next);
  write_count(json, "dropped", output.dropped);
  write_flag(json, "is_running", task.is_running());
  write_end(json, task);
  json.end_object();
  return text;
}

std::string list_json(const Session& session) {
  std::string text;
  JsonWriter json(text);
  json.begin_object();
  json.key("tasks");
  json.begin_array();
  for (const Session::TaskPointer& task : session.tasks()) {
    json.begin_object();
    write_task(json, *task);
    write_end(json, *task);
    write_command(json, *task);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return text;
}

std::string exit_json(const Task& task) {
  std::string text;
  JsonWriter json(text);
  json.begin_object();
  write_task(json, task);
  write_end(json, task);
  write_count(json, "next", task.output().end());
  json.end_object();
  return text;
}

}  // namespace sbx
