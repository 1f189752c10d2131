// SPDX-License-Identifier: Apache-2.0
// Reply: what a method call gave, read from its JSON: the result of a run, or what start, status
// and output answer. Internal to the room.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "tools/json_text.h"

namespace sbx {

struct Reply {
  std::string status;            // of a run: "exited" …; "error" where the call itself failed
  std::optional<int> exit_code;  // of a command that exited
  std::optional<int> signal;     // that ended it
  int cancelled_by = 0;          // the signal that the caller was ended by; 0: none
  std::string out;
  std::string err;
  double duration_ms = 0;
  std::string cwd;
  std::string limit;           // that ended it
  std::optional<Error> error;  // why nothing ran, or was found
  std::string error_name;      // its stable code
  std::string approval;        // JSON, or empty
  std::string result_json;     // JSON, or empty
  std::string degraded;        // JSON list of what was wanted and is not in force, or empty
  std::string body;            // the whole reply, JSON
  bool is_running = false;     // of a task
};

Reply read_reply(const Result<std::string>& result);

// Nothing ran: refused, not approved, or failed to start.
bool did_not_run(const Reply& reply);
// The conventional number: the command's own, 128+N, 124, 126, 3, 125.
int exit_number(const Reply& reply);
// One line: what is wrong, and what would mend it.
std::string reason(const Reply& reply);
// What sbx-run exits with: 0 for a command that ran, whatever it exited with.
int tool_exit_status(const Reply& reply);
// Refused, declined, timed out or failed to start.
bool is_failure(const Reply& reply);

// "timed_out", "limit" and "degraded" where there is something to say: the tools with JSON answers.
void add_exceptions(nlohmann::ordered_json& out, const Reply& reply);
// {"code","message","where","hint"}, both ways; nullopt for what is no object.
std::optional<Error> read_error(const nlohmann::ordered_json& error);
nlohmann::ordered_json error_json(std::string_view code, const Error& error);
// JSON text → value; null where it is none.
nlohmann::ordered_json parse_json(std::string_view text);

}  // namespace sbx
