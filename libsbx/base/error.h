// SPDX-License-Identifier: Apache-2.0
// Error: what failed, where, and what would mend it, under a code that is never renamed.
// The codes are the public ones of `sbx-run schema errors`; error.cc holds their meanings.
#pragma once

#include <cerrno>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sbx {

enum class ErrorCode {
  kBadFlag,           // a command-line flag or SBX_* variable has a bad value
  kBadJson,           // text is not JSON, or not UTF-8
  kUnknownField,      // a key that no schema knows
  kWrongType,         // a value of another JSON type, or a fraction where a count is wanted
  kOutOfRange,        // a number outside its range
  kBadValue,          // a string outside its set or form
  kDuplicateKey,      // the same key twice in one object
  kMissingField,      // a required key is absent
  kTooDeep,           // nesting beyond the bound
  kTooLarge,          // a document beyond its size bound
  kProfileNotFound,   // no shipped or installed profile of that name, no such file
  kProfileCycle,      // `extends` leads back to itself, or too far
  kProfileUntrusted,  // a project's own, not as the user has trusted it
  kManagedPolicy,     // a managed file refuses it, or is no such file
  kPathNotFound,      // a path that must exist does not
  kPathRefused,       // relative, `..`, a symlink out, a special file, or not openable
  kCwdNotVisible,     // the working directory is not shown by the policy
  kAboveCeiling,      // a request raises a limit beyond the operator's ceiling
  kNotGranted,        // a request asks for what the profile does not grant
  kDenied,            // refused by the command policy
  kNeedsApproval,     // the command policy wants a person to decide
  kLayerUnavailable,  // a required layer cannot be had on this kernel
  kSetupFailed,       // a set-up step failed: the command did not start
  kNotFound,          // the program does not exist inside the sandbox
  kNotExecutable,     // the program exists and cannot be executed
  kUnsupported,       // not available in this version or on this system
  kOutputUnwritable,  // the answer, the audit log or a result file cannot be written
  kBadDescriptor,     // a standard descriptor that must not go inside (a directory)
  kCancelled,         // ended by a signal or by the caller
  kSpillFailed,       // the full log cannot be written (disk full, cap of the file system)
  kBadMessage,        // a line that is no JSON-RPC request
  kUnknownMethod,     // a method or tool that does not exist
  kTaskNotFound,      // no task of that id in this session
  kSessionFailed,     // the session's server cannot be reached or started
  kTooMany,           // a bound on tasks, requests or clients is reached
  kLayerConflict,     // a real file changed since the kept layer first touched it
  kLayerInUse,        // a run, a session or another action holds the kept layer
  kLayerNotFound,     // the workspace has no kept layer of that name, or the layer no such label
  kInternal,          // a bug in sbx: please report it
};

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;  // one line: the operation with its arguments, and why it failed
  std::string where;    // JSON pointer, profile path, flag, or system call; may be empty
  std::string hint;     // what would mend it; may be empty
  int sys_errno = 0;    // 0 when no system call failed
};

struct ErrorMeaning {
  ErrorCode code;
  std::string_view name;     // the stable name on the wire, such as "path_not_found"
  std::string_view meaning;  // one sentence
};

// Every code, in declaration order.
std::span<const ErrorMeaning> error_meanings();
std::string_view error_name(ErrorCode code);
// Of such a name; nullopt of any other.
std::optional<ErrorCode> error_code_of(std::string_view name);

// "strerrorname: description", such as "ENOENT: No such file or directory". Thread-safe.
std::string errno_text(int sys_errno);

// Of a call that failed: "CALL: ENOENT: No such file or directory".
Error call_failed(ErrorCode code, std::string_view call, std::string_view where = "",
                  std::string_view hint = "", int error = errno);

// The one-line form for stderr: `CODE: message [at where] (hint)`. Control bytes are escaped.
std::string error_line(const Error& error);

}  // namespace sbx
