// SPDX-License-Identifier: Apache-2.0
// Profile: what an operator grants, as plain values (docs/profile.md). Decoded from JSON with
// `extends` merged; variables such as ${workspace} are still in the paths. Pointers for errors
// travel with the values that later rooms may still refuse.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/layer.h"
#include "profile/host_rule.h"

namespace sbx {

enum class Base : std::uint8_t { kSystem, kTools, kHost, kNone };
enum class Access : std::uint8_t { kNone, kReadOnly, kReadWrite };
// What follows when the host replaces a file that is masked or read-only inside.
enum class ReplacedMode : std::uint8_t { kRestore, kStop, kReport };
// What a protected path that is not there may do: never come to be, or be named afterwards.
enum class Missing : std::uint8_t { kRefuse, kReport };
enum class HomeMode : std::uint8_t { kPrivate, kNone, kHost };
enum class NetworkMode : std::uint8_t { kNone, kAllowlist, kOutbound, kOpen };
// Whether connections are made by the gateway, and names found by it.
constexpr bool is_relayed(NetworkMode mode) {
  return mode == NetworkMode::kAllowlist || mode == NetworkMode::kOutbound;
}
enum class SeccompMode : std::uint8_t { kDefault, kStrict, kOff };
enum class LandlockMode : std::uint8_t { kRequire, kAuto, kOff };
enum class Fallback : std::uint8_t { kRefuse, kDegrade };
enum class ScrubMode : std::uint8_t { kOff, kDefault, kStrict };
// What the private home has of the caller's own git.
enum class GitConfig : std::uint8_t { kNone, kUser };
// Who sees what a cache holds: the runs of one workspace, or all of the user's.
enum class CacheShare : std::uint8_t { kWorkspace, kUser };
enum class WorkspaceMode : std::uint8_t { kPersistent, kFresh };

// What a profile calls each of them, in order.
template <typename E>
inline constexpr std::array<std::string_view, 0> kNames{};
template <>
inline constexpr auto kNames<Base> = std::to_array<std::string_view>({"system", "tools", "host",
                                                                      "none"});
template <>
inline constexpr auto kNames<Access> = std::to_array<std::string_view>({"none", "ro", "rw"});
template <>
inline constexpr auto kNames<HomeMode> = std::to_array<std::string_view>({"private", "none",
                                                                          "host"});
template <>
inline constexpr auto kNames<ReplacedMode> = std::to_array<std::string_view>({"restore", "stop",
                                                                              "report"});
template <>
inline constexpr auto kNames<Missing> = std::to_array<std::string_view>({"refuse", "report"});
template <>
inline constexpr auto kNames<NetworkMode> = std::to_array<std::string_view>({"none", "allowlist",
                                                                             "outbound", "open"});
template <>
inline constexpr auto kNames<SeccompMode> = std::to_array<std::string_view>({"default", "strict",
                                                                             "off"});
template <>
inline constexpr auto kNames<LandlockMode> = std::to_array<std::string_view>({"require", "auto",
                                                                              "off"});
template <>
inline constexpr auto kNames<Fallback> = std::to_array<std::string_view>({"refuse", "degrade"});
template <>
inline constexpr auto kNames<ScrubMode> = std::to_array<std::string_view>({"off", "default",
                                                                           "strict"});
template <>
inline constexpr auto kNames<WorkspaceMode> = std::to_array<std::string_view>({"persistent",
                                                                               "fresh"});
template <>
inline constexpr auto kNames<GitConfig> = std::to_array<std::string_view>({"none", "user"});
template <>
inline constexpr auto kNames<CacheShare> = std::to_array<std::string_view>({"workspace", "user"});
template <>
inline constexpr auto kNames<Layer> = kLayerNames;

template <typename E>
constexpr std::string_view name_of(E value) {
  return kNames<E>[static_cast<std::size_t>(value)];
}

struct Root {
  std::string path;  // absolute after variables are replaced
  Access access = Access::kReadOnly;
  bool optional = false;
  std::string where;    // profile pointer or flag, for errors
  bool noexec = false;  // nothing in it can be executed
  // Where the pattern begins in a path that holds one; 0: the path is a path.
  std::size_t pattern_at = 0;
  // Where the walk for the pattern starts; all of a path that holds none.
  std::string head() const {
    if (pattern_at == 0) return path;
    return pattern_at == 1 ? "/" : path.substr(0, pattern_at - 1);
  }
  friend bool operator==(const Root&, const Root&) = default;
};

struct Protect {
  std::string path;  // relative to every rw root, such as ".git/hooks"
  Missing missing = Missing::kRefuse;
  std::string where;
  friend bool operator==(const Protect&, const Protect&) = default;
};

struct FilesystemProfile {
  Base base = Base::kSystem;
  std::vector<Root> roots;
  std::vector<Protect> protect;
  HomeMode home = HomeMode::kPrivate;
  std::vector<std::string> devices;  // absolute paths below /dev
  bool overlay = false;
  ReplacedMode replaced = ReplacedMode::kRestore;
  GitConfig git_config = GitConfig::kNone;
  friend bool operator==(const FilesystemProfile&, const FilesystemProfile&) = default;
};

// Requests that go through to a host. Once one has a rule, everything else to it is refused.
struct HttpRule {
  HostRule host;
  std::optional<std::vector<std::string>> methods;  // nullopt: all
  std::optional<std::vector<std::string>> paths;    // patterns; nullopt: all
  std::optional<std::vector<std::string>> query;    // patterns of parameters; nullopt: all
  bool ask = false;
  friend bool operator==(const HttpRule&, const HttpRule&) = default;
};

// Where a secret comes from: exactly one of the three.
struct SecretSource {
  std::optional<std::string> env;
  std::optional<std::string> file;
  std::optional<std::vector<std::string>> command;
  std::optional<std::int64_t> ttl_s;  // of what the command printed; nullopt: it is run once
  friend bool operator==(const SecretSource&, const SecretSource&) = default;
};

// What the source of a credential's value, and a file of authorities, may hold.
inline constexpr std::size_t kMostSecret = std::size_t{16} << 10;
inline constexpr std::size_t kMostBundle = std::size_t{8} << 20;

// A secret that the gateway puts into requests: into exactly one of header, basic and query.
struct Credential {
  std::string name;  // of the variable that holds its placeholder
  HostRule host;
  std::optional<std::string> header;
  std::optional<std::string> value;  // of the header, with ${secret} in it; nullopt: the secret
  std::optional<std::string> basic;  // the user, where it is a password
  std::optional<std::string> query;  // a parameter's name
  SecretSource from;
  friend bool operator==(const Credential&, const Credential&) = default;
};

// A directory of sbx's own, kept between runs and shown writable below the home.
struct Cache {
  std::string path;  // "~/.npm"; absolute, inside, once variables are replaced
  CacheShare share = CacheShare::kWorkspace;
  std::string source;  // the directory on the host, of a policy
  friend bool operator==(const Cache&, const Cache&) = default;
};

struct NetworkProfile {
  NetworkMode mode = NetworkMode::kNone;
  std::vector<HostRule> allow;
  std::vector<std::string> unix_sockets;
  std::vector<int> host_ports;
  std::vector<HttpRule> http;
  std::vector<Credential> credentials;
  friend bool operator==(const NetworkProfile&, const NetworkProfile&) = default;
};

struct IsolationProfile {
  LayerSet namespaces;  // only the seven namespace layers
  LayerSet require;
  Fallback fallback = Fallback::kRefuse;
  friend bool operator==(const IsolationProfile&, const IsolationProfile&) = default;
};

struct SeccompProfile {
  SeccompMode mode = SeccompMode::kDefault;
  std::vector<std::string> allow;  // system call names
  std::vector<std::string> deny;
  friend bool operator==(const SeccompProfile&, const SeccompProfile&) = default;
};

struct LandlockProfile {
  LandlockMode mode = LandlockMode::kRequire;
  friend bool operator==(const LandlockProfile&, const LandlockProfile&) = default;
};

// Counts and sizes; null in JSON is "no limit" and std::nullopt here. First those that a sandbox is
// made with, then those that the supervisor alone holds a run to.
struct SandboxLimits {
  std::optional<std::int64_t> cpu_ms;
  std::optional<std::int64_t> memory_mb;
  std::optional<std::int64_t> pids;
  std::optional<std::int64_t> open_files;
  std::optional<std::int64_t> tmp_mb;
  std::optional<std::int64_t> layer_mb;
  friend bool operator==(const SandboxLimits&, const SandboxLimits&) = default;
};

struct RunLimits {
  std::optional<std::int64_t> timeout_ms;
  std::optional<std::int64_t> output_lines;
};

struct LimitsProfile : SandboxLimits, RunLimits {
  std::optional<std::int64_t> file_kb;
  std::optional<std::int64_t> output_kb;
};

struct EnvironmentProfile {
  ScrubMode scrub = ScrubMode::kDefault;
  std::vector<std::string> pass;
  std::map<std::string, std::string> set;
  bool request = false;
};

struct CommandsProfile {
  std::string shell = "bash";
  std::optional<std::vector<std::string>> allow;  // nullopt: every command
  std::vector<std::string> network_allow;
  std::vector<std::string> deny;
  std::vector<std::string> ask;
  bool readonly = false;
  bool confine_paths = false;
  friend bool operator==(const CommandsProfile&, const CommandsProfile&) = default;
};

struct OutputProfile {
  bool redact = true;
  std::vector<std::string> patterns;
  bool result_json = false;
  std::int64_t spill_mb = 0;
  bool exact_bytes = false;
};

struct WorkspaceProfile {
  WorkspaceMode mode = WorkspaceMode::kPersistent;
};

struct AuditProfile {
  std::string file;  // empty: no audit log
};

// The sections that say what a sandbox is made of.
struct SandboxProfile {
  FilesystemProfile filesystem;
  NetworkProfile network;
  IsolationProfile isolation;
  SeccompProfile seccomp;
  LandlockProfile landlock;
  CommandsProfile commands;
  std::map<std::string, Cache> caches;
  friend bool operator==(const SandboxProfile&, const SandboxProfile&) = default;
};

// Those that say how a run in it goes.
struct RunProfile {
  std::string name;
  std::string description;
  LimitsProfile ceilings;  // nullopt: the ceiling is the limit itself
  EnvironmentProfile environment;
  OutputProfile output;
  WorkspaceProfile workspace;
  AuditProfile audit;
};

struct Profile : SandboxProfile, RunProfile {
  LimitsProfile limits;
};

}  // namespace sbx
