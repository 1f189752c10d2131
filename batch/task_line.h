// SPDX-License-Identifier: Apache-2.0
// One line of the input → the id and the params of a run, and one line of results ← and → its id.
// Everything in a line is somebody else's. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sbx::batch {

struct TaskLine {
  std::string id;      // without escapes; not empty
  std::string params;  // a JSON object: the line without its id
};
// What the params mean, the session decides. Errors: kBadJson, kWrongType, kDuplicateKey,
// kMissingField, kBadValue, with a pointer to the place.
Result<TaskLine> read_task_line(std::string_view line);
// The id of a line that this refuses; empty: none can be told.
std::string id_of_refused(std::string_view line);
// … of one that is too long, by its beginning: the first id there.
std::string id_of_beginning(std::string_view head);

// How a run ended.
enum class Ending : std::uint8_t { kDone, kFailed, kRefused, kError, kCancelled };

// What a result says.
struct ResultLine {
  std::optional<std::string> id;      // nullopt: it has none, or null
  std::optional<std::uint64_t> line;  // of what was no request
  Ending ending = Ending::kError;
  std::string error_code;
  std::string error_where;
  std::string error_message;
};
// Errors: kBadJson, kWrongType, kMissingField for what is no result.
Result<ResultLine> read_result_line(std::string_view line);

// {"id":…, and the members of `result`, a JSON object.
std::string result_line(std::string_view id, std::string_view result);
// The result of a run that never began. `id` nullopt: null; `line` 0: left out.
std::string error_line_of(const std::optional<std::string>& id, std::uint64_t line,
                          const Error& error);

// Whether the same request may well do better the next time.
bool can_pass(std::string_view error_code);

}  // namespace sbx::batch
