// SPDX-License-Identifier: Apache-2.0
// The table of error codes and their meanings, and the one-line form.
#include "base/error.h"

#include <array>
#include <cstring>

#include "base/text.h"

namespace sbx {
namespace {

constexpr std::array kMeanings = {
    ErrorMeaning{ErrorCode::kBadFlag, "bad_flag",
                 "A command-line flag or an SBX_* variable is unknown or has a bad value."},
    ErrorMeaning{ErrorCode::kBadJson, "bad_json", "A document is not valid JSON in UTF-8."},
    ErrorMeaning{ErrorCode::kUnknownField, "unknown_field",
                 "A key that the schema does not know; the hint names the nearest known one."},
    ErrorMeaning{ErrorCode::kWrongType, "wrong_type",
                 "A value has another JSON type than the schema asks for."},
    ErrorMeaning{ErrorCode::kOutOfRange, "out_of_range", "A number lies outside its range."},
    ErrorMeaning{ErrorCode::kBadValue, "bad_value",
                 "A value lies outside its set of names or does not have its form."},
    ErrorMeaning{ErrorCode::kDuplicateKey, "duplicate_key",
                 "The same key stands twice in one object."},
    ErrorMeaning{ErrorCode::kMissingField, "missing_field", "A required key is absent."},
    ErrorMeaning{ErrorCode::kTooDeep, "too_deep", "A document is nested too deeply."},
    ErrorMeaning{ErrorCode::kTooLarge, "too_large", "A document is larger than its bound."},
    ErrorMeaning{ErrorCode::kProfileNotFound, "profile_not_found",
                 "No shipped or installed profile has that name and no such file exists."},
    ErrorMeaning{ErrorCode::kProfileCycle, "profile_cycle",
                 "A chain of `extends` leads back to itself or is too long."},
    ErrorMeaning{ErrorCode::kProfileUntrusted, "profile_untrusted",
                 "A project's own profile, or what it extends, is not as the user has trusted it."},
    ErrorMeaning{ErrorCode::kManagedPolicy, "managed_policy",
                 "A file of the managed policy refuses it, or is not as such a file must be."},
    ErrorMeaning{ErrorCode::kPathNotFound, "path_not_found",
                 "A path that must exist does not; nothing is created on the host."},
    ErrorMeaning{ErrorCode::kPathRefused, "path_refused",
                 "A path is relative, has `..`, leads out through a symlink, is not of a kind that "
                 "can be shown, cannot be looked at, or was replaced on the host during the run."},
    ErrorMeaning{ErrorCode::kCwdNotVisible, "cwd_not_visible",
                 "The working directory is not visible under the policy."},
    ErrorMeaning{ErrorCode::kAboveCeiling, "above_ceiling",
                 "A request raises a limit above the ceiling of the operator's profile."},
    ErrorMeaning{ErrorCode::kNotGranted, "not_granted",
                 "A request asks for something that the operator's profile does not grant."},
    ErrorMeaning{ErrorCode::kDenied, "denied", "The command policy refuses the command."},
    ErrorMeaning{ErrorCode::kNeedsApproval, "needs_approval",
                 "The command policy wants a person to approve the command first."},
    ErrorMeaning{ErrorCode::kLayerUnavailable, "layer_unavailable",
                 "This kernel or machine does not give a layer that the profile requires; "
                 "the command did not start."},
    ErrorMeaning{ErrorCode::kSetupFailed, "setup_failed",
                 "A step of the set-up failed; the command did not start."},
    ErrorMeaning{ErrorCode::kNotFound, "not_found",
                 "The program does not exist inside the sandbox (exit 127)."},
    ErrorMeaning{ErrorCode::kNotExecutable, "not_executable",
                 "The program exists inside the sandbox but cannot be executed (exit 126)."},
    ErrorMeaning{ErrorCode::kUnsupported, "unsupported",
                 "Not available in this version or on this system."},
    ErrorMeaning{ErrorCode::kOutputUnwritable, "output_unwritable",
                 "The answer, the audit log or a result file cannot be written."},
    ErrorMeaning{ErrorCode::kBadDescriptor, "bad_descriptor",
                 "A standard descriptor is of a kind that must not go inside, such as a "
                 "directory."},
    ErrorMeaning{ErrorCode::kCancelled, "cancelled", "The run was ended by its caller."},
    ErrorMeaning{ErrorCode::kSpillFailed, "spill_failed",
                 "The full log cannot be written whole; the answer itself is complete."},
    ErrorMeaning{ErrorCode::kBadMessage, "bad_message", "A line is no JSON-RPC 2.0 request."},
    ErrorMeaning{ErrorCode::kUnknownMethod, "unknown_method",
                 "There is no method or tool of that name."},
    ErrorMeaning{ErrorCode::kTaskNotFound, "task_not_found",
                 "The session has no task of that id, or keeps it no longer."},
    ErrorMeaning{ErrorCode::kSessionFailed, "session_failed",
                 "The session's server cannot be reached or started."},
    ErrorMeaning{ErrorCode::kTooMany, "too_many",
                 "A bound on tasks, requests or clients is reached."},
    ErrorMeaning{ErrorCode::kLayerConflict, "layer_conflict",
                 "What a kept layer would change was changed otherwise, or may not be changed: "
                 "nothing was done. `changes` lists it."},
    ErrorMeaning{ErrorCode::kLayerInUse, "layer_in_use",
                 "A run, a session or another action holds the kept layer."},
    ErrorMeaning{ErrorCode::kLayerNotFound, "layer_not_found",
                 "The workspace has no kept layer of that name, or the layer no such label."},
    ErrorMeaning{ErrorCode::kInternal, "internal", "A defect of sbx itself; please report it."},
};

constexpr bool meanings_follow_the_enum() {
  for (std::size_t i = 0; i < kMeanings.size(); ++i) {
    if (static_cast<std::size_t>(kMeanings[i].code) != i) return false;
  }
  return kMeanings.size() == static_cast<std::size_t>(ErrorCode::kInternal) + 1;
}
static_assert(meanings_follow_the_enum());

}  // namespace

std::span<const ErrorMeaning> error_meanings() { return kMeanings; }

std::string_view error_name(ErrorCode code) {
  return kMeanings[static_cast<std::size_t>(code)].name;
}

std::optional<ErrorCode> error_code_of(std::string_view name) {
  for (const ErrorMeaning& meaning : kMeanings) {
    if (meaning.name == name) return meaning.code;
  }
  return std::nullopt;
}

std::string errno_text(int sys_errno) {
  const char* name = strerrorname_np(sys_errno);
  const char* text = strerrordesc_np(sys_errno);
  if (name == nullptr || text == nullptr) return "errno " + std::to_string(sys_errno);
  return std::string(name) + ": " + text;
}

Error call_failed(ErrorCode code, std::string_view call, std::string_view where,
                  std::string_view hint, int error) {
  return {code, std::string(call) + ": " + errno_text(error), std::string(where), std::string(hint),
          error};
}

std::string error_line(const Error& error) {
  std::string line(error_name(error.code));
  line += ": " + error.message;
  if (!error.where.empty()) line += " [" + error.where + "]";
  if (!error.hint.empty()) line += " (" + error.hint + ")";
  return escape_control_bytes(line);
}

}  // namespace sbx
