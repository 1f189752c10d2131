// SPDX-License-Identifier: Apache-2.0
// The rows. Descriptions are shown by clients that read the schema.
#include "policy/fields.h"

#include <algorithm>
#include <array>

#include "json/base64.h"
#include "json/codec.h"
#include "policy/policy.h"
#include "profile/fields.h"
#include "profile/forms.h"

// The end of the text in every engine, as in profile/forms.cc.
#define SBX_END R"((?![\s\S]))"

namespace sbx {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

bool is_command(std::string_view text) {
  return !text.empty() && text.find('\0') == std::string_view::npos;
}
bool is_octal_mode(std::string_view text) {
  const std::string_view digits = text.substr(text.starts_with('0') ? 1 : 0);
  return digits.size() == 3 &&
         std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '7'; });
}
bool is_base64(std::string_view text) { return base64_decode(text).has_value(); }

constexpr TextForm kCommandForm = {is_command, R"(^[^\u0000]+)" SBX_END,
                                   "text without NUL, not empty"};
constexpr TextForm kModeForm = {is_octal_mode, "^0?[0-7]{3}" SBX_END,
                                "permission bits as an octal string, such as \"644\" or \"0755\""};
constexpr TextForm kBase64Form = {
    is_base64,
    "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=|[A-Za-z0-9+/][AQgw]==)?" SBX_END,
    "base64 with the letters + and /, padded, in one line"};

constexpr ValueSpec or_null(ValueSpec spec) {
  spec.nullable = true;
  return spec;
}
constexpr ValueSpec optional_text(const TextForm* form) {
  return or_null({.kind = Kind::kText, .form = form});
}
// What is too much is the policy's to say, which names its ceiling.
constexpr ValueSpec kOptionalCount = or_null({.kind = Kind::kCount, .min = 1, .max = kUnbounded});
constexpr ValueSpec kOptionalFlag = or_null({.kind = Kind::kBool});

constexpr ValueSpec kArgumentSpec = {.kind = Kind::kText, .form = &forms::kNoNul};
constexpr ValueSpec kValueSpec = {.kind = Kind::kText, .form = &forms::kNoNul};

// The content of a file, written another way. Printed as "content" only.
constexpr Codec kBase64Codec = {
    [](const ValueSpec&, const json& from, void* to, bool) {
      if (from.is_string()) {
        *static_cast<std::string*>(to) =
            base64_decode(from.get_ref<const std::string&>()).value_or("");
      }
      return true;
    },
    nullptr};

constexpr Codec kOctalCodec = {[](const ValueSpec&, const json& from, void* to, bool) {
                                 if (!from.is_string()) return true;
                                 unsigned mode = 0;
                                 for (const char digit : from.get_ref<const std::string&>()) {
                                   mode = mode << 3 | static_cast<unsigned>(digit - '0');
                                 }
                                 *static_cast<std::optional<unsigned>*>(to) = mode;
                                 return true;
                               },
                               [](const ValueSpec&, const void* from, ordered_json& to) {
                                 const auto& mode =
                                     *static_cast<const std::optional<unsigned>*>(from);
                                 if (mode) to = *mode;
                               }};

constexpr auto kFileFields = std::to_array<FieldSpec>({
    required(field<&RequestFile::path>("path", "Where the file goes, relative to the workspace.",
                                       {.kind = Kind::kText})),
    field<&RequestFile::content>("content", "What the file holds, as text.",
                                 optional_text(nullptr)),
    field<&RequestFile::content>("content_base64",
                                 "What the file holds, as base64. Excludes content.",
                                 optional_text(&kBase64Form), kBase64Codec),
    field<&RequestFile::mode>("mode", "Permission bits as an octal string. Absent: 644.",
                              optional_text(&kModeForm), kOctalCodec),
});
constexpr ObjectSpec kFileObject = {kFileFields};
constexpr ValueSpec kFileSpec = {.kind = Kind::kObject, .object = &kFileObject};

constexpr auto kRequestFields = std::to_array<FieldSpec>({
    field<&Request::command>("command",
                             "The command line, run by the profile's shell. This or argv.",
                             optional_text(&kCommandForm)),
    field<&Request::argv>("argv",
                          "The program and its arguments, run without a shell. This or command.",
                          or_null({.kind = Kind::kList, .item = &kArgumentSpec})),
    field<&Request::description>("description", "A few words for the answer and the audit log.",
                                 optional_text(nullptr)),
    // What it comes to is in the digest by itself.
    not_in_digest(field<&Request::cwd>(
        "cwd", "The directory to start in, relative to the workspace. Absent: the workspace.",
        optional_text(&kCommandForm))),
    field<&Request::env>(
        "env",
        "Environment variables. The profile must allow them (environment.request); its own win.",
        or_null({.kind = Kind::kMap, .form = &forms::kEnvName, .item = &kValueSpec})),
    field<&Request::stdin_text>("stdin", "What the command reads. Absent: nothing.",
                                optional_text(nullptr)),
    field<&Request::timeout_ms>(
        "timeout_ms", "Wall-clock time, in milliseconds, at most the ceiling.", kOptionalCount),
    field<&Request::files>(
        "files", "Files to write into the workspace before the start: all of them, or none.",
        or_null({.kind = Kind::kList, .item = &kFileSpec})),
    field<&Request::network>("network",
                             "true: the command needs the profile's network; false: it gets none.",
                             kOptionalFlag),
    field<&Request::output_kb>("output_kb", "Output that is kept, in KiB, at most the ceiling.",
                               kOptionalCount),
    field<&Request::file_kb>("file_kb", "Size of one written file, in KiB, at most the ceiling.",
                             kOptionalCount),
    field<&Request::merge>("merge", "true: stdout and stderr as one, in the order written.",
                           kOptionalFlag),
    not_in_digest(field<&Request::approval>(
        "approval", "The digest of an approval that was granted.", optional_text(&kCommandForm))),
});

