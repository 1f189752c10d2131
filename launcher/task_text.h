// SPDX-License-Identifier: Apache-2.0
// A method's answer → what a person at a terminal reads of it. Values only.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace sbx {

struct TaskText {
  std::string out;  // for stdout
  std::string err;  // for stderr
};

// Of start, status, output, stdin, screen, resize, wait, kill, list, reset, and of run in a kept
// shell.
TaskText task_text(std::string_view method, const nlohmann::json& answer);

// That some of what a task wrote is forgotten, for stderr; empty where none is.
std::string dropped_text(const nlohmann::json& answer);

// How the task of a status has ended, for stderr.
std::string task_account(const nlohmann::json& answer);

}  // namespace sbx
