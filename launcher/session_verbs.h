// SPDX-License-Identifier: Apache-2.0
// What the verbs that ask a session have in common.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "options.h"
#include "session_client.h"
#include "verbs.h"

namespace sbx {

inline constexpr const char* kDefaultSession = "default";

// On stdout, with a newline. False, and that is said on stderr: it cannot be written.
bool print(const std::string& text);

// Parses, or gives the exit status where there is nothing more to do.
std::optional<int> parse_verb(const Invocation& invocation, RunOptions& options);
// The same of a verb that acts on a session which is there.
std::optional<int> parse_task(const Invocation& invocation, RunOptions& options);

Result<std::string> ask(const std::string& session, const Invocation& invocation,
                        const std::string& method, const Result<nlohmann::json>& params);

// The session that the options name, for `open`: started where none runs, in the directory that the
// caller works in. The arguments must outlive it.
Result<SessionClient::Wanted> wanted_session(const RunOptions& options,
                                             const Invocation& invocation);

// That of `start` and `shell`.
Result<SessionClient> open_session(const RunOptions& options, const Invocation& invocation);

// A method's answer: as JSON where that is wanted, else as text. False as with print().
bool tell(const Invocation& invocation, const char* method, const std::string& answer);

// That of run, start or wait, its error on stderr too, as `run` has it; for a person an error is
// that line alone. The status.
int finish(const Invocation& invocation, const char* method, const std::string& answer);

// What goes to a task's stdin travels within a message, where escapes make it longer.
inline constexpr std::size_t kMostStdinBytes = std::size_t{12} << 20;

// A file's bytes, or with "-" stdin's; nothing without a source. Errors: those of choose_stdin(),
// and kTooLarge.
Result<std::string> read_source(const std::string& source, const std::string& where,
                                std::size_t at_most = kMostStdinBytes);

// A request for the kept shell: -c, else what standard input holds.
Result<nlohmann::json> shell_params(const RunOptions& options);

// --cols and --rows. Errors: kBadFlag.
Status add_size(const RunOptions& options, nlohmann::json& params);

// Null for what is no JSON.
nlohmann::json parsed(const std::string& text);
// The error that a result holds.
std::optional<Error> error_of(const nlohmann::json& answer);
// What `run` would have exited with; 0 for an answer that is no result.
int status_of(const nlohmann::json& answer);

}  // namespace sbx