constexpr ValueSpec kPortSpec = {.kind = Kind::kCount, .max = 65535};
constexpr auto kPublishFields = std::to_array<FieldSpec>({
    field<&PublishedPort::host_port>("host_port", "On the host; 0: any free one.", kPortSpec),
    field<&PublishedPort::port>("port", "Inside.", kPortSpec),
});
constexpr ObjectSpec kPublishObject = {kPublishFields};
constexpr ValueSpec kPublishSpec = {.kind = Kind::kObject, .object = &kPublishObject};
constexpr ValueSpec kBytesSpec = {.kind = Kind::kCount, .nullable = true, .max = kUnbounded};
constexpr ValueSpec kTextSpec = {.kind = Kind::kText};

constexpr ValueSpec object(const ObjectSpec& spec) {
  return {.kind = Kind::kObject, .object = &spec};
}

constexpr auto kMaximumFields = std::to_array<FieldSpec>({
    field<&PathMaximum::path>("path", "Absolute.", kTextSpec),
    field<&PathMaximum::access>("access", "The most.",
                                {.kind = Kind::kEnum, .names = kNames<Access>}),
    field<&PathMaximum::file>("file", "That says so.", kTextSpec),
});
constexpr ObjectSpec kMaximumObject = {kMaximumFields};
constexpr ValueSpec kMaximumSpec = object(kMaximumObject);
constexpr auto kMarkFields = std::to_array<FieldSpec>({
    field<&ManagedMark::path>("path", "Absolute.", kTextSpec),
    field<&ManagedMark::sha256>("sha256", "Of its content.", kTextSpec),
});
constexpr ObjectSpec kMarkObject = {kMarkFields};
constexpr ValueSpec kMarkSpec = object(kMarkObject);

constexpr auto kSandboxPolicyFields = std::to_array<FieldSpec>({
    part<SandboxProfile, SandboxPolicy>("profile", "With variables replaced and flags applied.",
                                        object(kSandboxProfileSpec)),
    field<&SandboxPolicy::limits>("limits", "That it is made with.", object(kSandboxLimitsSpec)),
    field<&SandboxPolicy::file_bytes>("file_bytes", "Cap of a file, finer than KB.", kBytesSpec),
    field<&SandboxPolicy::workspace>("workspace", "Absolute, canonical.", kTextSpec),
    field<&SandboxPolicy::home>("home", "Path of the home directory inside.", kTextSpec),
    field<&SandboxPolicy::layer>("layer", "That writes are kept in.", kTextSpec),
    field<&SandboxPolicy::upstream_proxy>("upstream_proxy", "That connections outside go through.",
                                          kTextSpec),
    field<&SandboxPolicy::maxima>("maxima", "Of the managed policy.",
                                  {.kind = Kind::kList, .item = &kMaximumSpec}),
    not_in_digest(field<&SandboxPolicy::trace_denials>(
        "trace_denials", "Refused file operations are reported too.", {.kind = Kind::kBool})),
});
constexpr ObjectSpec kSandboxPolicySpec = {kSandboxPolicyFields};

constexpr auto kRunPolicyFields = std::to_array<FieldSpec>({
    part<RunProfile, RunPolicy>("profile", "With flags applied.", object(kRunProfileSpec)),
    field<&RunPolicy::limits>("limits", "That the supervisor holds it to.", object(kRunLimitsSpec)),
    not_in_digest(field<&RunPolicy::output_bytes>("output_bytes",
                                                  "Cap of the output, finer than KB.", kBytesSpec)),
    not_in_digest(field<&RunPolicy::profile_sha256>(
        "profile_sha256", "Of the profile as it was loaded, where there is an audit log.",
        kTextSpec)),
    field<&RunPolicy::publish>("publish", "Servers inside, on the host's 127.0.0.1.",
                               {.kind = Kind::kList, .item = &kPublishSpec}),
    not_in_digest(field<&RunPolicy::own_files>(
        "own_files", "Its profiles, audit log and answer: protected, wherever they are named.",
        {.kind = Kind::kList, .item = &kTextSpec})),
    not_in_digest(field<&RunPolicy::managed>("managed", "Files of the managed policy.",
                                             {.kind = Kind::kList, .item = &kMarkSpec})),
    not_in_digest(field<&RunPolicy::required_audit>("required_audit", "Logs that they require.",
                                                    {.kind = Kind::kList, .item = &kTextSpec})),
    not_in_digest(field<&RunPolicy::warnings>("warnings", "Of the launcher, for the answer.",
                                              {.kind = Kind::kList, .item = &kTextSpec})),
});
constexpr ObjectSpec kRunPolicySpec = {kRunPolicyFields};

constexpr auto kPolicyFields = std::to_array<FieldSpec>({
    field<&Policy::sandbox>("sandbox", "What a sandbox is made of.", object(kSandboxPolicySpec)),
    field<&Policy::run>("run", "What else counts for a run.", object(kRunPolicySpec)),
});

}  // namespace

constexpr ObjectSpec kRequestSpec = {kRequestFields};
constexpr ObjectSpec kPolicySpec = {kPolicyFields};

}  // namespace sbx
