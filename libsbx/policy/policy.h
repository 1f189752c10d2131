// SPDX-License-Identifier: Apache-2.0
// Policy: a Profile with the operator's flags applied, variables replaced and every value checked;
// and a Request held against it. Values only: no I/O, no JSON, no environment.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/paths.h"
#include "base/result.h"
#include "model/request.h"
#include "profile/host_rule.h"
#include "profile/managed.h"
#include "profile/profile.h"

namespace sbx {

struct HttpSession;

// Whether every run has a layer of its own, over the same workspace.
enum class EachLayer : std::uint8_t { kNone, kThrownAway, kKept };

// What a flag of the command line, or an SBX_* variable, sets over the profile. Absent: untouched.
struct OperatorFlags {
  std::vector<Root> roots;  // --ro, --rw, --hide in order, `where` naming the flag
  std::optional<NetworkMode> network;
  std::vector<std::string> allow_hosts;
  // SBX_ALLOW_NETWORK. false: none, whatever the profile says; true: where the profile says none,
  // any outbound connection. --net and --allow-host stand over it.
  std::optional<bool> allow_network;
  std::vector<int> host_ports;         // --host-port
  std::vector<PublishedPort> publish;  // --publish
  LimitsProfile limits;
  bool no_timeout = false;                   // the profile's does not count
  std::optional<std::int64_t> output_bytes;  // --max-output, finer than KB
  std::optional<std::int64_t> file_bytes;    // --file-size, finer than KB
  std::map<std::string, std::string> set_env;
  std::vector<std::string> pass_env;
  std::optional<ScrubMode> scrub;
  std::optional<std::vector<Layer>> require;
  std::optional<std::vector<std::string>> commands_allow;
  bool allow_degraded = false;
  bool lower_required = false;  // of what a weaker tier can do without, nothing is required
  bool overlay = false;
  std::string layer;  // --layer; empty: none
  EachLayer each_layer = EachLayer::kNone;
  std::string upstream_proxy;  // --upstream-proxy, a URL that parse_upstream() takes; empty: none
  bool trace_denials = false;
  std::string audit_file;              // absolute; empty: as the profile says
  std::vector<std::string> own_files;  // see Policy
};

// What the launcher knows and a profile's variables stand for.
struct PolicyContext {
  std::string workspace;  // absolute, canonical
  std::string home;       // absolute; empty: none
  std::string tmp = "/tmp";
  // Of the caller's environment, absolute; empty: none.
  std::string runtime = {};            // XDG_RUNTIME_DIR
  std::string ssh_agent = {};          // SSH_AUTH_SOCK
  std::string xauthority = {};         // XAUTHORITY
  std::string caches = {};             // where sbx keeps them, without symlinks; empty: nowhere
  std::int64_t machine_memory_mb = 0;  // 0: not known
  std::string profile_sha256 = {};     // see RunPolicy
  std::string repository = {};  // the directory above the workspace whose .git is its; empty: none
  std::vector<std::string> warnings = {};
  Managed managed = {};
};

// What a sandbox is made of: one that waits fits any run whose own is equal.
struct SandboxPolicy : SandboxProfile {  // variables replaced, flags applied
  SandboxLimits limits;
  std::optional<std::int64_t> file_bytes;  // nullopt: no cap
  std::string workspace;
  std::string home;                 // path of the home directory inside
  std::vector<PathMaximum> maxima;  // of the managed policy: no path is shown as more
  bool trace_denials = false;       // refused file operations are reported too
  std::string layer = {};           // that writes to rw roots are kept in; empty: none
  EachLayer each_layer = EachLayer::kNone;
  std::string upstream_proxy = {};         // that connections outside go through; empty: none
  std::shared_ptr<HttpSession> http = {};  // where there are rules or credentials, and a run
  friend bool operator==(const SandboxPolicy&, const SandboxPolicy&) = default;
};

// What else counts for a run.
struct ManagedLimit {
  std::int64_t most = 0;
  std::string file;  // that sets it
};
using ManagedLimits = std::map<std::string, ManagedLimit, std::less<>>;

// How far a file of the managed policy lets a network reach.
struct ManagedReach {
  NetworkMode most = NetworkMode::kOpen;
  std::optional<std::vector<HostRule>> allowed;
  std::string file;
};

struct RunPolicy : RunProfile {
  RunLimits limits;
  std::optional<std::int64_t> output_bytes;  // nullopt: no cap
  std::string profile_sha256;                // of the resolved profile; where there is an audit log
  std::vector<PublishedPort> publish;
  // Absolute paths of the files that steer or record the run: its profiles, the audit log, the
  // answer's file. Where they lie in a writable root they are protected there.
  std::vector<std::string> own_files;
  std::vector<std::string> warnings;        // of the launcher, for the answer's `warnings`
  std::vector<ManagedMark> managed;         // the files of the managed policy that counted
  ManagedLimits managed_limits;             // of those that a request or a denial may name
  std::vector<std::string> required_audit;  // logs that these require, besides audit.file
  // Git in the workspace takes files for deleted that lie above it in its repository, not shown.
  bool is_below_repository = false;
  // Of a network that was taken away: what they would have kept outside stays there.
  std::vector<Credential> withheld;
  std::vector<std::string> withheld_values;  // that their files hold
  std::vector<ManagedReach> managed_reach;
  // What sbx keeps for the user, whether a root reaches it or not: no root makes it writable.
  std::vector<std::string> own_places;
};

// Made by the functions below; nothing else changes one, which a test looks for.
struct Policy {
  SandboxPolicy sandbox;
  RunPolicy run;
};

// One that many runs have: it is copied only for a run that asks for something of its own.
using SharedPolicy = std::shared_ptr<const Policy>;

// What ${workspace} stands for until a run has made its fresh workspace: a path that never exists.
inline constexpr std::string_view kFreshWorkspace = "/nonexistent/sbx-workspace";

// Errors: kBadValue, with the pointer of the entry, for a slip of the word `destructive`; for a
// cache within another.
Status check_asked(const CommandsProfile& commands);
Status check_caches(const Profile& profile);

// With workspace mode fresh, context.workspace is not looked at: see kFreshWorkspace.
Result<Policy> make_policy(Profile profile, const OperatorFlags& flags, PolicyContext context);

// The layers that the profile has turned on.
LayerSet layers_of(const SandboxProfile& profile);

// HOME as the command sees it: the operator's own value, or policy.sandbox.home. Empty: not known.
std::string command_home(const Policy& policy);

// Whether /tmp, /dev/shm and a private home can be written.
inline bool has_scratch(const SandboxPolicy& sandbox) {
  return sandbox.limits.tmp_mb.value_or(1) > 0;
}

// The policy with another workspace: its roots in and below the former one move along.
Policy with_workspace(Policy policy, const std::string& workspace);

// Of a root that hides sbx's own: no pattern of another root shows what lies in it.
inline constexpr const char* kSessionPlaces = "the sessions' sockets";

// Of a root that hides the file which a credential comes from, whatever else names that file.
inline bool is_secret_source(std::string_view where) {
  return where.starts_with("/network/credentials/");
}

// The policy with directories hidden, `where` saying whose they are.
Policy with_hidden(Policy policy, std::vector<std::string> paths, const std::string& where);

// The policy with more files that steer later runs.
Policy with_own_files(Policy policy, const std::vector<std::string>& paths);
// The policy with the user's places for what sbx keeps.
Policy with_own_places(Policy policy, std::vector<std::string> paths);

// What installed packages keep for all users: fonts found, formats made, what is installed.
inline constexpr auto kStateOfPackages = std::to_array<std::string_view>(
    {"/var/lib/dpkg", "/var/lib/rpm", "/var/lib/pacman", "/var/lib/texmf", "/var/lib/tex-common",
     "/var/lib/chicken", "/var/lib/ghostscript", "/var/lib/aspell", "/var/lib/ispell",
     "/var/lib/dictionaries-common", "/var/lib/ghc", "/var/lib/gems", "/var/lib/sgml-base",
     "/var/lib/mecab", "/var/lib/units", "/var/cache/fontconfig", "/var/cache/man"});

// The directory of a project's own settings for sbx: a command that could write it would write the
// rules of the next run.
inline constexpr std::string_view kProjectSettings = ".sbx";
// With the caller's id behind it: the directory at the top of a mount that keeps layers there.
inline constexpr std::string_view kLayersBeside = ".sbx-layers-";

// What steers or records a run itself, `own_files`, `own_places` and such a directory in a writable
// root: no profile lets it be written.
bool is_always_protected(const Policy& policy, std::string_view path);

// The policy with what stands behind its rules and credentials; not for a policy without.
Policy with_http(Policy policy, std::shared_ptr<HttpSession> session);
// The policy with what the files of the credentials that it withholds hold.
Policy with_withheld(Policy policy, std::vector<std::string> values);

// `path` made absolute below `base`, without ".", repeated slashes or a slash at the end.
// Errors: kPathRefused for "..", NUL, or an empty path.
Result<std::string> normal_path(std::string_view path, std::string_view base,
                                std::string_view where);

// Which of `places` counts at `path`: the deepest that is it or holds it, the first of equals;
// nullptr: none. `path_of` gives a place's normal path.
template <typename Places, typename PathOf>
const typename Places::value_type* deepest_at(const Places& places, std::string_view path,
                                              PathOf path_of) {
  const typename Places::value_type* deepest = nullptr;
  std::size_t size = 0;
  for (const auto& place : places) {
    const std::string_view at = std::invoke(path_of, place);
    if (!is_below(path, at) || (deepest != nullptr && at.size() <= size)) continue;
    deepest = &place;
    size = at.size();
  }
  return deepest;
}

// Where the request starts, absolute: its cwd below the workspace, or the workspace. For the judge,
// the plan and the answer alike. Errors: kPathRefused.
Result<std::string> request_cwd(const Policy& policy, const Request& request);

// The argv that runs the request: its own, or SHELL -c COMMAND.
std::vector<std::string> request_argv(const Policy& policy, const Request& request);

// Arguments joined for display, quoted where a shell would need it: "a b" → 'a b'.
std::string display_arguments(const std::vector<std::string>& argv);

}  // namespace sbx
