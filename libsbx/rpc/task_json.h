// SPDX-License-Identifier: Apache-2.0
// Tasks → the answers of start, status, output, wait, kill and list, and what their followers are
// told, as JSON. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "json/writer.h"
#include "session/service.h"

namespace sbx {

// {task_id, pid, started_at}
void write_started(JsonWriter& json, const Task& task);

// The state and the output so far, within its caps. One that has ended says all that `run` would.
void write_task_status(JsonWriter& json, const Task& task);

// {stdout, stderr, next, dropped, is_running, exit_code}: what is new since the offset.
void write_output(JsonWriter& json, const Task& task, std::uint64_t since);

// {text, cols, rows, cursor: {row, col, visible}}, of what sbx-screen said.
void write_screen(JsonWriter& json, std::string_view answer);

// {cols, rows}, without the braces.
void write_size(JsonWriter& json, TerminalSize size);

// {task_id, is_running, status, exit_code, …, cols, rows, repaint}
void write_attached(JsonWriter& json, const Task& task, const std::string& repaint);

// {tasks: [{task_id, status, …}]}, without their output.
void write_list(JsonWriter& json, const std::vector<TaskPointer>& tasks);

// The line of a notification, without its end: task.output, task.match, task.cancelled, task.exit.
std::string event_line(const TaskEvent& event);

// {approvals: […]}, what waits for a person; `only` one, by its digest, with all that it covers.
void write_questions(JsonWriter& json, Service& service, std::string_view only);

// approval.requested: a request of HTTP waits for `approve` with this digest.
std::string question_line(const std::string& digest, const HttpQuestion& question);

// The same for a person: method, place and size.
std::string question_words(const HttpQuestion& question);

}  // namespace sbx
