// SPDX-License-Identifier: Apache-2.0
// The table itself. Descriptions are shown by editors that complete from the schema.
#include "profile/fields.h"

#include "json/codec.h"
#include "profile/forms.h"
#include "profile/managed.h"
#include "profile/profile.h"

namespace sbx {

// A list of names.
template <>
struct ValueCodec<LayerSet> {
  static bool decode(const ValueSpec& spec, const nlohmann::json& from, void* to, bool append) {
    auto& layers = *static_cast<LayerSet*>(to);
    if (!append) layers = {};
    for (const nlohmann::json& name : from) {
      layers.add(static_cast<Layer>(name_index(*spec.item, name)));
    }
    return true;
  }
  static void encode(const ValueSpec&, const void* from, nlohmann::ordered_json& to) {
    to = nlohmann::ordered_json::array();
    for (int i = 0; i < kLayerCount; ++i) {
      const auto layer = static_cast<Layer>(i);
      if (static_cast<const LayerSet*>(from)->has(layer)) to.push_back(layer_name(layer));
    }
  }
};

// Its form is that of parse_host_rule().
template <>
struct ValueCodec<HostRule> {
  static bool decode(const ValueSpec&, const nlohmann::json& from, void* to, bool) {
    *static_cast<HostRule*>(to) = *parse_host_rule(from.get_ref<const std::string&>());
    return true;
  }
  static void encode(const ValueSpec&, const void* from, nlohmann::ordered_json& to) {
    to = host_rule_text(*static_cast<const HostRule*>(from));
  }
};

// A child's caches are laid over its parent's by name.
template <>
struct ValueCodec<std::map<std::string, Cache>> {
  static bool decode(const ValueSpec& spec, const nlohmann::json& from, void* to, bool) {
    auto& caches = *static_cast<std::map<std::string, Cache>*>(to);
    for (const auto& [name, value] : from.items()) {
      ValueCodec<Cache>::decode(*spec.item, value, &caches[name], false);
    }
    return true;
  }
  static void encode(const ValueSpec& spec, const void* from, nlohmann::ordered_json& to) {
    to = nlohmann::ordered_json::object();
    for (const auto& [name, cache] : *static_cast<const std::map<std::string, Cache>*>(from)) {
      ValueCodec<Cache>::encode(*spec.item, &cache, to[name]);
    }
  }
};

namespace {

constexpr ValueSpec flag() { return {.kind = Kind::kBool}; }
constexpr ValueSpec count(std::int64_t min, std::int64_t max) {
  return {.kind = Kind::kCount, .min = min, .max = max};
}
constexpr ValueSpec text(const TextForm& form) { return {.kind = Kind::kText, .form = &form}; }
template <typename E>
constexpr ValueSpec choice() {
  return {.kind = Kind::kEnum, .names = kNames<E>};
}
constexpr ValueSpec list(const ValueSpec& item, std::int64_t min = 0) {
  return {.kind = Kind::kList, .min = min, .item = &item};
}
constexpr ValueSpec object(const ObjectSpec& spec) {
  return {.kind = Kind::kObject, .object = &spec};
}
constexpr ValueSpec or_null(ValueSpec spec) {
  spec.nullable = true;
  return spec;
}
// Null is "no limit" in `limits` and "no higher than the limit" in `ceilings`.
constexpr ValueSpec limit(std::int64_t max, std::int64_t min = 1) {
  return or_null(count(min, max));
}

constexpr std::int64_t kTebiKb = std::int64_t{1} << 30;
constexpr std::int64_t kTebiMb = std::int64_t{1} << 20;

// filesystem
constexpr ValueSpec kRootPathSpec = text(forms::kRootPath);
constexpr auto kRootFields = std::to_array<FieldSpec>({
    required(field<&Root::path>(
        "path", "An absolute path, or one that starts with ${workspace}, ${home} or ${tmp}.",
        kRootPathSpec)),
    field<&Root::access>("access", "rw: read and write; ro: read only (the default); none: hidden.",
                         choice<Access>()),
    brief(field<&Root::optional>(
        "optional", "true: a path that does not exist is left out. Else it is an error.", flag())),
    brief(field<&Root::noexec>(
        "noexec", "true: no program in it can be executed, or mapped as code.", flag())),
});
constexpr ObjectSpec kRootObject = {kRootFields};
constexpr ValueSpec kRootSpec = object(kRootObject);

constexpr auto kProtectFields = std::to_array<FieldSpec>({
    required(field<&Protect::path>("path",
                                   "A path relative to every writable root, such as .git/hooks.",
                                   text(forms::kInnerPath))),
    brief(field<&Protect::missing>(
        "missing",
        "refuse (the default): a missing path cannot be created. report: it can, and is named "
        "afterwards in `denials`.",
        choice<Missing>())),
});
constexpr ObjectSpec kProtectObject = {kProtectFields};
constexpr ValueSpec kProtectSpec = {
    .kind = Kind::kTextOrObject, .form = &forms::kInnerPath, .object = &kProtectObject};
constexpr ValueSpec kDeviceSpec = text(forms::kDevicePath);

constexpr auto kFilesystemFields = std::to_array<FieldSpec>({
    field<&FilesystemProfile::base>(
        "base",
        "What is there besides the roots. system: /usr, /bin, /lib* and what any user may read of "
        "/etc less what is private, read-only; tools: only the programs of commands.allow and what "
        "they load; host: "
        "everything, read-only; none: nothing.",
        choice<Base>()),
    field<&FilesystemProfile::roots>(
        "roots",
        "The paths that the command sees. The most specific path wins, whatever the order.",
        list(kRootSpec)),
    field<&FilesystemProfile::protect>(
        "protect", "Paths within every writable root that stay as they are.", list(kProtectSpec)),
    field<&FilesystemProfile::home>(
        "home",
        "private: an empty home that is removed afterwards; none: no home; host: the host's.",
        choice<HomeMode>()),
    field<&FilesystemProfile::devices>(
        "devices", "Device files to show besides the usual harmless ones.", list(kDeviceSpec)),
    field<&FilesystemProfile::overlay>(
        "overlay", "true: writes go to a layer of their own and are listed in `changes`.", flag()),
    field<&FilesystemProfile::replaced>(
        "replaced",
        "What follows when the host replaces a file that is hidden or read-only inside while a "
        "command runs. restore: it is covered again, and the run is ended where that cannot be; "
        "stop: the run is ended; report: it is only named in `denials`.",
        choice<ReplacedMode>()),
    field<&FilesystemProfile::git_config>(
        "git_config",
        "user: the private home has the caller's git settings, without those that hold secrets, "
        "run programs or lead to other files; none: it has none.",
        choice<GitConfig>()),
});
constexpr ObjectSpec kFilesystemSpec = {kFilesystemFields, true};

// network
constexpr ValueSpec kHostSpec = text(forms::kHost);
constexpr ValueSpec kSocketSpec = text(forms::kRootPath);
constexpr ValueSpec kPortSpec = count(1, 65535);
constexpr ValueSpec kMethodSpec = text(forms::kMethod);
constexpr ValueSpec kPathSpec = text(forms::kPathPattern);
constexpr ValueSpec kArgumentSpec = text(forms::kNoNul);
constexpr auto kHttpRuleFields = std::to_array<FieldSpec>({
    required(
        field<&HttpRule::host>("host", "A host of `allow`, with or without a port.", kHostSpec)),
    field<&HttpRule::methods>("methods", "Such as GET; each stands for itself. null: all.",
                              or_null(list(kMethodSpec, 1))),
    field<&HttpRule::paths>("paths",
                            "Patterns of the whole path: * is one segment, ** any number of them. "
                            "null: all.",
                            or_null(list(kPathSpec, 1))),
    field<&HttpRule::query>(
        "query",
        "Patterns of which one covers each parameter, such as page=*; []: no query. null: all.",
        or_null(list(kArgumentSpec))),
    brief(field<&HttpRule::ask>("ask", "true: the operator is asked about each such request.",
                                flag())),
});
constexpr ObjectSpec kHttpRuleObject = {kHttpRuleFields};
constexpr ValueSpec kHttpRuleSpec = object(kHttpRuleObject);
constexpr auto kSecretSourceFields = std::to_array<FieldSpec>({
    field<&SecretSource::env>("env", "A variable of the operator's environment.",
                              or_null(text(forms::kEnvName))),
    field<&SecretSource::file>("file", "A file of the host; hidden inside.",
                               or_null(text(forms::kAbsolutePath))),
    field<&SecretSource::command>("command", "A program with its arguments, run by the operator.",
                                  or_null(list(kArgumentSpec, 1))),
    field<&SecretSource::ttl_s>("ttl_s", "Seconds after which the command is run again.",
                                or_null(count(1, 31'536'000))),
});
constexpr ObjectSpec kSecretSourceObject = {kSecretSourceFields};
constexpr auto kCredentialFields = std::to_array<FieldSpec>({
    required(field<&Credential::name>("name", "The variable that holds a placeholder inside.",
                                      text(forms::kEnvName))),
    required(field<&Credential::host>("host", "The only host that gets the value, over TLS.",
                                      kHostSpec)),
    field<&Credential::header>("header", "The header that the value goes into.",
                               or_null(text(forms::kToken))),
    field<&Credential::value>("value", "The header's value, with ${secret} in it.",
                              or_null(text(forms::kNoNul))),
    field<&Credential::basic>("basic", "The user whose password the value is (basic auth).",
                              or_null(text(forms::kNoNul))),
    field<&Credential::query>("query", "The query parameter that the value goes into.",
                              or_null(text(forms::kQueryName))),
    required(field<&Credential::from>("from", "Where the value comes from: env, file or command.",
                                      object(kSecretSourceObject))),
});
constexpr ObjectSpec kCredentialObject = {kCredentialFields};
constexpr ValueSpec kCredentialSpec = object(kCredentialObject);
constexpr auto kNetworkFields = std::to_array<FieldSpec>({
    field<&NetworkProfile::mode>("mode",
                                 "none: no network; allowlist: the hosts of `allow` only; "
                                 "outbound: any outbound connection, "
                                 "none inbound; open: the host's network.",
                                 choice<NetworkMode>()),
    field<&NetworkProfile::allow>(
        "allow",
        "For mode allowlist: names, *.names, addresses and networks, each with or without a port. "
        "Without one, ports 80 and 443.",
        list(kHostSpec)),
    field<&NetworkProfile::unix_sockets>(
        "unix_sockets", "Unix sockets of the host that may be connected to.", list(kSocketSpec)),
    field<&NetworkProfile::host_ports>(
        "host_ports", "Ports of the host's 127.0.0.1 that the same port inside leads to.",
        list(kPortSpec)),
    field<&NetworkProfile::http>(
        "http", "Requests that are let through; all else to a host that has a rule is refused.",
        list(kHttpRuleSpec)),
    field<&NetworkProfile::credentials>(
        "credentials", "Secrets that the gateway puts into requests; inside are placeholders.",
        list(kCredentialSpec)),
});
constexpr ObjectSpec kNetworkObject = {kNetworkFields, true};

// isolation, seccomp, landlock
constexpr ValueSpec kNamespaceSpec = {
    .kind = Kind::kEnum,
    .names = std::span<const std::string_view>(kLayerNames).first(kNamespaceCount)};
constexpr ValueSpec kLayerSpec = choice<Layer>();
constexpr auto kIsolationFields = std::to_array<FieldSpec>({
    field<&IsolationProfile::namespaces>(
        "namespaces", "The namespaces that the command gets of its own.", list(kNamespaceSpec)),
    field<&IsolationProfile::require>("require", "The layers without which nothing runs.",
                                      list(kLayerSpec)),
    field<&IsolationProfile::fallback>(
        "fallback",
        "refuse: a layer that cannot be had ends the run; degrade: a weaker tier is used and named "
        "in the result, never below `require`.",
        choice<Fallback>()),
});
constexpr ObjectSpec kIsolationSpec = {kIsolationFields, true};

constexpr ValueSpec kSyscallSpec = text(forms::kSyscall);
constexpr auto kSeccompFields = std::to_array<FieldSpec>({
    field<&SeccompProfile::mode>(
        "mode",
        "default: dangerous system calls are refused; strict: all but the common ones are; off: no "
        "filter.",
        choice<SeccompMode>()),
    field<&SeccompProfile::allow>("allow", "System calls to allow although the mode refuses them.",
                                  list(kSyscallSpec)),
    field<&SeccompProfile::deny>("deny", "System calls to refuse although the mode allows them.",
                                 list(kSyscallSpec)),
});
constexpr ObjectSpec kSeccompSpec = {kSeccompFields, true};

constexpr auto kLandlockFields = std::to_array<FieldSpec>({
    field<&LandlockProfile::mode>(
        "mode", "require: in force or nothing runs; auto: in force where the kernel has it; off.",
        choice<LandlockMode>()),
});
constexpr ObjectSpec kLandlockSpec = {kLandlockFields};

// limits and ceilings: the same keys
constexpr auto kLimitFields = std::to_array<FieldSpec>({
    not_in_digest(field<&LimitsProfile::timeout_ms, LimitsProfile>(
        "timeout_ms", "Wall-clock time of a run, in milliseconds.", limit(kWeekMs))),
    field<&LimitsProfile::cpu_ms, LimitsProfile>(
        "cpu_ms", "Processor time of a run, in milliseconds.", limit(kWeekMs)),
    field<&LimitsProfile::memory_mb, LimitsProfile>(
        "memory_mb", "Memory of the whole tree, temporary files included, in MiB.",
        limit(16 * kTebiMb)),
    field<&LimitsProfile::pids, LimitsProfile>("pids", "Processes and threads at one time.",
                                               limit(4'194'304)),
    field<&LimitsProfile::open_files, LimitsProfile>("open_files", "Open files of one process.",
                                                     limit(kMostOpenFiles)),
    field<&LimitsProfile::file_kb, LimitsProfile>("file_kb", "Size of one file, in KiB.",
                                                  limit(kTebiKb)),
    field<&LimitsProfile::tmp_mb, LimitsProfile>(
        "tmp_mb",
        "All writable temporary file systems together (/tmp, /dev/shm, a private home), in MiB. 0: "
        "none of them is writable.",
        limit(kTebiMb, 0)),
    field<&LimitsProfile::layer_mb, LimitsProfile>(
        "layer_mb", "A kept layer (--layer) on the disk, its checkpoints included, in MiB.",
        limit(kTebiMb)),
    field<&LimitsProfile::output_kb, LimitsProfile>(
        "output_kb", "Output that is kept, in KiB: for each stream, or both when merged.",
        limit(1'048'576)),
    not_in_digest(field<&LimitsProfile::output_lines, LimitsProfile>(
        "output_lines", "Lines of output that are kept.", limit(100'000'000))),
});
constexpr ObjectSpec kLimitsSpec = {kLimitFields};
static_assert(std::all_of(kLimitFields.begin(), kLimitFields.end(), [](const FieldSpec& row) {
  return row.member.codec == &kCodec<std::optional<std::int64_t>>;
}));
constexpr auto kSandboxLimitFields = rows_of_part<SandboxLimits, kLimitFields>();
constexpr auto kRunLimitFields = rows_of_part<RunLimits, kLimitFields>();

// environment
constexpr ValueSpec kEnvNameSpec = text(forms::kEnvName);
constexpr ValueSpec kEnvValueSpec = text(forms::kNoNul);
constexpr auto kEnvironmentFields = std::to_array<FieldSpec>({
    field<&EnvironmentProfile::scrub>(
        "scrub",
        "default: credentials are taken out of the inherited environment; strict: only safe names "
        "pass; off: everything passes.",
        choice<ScrubMode>()),
    field<&EnvironmentProfile::pass>("pass", "Variables that pass in spite of `scrub`.",
                                     list(kEnvNameSpec)),
    field<&EnvironmentProfile::set>(
        "set", "Variables with a value of their own. They win over a request's.",
        {.kind = Kind::kMap, .form = &forms::kEnvName, .item = &kEnvValueSpec}),
    field<&EnvironmentProfile::request>("request", "true: a request may set variables of its own.",
                                        flag()),
});
constexpr ObjectSpec kEnvironmentSpec = {kEnvironmentFields, true};

// commands
constexpr ValueSpec kProgramSpec = text(forms::kProgram);
constexpr auto kCommandsFields = std::to_array<FieldSpec>({
    field<&CommandsProfile::shell>("shell", "The shell that runs a command line.", kProgramSpec),
    field<&CommandsProfile::allow>("allow", "The only programs that may run. null: every program.",
                                   or_null(list(kProgramSpec))),
    field<&CommandsProfile::network_allow>(
        "network_allow", "Programs that may run besides, where a run has a network.",
        list(kProgramSpec)),
    field<&CommandsProfile::deny>("deny", "Programs to refuse, besides the built-in list.",
                                  list(kProgramSpec)),
    field<&CommandsProfile::ask>("ask", "Rules that a person decides about, such as destructive.",
                                 list(kProgramSpec)),
    field<&CommandsProfile::readonly>("readonly", "true: commands that change files are refused.",
                                      flag()),
    field<&CommandsProfile::confine_paths>(
        "confine_paths", "true: a command that names a path outside the allowed roots is refused.",
        flag()),
});
constexpr ObjectSpec kCommandsSpec = {kCommandsFields, true};

// caches
constexpr ValueSpec kHomePathSpec = text(forms::kHomePath);
constexpr auto kCacheFields = std::to_array<FieldSpec>({
    required(
        field<&Cache::path>("path", "Where it is shown, writable: a path below ~.", kHomePathSpec)),
    field<&Cache::share>(
        "share", "workspace (the default): each workspace has its own; user: one for all of them.",
        choice<CacheShare>()),
});
constexpr ObjectSpec kCacheObject = {kCacheFields};
constexpr ValueSpec kCacheSpec = object(kCacheObject);

// output, workspace, audit
constexpr ValueSpec kPatternSpec = text(forms::kPattern);
constexpr auto kOutputFields = std::to_array<FieldSpec>({
    field<&OutputProfile::redact>(
        "redact", "true: keys, tokens and passwords in the output become [REDACTED].", flag()),
    field<&OutputProfile::patterns>("patterns", "Regular expressions (RE2) of more to redact.",
                                    list(kPatternSpec)),
    field<&OutputProfile::result_json>(
        "result_json", "true: the last line __RESULT__:{...} becomes `result_json`.", flag()),
    field<&OutputProfile::spill_mb>(
        "spill_mb", "Size of the full log that is kept on disk, in MiB. 0: none is.",
        count(0, kTebiMb)),
    field<&OutputProfile::exact_bytes>(
        "exact_bytes", "true: output that is not UTF-8 is given as base64.", flag()),
});
constexpr ObjectSpec kOutputSpec = {kOutputFields, true};

constexpr auto kWorkspaceFields = std::to_array<FieldSpec>({
    field<&WorkspaceProfile::mode>(
        "mode",
        "persistent: the given directory; fresh: a new one for each run, removed afterwards.",
        choice<WorkspaceMode>()),
});
constexpr ObjectSpec kWorkspaceSpec = {kWorkspaceFields};

constexpr auto kAuditFields = std::to_array<FieldSpec>({
    not_in_digest(field<&AuditProfile::file>(
        "file", "The file that one record a run is added to. null: none.",
        or_null(text(forms::kAbsolutePath)))),
});
constexpr ObjectSpec kAuditSpec = {kAuditFields};

// a file of the managed policy
constexpr auto kMaximumFields = std::to_array<FieldSpec>({
    required(field<&PathMaximum::path>("path", "An absolute path, and all that lies below it.",
                                       text(forms::kAbsolutePath))),
    required(field<&PathMaximum::access>("access", "The most that it may be shown as.",
                                         choice<Access>())),
});
constexpr ObjectSpec kMaximumObject = {kMaximumFields};
constexpr ValueSpec kMaximumSpec = object(kMaximumObject);
constexpr auto kManagedFilesystemFields = std::to_array<FieldSpec>({
    field<&ManagedFilesystem::max>(
        "max", "Paths; the most specific one counts, and what none is about is free.",
        list(kMaximumSpec)),
});
constexpr ObjectSpec kManagedFilesystemSpec = {kManagedFilesystemFields};
constexpr auto kManagedNetworkFields = std::to_array<FieldSpec>({
    field<&ManagedNetwork::mode>("mode", "The widest mode.", or_null(choice<NetworkMode>())),
    field<&ManagedNetwork::allow>("allow", "All that may be reached; at most mode allowlist then.",
                                  or_null(list(kHostSpec))),
});
constexpr ObjectSpec kManagedNetworkSpec = {kManagedNetworkFields};
constexpr auto kManagedIsolationFields = std::to_array<FieldSpec>({
    field<&ManagedIsolation::require>("require", "The layers without which nothing runs.",
                                      list(kLayerSpec)),
});
constexpr ObjectSpec kManagedIsolationSpec = {kManagedIsolationFields};
constexpr ValueSpec kForbiddenSpec = text(forms::kReference);
constexpr auto kManagedProfilesFields = std::to_array<FieldSpec>({
    field<&ManagedProfiles::forbid>(
        "forbid", "Profiles and presets that nothing may be, nor extend: names or paths.",
        list(kForbiddenSpec)),
});
constexpr ObjectSpec kManagedProfilesSpec = {kManagedProfilesFields};
constexpr auto kManagedFields = std::to_array<FieldSpec>({
    {"$schema", "The schema of this document, for editors.", {.kind = Kind::kText}},
    field<&ManagedFile::name>("name", "Of the file, for people.", text(forms::kNoNul)),
    field<&ManagedFile::description>("description", "One line for people.", text(forms::kNoNul)),
    field<&ManagedFile::filesystem>("filesystem", "What may be seen and written at the most.",
                                    object(kManagedFilesystemSpec)),
    field<&ManagedFile::network>("network", "What may be reached at the most.",
                                 object(kManagedNetworkSpec)),
    field<&ManagedFile::isolation>("isolation", "What must be in force.",
                                   object(kManagedIsolationSpec)),
    field<&ManagedFile::limits>("limits", "The highest limits. null: free.", object(kLimitsSpec)),
    field<&ManagedFile::profiles>("profiles", "Which profiles may be used.",
                                  object(kManagedProfilesSpec)),
    field<&ManagedFile::audit>("audit", "A log that every run is in, besides its own.",
                               object(kAuditSpec)),
});

constexpr ValueSpec kReferenceSpec = text(forms::kReference);
constexpr auto kProfileFields = std::to_array<FieldSpec>({
    {"$schema", "The schema of this document, for editors.", {.kind = Kind::kText}},
    field<&Profile::name, Profile>("name",
                                   "The profile's name. Without it, the file's name without .json.",
                                   text(forms::kLabel)),
    field<&Profile::description, Profile>("description", "One line for people.",
                                          text(forms::kNoNul)),
    {"extends",
     "The parent: a shipped or installed profile's name, or a path relative to this file; or a "
     "list "
     "of them and of presets, laid over each other in order. Without it, the profile default.",
     {.kind = Kind::kTextOrList, .form = &forms::kReference, .item = &kReferenceSpec}},
    field<&Profile::filesystem, Profile>("filesystem", "What the command sees of the file system.",
                                         object(kFilesystemSpec)),
    field<&Profile::network, Profile>("network", "What the command reaches.",
                                      object(kNetworkObject)),
    field<&Profile::isolation, Profile>("isolation", "Namespaces, and what must be in force.",
                                        object(kIsolationSpec)),
    field<&Profile::seccomp, Profile>("seccomp", "The system call filter.", object(kSeccompSpec)),
    field<&Profile::landlock, Profile>("landlock",
                                       "The kernel's file and network rules underneath the mounts.",
                                       object(kLandlockSpec)),
    field<&Profile::limits, Profile>("limits", "Limits of a run. null: no limit.",
                                     object(kLimitsSpec)),
    field<&Profile::ceilings, Profile>(
        "ceilings", "How far a request may raise a limit. null: not above the limit itself.",
        object(kLimitsSpec)),
    field<&Profile::environment, Profile>("environment", "The command's environment variables.",
                                          object(kEnvironmentSpec)),
    field<&Profile::commands, Profile>("commands", "The command policy.", object(kCommandsSpec)),
    field<&Profile::caches, Profile>(
        "caches", "Directories of sbx's own that are kept between runs, by name.",
        {.kind = Kind::kMap, .form = &forms::kCacheName, .item = &kCacheSpec}),
    field<&Profile::output, Profile>("output", "What happens to the output.", object(kOutputSpec)),
    field<&Profile::workspace, Profile>("workspace", "The directory that the command works in.",
                                        object(kWorkspaceSpec)),
    field<&Profile::audit, Profile>("audit", "The audit log.", object(kAuditSpec)),
});
constexpr auto kSandboxFields = rows_of_part<SandboxProfile, kProfileFields>();
constexpr auto kRunFields = rows_of_part<RunProfile, kProfileFields>();

}  // namespace

constexpr ObjectSpec kProfileSpec = {kProfileFields};
constexpr ObjectSpec kManagedSpec = {kManagedFields};
constexpr ObjectSpec kNetworkSpec = kNetworkObject;
constexpr ObjectSpec kSandboxProfileSpec = {kSandboxFields};
constexpr ObjectSpec kRunProfileSpec = {kRunFields};
constexpr ObjectSpec kSandboxLimitsSpec = {kSandboxLimitFields};
constexpr ObjectSpec kRunLimitsSpec = {kRunLimitFields};

std::int64_t most_of_limit(std::string_view key) {
  for (const FieldSpec& row : kLimitFields) {
    if (row.name == key) return row.value.max;
  }
  return 0;
}

std::vector<std::string_view> lower_limits(const LimitsProfile& most, LimitsProfile& limits,
                                           bool missing_is_none) {
  using Limit = std::optional<std::int64_t>;
  std::vector<std::string_view> lowered;
  LimitsProfile from = most;
  for (const FieldSpec& row : kLimitFields) {
    const Limit& highest = *static_cast<Limit*>(row.member.of(&from));
    Limit& limit = *static_cast<Limit*>(row.member.of(&limits));
    if (!highest || (limit ? *limit <= *highest : !missing_is_none)) continue;
    limit = highest;
    lowered.push_back(row.name);
  }
  return lowered;
}

void lay_over(const LimitsProfile& set, LimitsProfile& limits) {
  using Limit = std::optional<std::int64_t>;
  LimitsProfile from = set;
  for (const FieldSpec& row : kLimitFields) {
    const Limit& limit = *static_cast<Limit*>(row.member.of(&from));
    if (limit) *static_cast<Limit*>(row.member.of(&limits)) = limit;
  }
}

}  // namespace sbx
