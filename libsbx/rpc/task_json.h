// SPDX-License-Identifier: Apache-2.0
// Tasks → the answers of start, status, output, wait, kill and list, as JSON text. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "session/session.h"

namespace sbx {

// {task_id, pid, started_at}
std::string started_json(const Task& task);

// The state and all that is kept of the output. One that has ended says all that `run` would.
std::string status_json(const Task& task);

// {stdout, stderr, next, dropped, is_running, exit_code}: what is new since the offset.
std::string output_json(const Task& task, std::uint64_t since);

// {tasks: [{task_id, status, …}]}, without their output.
std::string list_json(const Session& session);

// The params of task.exit.
std::string exit_json(const Task& task);

}  // namespace sbx
