// SPDX-License-Identifier: Apache-2.0
// What came of a tool's call, in the words that the tools' answers share. Internal to the room.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "json/writer.h"
#include "model/outcome.h"
#include "tools/tool.h"

namespace sbx {

RunStatus status_of(const ToolResult& result);
std::string_view out_of(const ToolResult& result);
std::string_view err_of(const ToolResult& result);
// That ended it; empty: none.
std::string_view limit_of(const ToolResult& result);
double duration_ms_of(const ToolResult& result);
// Why nothing ran, or was found.
const Error* error_of(const ToolResult& result);

// Nothing ran: refused, not approved, or failed to start.
bool did_not_run(const ToolResult& result);
// The conventional number: the command's own, 128+N, 124, 126, 3, 125.
int exit_number(const ToolResult& result);
// One line: what is wrong, by this error, and what would mend it.
std::string reason(const ToolResult& result, const std::optional<Error>& error);
// What sbx-run exits with: 0 for a command that ran, whatever it exited with.
int tool_exit_status(const ToolResult& result);
// Refused, declined, timed out or failed to start.
bool is_failure(const ToolResult& result);

// "exit_code": the number, or null.
void write_exit_code(JsonWriter& json, bool is_known, const ToolResult& result);
// "stdout" and "stderr"; "dropped" where bytes before them are no longer kept.
void write_texts(JsonWriter& json, const ToolResult& result);
// "timed_out", "limit" and "degraded" where there is something to say: the tools with JSON answers.
void write_exceptions(JsonWriter& json, const ToolResult& result);
// Their schema, with that of what every answer may have.
#define SBX_EXCEPTIONS_SCHEMA                                                              \
  R"("timed_out":{"type":"boolean"},"limit":{"type":"string"},)"                           \
  R"("degraded":{"type":"array","description":"layers and limits that are not in force, )" \
  R"(with the reason"},"error":{"type":"object"},"approval":{"type":"object",)"            \
  R"("description":"the digest and the rules that ask"})"

// Adds a newline unless `text` is empty or ends with one.
void end_line(std::string& text);

}  // namespace sbx
